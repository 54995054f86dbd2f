"""HigherOrder: clusters that only tuples tell apart."""

from __future__ import annotations

import pickle
import warnings
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.cluster import SpectralClustering
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.models.test_estimator_checks import CONTRADICTED

from soffit import BaumEagon, HigherOrder, SoF, SoftClustering
from soffit.datasets import make_gaussians, make_lines
from soffit.metrics import accuracy, adjusted_rand

# Few points and few iterations often leave a cluster without members, and the model says so.
pytestmark = pytest.mark.filterwarnings("ignore::soffit.exceptions.EmptyClusterWarning")


@pytest.fixture(scope="module")
def lines():
    return make_lines(300, random_state=601)


@pytest.fixture(scope="module")
def fitted(lines):
    return HigherOrder(3, random_state=607).fit(lines.X)


def _circles(n, noise, seed):
    """Three circles of radius 1 that cross."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(n) % 3)
    angle, place = rng.uniform(0, 2 * np.pi, n), 2 * np.pi * labels / 3
    X = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    X += 0.8 * np.stack([np.cos(place), np.sin(place)], axis=1)
    return X + noise * rng.standard_normal((n, 2)), labels


def _planes(n, noise, seed):
    """Three coordinate planes, cut to squares."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(n) % 3)
    X = rng.uniform(-1, 1, (n, 3))
    X[np.arange(n), labels] = 0.0
    return X + noise * rng.standard_normal((n, 3)), labels


# --- what it is for -------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [0.0, 0.1, 0.3])
@pytest.mark.parametrize("seed", [613, 617])
def test_crossing_lines_are_told_apart(seed, offset):
    drawn = make_lines(300, offset=offset, random_state=seed)
    model = HigherOrder(3, random_state=seed).fit(drawn.X)
    assert accuracy(drawn.labels, model.labels_) >= 0.95
    best = np.mean(drawn.posterior.argmax(axis=1) == drawn.labels)
    assert accuracy(drawn.labels, model.labels_) >= best - 0.02
    assert model.converged_


@pytest.mark.parametrize(
    "pairwise",
    [
        SoF(3, random_state=619),
        BaumEagon(3, random_state=619),
        SoftClustering(3, random_state=619),
        SpectralClustering(3, affinity="nearest_neighbors", random_state=619),
    ],
)
def test_pairs_cannot_tell_crossing_lines_apart(lines, pairwise):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = clone(pairwise).fit(lines.X).labels_
    assert accuracy(lines.labels, labels) < 0.7


def test_many_lines_and_further_coordinates():
    drawn = make_lines(500, n_lines=5, random_state=631)
    best = np.mean(drawn.posterior.argmax(axis=1) == drawn.labels)
    assert accuracy(drawn.labels, HigherOrder(5, random_state=7).fit(drawn.X).labels_) > best - 0.03
    drawn = make_lines(300, n_features=5, random_state=631)
    assert accuracy(drawn.labels, HigherOrder(3, random_state=7).fit(drawn.X).labels_) >= 0.95


def test_crossing_circles_are_told_apart():
    X, labels = _circles(300, 0.01, 641)
    model = HigherOrder(3, order=4, tuple_affinity="circle", random_state=643).fit(X)
    assert accuracy(labels, model.labels_) >= 0.95
    assert np.mean(model.predict(X) == model.labels_) >= 0.97


def test_crossing_planes_are_told_apart():
    X, labels = _planes(300, 0.01, 647)
    model = HigherOrder(3, order=4, tuple_affinity="plane", random_state=653).fit(X)
    assert accuracy(labels, model.labels_) >= 0.95


def test_affinity_may_be_a_function(lines):
    def straight(points):
        first, second = points[:, 1] - points[:, 0], points[:, 2] - points[:, 0]
        area = np.abs(first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0])
        longest = np.max(
            [
                np.sum((points[:, a] - points[:, b]) ** 2, axis=1)
                for a, b in ((0, 1), (0, 2), (1, 2))
            ],
            axis=0,
        )
        height = area / np.sqrt(longest + 1e-12)
        return np.exp(-((height / 0.03) ** 2))

    model = HigherOrder(3, tuple_affinity=straight, random_state=659).fit(lines.X)
    assert model.bandwidth_ is None
    assert accuracy(lines.labels, model.labels_) >= 0.95


