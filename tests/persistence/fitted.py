"""Fitted models of every kind, and the comparison of two of them to the last byte."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import soffit
from soffit.affinity import NeighborGraph
from soffit.datasets import make_gaussians, make_lines

SEED = 7349
X, LABELS, _ = make_gaussians(90, n_clusters=3, separation=6.0, random_state=SEED)
NEW = X[::4] + 0.05
PAIRS = {"must_link": [(0, 1), (1, 5)], "cannot_link": [(0, 80)]}
SIMILARITIES = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
DISTANCES = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
BLOCK = SIMILARITIES[:7]


def _graph() -> Any:
    graph = nx.Graph()
    rows, columns = np.nonzero(np.triu(SIMILARITIES > 0.3, 1))
    graph.add_nodes_from(("node", number) for number in range(len(X)))
    graph.add_edges_from(
        (("node", int(a)), ("node", int(b))) for a, b in zip(rows, columns, strict=True)
    )
    return graph


def _frame() -> Any:
    return pd.DataFrame(X, columns=["left", "right"], index=[f"id {i}" for i in range(len(X))])


def _wide(dtype: Any = np.float64) -> Any:
    noise = np.random.default_rng(SEED).normal(size=(len(X), 9))
    return np.column_stack([1000 * X, noise]).astype(dtype)


def _like_texts() -> Any:
    """As wide and empty as word counts: such tables stay sparse."""
    return sp.csr_array(np.pad(_wide(), ((0, 0), (0, 300))))


def _some_labels(classes: Any) -> Any:
    y = np.full(len(X), -1, dtype=object)
    for number, name in enumerate(classes):
        y[np.flatnonzero(number == LABELS)[:4]] = name
    return y


def _lines() -> Any:
    return make_lines(80, n_lines=2, random_state=SEED).X


def _fit(cls: Any, table: Any = X, fit: Any = None, **parameters: Any) -> Any:
    parameters.setdefault("n_clusters", 3)
    parameters.setdefault("random_state", SEED)
    return cls(**parameters).fit(table, **(fit or {}))


def _fit_approximately(cls: Any, *args: Any, **parameters: Any) -> Any:
    """The same with the search for many objects."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("soffit.neighbors.search._MOST_COMPARED", 20)
        return _fit(cls, *args, **parameters)


def _image_model() -> Any:
    image = np.zeros((12, 10))
    image[3:8, 2:7] = 1.0
    return soffit.segment(image, 2).model


def _tuples_model() -> Any:
    tuples = [[0, 1, 2], [3, 4, 5], [0, 1, 3], [2, 3, 4], [1, 2, 5], [0, 4, 5]]
    model = soffit.HigherOrder(n_clusters=2, random_state=SEED)
    return model.fit_tuples(tuples, [1, 1, 0, 0, 0, 0], 6)


