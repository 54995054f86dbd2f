"""Loaders: formats, errors, the OpenML fallback, and the real files where present."""

from __future__ import annotations

import socket
import time
from http.client import IncompleteRead
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.datasets

from benchmarks.datasets import data_home, development_sets, list_datasets, load
from benchmarks.datasets.openml import OPENML_SOURCES

SEED = 71093
UCI = (
    "blood_transfusion",
    "breast_tissue",
    "ecoli",
    "glass",
    "iris",
    "pendigits",
    "satimage",
    "usps",
)
POINTS = {"X": np.arange(12.0).reshape(6, 2), "y": np.array([0, 0, 0, 1, 1, 1])}
GRAPH = {
    "edges": np.array([[0, 1], [1, 2], [2, 3]]),
    "weights": np.array([1.0, 2.0, 3.0]),
    "y": np.array([0, 0, 1, 1]),
    "n": np.array(4),
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SOFFIT_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: Any) -> None:
        raise OSError("no route to host")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", refuse)


def test_points(home: Path) -> None:
    np.savez(home / "toy.npz", **POINTS, class_names=np.array(["a", "b"]))
    dataset = load("toy")
    np.testing.assert_array_equal(dataset.X, POINTS["X"])
    assert (dataset.name, dataset.class_names, dataset.noise_label) == ("toy", ("a", "b"), None)
    assert (dataset.n_samples, dataset.n_classes, dataset.graph) == (6, (2,), None)
    assert dataset.source == str(home / "toy.npz")


def test_float32_is_kept_and_integers_become_float64(home: Path) -> None:
    np.savez(home / "single.npz", X=np.eye(3, dtype=np.float32), y=np.arange(3))
    np.savez(home / "whole.npz", X=np.eye(3, dtype=np.int16), y=np.arange(3))
    assert load("single").X.dtype == np.float32
    assert load("whole").X.dtype == np.float64


def test_several_labelings_with_noise(home: Path) -> None:
    (home / "gagolews").mkdir()
    labels = {"labels0": np.array([0, 1, 2]), "labels1": np.array([1, 1, 1])}
    np.savez(home / "gagolews" / "suite__toy.npz", X=np.eye(3), **labels)
    dataset = load("suite__toy")
    assert [vector.tolist() for vector in dataset.labels] == [[0, 1, 2], [1, 1, 1]]
    assert (dataset.noise_label, dataset.n_classes) == (0, (2, 1))
    assert list_datasets() == ("suite__toy",)


def test_graph_is_symmetric(home: Path) -> None:
    np.savez(home / "graph_toy.npz", **GRAPH)
    dataset = load("graph_toy")
    assert isinstance(dataset.graph, sp.csr_array)
    assert dataset.X is None
    expected = np.array([[0, 1, 0, 0], [1, 0, 2, 0], [0, 2, 0, 3], [0, 0, 3, 0]], dtype=float)
    np.testing.assert_array_equal(dataset.graph.toarray(), expected)


def test_overlapping_communities_and_subset(home: Path) -> None:
    overlap = {"comm_indptr": np.array([0, 2, 5]), "comm_members": np.array([0, 1, 1, 2, 3])}
    np.savez(home / "graph_toy.npz", **GRAPH, **overlap)
    dataset = load("graph_toy")
    assert dataset.noise_label == -1
    assert [members.tolist() for members in dataset.communities] == [[0, 1], [1, 2, 3]]
    part = dataset.subset(np.array([1, 2]))
    assert [members.tolist() for members in part.communities] == [[0], [0, 1]]
    np.testing.assert_array_equal(part.graph.toarray(), [[0, 2], [2, 0]])


def test_sparse_points(home: Path) -> None:
    X = sp.csr_array(np.array([[0, 3], [1, 0]], dtype=np.int32))
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": X.shape}
    np.savez(home / "text.npz", **parts, y=np.array([0, 1]))
    loaded = load("text").X
    assert isinstance(loaded, sp.csr_array)
    assert loaded.dtype == np.float64
    np.testing.assert_array_equal(loaded.toarray(), X.toarray())


