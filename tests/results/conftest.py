"""Data and fitted models that several tests share."""

from __future__ import annotations

import pytest

from soffit import SoftClustering
from soffit.datasets import Sample, make_gaussians


@pytest.fixture(scope="session")
def touching() -> Sample:
    """Three clusters in the plane that touch."""
    return make_gaussians(90, n_clusters=3, separation=4.0, random_state=23)


@pytest.fixture(scope="session")
def fitted(touching: Sample) -> SoftClustering:
    return SoftClustering(3, random_state=23).fit(touching.X)


@pytest.fixture(scope="session")
def blobs() -> Sample:
    """Three well separated clusters of 180 points."""
    return make_gaussians(180, n_clusters=3, separation=8.0, random_state=8191)
