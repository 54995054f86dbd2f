from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import multivariate_t

from soffit.affinity import NeighborGraph
from soffit.selection.gaussian_clusters import (
    Points,
    _any_covariance,
    _power,
    _straightened,
    log_evidence,
    log_evidence_of_several,
    prepared,
)


def points_of(X) -> Points:
    X = np.asarray(X, dtype=float)
    return Points(X, np.arange(len(X)))


def halves(X):
    """Two clusters: below and above the median of the first column."""
    order = np.argsort(np.argsort(X[:, 0]))
    return lambda k: (order * k) // len(X)


def test_the_marginal_likelihood_is_that_of_one_object_after_the_other():
    """The chain rule with the predictive distribution, a multivariate t."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(12, 3))
    prior = np.diag([0.5, 1.0, 2.0])
    kappa, nu = 0.05, 3 + 2.0
    mean, scale, expected = np.zeros(3), prior.copy(), 0.0
    for x in X:
        shape = scale * (kappa + 1) / (kappa * (nu - 3 + 1))
        expected += multivariate_t.logpdf(x, mean, shape, df=nu - 3 + 1)
        scale = scale + kappa / (kappa + 1) * np.outer(x - mean, x - mean)
        mean = (kappa * mean + x) / (kappa + 1)
        kappa, nu = kappa + 1, nu + 1
    center = X.mean(axis=0)
    scatter = (X - center).T @ (X - center)
    found = _any_covariance(np.array([12.0]), center[None], scatter[None], prior)
    assert found == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("draw", ["normal", "uniform", "exponential", "lognormal"])
@pytest.mark.parametrize(("n", "d"), [(30, 1), (30, 3), (400, 2), (400, 6)])
def test_cutting_one_cluster_makes_the_objects_less_probable(draw, n, d):
    X = getattr(np.random.default_rng(5), draw)(size=(n, d))
    gain = log_evidence(prepared(points_of(X)), halves(X), 4)
    assert gain[0] == 0
    assert (gain[1:] < 0).all()


@pytest.mark.parametrize(("n", "k"), [(10, 2), (9, 3), (24, 3), (300, 5)])
def test_separate_clusters_make_them_more_probable(n, k):
    rng = np.random.default_rng(7)
    labels = np.sort(np.arange(n) % k)
    X = rng.normal(size=(n, 2)) + 30 * np.column_stack([labels, labels**2 % 5])
    gain = log_evidence(prepared(points_of(X)), lambda m: np.minimum(labels, m - 1), k)
    assert gain.argmax() == k - 1
    assert gain[-1] > 1


def test_the_order_and_the_units_do_not_matter():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(80, 3)) + 3 * (np.arange(80) % 2)[:, None]
    labels = np.arange(80) % 2
    order = rng.permutation(80)
    first = log_evidence(prepared(points_of(X)), lambda k: labels * (k - 1), 2)
    other = prepared(points_of(1000 * X[order] - 5))
    again = log_evidence(other, lambda k: labels[order] * (k - 1), 2)
    np.testing.assert_allclose(first, again, rtol=1e-6)


def test_transformed_variables_are_symmetric_and_keep_their_spread():
    X = np.random.default_rng(13).lognormal(0, 0.8, size=(2000, 2)) * [1.0, 100.0]
    Z = _straightened(X)
    np.testing.assert_allclose(Z.std(axis=0), X.std(axis=0))
    skew = np.mean(((Z - Z.mean(axis=0)) / Z.std(axis=0)) ** 3, axis=0)
    # Before, the skewness is above 3.
    assert (np.abs(skew) < 0.5).all()
    np.testing.assert_allclose(_power(np.linspace(-3, 3, 7), 1.0), np.linspace(-3, 3, 7))


def test_constant_columns_and_equal_objects_are_no_error():
    for X in (np.zeros((9, 2)), np.column_stack([np.arange(9.0), np.zeros(9)])):
        Z = prepared(points_of(X))
        assert np.isfinite(log_evidence(Z, halves(np.arange(9.0)[:, None]), 3)).all()


def test_coordinates_of_distances_have_these_distances():
    from scipy.spatial.distance import cdist

    X = np.random.default_rng(17).normal(size=(40, 3))
    D = cdist(X, X)
    points = Points.of(NeighborGraph(5, metric="precomputed").fit(D), D)
    assert points is not None
    np.testing.assert_allclose(cdist(points.rows, points.rows), D, atol=1e-8)
    assert Points.of(NeighborGraph(5, metric="precomputed").fit(D)) is None


def test_sparse_and_dense_tables_have_the_same_components():
    X = sp.random_array((60, 40), density=0.3, rng=19, format="csr")
    found = [Points.of(NeighborGraph(5).fit(table)) for table in (X, X.toarray())]
    squares = [one.rows @ one.rows.T for one in found if one is not None]
    np.testing.assert_allclose(squares[0], squares[1], atol=1e-8)


def test_points_follow_the_nodes_that_represent_them():
    points = Points(np.arange(4.0)[:, None], np.arange(4))
    some = points.of_nodes(np.array([3, 1]), None)
    assert some is not None
    np.testing.assert_array_equal(some.rows.ravel(), [1, 3])
    np.testing.assert_array_equal(some.node, [1, 0])
    coarse = points.of_nodes(np.array([0, 1, 3]), np.array([0, 0, 1]))
    assert coarse is not None
    np.testing.assert_array_equal(coarse.node, [0, 0, 1])
    assert points.of_nodes(np.array([7, 8]), None) is None


def test_correlations_have_coordinates_that_do_not_depend_on_the_diagonal():
    rng = np.random.default_rng(23)
    A = np.abs(np.corrcoef(rng.normal(size=(9, 50)) + np.repeat(rng.normal(size=(3, 50)), 3, 0)))
    found = [Points.of_similarities(A + c * np.eye(9)) for c in (0.0, 5.0)]
    assert found[0] is not None
    assert found[1] is not None
    np.testing.assert_array_equal(found[0].rows, found[1].rows)
    assert Points.of_similarities(np.zeros((4, 4))) is None
    assert Points.of_similarities(np.ones((4, 4))) is None


# --- clusters that need not follow a partition ------------------------------------------------


def at_random(n):
    """Partitions that have nothing to do with the objects."""
    return lambda k: np.random.default_rng(k).permutation(n) * k // n


def test_few_far_objects_are_found_whatever_the_partition():
    """As the velocities of 82 galaxies: most of them between two small groups."""
    rng = np.random.default_rng(4)
    X = np.concatenate(
        [rng.normal(m, s, n) for m, s, n in ((-11, 0.4, 7), (0, 2, 72), (12, 0.7, 3))]
    )
    Z = prepared(points_of(X[:, None]))
    guessed = at_random(len(X))
    assert log_evidence(Z, guessed, 4)[1:].max() < 0
    found = log_evidence_of_several(Z, guessed, 4)
    wanted = log_evidence(
        Z, lambda k: np.repeat([0, 1, 2], [7, 72, 3]) if k == 3 else np.zeros(82, int), 3
    )
    assert found * len(X) >= wanted[2] - 1e-9 > 5


@pytest.mark.parametrize(("n", "d"), [(20, 2), (100, 1), (300, 3), (1000, 2)])
def test_one_gaussian_is_not_several(n, d):
    X = np.random.default_rng(6).normal(size=(n, d))
    assert log_evidence_of_several(prepared(points_of(X)), halves(X), 8) < 0


def test_several_are_at_least_as_probable_as_those_of_the_partitions():
    rng = np.random.default_rng(8)
    X = np.repeat([[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]], 12, axis=0) + rng.normal(size=(36, 2))
    Z = prepared(points_of(X))
    found = log_evidence_of_several(Z, halves(X), 6)
    assert found >= log_evidence(Z, halves(X), 6)[1:].max() / len(X)


def test_several_need_two_objects_each_and_more_than_one_number():
    X = np.random.default_rng(9).normal(size=(4, 2))
    Z = prepared(points_of(X))
    assert log_evidence_of_several(Z, halves(X), 1) == 0.0
    assert np.isfinite(log_evidence_of_several(Z, halves(X), 4))
    same = np.zeros((6, 1))
    assert np.isfinite(log_evidence_of_several(same, lambda k: np.arange(6) * k // 6, 3))