def test_memberships_are_open_where_lines_cross(lines, fitted):
    certain = lines.posterior.max(axis=1) > 0.999
    assert fitted.entropy_[~certain].mean() > 2 * fitted.entropy_[certain].mean()


# --- tuples ---------------------------------------------------------------------------------------


def _blocks(n=24, k=3):
    labels = np.arange(n) % k
    tuples = np.array(list(combinations(range(n), 3)))
    return tuples, (np.ptp(labels[tuples], axis=1) == 0).astype(float), labels


def test_given_tuples_are_clustered():
    tuples, values, labels = _blocks()
    keep = np.random.default_rng(661).permutation(len(tuples))[:500]
    model = HigherOrder(3, random_state=673).fit_tuples(tuples[keep], values[keep], 24)
    assert accuracy(labels, model.labels_) == 1.0
    assert model.memberships_.shape == (24, 3)
    np.testing.assert_array_equal(model.tuples_, tuples[keep])
    np.testing.assert_array_equal(model.tuple_values_, values[keep])
    assert model.bandwidth_ is None
    assert not hasattr(model, "n_features_in_")
    with pytest.raises(ValueError, match="fit_tuples and has no points"):
        model.predict_proba(np.ones((2, 2)))


def test_objects_in_no_tuple_get_the_prior():
    tuples, values, _ = _blocks()
    model = HigherOrder(3, random_state=673).fit_tuples(tuples, values, 26)
    prior = model.memberships_[:24].mean(axis=0)
    np.testing.assert_allclose(model.memberships_[24:], np.tile(prior, (2, 1)))
    np.testing.assert_array_equal(model.factor_[24:], 0.0)


def test_weights_and_repeated_objects():
    tuples, values, labels = _blocks()
    wrong = np.array([[0, 1, 2]] * 40)
    repeated = np.array([[i, i, (i + 3) % 24] for i in range(24)])
    model = HigherOrder(3, random_state=677).fit_tuples(
        np.concatenate([tuples, wrong, repeated]),
        np.concatenate([values, np.ones(40), np.ones(24)]),
        24,
        weights=np.concatenate([np.ones(len(tuples)), np.zeros(40), np.ones(24)]),
    )
    assert accuracy(labels, model.labels_) == 1.0
    history = model.objective_history_
    assert np.all(np.diff(history) <= 1e-10 * history[0])


def test_values_of_zero_are_all_prior():
    tuples, values, _ = _blocks()
    model = HigherOrder(3, random_state=677).fit_tuples(tuples, 0 * values, 24)
    np.testing.assert_allclose(model.memberships_, 1 / 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], [], 5), "at least one tuple"),
        (([[0, 1, 9]], [1.0], 5), r"n_objects - 1 = 4, got 9"),
        (([[0, 1, 2]], [-1.0], 5), "values must be at least 0"),
        (([[0, 1, 2]], [1.0], 2), r"n_clusters=3 .* n_samples=2"),
        (([[0, 1, 2]], [1.0], 5.5), r"n_objects must be an integer"),
    ],
)
def test_wrong_tuples_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        HigherOrder(3).fit_tuples(*arguments)


def test_tuples_after_points_leave_no_points_behind(lines):
    model = HigherOrder(3, random_state=683).fit(lines.X)
    tuples, values, _ = _blocks()
    model.fit_tuples(tuples, values, 24)
    assert not hasattr(model, "n_features_in_")
    with pytest.raises(ValueError, match="has no points"):
        model.predict(lines.X)


# --- invariants -----------------------------------------------------------------------------------


