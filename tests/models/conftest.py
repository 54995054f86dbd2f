"""Models and data that the tests of all models share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.reference.estimators import CASES, CLASSIFIERS, FACTORIES, Array, Case, few_labels

from soffit.datasets import Sample, make_gaussians


@pytest.fixture(params=list(FACTORIES))
def make(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """A constructor of every clustering of pairs in every published or fast form."""
    return FACTORIES[request.param]


@pytest.fixture(params=list(CASES))
def case(request: pytest.FixtureRequest) -> Case:
    """Every estimator in every form."""
    return CASES[request.param]


@pytest.fixture(params=[name for name in CASES if name not in CLASSIFIERS])
def clustering(request: pytest.FixtureRequest) -> Case:
    """Every clustering in every form."""
    return CASES[request.param]


@pytest.fixture(params=[*FACTORIES, *CLASSIFIERS])
def of_pairs(request: pytest.FixtureRequest) -> Case:
    """Every estimator that reads similarities and distances, in every form."""
    return CASES[request.param]


@pytest.fixture(scope="session")
def blobs() -> Sample:
    """Three well separated clusters of 180 points."""
    return make_gaussians(180, n_clusters=3, separation=8.0, random_state=8191)


@pytest.fixture(scope="session")
def y(blobs: Sample) -> Array:
    """The labels of some of these points, for classifiers."""
    return few_labels(blobs)


@pytest.fixture(scope="session")
def fitted_to_blobs(blobs: Sample, y: Array) -> Callable[[Case], Any]:
    """Each estimator fitted to these points once, for tests that only look at it."""
    models: dict[str, Any] = {}

    def fitted(case: Case) -> Any:
        if case.name not in models:
            models[case.name] = case.fit(blobs.X, y)
        return models[case.name]

    return fitted
