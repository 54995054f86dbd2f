"""Rows stored as their entries, against the same problem with whole rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from soffit.affinity import SideInformation
from soffit.factorize import Problem, labels_start, solve_rows
from soffit.factorize.simplex import few_entries
from soffit.factorize.simplex.placement import FittedRows
from soffit.factorize.starts import sparse_labels_start
from soffit.normalize import degree

K, PER_CLUSTER = 40, 9
N = K * PER_CLUSTER


@pytest.fixture(scope="module")
def problem() -> Problem:
    """Clusters in a ring, each linked to the next ones."""
    random = np.random.RandomState(3)
    labels = np.arange(N) // PER_CLUSTER
    near = np.minimum((labels[:, None] - labels) % K, (labels - labels[:, None]) % K)
    chance = np.where(near == 0, 0.8, np.where(near == 1, 0.1, 0.0))
    upper = np.triu(random.uniform(size=(N, N)) < chance, 1) * random.uniform(0.5, 1, (N, N))
    A = sp.csr_array(upper + upper.T)
    return Problem(degree(A).matrix, K, scale="held", degrees=np.asarray(A.sum(axis=1)).ravel())


def starts(spoilt: int = 60) -> tuple[np.ndarray, sp.csr_array]:
    labels = np.arange(N) // PER_CLUSTER
    wrong = np.random.RandomState(5).choice(N, spoilt, replace=False)
    labels[wrong] = (labels[wrong] + 1) % K
    return labels_start(labels, K, spread=0.0), sparse_labels_start(labels, K)


def test_the_same_solution_as_with_whole_rows(problem: Problem) -> None:
    dense, sparse = (solve_rows(problem, start, tol=1e-9) for start in starts())
    assert sp.issparse(sparse.factor)
    assert sparse.factor.has_canonical_format
    np.testing.assert_allclose(sparse.history[0], dense.history[0], rtol=1e-12)
    assert sparse.objective == pytest.approx(dense.objective, rel=1e-6)
    assert abs(sparse.factor.toarray() - dense.factor).max() < 1e-3
    np.testing.assert_allclose(sparse.scale, dense.scale, rtol=1e-9)


def test_side_information_counts_as_with_whole_rows(problem: Problem) -> None:
    side = SideInformation.of([(0, 1), (20, 30)], [(0, 2), (50, 52)], N)
    known = replace(problem, side=side.relation() * 0.05)
    dense, sparse = (solve_rows(known, start, tol=1e-9) for start in starts())
    assert sparse.objective == pytest.approx(dense.objective, rel=1e-6)


def test_few_entries_per_row_never_raise_the_loss(problem: Problem, limits: Any) -> None:
    limits(entries_per_row=2)
    found = solve_rows(problem, starts()[1], tol=1e-9)
    assert np.diff(found.factor.indptr).max() <= 2
    assert (np.diff(found.history) <= 1e-12).all()
    np.testing.assert_allclose(found.factor.sum(axis=1), 1.0)


def test_concurrent_ranges_give_the_same_loss_and_bytes(problem: Problem, limits: Any) -> None:
    whole = solve_rows(problem, starts()[1], tol=1e-9)
    limits(sparse_simplex_range=50)
    parts = [solve_rows(problem, starts()[1], tol=1e-9) for _ in range(2)]
    assert parts[0].objective == pytest.approx(whole.objective, rel=1e-3)
    assert np.array_equal(parts[0].factor.data, parts[1].factor.data)
    assert (np.diff(parts[0].history) <= 1e-12).all()


def test_a_dense_matrix_has_a_sparse_factor(problem: Problem) -> None:
    dense = replace(problem, matrix=problem.matrix.toarray())
    found = solve_rows(dense, starts()[1], tol=1e-6)
    assert sp.issparse(found.factor)


def test_new_objects_are_placed_as_with_whole_rows(problem: Problem) -> None:
    found = solve_rows(problem, starts()[0], tol=1e-9)
    whole = FittedRows.of(problem, found)
    few = FittedRows.of(problem, replace(found, factor=sp.csr_array(found.factor)))
    np.testing.assert_allclose(few.prior, whole.prior)
    np.testing.assert_allclose(few.profiles().toarray(), whole.profiles())
    block = problem.matrix[:30]
    degrees = problem.degrees[:30].copy()
    degrees[4] = 0.0
    expected = whole.place(block, degrees)
    for given in (block, block.toarray()):
        placed = few.place(given, degrees)
        np.testing.assert_allclose(placed.sum(axis=1), 1.0)
        # Whole rows may join clusters that no neighbour uses; they hardly do.
        assert abs(placed.toarray() - expected).max() < 0.02


def test_the_largest_entries_of_a_row_are_kept(limits: Any) -> None:
    limits(entries_per_row=2)
    rows = sp.csr_array(np.array([[0.1, 0.3, 0.0, 0.6], [0.0, 1.0, 0.0, 0.0]]))
    again = few_entries.Entries.of(rows).csr(4, np.dtype(np.float64))
    np.testing.assert_allclose(again.toarray(), [[0, 1 / 3, 0, 2 / 3], [0, 1, 0, 0]])
