"""The semi-supervised classifier: on points and on clusters, any input, any kind of label."""

from __future__ import annotations

import pickle
from time import perf_counter
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.reference.threads import printed_with_one_and_two_threads

from benchmarks.datasets import load
from soffit import RandomWalkClassifier
from soffit.affinity import NeighborGraph, walk_affinity
from soffit.datasets import Sample, make_gaussians, make_moons
from soffit.fitting.data import PartialLabels
from soffit.models.random_walk_classifier import ClusterWalk, PointWalk

every_place = pytest.mark.parametrize("on", ["points", "clusters"])


def few(labels: Any, per_class: int, seed: int = 8363) -> Any:
    """Labels of a few objects of every class; -1 for all others."""
    rng = np.random.default_rng(seed)
    y = np.full(len(labels), -1)
    for c in np.unique(labels):
        known = rng.choice(np.flatnonzero(labels == c), per_class, replace=False)
        y[known] = c
    return y


def make(on: str = "points", **options: Any) -> RandomWalkClassifier:
    return RandomWalkClassifier(on=on, n_clusters=6, random_state=29, **options)


# --- the contract of scikit-learn -----------------------------------------------------------------


def contradictions(estimator: Any) -> dict[str, str]:
    return {
        "check_classifiers_classes": "uses -1 as a class; here, as in scikit-learn's own "
        "semi-supervised classifiers, it marks unlabelled objects"
    }


@parametrize_with_checks(
    [RandomWalkClassifier(), RandomWalkClassifier(on="clusters", n_clusters=40)],
    expected_failed_checks=contradictions,
)
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("kind", ["U", "O"])
def test_classes_may_be_text(kind: str) -> None:
    """What the expected failure would check, without -1 as a class."""
    sample = make_gaussians(60, n_clusters=3, separation=8.0, random_state=8369)
    y = np.array(["one", "two", "three"])[sample.labels].astype(kind)
    model = make().fit(sample.X, y)
    np.testing.assert_array_equal(model.classes_, ["one", "three", "two"])
    np.testing.assert_array_equal(model.predict(sample.X), y)


# --- the walk -------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", [1, 2, 3, 6])
def test_points_walk_as_the_multi_step_graph_says(blobs: Sample, steps: int) -> None:
    A = NeighborGraph(8).fit(blobs.X).matrix_
    Y = np.random.default_rng(8377).random((180, 2))
    degrees = np.asarray(A.sum(axis=1))[:, None]
    last = walk_affinity(A, steps) @ Y / degrees
    before = walk_affinity(A, steps - 1) @ Y / degrees if steps > 1 else Y
    np.testing.assert_allclose(PointWalk.on(A).walk(Y, steps), (before + last) / 2)


@pytest.mark.parametrize("steps", [1, 2, 3, 6])
def test_clusters_walk_as_the_factored_graph_says(steps: int) -> None:
    B = np.random.default_rng(8387).gamma(0.5, size=(40, 4))
    W = B / B.sum(axis=0) @ B.T
    Y = np.random.default_rng(8389).random((40, 3))
    through = ClusterWalk.on(B).walk(Y, steps)
    np.testing.assert_allclose(through, PointWalk.on(W).walk(Y, steps))
    degrees = W.sum(axis=1)[:, None]
    last = walk_affinity(W, steps, clusters=B) @ Y / degrees
    before = walk_affinity(W, steps - 1, clusters=B) @ Y / degrees if steps > 1 else Y
    np.testing.assert_allclose(through, (before + last) / 2)


