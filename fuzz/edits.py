"""What is done with a fitted model: merge, split, rename, update, save, ask; and mixed tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import soffit
from fuzz.fits import ESTIMATORS, any_model, check_fitted, draw, fit_any
from fuzz.outcome import check_rows, refused, require, same_bytes
from fuzz.tables import Generator, any_table

_WORDS = ("red", "blue", "", "grün", "NA", "1", "<evil>", "x" * 300, "red ", "\u202e")
_WEIGHTED = (
    soffit.SoftClustering,
    soffit.RelationFactorization,
    soffit.SoftHierarchy,
    soffit.SpectralClustering,
)
Step = Callable[[Generator, Any, Any, Path], Any]


def _any_cluster(rng: Generator, model: Any) -> Any:
    """The number or the name of a cluster; sometimes there is none of it."""
    known = range(model.n_clusters_)
    named = [str(name) for name in getattr(model, "cluster_names_", ())]
    return draw(rng, [int(rng.integers(max(len(known), 1))), *named, -1, 99, "nobody", 1.5, None])


def _merge(rng: Generator, model: Any, X: Any, folder: Path) -> Any:
    groups = [
        [_any_cluster(rng, model) for _ in range(int(rng.integers(1, 4)))]
        for _ in range(int(rng.integers(1, 3)))
    ]
    return model.merge(*groups, name=draw(rng, [None, *_WORDS]))


def _split(rng: Generator, model: Any, X: Any, folder: Path) -> Any:
    return model.split(_any_cluster(rng, model), draw(rng, [2, None, 1, 3, 50, 0]))


def _rename(rng: Generator, model: Any, X: Any, folder: Path) -> Any:
    if rng.random() < 0.3:
        count = int(rng.integers(6))
        return model.rename([_WORDS[int(rng.integers(len(_WORDS)))] for _ in range(count)])
    return model.rename({_any_cluster(rng, model): _WORDS[int(rng.integers(len(_WORDS)))]})


def _update(rng: Generator, model: Any, X: Any, folder: Path) -> Any:
    new = np.asarray(X[rng.integers(len(X), size=int(rng.integers(1, 25)))], dtype=float)
    shift = float(draw(rng, [0.0, 1e-3, 60.0, 1e6, 1e200]))
    return model.update(new + shift * rng.random(new.shape[1]))


def _saved(rng: Generator, model: Any, X: Any, folder: Path) -> Any:
    path = folder / "model.soffit"
    soffit.save(model, path)
    again = soffit.load(path)
    require(same_bytes(again.predict_proba(X[:5]), model.predict_proba(X[:5])), "saved otherwise")
    return again


_STEPS: tuple[Step, ...] = (_merge, _split, _rename, _update, _saved)


def edited(rng: Generator, folder: Path) -> str:
    """Fit, edit and update again and again; every model on the way is sound."""
    X = any_table(rng)
    names = [name for name in ESTIMATORS if name != "RandomWalkClassifier"]
    model = any_model(rng, names[int(rng.integers(len(names)))])
    weighted = rng.random() < 0.3
    try:
        if weighted and isinstance(model, _WEIGHTED):
            model.fit(X, sample_weight=rng.choice([1.0, 2.0, 0.5, 1e-9, 0.0], len(X)))
        else:
            fit_any(rng, model, X)
    except Exception as error:
        return refused(error)
    done = 0
    for _ in range(4):
        step = _STEPS[int(rng.integers(len(_STEPS)))]
        before = model.memberships_.copy()
        try:
            after = step(rng, model, X, folder)
        except Exception as error:
            refused(error)
            require(same_bytes(model.memberships_, before), "a failed edit changed the model")
            continue
        require(same_bytes(model.memberships_, before), f"{step.__name__} changed its model")
        model, done = after, done + 1
        _check(model, X)
    return f"{done} edits"


def _check(model: Any, X: Any) -> None:
    check_fitted(model, len(model.memberships_))
    require(model.memberships_.shape[1] == model.n_clusters_, "n_clusters_ is not the width")
    check_rows(model.predict_proba(X[:7]), "predict_proba of an edited model")
    try:
        novel = np.asarray(model.novelty_score(X[:7]))
    except Exception as error:
        refused(error)
    else:
        require(np.isfinite(novel).all(), "novelty_score holds NaN")
        require(((novel >= 0) & (novel <= 1)).all(), "novelty_score is no share")
    require("<evil>" not in str(model._repr_html_()), "a name is not escaped in the notebook")


# --- mixed tables ---------------------------------------------------------------------------------


def _numbers(rng: Generator, n: int) -> Any:
    values = rng.normal(size=n) * 10.0 ** float(draw(rng, [0, 5, -200, 200]))
    values[rng.random(n) < float(draw(rng, [0.0, 0.2, 1.0]))] = np.nan
    return values


def _words(rng: Generator, n: int) -> Any:
    values = np.array(_WORDS, dtype=object)[rng.integers(int(rng.integers(1, len(_WORDS))), size=n)]
    values[rng.random(n) < float(draw(rng, [0.0, 0.2, 1.0]))] = None
    return values


def _categories(rng: Generator, n: int) -> Any:
    import pandas as pd

    codes = rng.integers(-1, 3, size=n)
    return pd.Categorical.from_codes(codes, ["low", "mid", "high"], ordered=bool(rng.integers(2)))


def _flags(rng: Generator, n: int) -> Any:
    return rng.random(n) < 0.4


def _integers(rng: Generator, n: int) -> Any:
    return rng.integers(-3, 4, size=n).astype(rng.choice([np.int8, np.int64, np.uint16]))


def _odd(rng: Generator, n: int) -> Any:
    """What no column may hold; refused."""
    odd: tuple[Any, ...] = ([1, 2], {"a": 1}, b"bytes", 1j, float("inf"), 10**300, "2020-01-01")
    values = np.empty(n, dtype=object)
    for place in range(n):
        values[place] = odd[int(rng.integers(len(odd)))]
    return values


_COLUMNS = (_numbers, _numbers, _words, _words, _categories, _flags, _integers, _odd)


def mixed_frame(rng: Generator, n: int, makers: tuple[Any, ...]) -> Any:
    """A data frame of numbers, text, truth values and gaps."""
    import pandas as pd

    return pd.DataFrame({f"c{place}": make(rng, n) for place, make in enumerate(makers)})


def mixed_table(rng: Generator, folder: Path) -> str:
    """Fit a mixed table, place new rows with categories never seen."""
    n = int(rng.choice([2, 5, 20, 60, 120]))
    # What cannot be read is drawn rarely.
    known = len(_COLUMNS) - (rng.random() < 0.9)
    makers = tuple(_COLUMNS[int(rng.integers(known))] for _ in range(int(rng.integers(1, 6))))
    X = mixed_frame(rng, n, makers)
    given: Any = X
    how = rng.random()
    if how < 0.2:
        given = X.to_numpy(dtype=object)
    elif how < 0.3:
        given = X.astype(object).to_numpy().tolist()
    names = [name for name in ESTIMATORS if name not in ("RandomWalkClassifier", "HigherOrder")]
    model = any_model(rng, names[int(rng.integers(len(names)))])
    model.set_params(metric="gower", affinity=type(model)().affinity)
    try:
        model.fit(given)
    except Exception as error:
        return refused(error)
    check_fitted(model, n)
    new = mixed_frame(rng, 6, makers)
    try:
        check_rows(model.predict_proba(new), "predict_proba of a mixed table")
        check_rows(model.predict_proba(given[:3]), "predict_proba of a mixed table")
        if rng.random() < 0.3:
            require(len(model.update(new).memberships_) == n + 6, "update lost objects")
        if rng.random() < 0.2:
            _saved(rng, model, X, folder)
    except Exception as error:
        return f"then {refused(error)}"
    return "fitted"


def cells(rng: Generator, folder: Path) -> str:
    """Cluster cells of any representation, and place others."""
    import anndata

    from soffit import scanpy

    X = np.asarray(any_table(rng), dtype=np.float32)
    adata = anndata.AnnData(X)
    if rng.random() < 0.5:
        adata.obsm["X_pca"] = X[:, : max(X.shape[1] // 2, 1)].copy()
    settings: dict[str, Any] = {
        "n_clusters": draw(rng, [3, 1, 2, None, 9]),
        "use_rep": draw(rng, [None, "X", "X_pca", "X_none"]),
        "n_pcs": draw(rng, [None, 1, 3, 0, 500]),
        "keep_model": bool(rng.random() < 0.8),
    }
    try:
        scanpy.soft_clusters(adata, **settings)
    except Exception as error:
        require("soffit" not in adata.obs, "a failed call left results behind")
        return refused(error)
    check_rows(adata.obsm["X_soffit"], "X_soffit")
    if not settings["keep_model"]:
        return "fitted"
    try:
        scanpy.place(adata, adata[:4].copy())
    except Exception as error:
        return f"place {refused(error)}"
    return "placed"