def test_random_rows(home: Path) -> None:
    np.savez(home / "toy.npz", **POINTS)
    first, second = (load("toy", n_samples=4, random_state=SEED) for _ in range(2))
    np.testing.assert_array_equal(first.X, second.X)
    assert first.X.shape == (4, 2)
    rows = (first.X[:, 0] / 2).astype(int)
    assert (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(first.labels[0], POINTS["y"][rows])
    with pytest.raises(ValueError, match="n_samples=7 is larger than the 6"):
        load("toy", n_samples=7)


@pytest.mark.usefixtures("home")
def test_missing_set_says_what_to_do() -> None:
    with pytest.raises(ValueError, match=r"'nothing_here' is not in .*SOFFIT_DATA"):
        load("nothing_here")


@pytest.mark.usefixtures("home", "offline")
def test_missing_set_without_network_says_what_to_do() -> None:
    with pytest.raises(ValueError, match=r"'iris' is not in .*no route to host.*SOFFIT_DATA"):
        load("iris")


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    "failure",
    [OSError("no route to host"), TimeoutError("too slow"), IncompleteRead(b"")],
    ids=repr,
)
def test_failing_connections_say_what_to_do(
    failure: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """scikit-learn tries several times, with warnings, which are errors here."""
    attempts = []

    def fail(*_: Any, **__: Any) -> None:
        attempts.append(failure)
        raise failure

    monkeypatch.setattr(socket, "create_connection", fail)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "cache"))
    with pytest.raises(ValueError, match=r"'iris' is not in .*OpenML.*SOFFIT_DATA"):
        load("iris")
    assert len(attempts) > 1


@pytest.mark.parametrize("name", ["../iris", "a/b", "", "iris.npz"])
def test_names_are_not_paths(name: str, home: Path) -> None:
    with pytest.raises(ValueError, match="name must be letters"):
        load(name, home=home)


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "the file is empty"), (b"not a zip", "iris"), (b"PK\x03\x04 cut short", "iris")],
)
def test_damaged_files_are_refused(home: Path, content: bytes, message: str) -> None:
    (home / "iris.npz").write_bytes(content)
    with pytest.raises(ValueError, match=f"cannot read the data set 'iris'.*{message}"):
        load("iris")


def test_truncated_archive_is_refused(home: Path) -> None:
    path = home / "toy.npz"
    np.savez_compressed(path, X=np.random.RandomState(SEED).normal(size=(99, 9)), y=np.arange(99))
    whole = bytearray(path.read_bytes())
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="cannot read the data set 'toy'"):
        load("toy")
    whole[200:400] = bytes(200)
    path.write_bytes(whole)
    with pytest.raises(ValueError, match="cannot read the data set 'toy'"):
        load("toy")


def test_pickled_content_is_refused(home: Path) -> None:
    np.savez(home / "toy.npz", X=np.array([{"a": 1}], dtype=object), y=np.array([0]))
    with pytest.raises(ValueError, match="cannot read the data set 'toy'"):
        load("toy")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.array([0, 1])}, "y must hold 6 whole numbers"),
        ({"y": np.zeros(6)}, "y must hold 6 whole numbers"),
        ({"y": None}, "'y' is missing"),
        ({"X": np.full((6, 2), np.nan)}, "missing values"),
        ({"X": np.empty((0, 2)), "y": np.empty(0, dtype=int)}, "non-empty"),
        ({"X": None}, "none of"),
    ],
)
def test_incomplete_points_are_refused(home: Path, change: dict[str, Any], message: str) -> None:
    arrays = {key: value for key, value in {**POINTS, **change}.items() if value is not None}
    np.savez(home / "toy.npz", **arrays)
    with pytest.raises(ValueError, match=message):
        load("toy")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"edges": np.array([[0, 1], [1, 2], [2, 4]])}, "outside 0 ... 3"),
        ({"weights": np.ones(2)}, "do not fit together"),
        ({"weights": np.array([1.0, -1.0, 1.0])}, "not negative"),
        ({"comm_indptr": np.array([0, 9]), "comm_members": np.array([1])}, "comm_indptr"),
    ],
)
def test_incomplete_graphs_are_refused(home: Path, change: dict[str, Any], message: str) -> None:
    np.savez(home / "graph_toy.npz", **{**GRAPH, **change})
    with pytest.raises(ValueError, match=message):
        load("graph_toy")