@given(st.integers(3, 12), st.integers(1, 40), st.integers(0, 99))
def test_distributions_on_any_graph(n: int, steps: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    A = sp.random_array((n, n), density=0.2, random_state=rng).tocsr()
    A = A + A.T
    y = np.where(rng.random(n) < 0.5, rng.integers(3, size=n), -1)
    y[0] = 2
    model = make(affinity="precomputed", n_steps=steps).fit(A, y)
    assert np.isfinite(model.label_distributions_).all()
    assert (model.label_distributions_ >= 0).all()
    np.testing.assert_allclose(model.label_distributions_.sum(axis=1), 1.0)
    np.testing.assert_allclose(model.predict_proba(A).sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.transduction_[y >= 0], y[y >= 0])


@every_place
def test_few_labels_are_enough(on: str) -> None:
    sample = make_moons(300, random_state=8419)
    y = few(sample.labels, 8)
    model = RandomWalkClassifier(on=on, n_clusters=20, random_state=29).fit(sample.X, y)
    assert np.mean(model.transduction_ == sample.labels) >= 0.95
    fresh = make_moons(200, random_state=8423)
    assert model.score(fresh.X, fresh.labels) >= 0.95


@every_place
def test_fitted_attributes(blobs: Sample, on: str) -> None:
    model = make(on).fit(blobs.X, few(blobs.labels, 2))
    np.testing.assert_array_equal(model.classes_, [0, 1, 2])
    assert model.n_features_in_ == 2
    assert model.affinity_matrix_.shape == (180, 180)
    assert model.label_distributions_.shape == (180, 3)
    best = model.classes_[model.label_distributions_.argmax(axis=1)]
    np.testing.assert_array_equal(model.transduction_, best)
    np.testing.assert_allclose(model.class_prior_.sum(), 1.0)
    np.testing.assert_array_equal(model.transduction_, blobs.labels)


@every_place
def test_new_objects_agree_with_fitted_ones(blobs: Sample, on: str) -> None:
    model = make(on).fit(blobs.X, few(blobs.labels, 2))
    again = model.predict_proba(blobs.X)
    assert np.mean(model.predict(blobs.X) == model.transduction_) >= 0.97
    np.testing.assert_allclose(again.sum(axis=1), 1.0)


def test_new_objects_take_one_more_step(blobs: Sample) -> None:
    y = few(blobs.labels, 2)
    A = NeighborGraph(8).fit(blobs.X).matrix_
    shorter = make(affinity="precomputed", n_steps=9).fit(A, y)
    longer = make(affinity="precomputed", n_steps=10).fit(A, y)
    np.testing.assert_allclose(
        shorter.predict_proba(A)[y < 0], longer.label_distributions_[y < 0], atol=1e-12
    )


@every_place
def test_relabel_is_a_fit_on_the_same_graph(blobs: Sample, on: str) -> None:
    first, second = few(blobs.labels, 2), few(blobs.labels == 1, 4, seed=8429)
    model = make(on).fit(blobs.X, first)
    assert model.relabel(second) is model
    anew = make(on).fit(blobs.X, second)
    np.testing.assert_array_equal(model.classes_, [0, 1])
    np.testing.assert_array_equal(model.label_distributions_, anew.label_distributions_)
    np.testing.assert_array_equal(model.predict_proba(blobs.X), anew.predict_proba(blobs.X))


def test_more_labels_of_a_class_do_not_favour_it() -> None:
    # One chain; the left end has one label, the right end twenty.
    A = sp.diags_array([np.ones(99), np.ones(99)], offsets=[-1, 1], format="csr")
    y = np.full(100, -1)
    y[0] = 0
    y[-20:] = 1
    model = make(affinity="precomputed", n_steps=2000).fit(A, y)
    assert 35 <= np.count_nonzero(model.transduction_ == 0) <= 50


def test_long_walks_forget_evenly(blobs: Sample) -> None:
    model = make(n_steps=20000).fit(blobs.X, few(blobs.labels, 2))
    unlabelled = few(blobs.labels, 2) < 0
    np.testing.assert_allclose(model.label_distributions_[unlabelled], 1 / 3, atol=1e-2)


@pytest.mark.parametrize("steps", [1, 2, 3, 8])
def test_two_sided_graphs_are_reached_from_both_sides(steps: int) -> None:
    star = np.zeros((7, 7))
    star[0, 1:] = star[1:, 0] = 1.0
    y = np.full(7, -1)
    y[1], y[2] = 0, 1
    model = make(affinity="precomputed", n_steps=steps).fit(star, y)
    np.testing.assert_allclose(model.label_distributions_[0], 0.5)
    new = model.predict_proba(star[[0, 3]])
    np.testing.assert_allclose(new, 0.5)


def test_long_thin_paths_are_followed_in_single_precision() -> None:
    # Every node of the path also has nine neighbours of its own to get lost among.
    n_path = 60
    first = np.concatenate([np.arange(n_path - 1), np.repeat(np.arange(n_path), 9)])
    second = np.concatenate([np.arange(1, n_path), n_path + np.arange(9 * n_path)])
    n = 10 * n_path
    A = sp.coo_array((np.ones(len(first), dtype=np.float32), (first, second)), shape=(n, n))
    A = (A + A.T).tocsr()
    y = np.full(n, -1)
    y[0] = 1
    y[n_path - 1] = 2
    model = make(affinity="precomputed", n_steps=59).fit(A, y)
    assert model.label_distributions_.dtype == np.float32
    np.testing.assert_array_equal(model.transduction_[:30], 1)
    np.testing.assert_array_equal(model.transduction_[30:60], 2)


# --- objects and labels out of the ordinary -------------------------------------------------------


@every_place
def test_unconnected_objects_have_the_prior(on: str) -> None:
    A = np.zeros((14, 14))
    A[:6, :6] = A[6:12, 6:12] = 1.0
    y = np.full(14, -1)
    y[0], y[6] = 3, 8
    model = RandomWalkClassifier(on=on, n_clusters=2, affinity="precomputed", random_state=29)
    model.fit(A, y)
    np.testing.assert_array_equal(model.transduction_[:12], np.repeat([3, 8], 6))
    np.testing.assert_allclose(model.label_distributions_[12:], 0.5, atol=1e-6)
    np.testing.assert_allclose(model.class_prior_, 0.5, atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(np.zeros((1, 14))), 0.5, atol=1e-6)


def test_labels_of_unconnected_objects_are_kept() -> None:
    A = np.zeros((8, 8))
    A[:5, :5] = 1.0
    y = np.array([0, -1, -1, -1, -1, 1, -1, -1])
    model = make(affinity="precomputed").fit(sp.csr_array(A), y)
    np.testing.assert_array_equal(model.transduction_[:6], [0, 0, 0, 0, 0, 1])
    np.testing.assert_allclose(model.label_distributions_[7], [5 / 6, 1 / 6])


@every_place
def test_one_class_and_one_object(on: str) -> None:
    model = make(on).fit([[1.0, 2.0]], [7])
    np.testing.assert_array_equal(model.predict([[0.0, 0.0]]), [7])
    model = make(on).fit(np.arange(20.0).reshape(10, 2), np.r_[4, np.full(9, -1)])
    np.testing.assert_array_equal(model.transduction_, 4)


def test_graph_without_any_edge() -> None:
    model = make(affinity="precomputed").fit(np.eye(4), [0, 1, -1, -1])
    np.testing.assert_allclose(model.label_distributions_[2:], 0.5)


def test_more_clusters_than_objects_are_not_asked_for() -> None:
    X = np.random.default_rng(8431).normal(size=(12, 2))
    y = np.r_[0, 1, np.full(10, -1)]
    model = RandomWalkClassifier(on="clusters", random_state=29).fit(X, y)
    assert model.label_distributions_.shape == (12, 2)


@pytest.mark.parametrize(
    "y",
    [
        ["a", "b", -1, "-1", "a"],
        np.array(["a", "b", -1, None, "a"], dtype=object),
        np.array(["a", "b", np.nan, None, "a"], dtype=object),
        np.array(["a", "b", "-1", "-1", "a"]),
        ["a", "b", None, None, "a"],
        [1, 2, -1, -1, 1],
        [1.0, 2.0, np.nan, -1.0, 1.0],
        np.array([1, 2, -1, None, 1], dtype=object),
        np.array([1, 2, -1, -1, 1], dtype=np.int8),
        np.array([[1], [2], [-1], [-1], [1]]).ravel(),
    ],
)
def test_what_counts_as_unlabelled(y: Any) -> None:
    labels = PartialLabels.of(y, 5, "test")
    np.testing.assert_array_equal(labels.codes, [0, 1, -1, -1, 0])
    np.testing.assert_array_equal(labels.labelled, [0, 1, 4])
    assert labels.classes.tolist() in (["a", "b"], [1, 2])


def test_labels_in_frames() -> None:
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    for series in (
        pd.Series(["a", "b", None, pd.NA, "a"], dtype="string"),
        pd.Series(["a", "b", None, None, "a"], dtype="category"),
        pd.Series([1, 2, pd.NA, -1, 1], dtype="Int64"),
    ):
        labels = PartialLabels.of(series, 5, "test")
        np.testing.assert_array_equal(labels.codes, [0, 1, -1, -1, 0])
    pl = pytest.importorskip("polars", reason="polars is not installed")
    for values in (["a", "b", None, None, "a"], [1, 2, None, -1, 1]):
        labels = PartialLabels.of(pl.Series(values), 5, "test")
        np.testing.assert_array_equal(labels.codes, [0, 1, -1, -1, 0])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed, but the target y is None"),
        ([-1, -1, -1], "no labelled object.*at least one"),
        ([None, None, None], "no labelled object"),
        ([0, 1], r"one label per object.*n_samples=3, but y has 2"),
        ([0.25, 0.5, -1], "continuous"),
        ([0, 1, np.inf], "infinity"),
        (np.array([0, "a", -1], dtype=object), "label|one type"),
        ([[0, 1], [1, 0], [1, 1]], "1d"),
    ],
)
def test_unsuitable_labels_are_refused(y: Any, message: str) -> None:
    X = np.arange(6.0).reshape(3, 2)
    with pytest.raises(ValueError, match=message):
        make().fit(X, y)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [("n_steps", 0), ("n_steps", 2.5), ("on", "edges"), ("n_clusters", 0), ("n_neighbors", 0)],
)
def test_bad_parameters_are_named(blobs: Sample, parameter: str, value: Any) -> None:
    model = RandomWalkClassifier(**{parameter: value})
    with pytest.raises(ValueError, match=rf"{parameter} must be .*got {value!r}"):
        model.fit(blobs.X, blobs.labels)


