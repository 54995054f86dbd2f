"""Affinities and what the clusters make of them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from soffit import (
    BaumEagon,
    CompletelyPositive,
    HigherOrder,
    RandomWalkClassifier,
    RelationFactorization,
    SoF,
    SoftClustering,
    SoftHierarchy,
    SpectralClustering,
)
from soffit.datasets import make_lines
from soffit.figures import reconstruction
from soffit.figures.reconstruction import average, average_tuples, blocks, factored_of
from soffit.graph import Graph


@pytest.fixture(scope="module")
def points(table):
    return table[0][:60]


def panels(model, points=60):
    figure = reconstruction(model, max_pixels=points)
    return tuple(np.asarray(trace.z, dtype=np.float64) for trace in figure.data)


SQUARED = [
    SoftClustering(3, random_state=11),
    SoftClustering(3, affinity="rbf", scale="single", random_state=11),
    SpectralClustering(3, random_state=11),
    SoF(3, random_state=11),
    SoF(3, scale="fit", solver="gradient", random_state=11),
    BaumEagon(3, random_state=11),
    BaumEagon(3, solver="growth", tol=1e-3, random_state=11),
    CompletelyPositive(3, random_state=11),
    CompletelyPositive(3, normalization="additive", random_state=11),
    CompletelyPositive(3, normalization=None, random_state=11),
]


@pytest.mark.parametrize("model", SQUARED, ids=lambda model: repr(model)[:60])
def test_the_squared_difference_is_the_objective(model, points):
    observed, fitted, difference = panels(model.fit(points))
    assert observed.shape == fitted.shape == (60, 60)
    loss = np.nansum((observed - fitted) ** 2)
    assert loss == pytest.approx(model.objective_, rel=1e-4)
    np.testing.assert_allclose(difference, observed - fitted)


@pytest.mark.parametrize(
    "model",
    [RelationFactorization(3, random_state=11), SoftHierarchy(levels=[8, 3], random_state=11)],
    ids=["flat", "hierarchy"],
)
def test_the_divergence_is_the_objective(model, points):
    observed, fitted, _ = panels(model.fit(points))
    linked = observed > 0
    divergence = np.sum(observed[linked] * np.log(observed[linked] / fitted[linked]))
    divergence += fitted.sum() - observed.sum()
    assert divergence == pytest.approx(model.objective_, rel=1e-4)


def test_the_published_hierarchy_shows_its_top_level(points):
    model = SoftHierarchy(levels=[8, 3], refine=False, random_state=11).fit(points)
    _, fitted, _ = panels(model)
    order = np.lexsort((-model.memberships_.max(axis=1), model.labels_))
    expected = model.induced_affinity(-1).toarray()[np.ix_(order, order)]
    np.testing.assert_allclose(fitted, expected, rtol=1e-6, atol=1e-12)


def test_the_product_is_that_of_the_formula(points):
    model = SoftClustering(3, random_state=11).fit(points)
    _, fitted, _ = panels(model)
    A = Graph.of(model.affinity_matrix_).without_diagonal().without_strays(3).matrix
    theta = np.sqrt(np.asarray(A.sum(axis=1)).ravel() / A.sum(axis=1).mean())
    full = np.outer(theta, theta) * ((model.factor_ * model.scale_) @ model.factor_.T)
    order = np.lexsort((-model.memberships_.max(axis=1), model.labels_))
    expected = full[np.ix_(order, order)]
    np.fill_diagonal(expected, np.nan)
    np.testing.assert_allclose(fitted, expected, rtol=1e-6)


def test_tuples_are_averaged_over_those_that_hold_both_objects():
    X, _, _ = make_lines(60, n_lines=2, random_state=13)
    model = HigherOrder(2, random_state=13).fit(X)
    observed, fitted, _ = panels(model)
    assert observed.shape == (60, 60)
    G = model.factor_
    values = np.einsum("tr,tr,tr->t", *(G[model.tuples_[:, a]] for a in range(3)))
    loss = np.sum((model.tuple_values_ - values) ** 2)
    assert loss == pytest.approx(model.objective_, rel=1e-6)
    order = np.lexsort((-model.memberships_.max(axis=1), model.labels_))
    i, j = order[4], order[17]
    both = (model.tuples_ == i).any(axis=1) & (model.tuples_ == j).any(axis=1)
    if both.any():
        assert observed[4, 17] == pytest.approx(model.tuple_values_[both].mean())
        assert fitted[4, 17] == pytest.approx(values[both].mean())
    else:
        assert np.isnan(observed[4, 17])


def test_tuples_by_hand():
    tuples = np.array([[0, 1, 2], [0, 1, 3]])
    pixels = average_tuples(tuples, np.array([1.0, 0.5]), np.array([0.8, 0.6]), np.arange(4))
    assert pixels.observed[0, 1] == 0.75
    assert pixels.fitted[1, 0] == pytest.approx(0.7)
    assert pixels.observed[2, 0] == 1.0
    assert np.isnan(pixels.observed[2, 3])
    assert np.isnan(pixels.observed[0, 0])


@pytest.mark.parametrize("solver", ["rows", "gradient"])
@pytest.mark.parametrize("most", [7, 60])
def test_blocks_are_means(points, solver, most):
    model = SoF(3, solver=solver, random_state=11).fit(points)
    fit = factored_of(model)
    place = blocks(model.labels_, model.memberships_.max(axis=1), most)
    pixels = average(fit, place)
    full = fit.matrix, (fit.rows * fit.scale) @ fit.rows.T
    counted = np.ones((60, 60)) if solver == "gradient" else 1.0 - np.eye(60)
    inside = np.eye(pixels.observed.shape[0])[:, place]
    with np.errstate(invalid="ignore"):
        for found, matrix in zip((pixels.observed, pixels.fitted), full, strict=True):
            means = (inside @ (matrix * counted) @ inside.T) / (inside @ counted @ inside.T)
            np.testing.assert_allclose(found, means, rtol=1e-9, atol=1e-12)


def test_sparse_and_dense_storage_agree(points):
    model = SoftClustering(3, random_state=11).fit(points)
    fit = factored_of(model)
    assert sp.issparse(fit.matrix)
    place = blocks(model.labels_, model.memberships_.max(axis=1), 9)
    dense = type(fit)(fit.matrix.toarray(), fit.rows, fit.scale, fit.diagonal, "", "")
    for one, other in zip(
        (average(fit, place).observed, average(fit, place).fitted),
        (average(dense, place).observed, average(dense, place).fitted),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_blocks_are_even_and_sorted_by_cluster():
    labels = np.random.default_rng(43).integers(4, size=1000)
    place = blocks(labels, np.ones(1000), 90)
    sizes = np.bincount(place)
    assert len(sizes) == 90
    assert sizes.max() - sizes.min() <= 1
    ordered = labels[np.argsort(place, kind="stable")]
    first = [place[labels == c].min() for c in range(4)]
    assert first == sorted(first)
    assert np.count_nonzero(np.diff(ordered)) >= 3


def test_large_matrices_stay_small_and_say_so():
    rng = np.random.default_rng(47)
    n = 3000
    A = sp.random_array((n, n), density=0.004, random_state=rng, format="csr")
    model = SoftClustering(4, affinity="precomputed", random_state=3).fit(A + A.T)
    figure = reconstruction(model)
    p = figure.data[0].z.shape[0]
    assert 40 <= p <= 300
    assert f"3,000 objects averaged to {p} by {p} blocks" in figure.layout.title.subtitle.text
    assert len(figure.to_json()) < 2_000_000


def test_two_panels_share_their_colours(resampled):
    figure = reconstruction(resampled)
    assert [trace.coloraxis for trace in figure.data] == ["coloraxis", "coloraxis", "coloraxis2"]
    assert figure.layout.coloraxis2.cmin == -figure.layout.coloraxis2.cmax


def test_what_has_no_factorization_says_so(table, memberships):
    X, labels, _ = table
    with pytest.raises(ValueError, match="RandomWalkClassifier holds no factorization"):
        reconstruction(RandomWalkClassifier().fit(X, labels))
    with pytest.raises(ValueError, match="holds no factorization"):
        reconstruction(memberships)
    with pytest.raises(ValueError, match="max_pixels must be None or an integer of at least 1"):
        reconstruction(memberships, max_pixels=0)
