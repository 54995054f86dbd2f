"""Small models that several figures show."""

from __future__ import annotations

import numpy as np
import pytest

from soffit import SoftClustering, SoftHierarchy
from soffit.datasets import make_gaussians

HOSTILE = '<script>alert("1")</script><b>bold</b> & $x^2$'


@pytest.fixture(scope="session")
def table():
    return tuple(make_gaussians(90, n_clusters=3, separation=3.5, random_state=731))


@pytest.fixture(scope="session")
def resampled(table):
    return SoftClustering(3, n_resamples=3, random_state=731).fit(table[0])


@pytest.fixture(scope="session")
def soft_hierarchy(table):
    return SoftHierarchy(levels=[9, 5, 2], random_state=731).fit(table[0])


@pytest.fixture
def memberships():
    """Random memberships of 500 objects in 4 clusters."""
    return np.random.default_rng(7919).dirichlet([0.4] * 4, size=500)


@pytest.fixture
def hostile():
    return HOSTILE