# A model, and what its predict_proba is asked (None if it has no answer).
CASES: dict[str, tuple[Callable[[], Any], Callable[[], Any] | None]] = {
    "SoftClustering": (lambda: _fit(soffit.SoftClustering), lambda: NEW),
    "SoftClustering-sides-resamples": (
        lambda: _fit(soffit.SoftClustering, fit=PAIRS, n_resamples=2),
        lambda: NEW,
    ),
    "SoftClustering-float32-standardized": (
        lambda: _fit(soffit.SoftClustering, _wide(np.float32)),
        lambda: _wide(np.float32)[:9],
    ),
    "SoftClustering-k-chosen": (lambda: _fit(soffit.SoftClustering, n_clusters=None), lambda: NEW),
    "SoftClustering-columns-first": (
        lambda: _fit(soffit.SoftClustering, np.asfortranarray(_wide())),
        lambda: _wide()[:9],
    ),
    "SoftClustering-precomputed": (
        lambda: _fit(soffit.SoftClustering, SIMILARITIES, affinity="precomputed", n_resamples=2),
        lambda: BLOCK,
    ),
    "SoftClustering-sparse-precomputed": (
        lambda: _fit(
            soffit.SoftClustering,
            sp.csr_array(np.where(SIMILARITIES > 0.1, SIMILARITIES, 0)),
            affinity="precomputed",
        ),
        lambda: sp.csr_array(np.where(BLOCK > 0.1, BLOCK, 0)),
    ),
    "SoftClustering-distances": (
        lambda: _fit(soffit.SoftClustering, DISTANCES, metric="precomputed"),
        lambda: DISTANCES[:5],
    ),
    "SoftClustering-graph": (lambda: _fit(soffit.SoftClustering, _graph()), lambda: BLOCK),
    "SoftClustering-frame": (
        lambda: _fit(soffit.SoftClustering, _frame(), n_clusters=np.int64(3)),
        lambda: _frame().iloc[:6],
    ),
    "SoftClustering-own-affinity": (
        lambda: _fit(soffit.SoftClustering, affinity=NeighborGraph(8, weights="binary")),
        lambda: NEW,
    ),
    "SoftClustering-approximate": (
        lambda: _fit_approximately(soffit.SoftClustering, _wide()),
        lambda: _wide()[:9] + 0.01,
    ),
    "SoftClustering-approximate-cosine": (
        lambda: _fit_approximately(soffit.SoftClustering, _wide("f4"), metric="cosine"),
        lambda: _wide("f4")[:9] + 1,
    ),
    "SoftClustering-approximate-sparse": (
        lambda: _fit_approximately(soffit.SoftClustering, _like_texts()),
        lambda: _like_texts()[:9],
    ),
    "RelationFactorization-approximate": (
        lambda: _fit_approximately(soffit.RelationFactorization, _wide()),
        lambda: _wide()[:9],
    ),
    "SoF": (
        lambda: _fit(soffit.SoF, random_state=np.random.RandomState(SEED)),
        lambda: NEW,
    ),
    "SoF-cosine-sparse": (
        lambda: _fit(soffit.SoF, sp.csr_array(X - X.min()), affinity="cosine", scale="fit"),
        lambda: sp.csr_array(NEW - X.min()),
    ),
    "SoF-float32": (lambda: _fit(soffit.SoF, X.astype(np.float32)), lambda: NEW.astype("f4")),
    "BaumEagon-laplacian": (lambda: _fit(soffit.BaumEagon, affinity="laplacian"), lambda: NEW),
    "CompletelyPositive-sides": (lambda: _fit(soffit.CompletelyPositive, fit=PAIRS), lambda: NEW),
    "CompletelyPositive-additive": (
        lambda: _fit(soffit.CompletelyPositive, normalization="additive"),
        lambda: NEW,
    ),
    "CompletelyPositive-weights": (
        lambda: _fit(
            soffit.CompletelyPositive,
            SIMILARITIES,
            {"pair_weight": np.ones_like(SIMILARITIES)},
            affinity="precomputed",
            normalization=None,
        ),
        lambda: BLOCK,
    ),
    "RelationFactorization": (
        lambda: _fit(soffit.RelationFactorization, n_clusters=None),
        lambda: NEW,
    ),
    "SoftHierarchy": (
        lambda: _fit(soffit.SoftHierarchy, n_clusters=None, levels=(9, 3)),
        lambda: NEW,
    ),
    "SoftHierarchy-coarse": (
        lambda: _fit(soffit.SoftHierarchy, n_clusters=None, levels=range(9, 2, -3), refine=False),
        lambda: NEW,
    ),
    "SpectralClustering": (lambda: _fit(soffit.SpectralClustering, variant="ncut"), lambda: NEW),
    "HigherOrder": (
        lambda: _fit(soffit.HigherOrder, _lines(), n_clusters=2),
        lambda: _lines()[:9] + 0.01,
    ),
    "HigherOrder-tuples": (_tuples_model, None),
    "RandomWalkClassifier": (
        lambda: soffit.RandomWalkClassifier().fit(X, _some_labels(["red", "green", "blue"])),
        lambda: NEW,
    ),
    "RandomWalkClassifier-clusters": (
        lambda: soffit.RandomWalkClassifier(on="clusters", n_clusters=6, random_state=SEED).fit(
            X, _some_labels([3, 5, 9])
        ),
        lambda: NEW,
    ),
    "segment": (_image_model, None),
    "SoftClustering-edited": (
        lambda: _fit(soffit.SoftClustering).rename({0: "a"}).split(0).merge([1, 2]),
        lambda: NEW,
    ),
    "SoF-split": (lambda: _fit(soffit.SoF, scale="fit").split(0, n=3), lambda: NEW),
    "HigherOrder-merged": (
        lambda: _fit(soffit.HigherOrder, _lines(), n_clusters=3).merge([0, 2]),
        lambda: _lines()[:9] + 0.01,
    ),
    "SoftClustering-grown": (
        lambda: _fit(soffit.SoftClustering).update(np.concatenate([NEW, X[:30] + 60.0])),
        lambda: NEW,
    ),
    "SoF-grown-distances": (
        lambda: _fit(soffit.SoF, DISTANCES[:60, :60], metric="precomputed").update(DISTANCES[60:]),
        lambda: DISTANCES[:5],
    ),
}


@cache
def fitted(case: str) -> Any:
    """The case's model; the same one for all tests, which must not change it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CASES[case][0]()


def answers(model: Any, case: str) -> Any:
    """Memberships of the case's new objects, or None."""
    ask = CASES[case][1]
    return None if ask is None else model.predict_proba(ask())


def parts(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Everything that can be reached from a value, with the way to it."""
    yield path, value
    if isinstance(value, dict):
        for key, item in value.items():
            yield from parts(item, f"{path}[{key!r}]")
    elif isinstance(value, list | tuple):
        for place, item in enumerate(value):
            yield from parts(item, f"{path}[{place}]")
    elif type(value).__module__.startswith("soffit") and hasattr(value, "__dict__"):
        for name, item in vars(value).items():
            yield from parts(item, f"{path}.{name}")


def assert_same(first: Any, second: Any) -> None:
    """Both hold the same values of the same types, array by array and byte by byte."""
    ours, theirs = dict(parts(first, "model")), dict(parts(second, "model"))
    assert ours.keys() == theirs.keys()
    for path, value in ours.items():
        other = theirs[path]
        assert type(value) is type(other), path
        if isinstance(value, np.ndarray):
            _assert_same_array(value, other, path)
        elif sp.issparse(value):
            assert value.shape == other.shape
            for name in ("data", "indices", "indptr"):
                _assert_same_array(getattr(value, name), getattr(other, name), path)
        elif isinstance(value, np.random.RandomState):
            assert value.get_state()[1].tobytes() == other.get_state()[1].tobytes()
            assert value.get_state()[2:] == other.get_state()[2:]
        elif isinstance(value, str | int | float | range | np.dtype):
            assert repr(value) == repr(other), path


def _assert_same_array(ours: Any, theirs: Any, path: str) -> None:
    assert ours.dtype == theirs.dtype, path
    assert ours.shape == theirs.shape, path
    if ours.dtype.kind == "O":
        assert ours.tolist() == theirs.tolist(), path
    else:
        assert ours.tobytes() == theirs.tobytes(), path
        assert ours.flags.f_contiguous == theirs.flags.f_contiguous or not ours.flags.contiguous
        assert theirs.flags.writeable, path
