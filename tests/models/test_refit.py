"""One fit, one value: a refit equals a fresh fit, and a failed one changes nothing."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import soffit
from soffit import (
    BaumEagon,
    CompletelyPositive,
    HigherOrder,
    RandomWalkClassifier,
    RelationFactorization,
    SoF,
    SoftClustering,
    SoftHierarchy,
    SpectralClustering,
)
from soffit.catalogue import MODELS
from soffit.datasets import make_gaussians

# A model, and parameters of a second fit that leave other attributes than those of the first.
REFITS: dict[str, tuple[Any, dict[str, Any]]] = {
    "SoftClustering": (SoftClustering(None, n_resamples=2), {"n_clusters": 3, "n_resamples": 0}),
    "SoF": (SoF(None, scale="fit"), {"n_clusters": 3}),
    "BaumEagon": (BaumEagon(None), {"n_clusters": 3}),
    "CompletelyPositive": (CompletelyPositive(None), {"n_clusters": 3}),
    "RelationFactorization": (RelationFactorization(None), {"n_clusters": 3}),
    "SoftHierarchy": (SoftHierarchy(levels=[9, 3], refine=False), {"levels": None, "refine": True}),
    "SpectralClustering": (SpectralClustering(None), {"n_clusters": 3}),
    "HigherOrder": (HigherOrder(None, n_init=1), {"n_clusters": 3}),
    "RandomWalkClassifier": (
        RandomWalkClassifier(on="clusters", n_clusters=12),
        {"on": "points", "n_steps": 4},
    ),
}
every_model = pytest.mark.parametrize("name", list(REFITS))
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def data(seed: int = 8191, n: int = 90) -> tuple[np.ndarray, np.ndarray]:
    sample = make_gaussians(n, n_clusters=3, separation=6.0, random_state=seed)
    y = np.where(np.arange(n) % 5 == 0, sample.labels, -1)
    return sample.X, y


def model_of(name: str) -> Any:
    return clone(REFITS[name][0]).set_params(random_state=17)


def fit(model: Any, X: np.ndarray, y: np.ndarray) -> Any:
    return model.fit(X, y) if isinstance(model, RandomWalkClassifier) else model.fit(X)


def published(model: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(model).items() if name.endswith("_")}


def assert_same(left: Any, right: Any, where: str) -> None:
    if isinstance(left, np.ndarray):
        np.testing.assert_array_equal(left, right, err_msg=where)
    elif sp.issparse(left):
        assert abs(left - right).nnz == 0, where
    elif isinstance(left, float | int | str | bool | type(None)):
        assert left == right, where
    else:
        assert type(left) is type(right), where


def test_every_registered_model_is_refitted() -> None:
    # Pixel graphs are fitted by `segment` alone, always anew.
    assert set(REFITS) == set(MODELS) - {"PixelClustering"}


@every_model
def test_a_refit_equals_a_fresh_fit(name: str) -> None:
    X, y = data()
    refitted = fit(model_of(name), *data(seed=127, n=80))
    refitted.set_params(**REFITS[name][1])
    fit(refitted, X, y)
    fresh = fit(model_of(name).set_params(**REFITS[name][1]), X, y)
    assert published(refitted).keys() == published(fresh).keys()
    for attribute, value in published(fresh).items():
        assert_same(value, published(refitted)[attribute], attribute)
    np.testing.assert_array_equal(refitted.predict_proba(X[:20]), fresh.predict_proba(X[:20]))


@every_model
def test_set_params_after_a_fit_changes_no_prediction(name: str) -> None:
    X, y = data()
    model = fit(model_of(name), X, y)
    before = model.predict_proba(X[:20])
    options = {"n_neighbors": 3, "n_clusters": 2, "max_iter": 1, "tol": 0.5, **REFITS[name][1]}
    model.set_params(**{k: v for k, v in options.items() if k in model.get_params()})
    np.testing.assert_array_equal(model.predict_proba(X[:20]), before)


class RefusedError(Exception):
    """Raised by a callback."""


def refuse(event: Any) -> None:
    raise RefusedError


@every_model
def test_a_fit_that_fails_changes_nothing(name: str) -> None:
    X, y = data()
    model = fit(model_of(name), X, y)
    model.set_params(callback=refuse)
    before = pickle.dumps(model)
    with pytest.raises(RefusedError):
        fit(model, *data(seed=131, n=70))
    assert pickle.dumps(model) == before
    bad = data(seed=131, n=70)[0]
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        fit(model, bad, y[:70])
    assert pickle.dumps(model) == before


def test_a_chosen_number_is_forgotten_when_the_next_is_given() -> None:
    X, _ = data()
    model = SoF(None, random_state=17).fit(X)
    assert model.k_choice_.n_clusters == model.n_clusters_
    model.set_params(n_clusters=4).fit(X)
    assert not hasattr(model, "k_choice_")


def test_subsamples_are_forgotten_by_a_fit_without_them() -> None:
    X, _ = data()
    model = SoftClustering(3, n_resamples=2, random_state=17).fit(X)
    assert 0.0 < model.agreement_ <= 1.0
    model.set_params(n_resamples=0).fit(X)
    names = ("overlap_", "agreement_", "instability_", "cluster_stability_", "expected_accuracy_")
    assert [name for name in names if hasattr(model, name)] == []


def test_a_warm_start_on_other_data_walks_as_far_as_a_fresh_fit() -> None:
    near = make_gaussians(120, n_clusters=3, separation=3.0, random_state=137).X
    far = make_gaussians(120, n_clusters=3, separation=12.0, random_state=139).X
    fresh = [SoftClustering(3, random_state=17).fit(X).n_steps_ for X in (near, far)]
    assert fresh[0] != fresh[1]
    warm = SoftClustering(3, random_state=17, warm_start=True).fit(near)
    assert warm.fit(far).n_steps_ == fresh[1]
    assert warm.fit(far).n_steps_ == fresh[1]


def test_must_link_rows_are_refused_in_cross_validation() -> None:
    from sklearn.model_selection import cross_validate

    X, _ = data()
    with pytest.raises(ValueError, match=r"row numbers.*cross-validation"):
        cross_validate(SoftClustering(3), X, params={"must_link": [(0, 1)]}, error_score="raise")


def test_models_write_to_themselves_in_two_methods_only() -> None:
    folder = Path(soffit.__file__).parent / "models"
    for path in sorted(folder.glob("*.py")):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef) and function.name not in (
                "__init__",
                "_publish",
            ):
                wrong = [node.lineno for node in ast.walk(function) if _writes_to_self(node)]
                assert not wrong, f"{path.name}, {function.name}: lines {wrong}"


def _writes_to_self(node: ast.AST) -> bool:
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AugAssign | ast.AnnAssign):
        targets = [node.target]
    elif isinstance(node, ast.Delete):
        targets = node.targets
    return any(
        isinstance(target, ast.Attribute)
        and isinstance(target.value, ast.Name)
        and target.value.id == "self"
        for target in targets
    )


@every_model
def test_score_is_a_share_of_what_there_is_to_explain(name: str) -> None:
    X, y = data()
    model = fit(model_of(name), X, y)
    if isinstance(model, RandomWalkClassifier):
        assert model.score(X, np.where(y < 0, model.predict(X), y)) > 0.9
        return
    score = model.score(data(seed=149)[0])
    assert 0.0 < score <= 1.0
    assert model.score(X) <= 1.0


def test_score_serves_a_grid_search() -> None:
    from sklearn.model_selection import GridSearchCV

    X, _ = data()
    search = GridSearchCV(SoF(3, scale="fit", random_state=17), {"n_clusters": [1, 3]}, cv=3)
    assert search.fit(X).best_params_ == {"n_clusters": 3}


def test_fit_transform_returns_the_memberships() -> None:
    X, _ = data()
    for model in (SoF(3, random_state=17), SoftClustering(3, random_state=17)):
        np.testing.assert_array_equal(model.fit_transform(X), model.memberships_)
        frame = clone(model).set_output(transform="pandas").fit_transform(X)
        np.testing.assert_array_equal(frame.to_numpy(), model.memberships_)


def test_warm_starts_still_warn_when_they_do_not_converge() -> None:
    X, _ = data()
    model: Callable[..., Any] = SoF(3, max_iter=1, tol=0.0, warm_start=True, random_state=17)
    with pytest.warns(ConvergenceWarning, match="Increase max_iter"):
        model.fit(X)