def test_fitted_attributes(lines, fitted):
    assert fitted.memberships_.shape == fitted.factor_.shape == (300, 3)
    np.testing.assert_allclose(fitted.memberships_.sum(axis=1), 1.0, atol=1e-9)
    assert (fitted.memberships_ >= 0).all()
    np.testing.assert_array_equal(fitted.labels_, fitted.memberships_.argmax(axis=1))
    assert ((fitted.entropy_ >= 0) & (fitted.entropy_ <= np.log(3) + 1e-9)).all()
    assert fitted.tuples_.shape == (30_000, 3)
    assert fitted.tuple_values_.shape == (30_000,)
    assert fitted.bandwidth_ > 0
    assert fitted.n_clusters_ == 3
    assert fitted.n_features_in_ == 2
    assert fitted.objective_ == fitted.objective_history_[-1]
    assert len(fitted.objective_history_) == fitted.n_iter_ + 1
    assert np.all(np.diff(fitted.objective_history_) <= 1e-10 * fitted.objective_history_[0])
    assert fitted.converged_


def test_new_points_agree_with_fitted_ones(lines, fitted):
    placed = fitted.predict_proba(lines.X)
    np.testing.assert_allclose(placed.sum(axis=1), 1.0, atol=1e-9)
    assert np.mean(placed.argmax(axis=1) == fitted.labels_) >= 0.97
    fresh = make_lines(300, random_state=691)
    assert accuracy(fresh.labels, fitted.predict(fresh.X)) >= 0.95
    np.testing.assert_array_equal(fitted.transform(fresh.X), fitted.predict_proba(fresh.X))


def test_points_that_complete_no_tuple_get_the_prior():
    drawn = make_gaussians(90, n_clusters=3, separation=8.0, random_state=733)
    model = HigherOrder(3, tuple_affinity="point", random_state=739).fit(drawn.X)
    assert accuracy(drawn.labels, model.labels_) == 1.0
    far = model.predict_proba([[3e3, 7e4]])[0]
    np.testing.assert_allclose(far, model.memberships_.mean(axis=0))


def test_same_seed_same_bytes(lines, fitted):
    again = HigherOrder(3, random_state=607, n_jobs=2).fit(lines.X)
    assert again.memberships_.tobytes() == fitted.memberships_.tobytes()
    assert again.predict_proba(lines.X).tobytes() == fitted.predict_proba(lines.X).tobytes()


def test_float32_is_kept_and_agrees(lines, fitted):
    single = HigherOrder(3, random_state=607).fit(lines.X.astype(np.float32))
    assert single.memberships_.dtype == single.factor_.dtype == np.float32
    assert single.predict_proba(lines.X[:3].astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(single.memberships_.sum(axis=1), 1.0, atol=1e-5)
    assert adjusted_rand(single.labels_, fitted.labels_) > 0.97


def test_moved_scaled_and_permuted_points_give_the_same_clusters(lines, fitted):
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    moved = HigherOrder(3, random_state=607).fit(100.0 * lines.X @ turn + 7.0)
    assert adjusted_rand(moved.labels_, fitted.labels_) > 0.97
    np.testing.assert_allclose(moved.bandwidth_, 100.0 * fitted.bandwidth_, rtol=1e-5)
    order = np.random.default_rng(701).permutation(300)
    permuted = HigherOrder(3, random_state=607).fit(lines.X[order])
    assert adjusted_rand(permuted.labels_, fitted.labels_[order]) > 0.9


def test_constant_columns_change_nothing(lines, fitted):
    padded = np.column_stack([lines.X, np.full(300, 7.0)])
    assert (
        adjusted_rand(HigherOrder(3, random_state=607).fit(padded).labels_, fitted.labels_) > 0.97
    )


def test_pickle_clone_and_inputs(lines, fitted):
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(lines.X), fitted.predict_proba(lines.X))
    X = lines.X.copy()
    model = HigherOrder(3, random_state=607)
    before = model.get_params()
    assert model.fit_predict_proba(X) is model.memberships_
    np.testing.assert_array_equal(X, lines.X)
    assert model.get_params() == before == clone(model).get_params()
    np.testing.assert_array_equal(HigherOrder(3, random_state=607).fit_predict(X), model.labels_)


