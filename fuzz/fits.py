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


def many_clusters(rng: Generator, folder: Path) -> str:
    """More clusters than dense memberships are made for; edit, place, save, write."""
    n, k = int(rng.integers(170, 700)), int(rng.choice([151, 160, 200, 400]))
    X: Any = rng.normal(size=(n, int(rng.integers(1, 6)))) * 10.0
    how = rng.random()
    if how < 0.2:
        X = np.round(X)
    elif how < 0.3:
        X = X.astype(np.float32)
    more: dict[str, Any] = {"n_resamples": 2} if rng.random() < 0.1 else {}
    model = soffit.SoftClustering(k, random_state=7, n_jobs=1, max_iter=5, **more)
    pairs: dict[str, Any] = {}
    if rng.random() < 0.3:
        pairs = {"must_link": any_links(rng, n), "cannot_link": any_links(rng, n)}
    try:
        model.fit(X, **pairs)
    except Exception as error:
        return refused(error)
    _check_many(model, n)
    new = X[:9] + rng.choice([0.0, 0.5, 1e3])
    placed = model.predict_proba(new)
    check_rows(dense(placed), "predict_proba")
    step = rng.random()
    try:
        if step < 0.2:
            _check_many(model.merge([0, 1, int(rng.integers(2, model.n_clusters_))]), n)
        elif step < 0.4:
            _check_many(model.split(int(rng.integers(model.n_clusters_)), 2), n)
        elif step < 0.6:
            _check_many(model.update(new + 50.0), n + len(new))
        elif step < 0.8:
            soffit.save(model, folder / "model.soffit")
            again = soffit.load(folder / "model.soffit").predict_proba(new)
            require(same_bytes(dense(again), dense(placed)), "a loaded model answers otherwise")
        else:
            _written(rng, model, folder)
    except Exception as error:
        return f"fitted, then {refused(error)}"
    return "fitted"


def _written(rng: Generator, model: Any, folder: Path) -> None:
    from soffit.io import Result, read_result, write_result

    path = folder / f"out{rng.choice(['.csv', '.npz', '.json', '.parquet'])}"
    write_result(Result.from_memberships(model.memberships_), path)
    rows = dense(read_result(path).memberships)
    require(np.allclose(rows, dense(model.memberships_), atol=1e-4), f"{path.suffix} differs")


def _check_many(model: Any, n: int) -> None:
    rows = dense(model.memberships_)
    check_rows(rows, "memberships_")
    require(rows.shape == (n, model.n_clusters_), "memberships_ has another shape")
    require((rows[np.arange(n), model.labels_] == rows.max(axis=1)).all(), "labels_ are no argmax")
    require(np.isfinite(model.entropy_).all(), "entropy_ holds NaN")


def dense(rows: Any) -> Any:
    """Memberships as an array."""
    return rows.toarray() if sp.issparse(rows) else np.asarray(rows)


def any_links(rng: Generator, n: int) -> Any:
    """Pairs of objects: none, few, or many; some repeated, some of an object with itself."""
    count = int(rng.choice([0, 1, 4, 30, 200]))
    few = int(rng.choice([n, n, min(n, 6)]))
    return rng.integers(few, size=(count, 2))


def answers(rng: Generator, folder: Path) -> str:
    """Answers about pairs, some of them lies; the rows stay sound and lies are listed."""
    n, k = int(rng.integers(20, 250)), int(rng.integers(1, 7))
    labels = rng.integers(k, size=n)
    X = rng.uniform(0, 5) * rng.normal(size=(k, 3))[labels] + rng.normal(size=(n, 3))
    pairs = any_links(rng, n)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]] if rng.random() < 0.8 else pairs
    same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    same ^= rng.random(len(pairs)) < rng.choice([0.0, 0.1, 0.5, 1.0])
    must, cannot = pairs[same], pairs[~same]
    if rng.random() < 0.1:
        cannot = np.vstack([cannot, must[:3]])
    name = str(draw(rng, ["SoftClustering", "CompletelyPositive"]))
    model = any_model(rng, name, n_clusters=draw(rng, [k, None, 2, 5]))
    try:
        model.fit(X, must_link=must, cannot_link=cannot)
    except Exception as error:
        return refused(error)
    check_fitted(model, n)
    check_rows(model.predict_proba(X[:7]), "predict_proba")
    outvoted = getattr(model, "outvoted_", None)
    if outvoted is None:
        return "fitted"
    for kind, said in (("must", must), ("cannot", cannot)):
        given = {frozenset(pair) for pair in said.tolist()}
        listed = {frozenset(pair) for pair in getattr(outvoted, kind).tolist()}
        require(listed <= given, f"outvoted_.{kind} lists what was never said")
        apart = {pair for pair in given if len({int(model.labels_[i]) for i in pair}) > 1}
        against = apart if kind == "must" else given - apart
        require(listed == against, f"outvoted_.{kind} is not what labels_ contradict")
    return "some outvoted" if outvoted.n_pairs else "all kept"


def blocks(rng: Generator, folder: Path) -> str:
    """A Dask array of any table: the same bytes for two ways to cut it, or refused both times."""
    import dask
    import dask.array as da

    X = np.asarray(any_table(rng), dtype=float)
    settings = {"n_clusters": draw(rng, [3, 2, None, 9]), "random_state": 7, "n_jobs": 1}
    sample = draw(rng, [None, max(len(X) // 2, 2)])
    if sample is not None:
        settings["sample_size"] = sample
    found = []
    for _ in range(2):
        cut = (int(rng.integers(max(len(X) // 5, 1), len(X) + 1)), X.shape[1])
        model = soffit.SoftClustering(**settings)
        try:
            with dask.config.set(scheduler="synchronous"):
                model.fit(da.from_array(X, chunks=cut))
                rows = np.asarray(model.memberships_)
        except Exception as error:
            found.append(refused(error))
            continue
        check_rows(rows, "memberships_ of blocks")
        require(len(rows) == len(X), "blocks lost objects")
        found.append(rows)
    if isinstance(found[0], str) or isinstance(found[1], str):
        require(isinstance(found[0], str) and isinstance(found[1], str), "refused in one cut only")
        return "refused"
    require(same_bytes(*found), "another cut into blocks changed memberships")
    return "same"


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
