"""Random fits of all nine estimators, and the invariants of every result."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import soffit
from fuzz.outcome import check_rows, refused, require, same_bytes
from fuzz.tables import Generator, any_pairs, any_table
from soffit.selection import choose_k

# Values of parameters to draw from; the first is drawn half of the time.
_SHARED: dict[str, list[Any]] = {
    "n_clusters": [3, 2, 1, 5, 9, None],
    "n_neighbors": [10, 1, 3, 15, 200],
    "max_iter": [30, 1, 5],
    "tol": [1e-4, 0.0, 0.1],
    "random_state": [7],
    "n_jobs": [1, 2, None],
}
_OF_PAIRS: dict[str, list[Any]] = {
    "affinity": ["default", "nearest_neighbors", "rbf", "relative", "laplacian", "cosine"],
    "metric": ["euclidean", "manhattan", "cosine", "chebyshev"],
}
_OWN: dict[str, dict[str, list[Any]]] = {
    "SoftClustering": {
        "scale": ["cluster", "single"],
        "standardize": ["auto", True, False],
        "n_resamples": [0, 2],
    },
    "SoF": {
        "c": [1.0, 1e-3, 50.0],
        "relative_neighbor": [10, 1, 500],
        "scale": [None, "fit"],
        "solver": ["rows", "gradient", "penalty"],
    },
    "BaumEagon": {"solver": ["rows", "gradient", "growth"]},
    "CompletelyPositive": {
        "normalization": ["sinkhorn", "additive", None],
        "solver": ["coordinate", "multiplicative", "parallel"],
        "init": ["auto", "random", "spectral"],
        "n_init": [1, 3],
    },
    "RelationFactorization": {
        "sparsity": [0.0, 0.01],
        "pruning": [None, 0.01],
        "n_init": [None, 0, 2],
    },
    "SoftHierarchy": {"levels": [None, [6, 3], [20, 4]], "refine": [True, False], "n_init": [2]},
    "SpectralClustering": {
        "variant": ["njw", "ncut"],
        "rounding": ["kmeans", "cluster_qr"],
        "n_init": [3],
    },
    "HigherOrder": {
        "order": [3, 2, 4],
        "tuple_affinity": ["point", "line"],
        "bandwidth": [None, 1e-3, 1e3],
        "n_tuples": [300, 1],
        "n_init": [1],
    },
    "RandomWalkClassifier": {"n_steps": [16, 1, 99], "on": ["points", "clusters"]},
}
ESTIMATORS = tuple(_OWN)


def draw(rng: Generator, values: list[Any]) -> Any:
    """The first value half of the time, else any."""
    return values[0] if rng.random() < 0.5 else values[int(rng.integers(len(values)))]


def any_model(rng: Generator, name: str = "", **fixed: Any) -> Any:
    """An estimator with random parameters."""
    name = name or ESTIMATORS[int(rng.integers(len(ESTIMATORS)))]
    cls = getattr(soffit, name)
    ranges = _SHARED | (_OF_PAIRS if name != "HigherOrder" else {}) | _OWN[name]
    known = cls().get_params(deep=False)
    drawn = {key: draw(rng, values) for key, values in ranges.items() if key in known}
    if name == "RandomWalkClassifier":
        drawn["n_clusters"] = 6
    drawn = {key: value for key, value in drawn.items() if value != "default"}
    return cls(**{**drawn, **{k: v for k, v in fixed.items() if k in known}})


def fit_any(rng: Generator, model: Any, X: Any) -> Any:
    """Fit, with what the model needs or may take besides X."""
    n = X.shape[0]
    if isinstance(model, soffit.RandomWalkClassifier):
        return model.fit(X, np.where(rng.random(n) < 0.5, rng.integers(3, size=n), -1))
    more: dict[str, Any] = {}
    if isinstance(model, soffit.SoftClustering | soffit.CompletelyPositive) and rng.random() < 0.2:
        more["must_link"] = rng.integers(n, size=(3, 2))
        more["cannot_link"] = rng.integers(n, size=(2, 2))
    return model.fit(X, **more)


def rows_of(model: Any) -> Any:
    """Memberships, or the distributions of a classifier."""
    if isinstance(model, soffit.RandomWalkClassifier):
        return model.label_distributions_
    return model.memberships_


def check_fitted(model: Any, n: int) -> None:
    """The invariants of design.md that one fit can show."""
    rows = rows_of(model)
    check_rows(rows, "memberships_")
    require(len(rows) == n, "memberships_ has not one row per object")
    if isinstance(model, soffit.RandomWalkClassifier):
        return
    require((model.labels_ == rows.argmax(axis=1)).all(), "labels_ are not the argmax")
    require(np.isfinite(model.entropy_).all(), "entropy_ holds NaN")
    require(np.isfinite(model.objective_history_).all(), "objective_history_ holds NaN")


def random_fit(rng: Generator, folder: Path) -> str:
    """A table of any kind, any model: refused, or a sound result that predicts and survives."""
    X: Any = any_table(rng)
    if X.dtype.kind == "f" and rng.random() < 0.15:
        X = sp.csr_array(X)
        if rng.random() < 0.5:
            # As wide and empty as texts, which stay sparse.
            X = sp.csr_array(sp.hstack([X, sp.csr_array((X.shape[0], 450), dtype=X.dtype)]))
    model = any_model(rng)
    before = X.copy()
    try:
        fit_any(rng, model, X)
    except Exception as error:
        return refused(error)
    require(_unchanged(X, before), "fit changed its input")
    check_fitted(model, X.shape[0])
    new = X[: min(X.shape[0], 20)]
    if not sp.issparse(new) and new.dtype.kind == "f":
        new = np.vstack([new, new.mean(axis=0, keepdims=True), 3 * new[:1]])
    try:
        placed = model.predict_proba(new)
    except Exception as error:
        return f"predict {refused(error)}"
    check_rows(placed, "predict_proba")
    if rng.random() < 0.15:
        _round_trip(model, new, placed, folder)
    return "fitted"


def random_pairs(rng: Generator, folder: Path) -> str:
    """The same of matrices of pairs, some of which lie about their indices."""
    what, A = any_pairs(rng)
    name = ESTIMATORS[int(rng.integers(len(ESTIMATORS)))]
    if name == "HigherOrder":
        name = "SoftClustering"
    settings = {"metric": "precomputed"} if what == "distances" else {"affinity": "precomputed"}
    model = any_model(rng, name)
    model.set_params(affinity=type(model)().affinity, metric="euclidean")
    model.set_params(**settings)
    before = A.copy()
    try:
        fit_any(rng, model, A)
    except Exception as error:
        return refused(error)
    require(_unchanged(A, before), "fit changed its input")
    check_fitted(model, A.shape[0])
    try:
        check_rows(model.predict_proba(A[:3]), "predict_proba")
    except Exception as error:
        return f"predict {refused(error)}"
    return "fitted"


def random_choice(rng: Generator, folder: Path) -> str:
    """The number of clusters of any table."""
    try:
        choice = choose_k(any_table(rng), random_state=7)
    except Exception as error:
        return refused(error)
    require(choice.n_clusters >= 1, "choose_k found no cluster")
    return "fitted"


def _unchanged(X: Any, before: Any) -> bool:
    if sp.issparse(X):
        names = ("data", "indices", "indptr")
        return all(same_bytes(getattr(X, name), getattr(before, name)) for name in names)
    return same_bytes(X, before)


def _round_trip(model: Any, new: Any, placed: Any, folder: Path) -> None:
    path = folder / "model.soffit"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        soffit.save(model, path)
        again = soffit.load(path)
        require(same_bytes(again.predict_proba(new), placed), "a loaded model answers otherwise")
