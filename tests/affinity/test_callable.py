from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from soffit.affinity import CallableAffinity


def products(X, Y):
    return np.maximum(X @ Y.T, 0)


def sparse_products(X, Y):
    return sp.coo_array(products(X, Y))


@pytest.fixture
def X():
    return np.random.default_rng(3257).normal(size=(20, 3))


@pytest.mark.parametrize("function", [products, sparse_products])
def test_calls_the_function_for_all_pairs_and_for_new_objects(X, function):
    fitted = CallableAffinity(function).fit(X)
    assert sp.issparse(fitted.matrix_) == (function is sparse_products)
    assert abs(fitted.matrix_ - products(X, X)).max() < 1e-14
    assert abs(fitted.matrix_ - fitted.matrix_.T).max() == 0
    assert abs(fitted.cross(X[:4] + 1) - products(X[:4] + 1, X)).max() == 0


def test_arguments_are_fitted_and_new_objects(X):
    calls = []

    def record(left, right):
        calls.append((left, right))
        return np.ones((len(left), len(right)))

    new = X[:2] + 1
    CallableAffinity(record).fit(X).cross(new)
    assert calls[0][0] is X
    assert calls[0][1] is X
    assert calls[1][0] is new
    assert calls[1][1] is X


def negative(X, Y):
    return X @ Y.T


def lopsided(X, Y):
    return np.abs(X[:, :1]) + np.zeros(len(Y))


def undefined(X, Y):
    return np.full((len(X), len(Y)), np.nan)


def too_small(X, Y):
    return np.eye(3)


def not_square(X, Y):
    return np.ones((len(X), 2))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (negative, "negative"),
        (lopsided, r"symmetric.*\(A \+ A\.T\) / 2"),
        (undefined, "finite"),
        (too_small, "X has 20 objects"),
        (not_square, "must be square"),
    ],
)
def test_messages_name_the_function(X, function, message):
    with pytest.raises(ValueError, match=message) as error:
        CallableAffinity(function).fit(X)
    assert f"affinity function {function.__name__}(X, X)" in str(error.value)


def test_block_is_checked(X):
    def constant(X, Y):
        return np.ones((20, 20))

    with pytest.raises(ValueError, match=r"constant\(X_new, X\).*X_new has 2 objects"):
        CallableAffinity(constant).fit(X).cross(X[:2])


def test_needs_a_function(X):
    with pytest.raises(TypeError, match="not 'products'"):
        CallableAffinity("products").fit(X)


def test_single_precision_is_kept(X):
    X = X.astype(np.float32)
    fitted = CallableAffinity(products).fit(X)
    assert fitted.matrix_.dtype == np.float32
    assert fitted.cross(X[:2]).dtype == np.float32


class Products:
    def __call__(self, X, Y):
        return -products(X, Y)


def test_callable_objects_are_named_by_their_class(X):
    with pytest.raises(ValueError, match=r"affinity function Products\(X, X\)"):
        CallableAffinity(Products()).fit(X)


def test_pickle(X):
    from sklearn.metrics.pairwise import laplacian_kernel

    fitted = CallableAffinity(laplacian_kernel).fit(X)
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.cross(X[:3]), fitted.cross(X[:3]))
