"""Deviations of tuples from shapes, affinities of tuples, and the choice of tuples."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soffit.affinity.tuples import (
    DEVIATIONS,
    circle_deviation,
    line_deviation,
    plane_deviation,
    point_deviation,
    sample_tuples,
    tuple_measure,
    with_another,
)
from soffit.datasets import make_lines


def _flat_twin(points, dimension):
    centered = points - points.mean(axis=1, keepdims=True)
    lengths = np.linalg.svd(centered, compute_uv=False)
    return np.sqrt((lengths[:, dimension:] ** 2).sum(axis=1) / points.shape[1])


def _circle_twin(points):
    """Pratt's generalized eigenvalue problem for one tuple in the plane."""
    x, y = (points - points.mean(axis=0)).T
    Z = np.column_stack([x * x + y * y, x, y, np.ones(len(x))])
    B = np.zeros((4, 4))
    B[0, 3] = B[3, 0] = -2.0
    B[1, 1] = B[2, 2] = 1.0
    roots = np.sort(np.linalg.eigvals(np.linalg.solve(B, Z.T @ Z / len(x))).real)
    return np.sqrt(max(roots[1], 0.0))


# --- deviations -----------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [3, 4, 6])
@pytest.mark.parametrize("d", [2, 3, 7])
def test_flat_deviations_are_what_the_singular_values_leave(order, d):
    points = np.random.default_rng(307).standard_normal((50, order, d))
    np.testing.assert_allclose(point_deviation(points), _flat_twin(points, 0), atol=1e-7)
    np.testing.assert_allclose(line_deviation(points), _flat_twin(points, 1), atol=1e-7)
    np.testing.assert_allclose(plane_deviation(points), _flat_twin(points, 2), atol=1e-7)


@pytest.mark.parametrize("order", [4, 5, 9])
def test_circle_deviation_solves_pratts_problem(order):
    points = np.random.default_rng(311).standard_normal((200, order, 2))
    twin = [_circle_twin(tuple_) for tuple_ in points]
    np.testing.assert_allclose(circle_deviation(points), twin, atol=1e-7)


@pytest.mark.parametrize("d", [2, 3, 5])
def test_points_of_a_circle_or_a_line_have_no_deviation_from_a_circle(d):
    rng = np.random.default_rng(313)
    angle = rng.uniform(0, 2 * np.pi, (40, 4))
    frame = np.linalg.qr(rng.standard_normal((d, d)))[0][:2]
    circle = 3.0 * np.stack([np.cos(angle), np.sin(angle)], axis=2) @ frame + 5.0
    line = rng.standard_normal((40, 4, 1)) * frame[0]
    assert circle_deviation(circle).max() < 1e-5
    assert circle_deviation(line).max() < 1e-5


def test_circle_deviation_is_the_distance_to_first_order():
    square = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    # Radii 1 + e and 1 - e in turn: every point is e away from the best circle.
    moved = square * (1.0 + 0.01 * np.array([1, -1, 1, -1]))[:, None]
    np.testing.assert_allclose(circle_deviation(moved[None]), 0.01, rtol=1e-3)


def test_coincident_points_have_no_deviation():
    same = np.full((2, 4, 3), 7.0)
    two = np.repeat(np.array([[[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]]]), 2, axis=1)
    for name in ("line", "plane", "circle"):
        np.testing.assert_allclose(DEVIATIONS[name].of(same), 0.0, atol=1e-12)
        np.testing.assert_allclose(DEVIATIONS[name].of(two), 0.0, atol=1e-6)


@settings(max_examples=25, deadline=None)
@given(
    name=st.sampled_from(sorted(DEVIATIONS)),
    d=st.integers(2, 4),
    scale=st.floats(1e-3, 1e3),
    seed=st.integers(0, 10**6),
)
def test_deviations_move_with_the_points(name, d, scale, seed):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((20, 5, d))
    rotation = np.linalg.qr(rng.standard_normal((d, d)))[0]
    moved = scale * points[:, rng.permutation(5)] @ rotation + scale * rng.standard_normal(d)
    deviation = DEVIATIONS[name].of
    np.testing.assert_allclose(deviation(moved), scale * deviation(points), atol=1e-5 * scale)


# --- measures -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "order", "d", "message"),
    [
        ("circle", 3, 2, r"order=3 .*'circle'.*order=4"),
        ("plane", 3, 3, r"order=3 .*'plane'.*order=4"),
        ("line", 2, 3, r"order=2 .*'line'.*order=3"),
        ("line", 3, 1, r"'line'.*at least 2 features, got n_features=1"),
        ("plane", 4, 2, r"'plane'.*at least 3 features, got n_features=2"),
        ("square", 4, 2, r"one of .*'circle'.*got 'square'"),
    ],
)
def test_shapes_that_everything_fits_are_refused(name, order, d, message):
    with pytest.raises(ValueError, match=message):
        tuple_measure(name, order, n_features=d)


def test_width_belongs_to_named_deviations():
    with pytest.raises(ValueError, match=r"width=0\.5 .*callable"):
        tuple_measure(lambda points: points[:, 0, 0], 3, n_features=2, width=0.5)


