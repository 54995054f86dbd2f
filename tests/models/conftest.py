"""Models and data that the tests of all models share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from soffit import (
    BaumEagon,
    CompletelyPositive,
    RelationFactorization,
    SoF,
    SoftClustering,
    SpectralClustering,
)
from soffit.datasets import Sample, make_gaussians

FACTORIES: dict[str, Callable[..., Any]] = {
    "SoftClustering": SoftClustering,
    "SoftClustering-single": lambda *a, **k: SoftClustering(*a, scale="single", **k),
    "SoF": SoF,
    "SoF-fit": lambda *a, **k: SoF(*a, scale="fit", **k),
    "SoF-gradient": lambda *a, **k: SoF(*a, solver="gradient", **k),
    "SoF-penalty": lambda *a, **k: SoF(*a, solver="penalty", **k),
    "BaumEagon": BaumEagon,
    "BaumEagon-growth": lambda *a, **k: BaumEagon(*a, solver="growth", **k),
    "CompletelyPositive": CompletelyPositive,
    "CompletelyPositive-additive": lambda *a, **k: CompletelyPositive(
        *a, normalization="additive", **k
    ),
    "RelationFactorization": RelationFactorization,
    "SpectralClustering": SpectralClustering,
    "SpectralClustering-ncut": lambda *a, **k: SpectralClustering(*a, variant="ncut", **k),
}


@pytest.fixture(params=list(FACTORIES))
def make(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """A constructor of every model in every published or fast form."""
    return FACTORIES[request.param]


@pytest.fixture(scope="session")
def blobs() -> Sample:
    """Three well separated clusters of 180 points."""
    return make_gaussians(180, n_clusters=3, separation=8.0, random_state=8191)
