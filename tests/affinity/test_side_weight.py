from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from soffit.affinity import SideInformation
from soffit.affinity.side_information import with_known_pairs, with_side, without_negative


@pytest.fixture
def A() -> np.ndarray:
    root = np.random.default_rng(5).random((6, 6))
    A = np.where(root + root.T > 1.0, root + root.T, 0.0)
    np.fill_diagonal(A, 2.0)
    return A


@pytest.fixture
def side() -> SideInformation:
    return SideInformation.of([(0, 1), (2, 5)], [(1, 4), (3, 0)], 6)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_relations_are_added_in_units_of_the_largest_affinity(A, side, storage, dtype):
    given = storage(A.astype(dtype))
    joined = with_side(given, side, 0.25)
    assert sp.issparse(joined) == sp.issparse(given)
    assert joined.dtype == dtype
    array = joined.toarray() if sp.issparse(joined) else joined
    np.testing.assert_allclose(array, A + 0.25 * 2.0 * side.relation().toarray(), rtol=1e-6)
    kept = given.toarray() if sp.issparse(given) else given
    np.testing.assert_array_equal(kept, A.astype(dtype))


def test_without_pairs_nothing_changes(A):
    assert with_side(A, None, 1.0) is A
    assert with_known_pairs(A, None) is A
    assert with_known_pairs(None, None) is None


def test_relations_to_an_empty_matrix(side):
    joined = with_side(sp.csr_array((6, 6)), side, 1.0)
    np.testing.assert_array_equal(joined.toarray(), side.relation().toarray())


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_known_pairs_become_observed(side, storage):
    weight = np.zeros((6, 6))
    weight[0, 1] = weight[1, 0] = 0.5
    weight[2, 3] = weight[3, 2] = 2.0
    result = with_known_pairs(storage(weight), side)
    assert sp.issparse(result) == (storage is sp.csr_array)
    array = result.toarray() if sp.issparse(result) else result
    told = side.relation().toarray() != 0
    np.testing.assert_array_equal(array, np.where(told, 2.0, weight))


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_negative_entries_are_cut(A, side, storage):
    joined = with_side(storage(A), side, 1.0)
    cut = without_negative(joined)
    assert sp.issparse(cut) == sp.issparse(joined)
    array = joined.toarray() if sp.issparse(joined) else joined
    assert array.min() < 0
    np.testing.assert_array_equal(
        cut.toarray() if sp.issparse(cut) else cut, np.maximum(array, 0.0)
    )
    assert without_negative(cut) is cut
    if sp.issparse(cut):
        assert cut.data.min() > 0
