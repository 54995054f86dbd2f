"""What of a graph is looked at for clusters."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from tests.reference.problems import block_diagonal

from soffit import SoftClustering
from soffit.graph import Graph, without_diagonal


def without_strays(A, n_clusters):
    return Graph.of(A).without_strays(n_clusters).matrix


def _cliques(*sizes: int) -> sp.csr_array:
    A = block_diagonal([np.ones((n, n)) - np.eye(n) for n in sizes])
    A.eliminate_zeros()
    return A


def test_diagonal_is_removed_in_both_storages_without_touching_the_input() -> None:
    A = np.array([[2.0, 1.0], [1.0, 0.0]])
    kept = A.copy()
    np.testing.assert_array_equal(without_diagonal(A), [[0.0, 1.0], [1.0, 0.0]])
    np.testing.assert_array_equal(A, kept)
    sparse = sp.csr_array(A)
    trimmed = without_diagonal(sparse)
    assert trimmed.nnz == 2
    assert sparse.nnz == 3
    assert without_diagonal(trimmed) is trimmed


def test_tiny_components_lose_their_ties() -> None:
    A = _cliques(150, 150, 2)
    trimmed = without_strays(A, 2)
    assert trimmed[300:].nnz == 0
    assert trimmed.nnz == A.nnz - 2
    assert A[300:].nnz == 2


def test_tiny_components_of_an_array_lose_their_ties_alike() -> None:
    A = _cliques(150, 150, 2)
    np.testing.assert_array_equal(without_strays(A.toarray(), 2), without_strays(A, 2).toarray())
    for kept in (_cliques(150, 150, 4).toarray(), _cliques(20).toarray()):
        assert without_strays(kept, 2) is kept


def test_large_components_and_connected_graphs_are_left_alone() -> None:
    for A in (_cliques(150, 150, 4), _cliques(20), _cliques(*[2] * 200)):
        assert without_strays(A, 2) is A


def test_stray_pair_is_uncertain_and_no_cluster() -> None:
    model = SoftClustering(2, affinity="precomputed", random_state=29).fit(_cliques(150, 150, 2))
    assert model.labels_[0] != model.labels_[150]
    np.testing.assert_allclose(model.memberships_[300:], 0.5, atol=1e-6)


def test_unlinked_objects_keep_the_prior_unsharpened() -> None:
    A = block_diagonal([_cliques(90, 10), np.zeros((3, 3))])
    model = SoftClustering(2, affinity="precomputed", random_state=29).fit(A)
    np.testing.assert_allclose(
        np.sort(model.memberships_[100:], axis=1), np.tile([0.1, 0.9], (3, 1)), atol=0.02
    )
    new = model.predict_proba(np.zeros((1, 103)))
    np.testing.assert_allclose(new[0], model.memberships_[-1], atol=1e-9)