# --- hostile input --------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity_are_refused(lines, fitted, bad):
    X = lines.X.copy()
    X[3, 1] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        HigherOrder(3).fit(X)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        fitted.predict_proba(X)


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        (np.ones((2, 2)), {"n_clusters": 1}, r"order=3 needs at least 3 objects, got n_samples=2"),
        (np.ones((5, 2)), {"n_clusters": 9}, r"n_clusters=9 .* n_samples=5.* at most 5"),
        (np.ones((9, 1)), {}, r"n_features=1"),
        (np.ones((9, 2)), {"order": 3, "tuple_affinity": "circle"}, r"order=3 .*order=4"),
        (np.ones((9, 2)), {"tuple_affinity": "spiral"}, r"got 'spiral'"),
        (np.ones((9, 2)), {"order": 1}, r"order must be an integer of at least 2, got 1"),
        (np.ones((9, 2)), {"bandwidth": 0.0}, r"bandwidth must be None or a number above 0"),
        (np.ones((9, 2)), {"n_tuples": 0}, r"n_tuples must be None or an integer"),
        (np.empty((0, 2)), {}, r"0 sample"),
    ],
)
def test_impossible_requests_are_refused(X, options, message):
    with pytest.raises(ValueError, match=message):
        HigherOrder(**({"n_clusters": 2} | options)).fit(X)


def test_graphs_and_sparse_tables_are_refused(lines):
    networkx = pytest.importorskip("networkx", reason="networkx is not installed")
    with pytest.raises(TypeError, match="a graph has only pairs"):
        HigherOrder(2).fit(networkx.path_graph(5))
    with pytest.raises(TypeError, match=r"not take sparse features.*X\.toarray"):
        HigherOrder(2).fit(sp.csr_array(lines.X))


def test_not_fitted():
    with pytest.raises(NotFittedError):
        HigherOrder(2).predict_proba(np.ones((3, 2)))


@pytest.mark.parametrize(
    ("X", "k"),
    [
        (np.ones((40, 3)), 2),
        (np.repeat(make_lines(12, random_state=709).X, 10, axis=0), 3),
        (make_lines(6, random_state=709).X, 6),
        (make_lines(3, random_state=709).X, 1),
        (make_lines(40, random_state=709).X, 1),
        (np.column_stack([np.arange(30.0), np.zeros(30)]), 2),
        (1e150 * make_lines(40, random_state=709).X, 2),
        (1e-150 * make_lines(40, random_state=709).X, 2),
    ],
    ids=["equal", "repeated", "k=n", "n=order", "k=1", "one line", "huge", "tiny"],
)
def test_awkward_points_have_a_defined_result(X, k):
    model = HigherOrder(k, random_state=719)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X)
    for rows in (model.memberships_, model.predict_proba(X)):
        assert rows.shape == (len(X), k)
        assert np.isfinite(rows).all()
        np.testing.assert_allclose(rows.sum(axis=1), 1.0, atol=1e-9)


def test_few_iterations_are_pointed_out(lines):
    with pytest.warns(ConvergenceWarning, match="Increase max_iter"):
        HigherOrder(3, max_iter=1, tol=0.0, random_state=727).fit(lines.X)


def _not_meant_for(estimator):
    """One check expects round blobs to be found, which are no lines."""
    if estimator.tuple_affinity == "point":
        return {}
    return {"check_clustering": "round blobs are no lines: two of them lie on one"}


# The checks shorten max_iter on purpose, so fits may stop early, and say so.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        HigherOrder(4, n_init=1, max_iter=50),
        HigherOrder(4, n_init=1, max_iter=50, tuple_affinity="point"),
    ],
    expected_failed_checks=_not_meant_for,
)
def test_scikit_learn_check(estimator, check):
    if check.func.__name__ in CONTRADICTED:
        pytest.skip("fit_transform returns memberships_")
    check(estimator)
