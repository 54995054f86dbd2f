"""What a fitted model offers around its result: a page, its objects' names, its search's recall."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import soffit
from soffit.affinity import NeighborGraph

SEED = 23


def test_model_writes_its_own_page(fitted: Any, blobs: Any, tmp_path: Path) -> None:
    fitted.report(tmp_path / "page.html", blobs[0], columns=["east", "north"], truth=blobs[1])
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "east" in text
    assert "SoftClustering" in text


def test_a_full_disk_keeps_the_old_page(fitted: Any, tmp_path: Path, monkeypatch: Any) -> None:
    page = tmp_path / "page.html"
    page.write_text("precious", encoding="utf-8")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        fitted.report(page)
    assert page.read_text(encoding="utf-8") == "precious"
    assert list(tmp_path.iterdir()) == [page]


def test_classifier_writes_a_page_too(blobs: Any, tmp_path: Path) -> None:
    y = np.where(np.arange(len(blobs[1])) % 8 == 0, blobs[1], -1)
    soffit.RandomWalkClassifier().fit(blobs[0], y).report(tmp_path / "page.html")
    assert "RandomWalkClassifier" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_unfitted_model_has_nothing_to_report(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError, match="not fitted yet"):
        soffit.SoF(3).report(tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


# --- names ----------------------------------------------------------------------------------------


def test_frames_have_the_names_of_nodes() -> None:
    graph = nx.relabel_nodes(nx.karate_club_graph(), lambda node: ("member", node))
    model = soffit.SoftClustering(2, random_state=SEED).set_output(transform="pandas")
    frame = model.fit_transform(graph)
    assert list(frame.index) == list(graph.nodes)
    assert list(frame.columns) == ["softclustering0", "softclustering1"]
    assert type(model.set_output(transform="default").transform(graph)) is np.ndarray
    assert model.set_output(transform="polars").transform(graph).shape == (34, 2)


def test_frames_have_the_names_of_cells(blobs: Any) -> None:
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    cells = anndata.AnnData(X=blobs[0].astype(np.float32))
    cells.obs_names = [f"cell {number}" for number in range(len(blobs[0]))]
    model = soffit.SoF(3, random_state=SEED).set_output(transform="pandas")
    assert list(model.fit_transform(cells).index) == list(cells.obs_names)


def test_frames_keep_the_index_of_frames(blobs: Any) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    index = pandas.MultiIndex.from_product([["a", "b", "c"], range(30)], names=["group", "number"])
    table = pandas.DataFrame(blobs[0], index=index)
    table.columns = ["east", "north"]
    model = soffit.SoftClustering(3, random_state=SEED).set_output(transform="pandas")
    assert model.fit_transform(table).index.equals(index)


# --- recall ---------------------------------------------------------------------------------------


def test_recall_of_the_neighbour_search(fitted: Any, blobs: Any, limits: Any) -> None:
    assert fitted.neighbor_recall_ == 1.0
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(400, 12))
    limits(compared_objects=20)
    model = soffit.SoftClustering(3, random_state=SEED).fit(X)
    assert 0.5 < model.neighbor_recall_ <= 1.0
    assert model.neighbor_recall_ == NeighborGraph(15).fit(X).recall_


@pytest.mark.parametrize("model", [soffit.SoF(3, random_state=SEED), soffit.HigherOrder(2)])
def test_models_without_neighbours_have_no_recall(model: Any, blobs: Any) -> None:
    assert not hasattr(model, "neighbor_recall_")
    model.set_params(random_state=SEED).fit(blobs[0])
    with pytest.raises(AttributeError, match="neighbor_recall_"):
        model.neighbor_recall_  # noqa: B018
