from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.problems import random_matrix, random_rows, stored
from tests.reference.relations import divergence, planted_graph, relation_problem

from soffit.factorize import solve_em
from soffit.factorize.divergence.em import bipartite_rows
from soffit.metrics import accuracy


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(3, 14),
    k=st.integers(1, 6),
    storage=st.sampled_from(["dense", "sparse"]),
    sparsity=st.sampled_from([0.0, 0.02, 0.3, 0.9]),
    pruning=st.sampled_from([0.0, 0.05, 0.4, 0.99]),
)
def test_promises_are_kept_whatever_vanishes(*, seed, n, k, storage, sparsity, pruning):
    A = random_matrix(n, seed, 0.6)
    problem = relation_problem(stored(A, storage), k, sparsity=sparsity, pruning=pruning)
    found = solve_em(problem, random_rows(n, k, seed + 1), max_iter=300)
    assert 1 <= found.factor.shape[1] <= k
    assert np.isfinite(found.factor).all()
    assert found.factor.min() >= 0.0
    np.testing.assert_allclose(found.factor.sum(axis=0), 1.0, atol=1e-12)
    assert (found.scale > 0).all() or A.sum() == 0
    assert len(found.history) <= found.n_iter + 1
    assert np.diff(found.history).max(initial=0.0) <= 1e-10 * max(A.sum() * 70, 1e-300)
    assert found.objective == found.history[-1]


def test_the_loss_is_divergence_plus_priors():
    A, _ = planted_graph([30, 40], 5)
    A = A.toarray()
    problem = relation_problem(A, 3, sparsity=0.01, pruning=0.02)
    found = solve_em(problem, random_rows(70, 3, 7), max_iter=1000)
    H, lam = found.factor, found.scale
    Q = (H * lam) @ H.T
    assert (Q[A > 0] > 0).all()
    total, degrees = A.sum(), A.sum(axis=1, keepdims=True)
    logs = np.log(H, where=H > 0, out=np.zeros_like(H))
    expected = (
        divergence(A, H, lam)
        + 0.02 * total * np.log(lam / total).sum()
        + 2 * 0.01 * (degrees * logs).sum()
    )
    assert found.objective == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("seed", [11, 13, 17])
def test_superfluous_clusters_are_pruned(seed):
    A, labels = planted_graph([40] * 5, seed, inside=12.0, outside=2.6)
    problem = relation_problem(A, 10, pruning=0.04)
    found = solve_em(problem, random_rows(200, 10, seed + 1), max_iter=2000)
    assert found.converged
    assert found.factor.shape[1] == 5
    assert accuracy(labels, bipartite_rows(found).argmax(axis=1)) == 1.0


def test_never_all_clusters_vanish():
    A, _ = planted_graph([30, 30], 19)
    found = solve_em(relation_problem(A, 8, pruning=0.99), random_rows(60, 8, 23), max_iter=500)
    assert found.factor.shape[1] == 1
    assert found.converged


def test_sparsity_empties_shares_but_no_object():
    A, _ = planted_graph([30, 40], 29)
    start = random_rows(70, 4, 31)
    plain = bipartite_rows(solve_em(relation_problem(A, 4), start))
    sparse = bipartite_rows(solve_em(relation_problem(A, 4, sparsity=0.08), plain))
    assert (sparse > 0).sum() < (plain > 0.01).sum()
    np.testing.assert_allclose(sparse.sum(axis=1), 1.0)
