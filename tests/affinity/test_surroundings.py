"""Tail probabilities: ranks inside what was seen, a power law beyond it."""

from __future__ import annotations

import numpy as np
import pytest

from soffit.affinity import NeighborGraph
from soffit.affinity.isolation import Surroundings, tail_probability


def test_inside_the_tail_is_a_rank() -> None:
    fitted = np.array([1.0, 2.0, 3.0, 4.0])
    np.testing.assert_allclose(
        tail_probability(np.array([0.0, 1.0, 2.5, 4.0]), fitted), np.array([5, 5, 3, 2]) / 5
    )


def test_beyond_the_largest_it_falls_as_a_power() -> None:
    fitted = np.exp(np.random.default_rng(5).exponential(0.3, size=20_000))
    far = fitted.max() * np.array([1.001, 2.0, 4.0, 1e6, 1e200])
    p = tail_probability(far, fitted)
    assert np.all(np.diff(p) < 0)
    assert p[0] < 1 / 20_001
    # The exponent is that of the data: 1 / 0.3.
    assert np.log(p[1] / p[2]) / np.log(2.0) == pytest.approx(1 / 0.3, rel=0.1)
    assert p[-1] == 0.0


def test_what_has_no_neighbour_is_as_rare_as_among_the_fitted() -> None:
    assert tail_probability(np.array([np.inf]), np.ones(99))[0] == 0.0
    isolated = np.array([1.0] * 96 + [np.inf] * 3)
    assert tail_probability(np.array([np.inf]), isolated)[0] == pytest.approx(4 / 100)


def test_equal_objects_leave_little_to_say() -> None:
    p = tail_probability(np.array([0.0, 1.0]), np.zeros(9))
    np.testing.assert_allclose(p, [1.0, 0.1])


def test_a_fitted_object_is_compared_with_the_others() -> None:
    inside = np.random.default_rng(3).normal(size=(80, 2))
    known = Surroundings.of(NeighborGraph(15).fit(np.concatenate([inside, [[40.0, 0.0]]])))
    p = known.inner_tail()
    assert p.argmin() == 80
    assert p[80] < 1e-4
    assert np.sort(p)[1] >= 1 / 81
    assert p.max() <= 1.0
    # A second one beside it hides neither.
    pair = np.concatenate([inside, [[40.0, 0.0], [-40.0, 0.0]]])
    both = Surroundings.of(NeighborGraph(15).fit(pair)).inner_tail()
    assert set(np.argsort(both)[:2]) == {80, 81}


@pytest.mark.parametrize("d", [2, 10, 50])
def test_ordinary_objects_have_uniform_tails(d: int) -> None:
    generator = np.random.default_rng(29)
    graph = NeighborGraph(15).fit(generator.normal(size=(1000, d)))
    known = Surroundings.of(graph)
    p = known.tail(graph, generator.normal(size=(4000, d)))
    assert 0.03 < np.mean(p <= 0.05) < 0.08
    assert 0.003 < np.mean(p <= 0.01) < 0.025
    assert np.mean(known.inner_tail() <= 0.05) == pytest.approx(0.05, abs=0.002)


def test_one_object() -> None:
    graph = NeighborGraph(15).fit(np.zeros((1, 2)))
    known = Surroundings.of(graph)
    np.testing.assert_array_equal(known.inner_tail(), [1.0])
    np.testing.assert_allclose(known.tail(graph, np.array([[0.0, 0.0], [3.0, 0.0]])), [1.0, 0.5])