def test_openml_names() -> None:
    assert tuple(sorted(OPENML_SOURCES)) == UCI


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("name", UCI)
def test_openml_fallback(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source = OPENML_SOURCES[name]
    asked = {}

    def fetch(**options: Any) -> SimpleNamespace:
        asked.update(options)
        codes = np.arange(3 * source.n_classes) % source.n_classes
        X = np.linspace(-1, 1, 3 * source.n_classes * source.n_features)
        target = np.array([str(code + 1) for code in codes], dtype=object)
        return SimpleNamespace(data=X.reshape(len(codes), source.n_features), target=target)

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    dataset = load(name)
    assert (asked["name"], asked["version"]) == (source.name, source.version)
    assert dataset.source == f"openml:{source.name}:{source.version}"
    # Names are numbers here, so "10" comes last and not second.
    expected = np.arange(3 * source.n_classes) % source.n_classes
    np.testing.assert_array_equal(dataset.labels[0], expected)
    assert dataset.class_names == tuple(str(code + 1) for code in range(source.n_classes))
    low = 0.0 if name == "usps" else -1.0
    assert dataset.X.min() == pytest.approx(low)
    assert dataset.X.dtype == (np.float32 if name == "usps" else np.float64)


@pytest.mark.usefixtures("home")
def test_openml_with_other_contents_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    bunch = SimpleNamespace(data=np.eye(4), target=np.array(["P", "N", "P", "N"]))
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda **_: bunch)
    with pytest.raises(ValueError, match="has 4 features and 2 classes, expected 4 and 3"):
        load("iris")


def test_data_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOFFIT_DATA", str(tmp_path))
    assert data_home() == tmp_path
    monkeypatch.setenv("SOFFIT_DATA", str(tmp_path / "absent"))
    with pytest.raises(ValueError, match="SOFFIT_DATA"):
        data_home()
    monkeypatch.delenv("SOFFIT_DATA")
    (tmp_path / "project" / "sub").mkdir(parents=True)
    (tmp_path / "project" / "pyproject.toml").touch()
    monkeypatch.chdir(tmp_path / "project" / "sub")
    assert data_home() == tmp_path / "shared" / "data"
    assert list_datasets() == ()


def test_development_sets() -> None:
    names = development_sets()
    assert len(names) == len(set(names)) == 50
    assert sum("__" in name for name in names) == 35
    assert not {"uci__glass", "other__iris"} & set(names)


def test_real_sets_are_all_readable(data_home: Path) -> None:
    names = list_datasets(data_home)
    assert set(development_sets()) <= set(names)
    for name in names:
        dataset = load(name, home=data_home)
        assert (dataset.X is None) != (dataset.graph is None)
        assert all(len(vector) == dataset.n_samples for vector in dataset.labels)


@pytest.mark.parametrize(
    ("name", "shape", "n_classes"),
    [
        ("iris", (150, 4), (3,)),
        ("usps", (9298, 256), (10,)),
        ("news4", (3972, 8013), (4,)),
        ("zp4", (622, 2), (5,)),
        ("sipu__unbalance", (6500, 2), (8,)),
        ("graves__fuzzyx", (1000, 2), (5, 2, 4, 2, 2)),
    ],
)
def test_real_points(
    data_home: Path, name: str, shape: tuple[int, int], n_classes: tuple[int, ...]
) -> None:
    dataset = load(name, home=data_home)
    assert dataset.X.shape == shape
    assert dataset.n_classes == n_classes


@pytest.mark.parametrize(
    ("name", "n_nodes", "n_edges"),
    [("graph_karate", 34, 78), ("graph_amazon_overlap", 6926, 17893)],
)
def test_real_graphs(data_home: Path, name: str, n_nodes: int, n_edges: int) -> None:
    dataset = load(name, home=data_home)
    assert dataset.graph.shape == (n_nodes, n_nodes)
    assert dataset.graph.nnz == 2 * n_edges
    assert abs(dataset.graph - dataset.graph.T).nnz == 0
    assert (dataset.communities is not None) == name.endswith("overlap")


def test_real_random_rows(data_home: Path) -> None:
    dataset = load("usps", home=data_home, n_samples=3000, random_state=SEED)
    assert dataset.X.shape == (3000, 256)
    assert dataset.n_classes == (10,)
