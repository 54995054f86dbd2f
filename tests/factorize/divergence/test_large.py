from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from tests.reference.problems import block_diagonal
from tests.reference.relations import planted_graph, relation_problem
from tests.reference.threads import printed_with_one_and_two_threads

from soffit.factorize.divergence.em import bipartite_rows
from soffit.factorize.divergence.em_starts import solve_em_from_starts
from soffit.metrics import accuracy
from soffit.partition.candidates import informative_partition


@pytest.fixture
def everything_is_large(limits):
    limits(divergence_objects=100, graph_nodes=600, nodes_per_cluster=20)


def _solve(A, k, **options):
    options = {"max_iter": 500, "tol": 1e-6, "n_draws": 2} | options
    return solve_em_from_starts(relation_problem(A, k), np.random.RandomState(3), **options)


@pytest.mark.usefixtures("everything_is_large")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_planted_blocks_are_found(dtype):
    A, labels = planted_graph([200, 250, 300, 350], 5)
    found = _solve(A.astype(dtype), 4)
    assert found.converged
    assert found.factor.dtype == dtype
    assert accuracy(labels, bipartite_rows(found).argmax(axis=1)) > 0.995
    assert np.diff(found.history).max() <= 1e-6 * found.history[0]
    np.testing.assert_allclose(found.factor.sum(axis=0), 1.0, rtol=1e-4)


@pytest.mark.usefixtures("everything_is_large")
@pytest.mark.parametrize(("k", "margin"), [(3, 0.01), (4, 0.01), (6, 0.02)])
def test_the_fit_is_nearly_as_good_as_the_best_of_many_starts(k, margin, limits):
    A, _ = planted_graph([200, 250, 300, 350], 7, inside=9.0, outside=3.0)
    large = _solve(A, k)
    limits(divergence_objects=10**9)
    assert large.objective <= (1 + margin) * _solve(A, k).objective


@pytest.mark.usefixtures("everything_is_large")
def test_isolated_objects_do_no_harm():
    A, labels = planted_graph([300, 400], 11)
    assert accuracy(labels, informative_partition(A, 2)) > 0.98
    padded = block_diagonal([A, sp.csr_array((3, 3))])
    found = _solve(padded, 2)
    assert accuracy(labels, bipartite_rows(found)[:700].argmax(axis=1)) > 0.98
    np.testing.assert_array_equal(found.factor[700:], 0.0)


@pytest.mark.usefixtures("everything_is_large")
def test_the_phase_is_announced_and_a_callback_ends_the_search():
    A, _ = planted_graph([200, 250, 300, 350], 13, inside=7.0, outside=4.0)
    phases = []
    _solve(A, 7, max_iter=9, phase=lambda what, **_: phases.append(what))
    assert phases == ["iterations"]
    cut = _solve(A, 7, callback=lambda number, loss: True)
    assert cut.stopped == "callback"
    assert cut.n_iter == 1


@pytest.mark.usefixtures("everything_is_large")
def test_many_clusters_need_no_eigenvectors(limits):
    limits(vectors=5)
    A, labels = planted_graph([150] * 8, 17, inside=14.0, outside=1.0)
    found = _solve(A, 8)
    assert accuracy(labels, bipartite_rows(found).argmax(axis=1)) > 0.8


_THREADS = """
import hashlib
import numpy as np
from tests.reference.relations import planted_graph, relation_problem
from tests.reference.threads import lower, watch
from soffit import graph
from soffit.factorize.divergence import em_starts, relations, sparse_rows
from soffit.partition import candidates, label_sweeps, multilevel
# This graph counts as large, and has many pieces.
lower(relations, _LARGE=100)
lower(candidates, _MOST_NODES=400, _NODES_PER_SWEPT_CLUSTER=20)
for module in (sparse_rows, label_sweeps, graph):
    lower(module, _ROWS=128)
lower(multilevel, _GROUPS=64)
pieces = watch(sparse_rows, label_sweeps, graph, multilevel)
digest = hashlib.sha256()
A, _ = planted_graph([600, 700, 700], 19)
for matrix in (A, A.astype(np.float32)):
    found = em_starts.solve_em_from_starts(
        relation_problem(matrix, 5), np.random.RandomState(3), n_draws=2, max_iter=30, tol=1e-6
    )
    digest.update(found.factor.tobytes())
assert min(pieces.values()) > 1, pieces
print(digest.hexdigest())
"""


def test_bytes_do_not_depend_on_the_number_of_threads():
    assert len(printed_with_one_and_two_threads(_THREADS)) == 1
