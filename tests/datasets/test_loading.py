"""The sets that come with scikit-learn, and what became of the loaders of benchmark sets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import sklearn.datasets

from soffit.datasets import Dataset, data_home, development_sets, list_datasets, load

SHIPPED = {"breast_cancer": (569, 2), "digits": (1797, 10), "iris": (150, 3), "wine": (178, 3)}


@pytest.mark.parametrize("name", SHIPPED)
def test_sets_are_those_of_scikit_learn(name: str) -> None:
    dataset, bunch = load(name), getattr(sklearn.datasets, f"load_{name}")()
    assert (dataset.n_samples, *dataset.n_classes) == SHIPPED[name]
    np.testing.assert_array_equal(dataset.X, bunch.data)
    np.testing.assert_array_equal(dataset.labels[0], bunch.target)
    assert dataset.class_names == tuple(map(str, bunch.target_names))


def test_all_sets_are_listed() -> None:
    assert list_datasets() == tuple(SHIPPED)


def test_neither_folder_nor_network_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOFFIT_DATA", str(tmp_path / "absent"))
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("network"))
    for name in list_datasets():
        assert load(name).n_samples == SHIPPED[name][0]


def test_random_rows() -> None:
    first, second = (load("iris", n_samples=40, random_state=71093) for _ in range(2))
    np.testing.assert_array_equal(first.X, second.X)
    whole = load("iris")
    rows = [int(np.flatnonzero((row == whole.X).all(axis=1))[0]) for row in first.X]
    np.testing.assert_array_equal(first.labels[0], whole.labels[0][rows])
    assert first.n_samples == 40
    with pytest.raises(ValueError, match="n_samples=151 is larger than the 150"):
        load("iris", n_samples=151)


@pytest.mark.parametrize("name", ["usps", "graph_karate", "Iris", ""])
def test_other_names_say_where_benchmark_sets_are(name: str) -> None:
    with pytest.raises(ValueError, match=rf"got '{name}'.*benchmarks\.datasets.*repository"):
        load(name)


def test_what_has_moved_says_where(tmp_path: Path) -> None:
    for call in (lambda: load("iris", home=tmp_path), lambda: list_datasets(tmp_path)):
        with pytest.raises(ValueError, match=r"home=.* no longer .*benchmarks\.datasets"):
            call()
    for moved in (data_home, development_sets):
        with pytest.raises(
            RuntimeError, match=rf"{moved.__name__} has moved.*benchmarks\.datasets"
        ):
            moved()


def test_a_name_must_be_a_string() -> None:
    with pytest.raises(TypeError, match="name must be a string"):
        load(7)


def test_rows_of_a_graph_keep_the_links_between_them() -> None:
    import scipy.sparse as sp

    graph = sp.csr_array(np.array([[0, 1, 0], [1, 0, 2], [0, 2, 0]], dtype=float))
    part = Dataset("toy", (np.arange(3),), graph=graph).subset(np.array([1, 2]))
    np.testing.assert_array_equal(part.graph.toarray(), [[0, 2], [2, 0]])