def test_affinity_is_a_gaussian_of_the_deviation():
    measure = tuple_measure("line", 3, n_features=2)
    X = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [1.0, 3.0]])
    measures = measure.of_tuples(X, np.array([[0, 1, 2], [0, 1, 3]]))
    values = measure.affinity(measures, 0.4)
    np.testing.assert_allclose(values, np.exp(-((measures / 0.4) ** 2)))
    assert values[0] == 1.0


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda points: points, r"one value per tuple.*\(2,\)"),
        (lambda points: -np.ones(len(points)), r"at least 0.*-1\.0"),
        (lambda points: np.full(len(points), np.nan), r"finite.*nan"),
    ],
)
def test_functions_must_return_affinities(function, message):
    measure = tuple_measure(function, 3, n_features=2)
    with pytest.raises(ValueError, match=message):
        measure.of_tuples(np.ones((4, 2)), np.array([[0, 1, 2], [1, 2, 3]]))


# --- samples --------------------------------------------------------------------------------------


def test_another_object_is_drawn_evenly_from_the_rest():
    taken = np.tile([[4, 1]], (6000, 1))
    drawn = with_another(taken, 6, np.random.RandomState(317))
    np.testing.assert_array_equal(drawn[:, :2], taken)
    count = np.bincount(drawn[:, 2], minlength=6)
    assert count[1] == count[4] == 0
    np.testing.assert_allclose(count[[0, 2, 3, 5]], 1500, atol=150)


def _sample(X, *, k=3, order=3, shape="line", seed=331, n_jobs=None, **options):
    measure = tuple_measure(shape, order, n_features=X.shape[1], n_jobs=n_jobs)
    return sample_tuples(measure, X, k, np.random.RandomState(seed), **options)


@pytest.mark.parametrize(("shape", "order"), [("line", 3), ("circle", 4), ("line", 5)])
def test_sampled_tuples_hold_different_objects(shape, order):
    X = make_lines(90, random_state=337).X
    sample = _sample(X, order=order, shape=shape)
    assert sample.tuples.shape == (100 * 90, order)
    assert sample.values.shape == (100 * 90,)
    assert sample.bases.shape[1] == order - 1
    for table in (sample.tuples, sample.bases):
        assert table.min() >= 0
        assert table.max() < 90
        assert (np.diff(np.sort(table, axis=1), axis=1) > 0).all()
    assert len(np.unique(sample.tuples)) == 90
    assert ((sample.values >= 0) & (sample.values <= 1)).all()


def test_number_of_tuples_is_as_asked():
    X = make_lines(90, random_state=337).X
    assert len(_sample(X, n_tuples=7).tuples) == 7
    assert len(_sample(X, n_tuples=1001).tuples) == 1001
    assert len(_sample(X, n_tuples=30_000).tuples) == 30_000


def test_all_tuples_are_taken_when_there_are_few():
    X = make_lines(12, random_state=347).X
    sample = _sample(X)
    assert len(sample.tuples) == comb(12, 3)
    assert len(np.unique(sample.tuples, axis=0)) == comb(12, 3)


def test_informative_tuples_are_frequent():
    drawn = make_lines(300, random_state=349)
    sample = _sample(drawn.X)
    together = (np.ptp(drawn.labels[sample.tuples], axis=1) == 0).mean()
    # Random triples of three lines lie on one line in one case out of nine.
    assert together > 2 / 9
    assert sample.contrast.mean() > 0.5


def test_width_follows_the_noise():
    for noise in (0.005, 0.02):
        width = _sample(make_lines(300, noise=noise, random_state=353).X).width
        assert 0.5 * noise < width < 4 * noise


def test_width_follows_the_unit_of_length():
    X = make_lines(100, random_state=353).X
    np.testing.assert_allclose(_sample(1000.0 * X).width, 1000.0 * _sample(X).width, rtol=1e-6)


def test_width_is_positive_without_any_noise_or_spread():
    X = np.zeros((60, 2))
    assert _sample(X).width == 1.0
    X[:30, 0] = X[30:, 1] = np.arange(30)
    assert _sample(X, k=2).width > 0


def test_given_width_is_used():
    assert _sample(make_lines(60, random_state=359).X, width=0.25).width == 0.25


def test_threads_change_nothing():
    X = make_lines(300, random_state=367).X
    one, two = _sample(X, n_jobs=1), _sample(X, n_jobs=2)
    assert one.tuples.tobytes() == two.tuples.tobytes()
    assert one.values.tobytes() == two.values.tobytes()


def test_functions_are_sampled_too():
    drawn = make_lines(150, random_state=373)

    def straight(points):
        return np.exp(-((line_deviation(points) / 0.02) ** 2))

    sample = _sample(drawn.X, shape=straight)
    assert sample.width is None
    points = drawn.X[sample.tuples]
    np.testing.assert_allclose(sample.values, straight(points))
    assert (np.ptp(drawn.labels[sample.tuples], axis=1) == 0).mean() > 1.5 / 9
