"""Histograms, shares and quartiles of columns inside clusters."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from soffit import SoftClustering
from soffit.results.profiles import distributions
from soffit.results.summary import Summary


def test_heights_are_shares_and_quartiles_are_weighted():
    rng = np.random.default_rng(17)
    values = np.concatenate([rng.normal(0, 1, 400), rng.normal(6, 1, 400)])
    G = np.eye(2)[np.repeat([0, 1], 400)]
    (found,) = distributions(Summary.of(G, values[:, None], columns=["x"]))
    assert found.kind == "numbers"
    assert not found.is_discrete
    np.testing.assert_allclose(found.heights.sum(axis=1), 1.0, atol=0.02)
    np.testing.assert_allclose(
        found.quartiles[0], np.quantile(values[:400], [0.25, 0.5, 0.75]), atol=0.05
    )
    assert found.edges[0] < values.min() + 1
    assert found.separation > 0.8
    assert float(found.quartile_texts(1)[1]) == pytest.approx(np.median(values[400:]), abs=0.1)


def test_whole_numbers_have_a_bar_each_and_memberships_count():
    values = np.array([1.0, 1.0, 2.0, 4.0])
    G = np.array([[1, 0], [0.5, 0.5], [0, 1], [0, 1]])
    (found,) = distributions(Summary.of(G, values[:, None]))
    assert found.is_discrete
    assert found.edges.tolist() == [0.5, 1.5, 2.5, 3.5, 4.5]
    np.testing.assert_allclose(found.heights, [[1, 0, 0, 0], [0.2, 0.4, 0, 0.4]])


def test_texts_are_shares_and_gaps_are_left_out():
    frame = pd.DataFrame({"sex": ["f", "m", None] * 20, "age": [1.0, 9.0, np.nan] * 20})
    model = SoftClustering(2, metric="gower", random_state=23).fit(frame)
    found = {item.name: item for item in distributions(Summary.of(model, frame))}
    assert found["sex"].labels in (("f", "m"), ("m", "f"))
    np.testing.assert_allclose(found["sex"].heights.sum(axis=1), 1.0)
    assert np.isfinite(found["age"].quartiles).all()


def test_the_columns_of_a_single_cluster_are_shown_in_order():
    X = np.random.default_rng(2).normal(size=(30, 3))
    found = distributions(Summary.of(np.ones((30, 1)), X, columns=list("abc")))
    assert [item.name for item in found] == ["a", "b", "c"]