def test_relabel_takes_the_steps_set_now(blobs: Sample) -> None:
    y = few(blobs.labels, 2)
    model = make(n_steps=4).fit(blobs.X, y).set_params(n_steps=9).relabel(y)
    anew = make(n_steps=9).fit(blobs.X, y)
    np.testing.assert_array_equal(model.label_distributions_, anew.label_distributions_)
    with pytest.raises(ValueError, match="steps must be"):
        model.set_params(n_steps=0).relabel(y)


def test_unfitted_classifiers_say_so(blobs: Sample) -> None:
    from sklearn.exceptions import NotFittedError

    for call in (lambda m: m.relabel(blobs.labels), lambda m: m.predict(blobs.X)):
        with pytest.raises(NotFittedError):
            call(make())


def test_matrix_given_as_features_is_pointed_out(blobs: Sample) -> None:
    D = np.linalg.norm(blobs.X[:40, None] - blobs.X[None, :40], axis=2)
    with pytest.warns(UserWarning, match="reads its rows as features") as caught:
        make().fit(D, blobs.labels[:40])
    assert caught[0].filename == __file__


# --- input kinds ----------------------------------------------------------------------------------


@pytest.mark.parametrize("affinity", ["nearest_neighbors", "relative", "rbf", "laplacian"])
@every_place
def test_every_affinity(blobs: Sample, affinity: str, on: str) -> None:
    model = make(on, affinity=affinity).fit(blobs.X, few(blobs.labels, 3))
    assert np.mean(model.transduction_ == blobs.labels) >= 0.97
    assert np.mean(model.predict(blobs.X) == blobs.labels) >= 0.97


