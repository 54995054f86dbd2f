from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cdist

from soffit._matrix_checks import mirror_upper
from soffit.affinity import Precomputed

FORMATS = ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"]

symmetric = (
    st.integers(1, 9)
    .flatmap(lambda n: arrays(np.float64, (n, n), elements=st.sampled_from([0.0, 0.5, 1.0, 3.25])))
    .map(lambda A: A + A.T + np.eye(len(A)))
)


@pytest.fixture
def A():
    X = np.random.default_rng(1931).normal(size=(30, 2))
    return np.exp(-cdist(X, X))


@given(symmetric)
def test_valid_similarities_pass_unchanged_in_both_storages(A):
    np.testing.assert_array_equal(Precomputed().fit(A).matrix_, A)
    sparse = Precomputed().fit(sp.csr_array(A)).matrix_
    np.testing.assert_array_equal(sparse.toarray(), A)
    assert sparse.has_canonical_format
    assert np.all(sparse.data != 0)


@pytest.mark.parametrize("storage", FORMATS)
@pytest.mark.parametrize("kind", [sp.coo_array, sp.coo_matrix])
def test_every_sparse_format_becomes_csr(A, storage, kind):
    A = np.where(A > 0.5, A, 0)
    fitted = Precomputed().fit(kind(A).asformat(storage))
    assert isinstance(fitted.matrix_, sp.csr_array)
    np.testing.assert_array_equal(fitted.matrix_.toarray(), A)
    assert isinstance(fitted.cross(kind(A[:2]).asformat(storage)), sp.csr_array)


def test_duplicates_are_added_and_stored_zeros_dropped():
    entries = ([1.0, 1.0, 2.0, 0.0], ([0, 0, 1, 0], [1, 1, 0, 0]))
    matrix = Precomputed().fit(sp.coo_array(entries, shape=(2, 2))).matrix_
    np.testing.assert_array_equal(matrix.toarray(), [[0, 2], [2, 0]])
    assert matrix.nnz == 2


@pytest.mark.parametrize("dtype", [bool, int, np.uint8, np.float16, np.float64])
def test_other_types_become_double(dtype):
    for storage in (np.asarray, sp.csr_array):
        assert Precomputed().fit(storage(np.eye(3, dtype=int).astype(bool))).matrix_.dtype == float
    assert Precomputed().fit(np.eye(3, dtype=dtype)).matrix_.dtype == np.float64


def test_single_precision_is_kept(A):
    for storage in (np.asarray, sp.csr_array):
        fitted = Precomputed().fit(storage(A.astype(np.float32)))
        assert fitted.matrix_.dtype == np.float32
        assert fitted.cross(storage(A[:1].astype(np.float32))).dtype == np.float32


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_rounding_asymmetry_is_averaged_away(A, storage):
    rough = A * (1 + 1e-11 * np.arange(30))
    matrix = Precomputed().fit(storage(rough)).matrix_
    assert abs(matrix - matrix.T).max() == 0
    assert abs(matrix - A).max() < 1e-9


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda A: A[:4], "must be square, not 4 x 30"),
        (lambda A: np.where(np.isin(A, A[0, 1]), np.nan, A), "finite, but 2 of its entries"),
        (
            lambda A: np.where(np.isin(A, A[0, 1]), -0.25, A),
            r"2 entries are negative .*-0\.25.*clip",
        ),
        (lambda A: A + np.triu(A), r"differ by up to .*\(A \+ A\.T\) / 2"),
        (lambda A: A[:0, :0], "empty"),
    ],
)
def test_unsuitable_matrices_are_refused(A, storage, spoil, message):
    with pytest.raises(ValueError, match=message):
        Precomputed().fit(storage(spoil(A)))


def test_other_kinds_of_values_are_refused():
    with pytest.raises(ValueError, match="two-dimensional"):
        Precomputed().fit(np.ones(4))
    with pytest.raises(TypeError, match="real numbers, not dtype complex128"):
        Precomputed().fit(np.eye(2, dtype=complex))


@pytest.mark.parametrize("n", [5, 12, 60])
@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
def test_distances_are_recognized(n, metric):
    X = np.random.default_rng(n).normal(size=(n, 2))
    message = "looks like distances.*metric='precomputed'.*'nearest_neighbors'.*'relative'"
    with pytest.raises(ValueError, match=message):
        Precomputed().fit(cdist(X, X, metric))


def test_similarities_without_diagonal_are_not_taken_for_distances(A):
    without = A - np.diag(A.diagonal())
    np.testing.assert_array_equal(Precomputed().fit(without).matrix_, without)
    narrow = np.random.default_rng(41).uniform(1, 1.9, size=(20, 20))
    narrow = np.triu(narrow, 1) + np.triu(narrow, 1).T
    Precomputed().fit(narrow)
    Precomputed().fit(np.ones((6, 6)) - np.eye(6))


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_block_of_new_objects(A, storage):
    fitted = Precomputed().fit(A)
    assert abs(fitted.cross(storage(A[:3])) - A[:3]).max() == 0
    with pytest.raises(ValueError, match=r"n = 30 columns.*not 7"):
        fitted.cross(storage(A[:3, :7]))
    with pytest.raises(ValueError, match="90 entries are negative"):
        fitted.cross(storage(-A[:3]))
    with pytest.raises(ValueError, match="finite"):
        fitted.cross(storage(A[:3] * np.nan))


def test_input_is_neither_changed_nor_shared(A):
    before = A.copy()
    Precomputed().fit(A).matrix_[:] = 9
    np.testing.assert_array_equal(A, before)
    unsorted = sp.csr_array((np.array([2.0, 1, 2, 0]), [1, 0, 0, 1], [0, 2, 4]), shape=(2, 2))
    Precomputed().fit(unsorted)
    np.testing.assert_array_equal(unsorted.indices, [1, 0, 0, 1])
    assert unsorted.nnz == 4


def test_mirror_upper_in_blocks(limits):
    limits(block_entries=16)
    A = np.random.default_rng(97).random((50, 50))
    mirrored = A.copy()
    mirror_upper(mirrored)
    np.testing.assert_array_equal(mirrored, np.triu(A) + np.triu(A, 1).T)


def test_pickle(A):
    fitted = pickle.loads(pickle.dumps(Precomputed().fit(A)))
    np.testing.assert_array_equal(fitted.matrix_, A)
