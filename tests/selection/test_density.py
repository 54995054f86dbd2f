"""Modes of a density, by hand and against a plain second implementation."""

import numpy as np
import pytest
import scipy.sparse as sp

from soffit.affinity import Gaussian, NeighborGraph
from soffit.selection.density import Density, mode_depths


def chain(heights, weights=None):
    """Objects in a row with these logarithms of their densities."""
    n = len(heights)
    weights = np.ones(n - 1) if weights is None else np.asarray(weights)
    A = sp.csr_array(np.diag(weights, 1) + np.diag(weights, -1))
    return A, Density(np.asarray(heights, dtype=float), 1.0)


def plain(A, height, sizes, least, *, weakened):
    """The definition: at every level, the components of what is at least as dense."""
    A = A.toarray()
    usual = A.sum(axis=1) / (A > 0).sum(axis=1)
    at = np.minimum.outer(height, height)
    if weakened:
        with np.errstate(divide="ignore"):
            at = at + np.minimum(np.log(A / np.sqrt(np.outer(usual, usual))), 0)
    links = [(at[i, j], i, j) for i, j in np.argwhere(np.triu(A) > 0)]
    groups = {i: {i} for i in range(len(A))}
    tops = dict(enumerate(height))
    depths = []
    for level, i, j in sorted(links, key=lambda link: -link[0]):
        one = next(g for g in groups if i in groups[g])
        two = next(g for g in groups if j in groups[g])
        if one == two:
            continue
        low, high = sorted((one, two), key=lambda g: tops[g])
        small = [g for g in (low, high) if sizes[list(groups[g])].sum() < least]
        if not small:
            depths.append(tops[low] - level)
        elif small == [high]:
            low, high = high, low
        groups[high] |= groups.pop(low)
    return np.sort(depths)[::-1]


def smoothed(A, height):
    step = A.toarray() / A.sum(axis=1)[:, None]
    for _ in range(2):
        height = 0.5 * height + 0.5 * step @ height
    return height


@pytest.mark.parametrize("seed", [3, 5, 7])
def test_depths_agree_with_the_definition(seed):
    rng = np.random.default_rng(seed)
    A = sp.csr_array(np.triu(rng.random((60, 60)) * (rng.random((60, 60)) < 0.08), 1))
    A = sp.csr_array(A + A.T)
    A = A[A.sum(axis=1) > 0][:, A.sum(axis=1) > 0]
    height, sizes = rng.normal(size=A.shape[0]), rng.integers(1, 4, A.shape[0]).astype(float)
    found = mode_depths(A, Density(height, 2.0), sizes, 5)
    least = max(0.2 * sizes.sum() / 5, 3.0)
    for depths, weakened in zip(found, (False, True), strict=True):
        expected = plain(A, smoothed(A, height), sizes, least, weakened=weakened)
        np.testing.assert_allclose(depths, expected)


def test_two_hills_have_one_valley():
    x = np.arange(60)
    A, density = chain(-np.cos(x * 2 * np.pi / 30))
    by_density, by_links = mode_depths(A, density, np.ones(60), 3)
    assert by_density[0] == pytest.approx(2, abs=0.1)
    assert (by_density[1:] < 0.1).all()
    np.testing.assert_allclose(by_links, by_density)


def test_a_weak_link_separates_where_the_density_does_not():
    weights = np.ones(39)
    weights[19] = 0.05
    A, density = chain(np.zeros(40), weights)
    by_density, by_links = mode_depths(A, density, np.ones(40), 4)
    np.testing.assert_allclose(by_density, 0)
    assert by_links[0] > 2
    assert (by_links[1:] < 0.1).all()


def test_a_few_objects_are_no_mode():
    height = np.zeros(50)
    height[5] = 30.0
    A, density = chain(height)
    by_density, _ = mode_depths(A, density, np.ones(50), 5)
    # The summit and the objects that it is smoothed over are fewer than ten.
    assert (by_density < 1e-9).all()


@pytest.mark.parametrize("n_features", [1, 2, 4])
def test_the_dimension_follows_from_the_distances(n_features):
    X = np.random.default_rng(11).random((3000, n_features))
    density = Density.of(NeighborGraph(15).fit(X))
    assert density.dimension == pytest.approx(n_features, rel=0.2)


def test_the_density_is_that_of_the_objects():
    X = np.random.default_rng(13).normal(size=(4000, 2))
    density = Density.of(NeighborGraph(15).fit(X))
    truth = -0.5 * np.sum(X**2, axis=1)
    inside = truth > -3
    assert np.corrcoef(density.logarithm[inside], truth[inside])[0, 1] > 0.9


def test_copies_and_other_affinities():
    X = np.repeat(np.random.default_rng(17).normal(size=(30, 2)), 20, axis=0)
    assert Density.of(NeighborGraph(15).fit(X)) is None
    some = np.vstack([X[:40], np.random.default_rng(19).normal(size=(200, 2))])
    assert np.isfinite(Density.of(NeighborGraph(15).fit(some)).logarithm).all()
    assert Density.of(Gaussian().fit(X)) is None
    assert Density.of(NeighborGraph(5).fit(some)) is None


def test_the_density_of_few_objects_is_that_of_their_nearest():
    """The last neighbour of few objects is at the other end, whichever of them it is."""
    rng = np.random.default_rng(23)
    X = np.vstack([rng.normal(size=(9, 2)), 100 + 5 * rng.normal(size=(9, 2))])
    graph = NeighborGraph(15).fit_for(X, None)
    near, _, rank, _ = graph.spacings()
    D = np.sort(np.linalg.norm(X[:, None] - X, axis=2), axis=1)
    np.testing.assert_allclose(near, D[:, rank])
    density = Density.of(graph)
    assert density.logarithm[:9].min() > density.logarithm[9:].max()


def test_a_coarse_node_has_the_mean_of_its_objects():
    density = Density(np.array([1.0, 2.0, 3.0, 4.0]), 1.0)
    np.testing.assert_array_equal(
        density.of_nodes(np.array([0, 1, 3]), np.array([0, 0, 1])).logarithm, [1.5, 4.0]
    )
