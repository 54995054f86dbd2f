"""What is particular to the flagship."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks.datasets import load
from soffit import SoftClustering
from soffit._threads import n_threads
from soffit.datasets import Sample, make_gaussians, make_moons
from soffit.metrics import accuracy, adjusted_rand, posterior_distance


def test_memberships_come_close_to_the_true_posterior() -> None:
    sample = make_gaussians(1500, random_state=4057)
    model = SoftClustering(3, random_state=29).fit(sample.X)
    assert posterior_distance(sample.posterior, model.memberships_) <= 0.05
    fresh = make_gaussians(1500, random_state=4073)
    assert posterior_distance(fresh.posterior, model.predict_proba(fresh.X)) <= 0.06


def test_curved_clusters() -> None:
    sample = make_moons(600, random_state=4079)
    model = SoftClustering(2, random_state=29).fit(sample.X)
    assert adjusted_rand(sample.labels, model.labels_) >= 0.95
    assert posterior_distance(sample.posterior, model.memberships_) <= 0.05


def test_very_unequal_clusters() -> None:
    rng = np.random.default_rng(4091)
    sizes = [900, 60, 20]
    centers = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])
    labels = np.repeat([0, 1, 2], sizes)
    X = centers[labels] + rng.normal(size=(len(labels), 2))
    model = SoftClustering(3, random_state=29).fit(X)
    assert adjusted_rand(labels, model.labels_) >= 0.97


@pytest.mark.parametrize(
    ("name", "least"), [("iris", 0.9), ("sipu__unbalance", 0.98), ("zp1", 0.99), ("zp6", 0.95)]
)
def test_real_sets(data_home: Any, name: str, least: float) -> None:
    data = load(name, home=data_home)
    k = len(np.unique(data.labels[0]))
    model = SoftClustering(k, random_state=29).fit(data.X)
    assert accuracy(data.labels[0], model.labels_) >= least


def test_graph_of_political_blogs(data_home: Any) -> None:
    data = load("graph_polblogs", home=data_home)
    model = SoftClustering(2, affinity="precomputed", random_state=29).fit(data.graph)
    linked = np.asarray(data.graph.sum(axis=1)).ravel() > 0
    assert accuracy(data.labels[0][linked], model.labels_[linked]) >= 0.85
    # 266 blogs have no link: all get the same, uncertain membership.
    assert np.ptp(model.memberships_[~linked], axis=0).max() <= 1e-12


def test_partition_does_not_depend_on_the_seed() -> None:
    X = make_gaussians(300, random_state=4057).X
    first = SoftClustering(3, random_state=3).fit(X)
    second = SoftClustering(3, random_state=4).fit(X)
    np.testing.assert_array_equal(first.factor_, second.factor_)


def test_columns_in_different_units_are_standardized(blobs: Sample) -> None:
    X = np.column_stack([blobs.X, blobs.X[:, :1] * 0 + np.linspace(0, 1e4, 180)[:, None] % 7e3])
    plain = SoftClustering(3, standardize=False, random_state=29).fit(X)
    automatic = SoftClustering(3, random_state=29).fit(X)
    forced = SoftClustering(3, standardize=True, random_state=29).fit(X)
    np.testing.assert_array_equal(automatic.memberships_, forced.memberships_)
    assert adjusted_rand(blobs.labels, plain.labels_) < 0.5
    assert adjusted_rand(blobs.labels, automatic.labels_) == 1.0
    np.testing.assert_array_equal(automatic.predict(X), automatic.labels_)


def test_columns_in_similar_units_are_left_alone(blobs: Sample) -> None:
    plain = SoftClustering(3, standardize=False, random_state=29).fit(blobs.X)
    automatic = SoftClustering(3, random_state=29).fit(blobs.X)
    np.testing.assert_array_equal(plain.memberships_, automatic.memberships_)


@pytest.mark.parametrize("copies", [1, 3])
def test_few_objects_that_are_all_neighbours(copies: int) -> None:
    sports = ["the team won the match", "a goal in the last match", "the team lost a goal"]
    cooking = ["boil the rice and salt", "salt and pepper the soup", "a soup of rice"]
    texts = [*sports, "goal and team", *cooking, "pepper, salt, rice"]
    X = TfidfVectorizer().fit_transform(copies * texts)
    topics = np.tile(np.repeat([0, 1], 4), copies)
    model = SoftClustering(2, random_state=0).fit(X)
    assert adjusted_rand(topics, model.labels_) == 1.0
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_walk_has_at_least_one_step(blobs: Sample) -> None:
    model = SoftClustering(3, random_state=29).fit(blobs.X)
    assert model.n_steps_ >= 1


def test_uncertain_objects_lie_between_clusters() -> None:
    sample = make_gaussians(900, random_state=4099)
    model = SoftClustering(3, random_state=29).fit(sample.X)
    truth = 1.0 - sample.posterior.max(axis=1)
    assert np.corrcoef(truth, model.entropy_)[0, 1] >= 0.85


def test_verbose_tells_the_phases_on_standard_error(
    blobs: Sample, capsys: pytest.CaptureFixture[str]
) -> None:
    SoftClustering(3, random_state=29).fit(blobs.X)
    assert capsys.readouterr() == ("", "")
    SoftClustering(3, random_state=29, verbose=1).fit(blobs.X)
    out, err = capsys.readouterr()
    assert out == ""
    assert "affinities" in err
    assert "memberships" in err


@pytest.mark.parametrize(("shape", "threads"), [((300, 4), 1), ((2100, 2), 2), ((300, 600), 2)])
def test_small_tables_are_fitted_by_one_thread(shape, threads):
    model = SoftClustering(2, n_jobs=2, random_state=0, callback=lambda _: used.append(n_threads()))
    used = []
    model.fit(np.random.default_rng(0).normal(size=shape))
    assert set(used) == {threads}
