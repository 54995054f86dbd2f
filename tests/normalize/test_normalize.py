from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from soffit.normalize import NORMALIZATIONS, Normalized, degree, normalize, sinkhorn


@pytest.fixture
def A():
    root = np.random.default_rng(8111).random((15, 15))
    return root + root.T


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("how", NORMALIZATIONS)
def test_every_normalization_by_name(A, how, storage):
    result = normalize(storage(A), how)
    assert isinstance(result, Normalized)
    assert sp.issparse(result.matrix) == (storage is sp.csr_array and how != "additive")
    assert abs(result.matrix - result.matrix.T).max() == 0
    assert abs(result.cross(storage(A)) - result.matrix).max() < 1e-7
    assert pickle.loads(pickle.dumps(result)).matrix.shape == A.shape


def test_options_are_passed_on(A):
    np.testing.assert_array_equal(
        normalize(A, "sinkhorn", tol=1e-3).matrix, sinkhorn(A, tol=1e-3).matrix
    )
    assert normalize(A, "additive", beta=90.0).beta == 90.0


@pytest.mark.parametrize("how", [None, "none"])
def test_none_returns_the_matrix_itself(A, how):
    result = normalize(A, how)
    assert result.matrix is A
    assert result.factors is None
    assert result.beta is None
    assert result.cross(A) is A


@pytest.mark.parametrize("how", ["sinkhorm", 3, ["degree"]])
def test_unknown_names_list_the_choices(A, how):
    with pytest.raises(ValueError, match=r"is unknown\. Choose one of None, 'none', 'degree'"):
        normalize(A, how)


def test_results_are_frozen(A):
    with pytest.raises(dataclasses.FrozenInstanceError):
        degree(A).matrix = A