def test_similarities_and_distances(blobs: Sample) -> None:
    D = np.linalg.norm(blobs.X[:, None] - blobs.X[None], axis=2)
    y = few(blobs.labels, 3)
    for options, matrix in (
        ({"affinity": "precomputed"}, np.exp(-(D**2))),
        ({"affinity": "precomputed"}, sp.csr_array(np.where(D < 2, np.exp(-(D**2)), 0))),
        ({"metric": "precomputed"}, D),
    ):
        model = make(**options).fit(matrix, y)
        np.testing.assert_array_equal(model.transduction_, blobs.labels)
        np.testing.assert_array_equal(model.predict(matrix[:50]), blobs.labels[:50])


def test_frames_and_graphs(blobs: Sample) -> None:
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    y = few(blobs.labels, 3)
    plain = make().fit(blobs.X, y)
    frame = pd.DataFrame(blobs.X, columns=["a", "b"], index=[f"p{i}" for i in range(180)])
    model = make().fit(frame, pd.Series(y, index=frame.index))
    np.testing.assert_array_equal(model.label_distributions_, plain.label_distributions_)
    assert model.object_names_[5] == "p5"
    nx = pytest.importorskip("networkx", reason="networkx is not installed")
    graph = nx.karate_club_graph()
    clubs = np.array([graph.nodes[v]["club"] for v in graph])
    y = np.where(np.isin(np.arange(34), [0, 33]), clubs, "-1")
    model = make(n_steps=4).fit(graph, y)
    assert np.mean(model.transduction_ == clubs) >= 0.9
    block = np.zeros((1, 34))
    block[0, [0, 1, 2]] = 1.0
    assert model.predict(block)[0] == clubs[0]


def test_pipelines_and_searches(blobs: Sample) -> None:
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    search = GridSearchCV(
        make_pipeline(StandardScaler(), make()),
        {"randomwalkclassifier__n_steps": [4, 16]},
        cv=3,
    )
    assert search.fit(blobs.X, blobs.labels).best_score_ == 1.0


