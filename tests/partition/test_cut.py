"""Normalized cuts and their relaxed bound, against enumeration of all partitions."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from tests.reference.problems import block_diagonal

from soffit.partition.cut import normalized_cut, relaxed_bound


def _graph(n: int, seed: int, density: float = 0.6) -> np.ndarray[Any, np.dtype[np.float64]]:
    rng = np.random.default_rng(seed)
    A = np.triu(rng.random((n, n)) * (rng.random((n, n)) < density), 1)
    return np.asarray(A + A.T)


def _plain_cut(A: Any, labels: Any) -> float:
    """The definition, term by term."""
    total = 0.0
    for c in set(labels):
        own = [i for i, label in enumerate(labels) if label == c]
        other = [i for i, label in enumerate(labels) if label != c]
        volume = sum(A[i, j] for i in own for j in range(len(labels)))
        leaving = sum(A[i, j] for i in own for j in other)
        total += leaving / volume if volume > 0 else 1.0
    return total


def _partitions(n: int, k: int) -> list[tuple[int, ...]]:
    return [p for p in product(range(k), repeat=n) if len(set(p)) == k]


@given(seed=st.integers(1, 10**6), k=st.integers(1, 4), storage=st.sampled_from(["dense", "csr"]))
def test_cut_is_the_definition(seed: int, k: int, storage: str) -> None:
    A = _graph(7, seed)
    A[2, 2] = 0.7
    labels = np.random.default_rng(seed).integers(k, size=7)
    given_as = sp.csr_array(A) if storage == "csr" else A
    assert normalized_cut(given_as, labels) == pytest.approx(_plain_cut(A, labels), abs=1e-12)


@pytest.mark.parametrize("seed", [311, 3571, 90001])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_no_partition_is_below_the_bound(seed: int, k: int) -> None:
    A = _graph(7, seed, density=0.5)
    bound = relaxed_bound(A, k)
    least = min(normalized_cut(A, p) for p in _partitions(7, k))
    assert bound <= least + 1e-12
    assert relaxed_bound(sp.csr_array(A), k) == pytest.approx(bound, abs=1e-12)


def test_bound_is_reached_on_a_complete_graph_by_every_partition() -> None:
    # All cuts of a complete graph are equal: n (k - 1) / (n - 1).
    A = np.ones((6, 6)) - np.eye(6)
    for k in (2, 3):
        expected = 6 * (k - 1) / 5
        assert relaxed_bound(A, k) == pytest.approx(expected, abs=1e-12)
        for labels in _partitions(6, k)[:40]:
            assert normalized_cut(A, labels) == pytest.approx(expected, abs=1e-12)


def test_components_cost_nothing() -> None:
    A = block_diagonal([np.ones((4, 4)), np.ones((3, 3)), np.ones((2, 2))])
    A = sp.csr_array(A)
    assert normalized_cut(A, [0] * 4 + [1] * 3 + [2] * 2) == 0.0
    assert relaxed_bound(A, 3) == pytest.approx(0.0, abs=1e-12)
    assert relaxed_bound(A, 2) == pytest.approx(0.0, abs=1e-12)


def test_objects_without_any_tie() -> None:
    A = np.zeros((5, 5))
    A[0, 1] = A[1, 0] = 1.0
    assert normalized_cut(A, [0, 0, 1, 1, 1]) == 1.0
    assert normalized_cut(A, [0, 0, 0, 0, 0]) == 0.0
    for k in (1, 2, 3, 4, 5):
        least = min(normalized_cut(A, p) for p in _partitions(5, k))
        assert relaxed_bound(A, k) <= least + 1e-12
    assert relaxed_bound(np.zeros((3, 3)), 2) == 2.0


def test_single_precision_is_summed_in_double() -> None:
    A = _graph(400, 7681)
    labels = np.arange(400) % 3
    single = normalized_cut(sp.csr_array(A.astype(np.float32)), labels)
    assert single == pytest.approx(normalized_cut(A, labels), abs=1e-7)


def test_labels_may_be_any_integers_but_one_for_each_object() -> None:
    A = _graph(6, 17)
    assert normalized_cut(A, [-5, -5, 9, 9, 9, -5]) == normalized_cut(A, [1, 1, 0, 0, 0, 1])
    with pytest.raises(ValueError, match=r"labels .* 6 .*\(5,\)"):
        normalized_cut(A, [0, 1, 0, 1, 0])
    with pytest.raises(ValueError, match=r"n_clusters=7 .* 6"):
        relaxed_bound(A, 7)
