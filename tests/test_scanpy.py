"""Soft clusters of cells, with anndata alone: what scanpy's functions leave behind is made here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import soffit
from soffit import SoftClustering
from soffit.datasets import make_gaussians
from soffit.metrics import adjusted_rand
from soffit.scanpy import model_of, place, report, set_model, soft_clusters

anndata = pytest.importorskip("anndata", reason="anndata is not installed")
pytest.importorskip("pandas")

N_GENES = 60


def make_cells(n: int = 200, seed: int = 5) -> Any:
    """Cells of three kinds with 60 genes, of which the first 40 were used by a PCA."""
    sample = make_gaussians(n, n_clusters=3, n_features=6, separation=9.0, random_state=seed)
    generator = np.random.default_rng(17)
    mixing = generator.normal(size=(6, N_GENES))
    noise = np.random.default_rng(seed).normal(size=(n, N_GENES))
    cells = anndata.AnnData(sample.X @ mixing + 0.3 * noise)
    cells.obs_names = [f"cell {seed}-{number}" for number in range(n)]
    cells.var_names = [f"gene {number}" for number in range(N_GENES)]
    cells.obs["kind"] = sample.labels
    return cells


def with_pca(cells: Any) -> Any:
    """What scanpy.pp.pca writes, for highly variable genes only."""
    used = cells.X[:, :40]
    centred = used - used.mean(axis=0)
    loadings = np.linalg.svd(centred, full_matrices=False)[2][:8].T
    cells.varm["PCs"] = np.concatenate([loadings, np.zeros((N_GENES - 40, 8))])
    cells.obsm["X_pca"] = centred @ loadings
    return cells


def with_neighbors(cells: Any, key: str = "neighbors") -> Any:
    """What scanpy.pp.neighbors writes."""
    D = np.linalg.norm(cells.obsm["X_pca"][:, None] - cells.obsm["X_pca"][None], axis=2)
    nearest = np.argsort(D, axis=1)[:, 1:11]
    rows = np.repeat(np.arange(cells.n_obs), 10)
    A = sp.csr_matrix((np.ones(rows.size), (rows, nearest.ravel())), shape=D.shape)
    name = "connectivities" if key == "neighbors" else f"{key}_connectivities"
    cells.obsp[name] = A.maximum(A.T)
    cells.uns[key] = {"connectivities_key": name}
    return cells


@pytest.fixture
def cells() -> Any:
    return with_pca(make_cells())


def test_the_keys_are_those_of_the_command(cells: Any, tmp_path: Path) -> None:
    from soffit.io import Result, read, write_result

    assert soft_clusters(cells, 3) is None
    assert adjusted_rand(cells.obs["kind"], cells.obs["soffit"]) == 1.0
    assert list(cells.obs["soffit"].cat.categories) == ["0", "1", "2"]
    np.testing.assert_allclose(cells.obsm["X_soffit"].sum(axis=1), 1.0, atol=1e-6)
    np.testing.assert_array_equal(cells.obs["soffit_certainty"], cells.obsm["X_soffit"].max(axis=1))
    plain = with_pca(make_cells())
    plain.write_h5ad(tmp_path / "cells.h5ad")
    source = read(tmp_path / "cells.h5ad")
    model = SoftClustering(3, random_state=0).fit(source)
    write_result(Result.of(model, source), tmp_path / "out.h5ad", source=source)
    written = anndata.read_h5ad(tmp_path / "out.h5ad")
    assert set(written.obs.columns) == set(cells.obs.columns)
    assert set(written.obsm) == set(cells.obsm)
    np.testing.assert_allclose(written.obsm["X_soffit"], cells.obsm["X_soffit"])
    assert written.obs["soffit"].tolist() == cells.obs["soffit"].tolist()


def test_results_survive_a_file(cells: Any, tmp_path: Path) -> None:
    soft_clusters(cells, 3, n_neighbors=10, key_added="mine")
    assert cells.uns["mine"]["params"] == {
        "n_clusters": 3,
        "random_state": 0,
        "n_neighbors": 10,
        "use_rep": "X_pca",
    }
    cells.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad")
    model = model_of(again, "mine")
    assert model.n_neighbors == 10
    np.testing.assert_array_equal(model.memberships_, cells.obsm["X_mine"])
    assert model.object_names_[3] == "cell 5-3"


def test_a_copy_leaves_the_cells_alone(cells: Any) -> None:
    copied = soft_clusters(cells, 3, copy=True, keep_model=False)
    assert "soffit" in copied.obs
    assert "soffit" not in cells.obs
    assert "model" not in copied.uns["soffit"]
    with pytest.raises(KeyError, match="keep_model=True"):
        model_of(copied)


def test_the_number_of_clusters_is_chosen(cells: Any) -> None:
    soft_clusters(cells)
    assert cells.obsm["X_soffit"].shape[1] == 3


def test_representations(cells: Any) -> None:
    cells.obsm["X_other"] = cells.obsm["X_pca"][:, :3].astype(np.float32)
    for options, width in (
        ({}, 8),
        ({"n_pcs": 4}, 4),
        ({"use_rep": "X"}, N_GENES),
        ({"use_rep": "X_other"}, 3),
    ):
        soft_clusters(cells, 3, **options)
        assert model_of(cells).n_features_in_ == width
    few = make_cells()[:, :30].copy()
    soft_clusters(few, 3)
    assert few.uns["soffit"]["params"]["use_rep"] == "X"
    assert model_of(few).feature_names_in_[0] == "gene 0"
    sparse = make_cells()[:, :30].copy()
    sparse.X = sp.csr_matrix(np.maximum(sparse.X, 0.0))
    soft_clusters(sparse, 3)
    assert sparse.obsm["X_soffit"].shape == (200, 3)


@pytest.mark.parametrize("key", ["neighbors", "mine"])
def test_the_graph_of_scanpy(cells: Any, key: str) -> None:
    with_neighbors(cells, key)
    soft_clusters(cells, 3, neighbors_key=key)
    assert adjusted_rand(cells.obs["kind"], cells.obs["soffit"]) == 1.0
    with pytest.raises(ValueError, match="by its neighbour graph, in which new cells"):
        place(cells, make_cells(20, 11))


def test_pairs_by_the_names_of_cells(cells: Any) -> None:
    soft_clusters(cells, 3, must_link=[{"cell 5-0", "cell 5-1", "cell 5-2"}])
    assert model_of(cells).side_information_.must.tolist() == [[0, 1], [0, 2], [1, 2]]


def test_new_cells_are_projected_and_placed(cells: Any) -> None:
    soft_clusters(cells, 3)
    new = make_cells(40, 11)
    # A PCA of the new cells alone has other axes, and is not used.
    with_pca(new)
    assert place(cells, new) is None
    assert list(new.obs["soffit"].cat.categories) == ["0", "1", "2"]
    same = cells[:30].copy()
    for column in ("soffit", "soffit_certainty", "soffit_entropy"):
        del same.obs[column]
    copied = place(cells, same, copy=True)
    assert copied.obs["soffit"].tolist() == cells.obs["soffit"][:30].tolist()
    assert "soffit" not in same.obs
    assert (copied.obs["soffit_novelty"] < 1.0).all()


def test_cells_like_nothing_seen_are_novel(cells: Any) -> None:
    soft_clusters(cells, 3)
    strange = make_cells(20, 5)
    strange.X = strange.X * 40.0
    place(cells, strange)
    assert (strange.obs["soffit_novelty"] > 0.99).all()


def test_genes_are_matched_by_name(cells: Any) -> None:
    soft_clusters(cells, 3)
    straight = place(cells, make_cells(20, 11), copy=True)
    shuffled = make_cells(20, 11)[:, ::-1].copy()
    place(cells, shuffled)
    np.testing.assert_allclose(shuffled.obsm["X_soffit"], straight.obsm["X_soffit"], atol=1e-9)
    # Genes that the PCA did not use may be missing.
    place(cells, make_cells(20, 11)[:, :40].copy())
    with pytest.raises(ValueError, match=r"lack 35 of the 40 genes.*'gene 5', .* and 30 more"):
        place(cells, make_cells(20, 11)[:, :5].copy())


def test_other_coordinates_must_be_there(cells: Any) -> None:
    cells.obsm["X_scvi"] = cells.obsm["X_pca"]
    soft_clusters(cells, 3, use_rep="X_scvi")
    with pytest.raises(ValueError, match=r"need .obsm\['X_scvi'\] with 8 columns"):
        place(cells, make_cells(20, 11))
    part = cells[:9].copy()
    place(cells, part)
    assert part.obs["soffit"].tolist() == cells.obs["soffit"][:9].tolist()
    soft_clusters(cells, 3, use_rep="X")
    place(cells, part)


def test_a_changed_matrix_is_noticed(cells: Any) -> None:
    soft_clusters(cells, 3)
    cells.X = cells.X**2
    with pytest.raises(ValueError, match=r"changed after the PCA.*pass use_rep"):
        place(cells, make_cells(20, 11))
    part = cells[:9].copy()
    place(cells, part, use_rep="X_pca")
    assert part.obs["soffit"].tolist() == cells.obs["soffit"][:9].tolist()


def test_edited_clusters_are_written_back(cells: Any) -> None:
    soft_clusters(cells, 3)
    edited = model_of(cells).rename({0: "B", 1: "T"}).merge(["B", 2], name="rest")
    set_model(cells, edited)
    assert list(cells.obs["soffit"].cat.categories) == ["rest", "T"]
    assert cells.obsm["X_soffit"].shape == (200, 2)
    new = place(cells, make_cells(10, 11), copy=True)
    assert set(new.obs["soffit"]) <= {"rest", "T"}
    with pytest.raises(ValueError, match="The model has 200 objects, but adata has 5 cells"):
        set_model(cells[:5].copy(), edited)


def test_the_report_describes_genes(cells: Any, tmp_path: Path) -> None:
    cells.raw = cells
    cells.obsm["X_umap"] = cells.obsm["X_pca"][:, :2]
    soft_clusters(cells, 3)
    report(cells, tmp_path / "cells.html", title="Cells")
    page = (tmp_path / "cells.html").read_text(encoding="utf-8")
    assert "gene 1" in page
    assert "Positions were given." in page
    assert "cell 5-" in page
    cells.layers["scaled"] = cells.X / 10.0
    report(cells, tmp_path / "layer.html", layer="scaled", basis="pca")
    bare = soft_clusters(cells, 3, keep_model=False, copy=True)
    report(bare, tmp_path / "bare.html", use_raw=False)
    for options, message in (
        ({"layer": "none"}, "layer='none' is not in .layers, which has 'scaled'"),
        ({"basis": "tsne"}, "basis='tsne' is not in .obsm"),
    ):
        with pytest.raises(ValueError, match=message):
            report(cells, tmp_path / "wrong.html", **options)
    cells.raw = None
    with pytest.raises(ValueError, match=r"adata has no \.raw"):
        report(cells, tmp_path / "wrong.html", use_raw=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"use_rep": "X_umap"}, r"'X_umap' is not in .obsm, which has 'X_pca'"),
        ({"n_pcs": 9}, "n_pcs=9 must be from 1 to 8"),
        ({"n_pcs": 0}, "n_pcs=0 must be from 1 to 8"),
        ({"neighbors_key": "neighbors"}, r"not in .uns. Run scanpy.pp.neighbors"),
        ({"neighbors_key": "neighbors", "use_rep": "X"}, "either neighbors_key, or use_rep"),
    ],
)
def test_mistakes(cells: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        soft_clusters(cells, 3, **options)
    assert "soffit" not in cells.obs


def test_results_must_exist(cells: Any) -> None:
    for function in (model_of, lambda adata: place(adata, adata), lambda adata: report(adata, "x")):
        with pytest.raises(KeyError, match=r"no soft clusters in .uns\['soffit'\]"):
            function(cells)
    with pytest.raises(ValueError, match=r"60 genes and no .obsm\[.X_pca.\]. Run scanpy.pp.pca"):
        soft_clusters(make_cells(), 3)


# --- models that are fitted to AnnData themselves -------------------------------------------------


def test_a_model_of_components_predicts_cells(cells: Any) -> None:
    model = SoftClustering(3, random_state=0).fit(cells)
    np.testing.assert_array_equal(model.predict(cells[:50]), model.labels_[:50])
    # The graph of the new cells does not matter.
    graphed = with_neighbors(cells.copy())
    np.testing.assert_array_equal(
        model.predict_proba(graphed[:50].copy()), model.predict_proba(cells[:50])
    )
    assert model.novelty_score(graphed[:50]).shape == (50,)
    assert model.update(graphed[:50]).memberships_.shape == (250, 3)
    by_genes = SoftClustering(3, random_state=0).fit(make_cells())
    np.testing.assert_array_equal(by_genes.predict(cells), by_genes.labels_)
    with pytest.raises(ValueError, match="fitted to 8 features; neither"):
        model.predict(make_cells()[:, :9])


def test_a_model_of_the_graph_says_what_to_do(cells: Any) -> None:
    model = SoftClustering(3, random_state=0).fit(with_neighbors(cells))
    with pytest.raises(ValueError, match=r"new cells have no place.*soffit.scanpy.soft_clusters"):
        model.predict_proba(cells[:50])
    assert soffit.scanpy.place is place
