from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from tests.reference.problems import block_diagonal
from tests.reference.relations import planted_graph, relation_problem
from tests.reference.threads import printed_with_one_and_two_threads

from soffit.factorize import solve_em
from soffit.factorize.divergence.em import bipartite_rows
from soffit.factorize.divergence.em_starts import (
    solve_em_from_starts,
    spectral_starts,
    usual_number_of_draws,
)
from soffit.metrics import accuracy


def _solve(A, k, seed=3, n_draws=4, **options):
    options = {"max_iter": 500, "tol": 1e-7} | options
    return solve_em_from_starts(
        relation_problem(A, k), np.random.RandomState(seed), n_draws=n_draws, **options
    )


def test_planted_blocks_are_found():
    A, labels = planted_graph([40, 60, 80, 100], 5)
    found = _solve(A, 4)
    assert found.converged
    assert accuracy(labels, bipartite_rows(found).argmax(axis=1)) == 1.0
    assert len(found.history) == found.n_iter + 1
    assert np.diff(found.history).max() <= 1e-9 * found.history[0]


def test_no_single_start_is_better():
    A, _ = planted_graph([40, 60, 80], 7, inside=6.0, outside=4.0)
    best = _solve(A, 3).objective
    for start in spectral_starts(A, 3):
        alone = solve_em(relation_problem(A, 3), start, tol=1e-7)
        assert best <= alone.objective * (1 + 1e-5)


def test_spectral_starts_are_distinct_and_serve_isolated_objects():
    A, labels = planted_graph([40, 60], 11, inside=14.0, outside=1.0)
    padded = block_diagonal([A, sp.csr_array((3, 3))])
    starts = spectral_starts(padded, 2)
    # Where all roundings agree, there is one start.
    assert len(starts) == 1
    np.testing.assert_allclose(starts[0].sum(axis=1), 1.0)
    assert accuracy(labels, starts[0][:100].argmax(axis=1)) == 1.0


@pytest.mark.parametrize("k", [1, 2, 5])
def test_tiny_graphs(k):
    A = sp.csr_array(np.ones((5, 5)) - np.eye(5))
    found = _solve(A, k)
    assert np.isfinite(found.factor).all()
    assert found.factor.shape == (5, k)


def test_penalties_play_no_part_in_the_choice():
    A, _ = planted_graph([30, 30], 13)
    problem = relation_problem(A, 2, pruning=0.9)
    found = solve_em_from_starts(
        problem, np.random.RandomState(3), n_draws=2, max_iter=200, tol=1e-6
    )
    assert found.factor.shape[1] == 2


def test_large_graphs_have_fewer_draws():
    small, large = sp.eye_array(100, format="csr"), sp.eye_array(10**6, format="csr")
    assert usual_number_of_draws(small, 10) == 12
    assert usual_number_of_draws(large, 4) == 3
    assert usual_number_of_draws(large, 50) == 2
    assert usual_number_of_draws(np.ones((2000, 2000)), 10) == 2


_THREADS = """
import hashlib
import numpy as np
from tests.reference.relations import planted_graph, relation_problem
from tests.reference.threads import lower, watch
from soffit.factorize.divergence import em_starts, relations
# Small pieces of work have one thread for themselves; these have all.
lower(relations, _SMALL=0)
pieces = watch(relations, em_starts)
digest = hashlib.sha256()
A, _ = planted_graph([200, 300, 300], 17)
for matrix in (A, A.astype(np.float32), A.toarray()):
    found = em_starts.solve_em_from_starts(
        relation_problem(matrix, 5), np.random.RandomState(3), n_draws=2, max_iter=20, tol=0.0
    )
    digest.update(found.factor.tobytes())
assert min(pieces.values()) > 1, pieces
print(digest.hexdigest())
"""


def test_bytes_do_not_depend_on_the_number_of_threads():
    assert len(printed_with_one_and_two_threads(_THREADS)) == 1