# --- invariants -----------------------------------------------------------------------------------


@every_place
def test_single_precision_is_kept(blobs: Sample, on: str) -> None:
    y = few(blobs.labels, 3)
    single = make(on).fit(blobs.X.astype(np.float32), y)
    assert single.label_distributions_.dtype == np.float32
    assert single.predict_proba(blobs.X[:3].astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(single.label_distributions_.sum(axis=1), 1.0, atol=1e-5)
    np.testing.assert_array_equal(single.transduction_, make(on).fit(blobs.X, y).transduction_)


@every_place
def test_inputs_parameters_and_copies(blobs: Sample, on: str) -> None:
    X, y = blobs.X.copy(), few(blobs.labels, 3)
    model = make(on)
    before = model.get_params()
    model.fit(X, y)
    model.predict(X)
    np.testing.assert_array_equal(X, blobs.X)
    np.testing.assert_array_equal(y, few(blobs.labels, 3))
    assert model.get_params() == before == clone(model).get_params()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(again.relabel(y).transduction_, model.transduction_)


def test_permuted_objects_give_the_permuted_classes(blobs: Sample) -> None:
    order = np.random.default_rng(8443).permutation(180)
    y = few(blobs.labels, 3)
    straight, permuted = make().fit(blobs.X, y), make().fit(blobs.X[order], y[order])
    np.testing.assert_allclose(
        straight.label_distributions_[order], permuted.label_distributions_, atol=1e-9
    )


_THREADS = """
import hashlib
import numpy as np
from soffit.datasets import make_gaussians
from soffit.models.random_walk_classifier import RandomWalkClassifier
sample = make_gaussians(600, n_clusters=3, n_features=10, random_state=8447)
y = np.where(np.arange(600) < 30, sample.labels, -1)
digest = hashlib.sha256()
for options in ({}, {"affinity": "rbf"}, {"on": "clusters", "n_clusters": 20}):
    model = RandomWalkClassifier(random_state=29, **options).fit(sample.X, y)
    digest.update(model.label_distributions_.tobytes())
    digest.update(model.predict_proba(sample.X[:100]).tobytes())
print(digest.hexdigest())
"""


def test_bytes_do_not_depend_on_the_number_of_threads() -> None:
    assert len(printed_with_one_and_two_threads(_THREADS, blas=True)) == 1


# --- what the paper promises ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def digits(data_home: Any) -> tuple[Any, Any]:
    """USPS digits 1 to 4, and their 10-neighbour graph without weights."""
    usps = load("usps", home=data_home)
    chosen = np.isin(usps.labels[0], [1, 2, 3, 4])
    graph = NeighborGraph(10, keep="union", weights="binary", connect=False)
    return graph.fit(usps.X[chosen]).matrix_, usps.labels[0][chosen]


def mean_accuracy(model: RandomWalkClassifier, labels: Any, n_draws: int = 20) -> float:
    """Accuracy on the unlabelled objects over draws of five labels a class."""
    scores = []
    for draw in range(n_draws):
        y = few(labels, 5, seed=8461 + draw)
        scores.append(np.mean((model.relabel(y).transduction_ == labels)[y < 0]))
    return float(np.mean(scores))


def seconds(model: RandomWalkClassifier, y: Any) -> float:
    began = perf_counter()
    model.relabel(y)
    return perf_counter() - began


def test_digits_need_many_steps(digits: tuple[Any, Any]) -> None:
    A, labels = digits
    model = RandomWalkClassifier(affinity="precomputed", n_steps=1).fit(A, few(labels, 5))
    assert mean_accuracy(model, labels) <= 0.5
    for steps in (16, 32, 64):
        assert mean_accuracy(model.set_params(n_steps=steps), labels) >= 0.96


def test_digits_are_quicker_and_no_worse_on_clusters(digits: tuple[Any, Any]) -> None:
    A, labels = digits
    y = few(labels, 5)
    points = RandomWalkClassifier(affinity="precomputed", n_steps=64).fit(A, y)
    clusters = RandomWalkClassifier(affinity="precomputed", on="clusters", random_state=29)
    clusters.fit(A, y)
    assert mean_accuracy(clusters, labels) >= 0.965
    assert mean_accuracy(clusters.set_params(n_steps=32), labels) >= 0.965
    # Taking turns lets both meet the same load; the quickest turn tells the cost best.
    turns = [(seconds(points, y), seconds(clusters, y)) for _ in range(15)]
    slow, quick = np.min(turns, axis=0)
    assert slow >= 3 * quick
