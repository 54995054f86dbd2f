"""What figures read from models, results and arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from soffit import RandomWalkClassifier, SoftClustering
from soffit.figures._model import read_shown
from soffit.memberships import entropy


@dataclass
class Result:
    """As `soffit.io.Result`, as far as figures read it."""

    memberships: Any
    ids: Any = None
    overlap: Any = None
    instability: Any = None


def test_a_model(resampled):
    shown = read_shown(resampled)
    np.testing.assert_array_equal(shown.memberships, resampled.memberships_)
    np.testing.assert_array_equal(shown.labels, resampled.labels_)
    np.testing.assert_array_equal(shown.overlap, resampled.overlap_)
    np.testing.assert_array_equal(shown.instability, resampled.instability_)
    assert shown.ids is None
    assert shown.name_of(4) == "4"


def test_a_result(memberships):
    names = np.array([f"r{i}" for i in range(500)])
    shown = read_shown(Result(memberships, ids=names))
    assert shown.name_of(3) == "r3"
    assert shown.overlap is None
    np.testing.assert_allclose(shown.entropy, entropy(memberships))


def test_given_ids_come_first(memberships):
    shown = read_shown(Result(memberships, ids=np.arange(500)), ids=[f"x{i}" for i in range(500)])
    assert shown.name_of(3) == "x3"


def test_a_classifier_has_named_clusters(table):
    X, labels, _ = table
    y = np.array(["unknown"] * len(X), dtype=object)
    y[:] = None
    for c in range(3):
        y[np.flatnonzero(labels == c)[:2]] = f"<c{c}>"
    shown = read_shown(RandomWalkClassifier().fit(X, y))
    assert shown.cluster_names == ["&lt;c0&gt;", "&lt;c1&gt;", "&lt;c2&gt;"]


def test_an_unfitted_model_says_so():
    with pytest.raises(ValueError, match="SoftClustering has no memberships yet"):
        read_shown(SoftClustering(3))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.ones((3, 2)), "each row of memberships must sum to 1"),
        (np.ones(3), "must have shape"),
        (np.array([[np.nan, 1.0]]), "NaN"),
    ],
)
def test_wrong_memberships_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        read_shown(wrong)


def test_wrong_number_of_ids(memberships):
    with pytest.raises(ValueError, match="ids must hold one value for each of the 500 objects"):
        read_shown(memberships, ids=["a", "b"])
