"""Every model standardizes by the same rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.reference.estimators import CASES, Case, probabilities

from soffit.datasets import Sample
from soffit.metrics import adjusted_rand


@pytest.fixture(scope="module")
def uneven(blobs: Sample) -> Any:
    """Two informative columns in a small unit beside noise in a large one."""
    noise = np.random.default_rng(4093).uniform(1e4, 2e4, len(blobs.X))
    return np.column_stack([blobs.X, noise])


def test_every_estimator_takes_the_parameter(case: Case) -> None:
    assert case.model().get_params()["standardize"] == "auto"
    with pytest.raises(ValueError, match="standardize"):
        case.fit(np.eye(40, 3), np.arange(40) % 2, standardize="yes")


def test_auto_means_true_where_units_differ(case: Case, uneven: Any, y: Any) -> None:
    automatic = case.fit(uneven, y)
    forced = case.fit(uneven, y, standardize=True)
    np.testing.assert_array_equal(probabilities(automatic), probabilities(forced))
    np.testing.assert_array_equal(
        automatic.predict_proba(uneven[:9]), forced.predict_proba(uneven[:9])
    )
    left = case.fit(uneven, y, standardize=False)
    assert np.abs(probabilities(left) - probabilities(forced)).max() > 1e-3


def test_units_do_not_decide_about_clusters(uneven: Any, blobs: Sample) -> None:
    for name in ("SoftClustering", "SpectralClustering", "SoftHierarchy"):
        case = CASES[name]
        plain = case.fit(uneven, None, standardize=False)
        assert adjusted_rand(blobs.labels, plain.labels_) < 0.3, name
        assert adjusted_rand(blobs.labels, case.fit(uneven, None).labels_) > 0.9, name
