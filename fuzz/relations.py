"""Metamorphic relations: changes of the data after which the answer must be the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import soffit
from fuzz.fits import ESTIMATORS, check_fitted, rows_of
from fuzz.outcome import require, same_bytes
from fuzz.tables import Array, Generator, clear_clusters

Change = Callable[[Generator, Array], Array]
# To the last bit.
_EXACT: dict[str, Change] = {
    "again": lambda rng, X: X.copy(),
    "sparse": lambda rng, X: sp.csr_array(X),
}
# The same partition of clear clusters.
_SAME_PARTITION: dict[str, Change] = {
    "columns first": lambda rng, X: np.asfortranarray(X),
    "scaled by a power of two": lambda rng, X: X * 2.0 ** int(rng.integers(-40, 40)),
    "scaled": lambda rng, X: X * 10.0 ** rng.uniform(-100, 100),
    "shifted": lambda rng, X: X + rng.normal(size=X.shape[1]) * 1e3,
    "constant column": lambda rng, X: np.column_stack([X, np.full(len(X), rng.normal() * 100)]),
    "single precision": lambda rng, X: X.astype(np.float32),
}


def relation(rng: Generator, folder: Path) -> str:
    """Fit clear clusters, fit them changed, compare."""
    k = int(rng.integers(2, 5))
    X, labels = clear_clusters(rng, int(rng.choice([60, 120, 200])), int(rng.integers(2, 7)), k)
    name = ESTIMATORS[int(rng.integers(len(ESTIMATORS)))]
    model = _model(rng, name, k)
    names = [*_EXACT, *_SAME_PARTITION, "permuted", "every row twice"]
    what = names[int(rng.integers(len(names)))]
    if name == "HigherOrder" and what in ("sparse", "every row twice", "permuted", "shifted"):
        what = "again"
    known = np.where(np.arange(len(labels)) % 3 == 0, labels, -1)
    _fit(model, X, known)
    check_fitted(model, len(X))
    rows, order = rows_of(model).copy(), np.arange(len(X))
    if what == "permuted":
        order = rng.permutation(len(X))
        changed: Any = X[order]
    elif what == "every row twice":
        order = np.repeat(order, 2)
        changed = X[order]
    else:
        changed = (_EXACT | _SAME_PARTITION)[what](rng, X)
    again = _model_like(model)
    _fit(again, changed, known[order])
    check_fitted(again, len(order))
    if what in _EXACT:
        require(same_bytes(rows_of(again), rows), f"{name}: {what} changed memberships")
        return what
    agreement = _agreement(rows.argmax(axis=1)[order], rows_of(again).argmax(axis=1))
    require(agreement > 0.9, f"{name}: {what} changed the partition, ARI {agreement:.2f}")
    return what


# Mostly the model whose objects with the same links are told apart by their features.
_IN_ANY_ORDER = (*["SoftClustering"] * 3, "SoF", "BaumEagon", "CompletelyPositive")


def row_order(rng: Generator, folder: Path) -> str:
    """Clusters that overlap, and the same rows in another order."""
    n, p, k = int(rng.integers(40, 300)), int(rng.integers(2, 8)), int(rng.integers(2, 8))
    X = 1.5 * rng.normal(size=(k, p))[rng.integers(k, size=n)] + rng.normal(size=(n, p))
    order = rng.permutation(n)
    name = _IN_ANY_ORDER[int(rng.integers(len(_IN_ANY_ORDER)))]
    settings: dict[str, Any] = {"n_clusters": k, "random_state": 1, "n_jobs": 1}
    labels = getattr(soffit, name)(**settings).fit(X).labels_
    again = getattr(soffit, name)(**settings).fit(X[order]).labels_
    agreement = _agreement(labels[order], again)
    told = f"{name}: rows in another order changed the partition, ARI {agreement:.2f}"
    require(agreement > 0.98, told)
    return "same"


def _model(rng: Generator, name: str, k: int) -> Any:
    cls = getattr(soffit, name)
    known = cls().get_params(deep=False)
    fixed = {"n_clusters": k, "random_state": int(rng.integers(100)), "n_init": 5, "n_jobs": 1}
    fixed |= {"tuple_affinity": "point", "n_tuples": 3000}
    if name == "RandomWalkClassifier":
        del fixed["n_clusters"]
    if name in ("RelationFactorization", "SoftHierarchy"):
        del fixed["n_init"]
    return cls(**{key: value for key, value in fixed.items() if key in known})


def _model_like(model: Any) -> Any:
    return type(model)(**model.get_params(deep=False))


def _fit(model: Any, X: Any, known: Array) -> None:
    if isinstance(model, soffit.RandomWalkClassifier):
        model.fit(X, known)
    else:
        model.fit(X)


def _agreement(one: Array, other: Array) -> float:
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(one, other))
