"""SoftClustering with resamples: softer where the partition is in doubt."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from benchmarks.datasets import load
from soffit import SoftClustering
from soffit.affinity import NeighborGraph
from soffit.datasets import make_gaussians, make_rings
from soffit.exceptions import UnstableResultWarning
from soffit.metrics import accuracy, brier


@pytest.fixture(scope="module")
def touching():
    return make_gaussians(240, n_clusters=3, separation=3.0, random_state=3109)


def fitted(data, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return SoftClustering(3, random_state=5, **settings).fit(data)


@pytest.mark.parametrize("kind", ["table", "float32", "graph", "dense", "distances"])
def test_every_kind_of_input(touching, kind):
    X = touching.X
    A = NeighborGraph().fit(X).matrix_
    distances = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=-1))
    data, settings = {
        "table": (X, {}),
        "float32": (X.astype(np.float32), {}),
        "graph": (A, {"affinity": "precomputed"}),
        "dense": (A.toarray(), {"affinity": "precomputed"}),
        "distances": (distances, {"metric": "precomputed"}),
    }[kind]
    model = fitted(data, n_resamples=4, **settings)
    tolerance = 1e-5 if kind == "float32" else 1e-9
    np.testing.assert_allclose(model.memberships_.sum(axis=1), 1.0, atol=tolerance)
    np.testing.assert_allclose(model.overlap_ + model.instability_, model.entropy_, atol=tolerance)
    assert np.array_equal(model.labels_, model.memberships_.argmax(axis=1))
    assert model.cluster_stability_.shape == (3,)
    assert 0 < model.agreement_ <= 1
    assert model.expected_accuracy_ == pytest.approx(model.memberships_.max(axis=1).mean())
    again = model.predict_proba(data)
    np.testing.assert_allclose(again.sum(axis=1), 1.0, atol=1e-5)
    assert np.mean(again.argmax(axis=1) == model.labels_) > 0.95
    assert np.abs(again - model.memberships_).mean() < 0.05


def test_disagreement_of_subsamples_softens_memberships():
    # So near one another that parts of the objects are cut in other places.
    X = make_gaussians(300, n_clusters=3, separation=2.0, random_state=7).X
    single, model = fitted(X), fitted(X, n_resamples=5)
    # A subsample counts the less, the more its partition cuts; what is left is the whole fit's.
    assert model.expected_accuracy_ <= 0.5 * (1.0 + model.agreement_)
    assert model.expected_accuracy_ < single.memberships_.max(axis=1).mean()
    new = X[:40] + 0.01
    softer = model.predict_proba(new).max(axis=1).mean()
    assert softer < single.predict_proba(new).max(axis=1).mean()


def test_same_seed_same_bytes(touching):
    a, b = (fitted(touching.X, n_resamples=3) for _ in range(2))
    assert a.memberships_.tobytes() == b.memberships_.tobytes()


def test_parameters_are_not_changed_by_fit(touching):
    model = SoftClustering(3, n_resamples=2, random_state=5)
    before = clone(model).get_params()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(touching.X)
    assert model.get_params() == before


def test_noise_is_called_unstable():
    X = np.random.default_rng(811).normal(size=(150, 6))
    with pytest.warns(UnstableResultWarning, match=r"Two fits on subsamples agree on \d+ % of"):
        model = SoftClustering(6, n_resamples=4, random_state=5).fit(X)
    assert model.instability_.mean() > 0.05
    assert model.cluster_stability_.min() < 0.6


def test_separate_clusters_are_stable():
    X = make_gaussians(200, separation=12.0, random_state=77).X
    model = SoftClustering(3, n_resamples=4, random_state=5).fit(X)
    assert model.agreement_ == 1.0
    assert np.all(model.cluster_stability_ == 1.0)
    assert model.instability_.max() < 0.05


def test_pairs_reach_the_resamples(touching):
    X, y, _ = touching
    rng = np.random.default_rng(19)
    pairs = np.sort(rng.integers(len(y), size=(400, 2)), axis=1)
    pairs = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        plain = SoftClustering(3, n_resamples=4, random_state=5).fit(X)
        told = SoftClustering(3, n_resamples=4, random_state=5).fit(
            X, must_link=pairs[same], cannot_link=pairs[~same]
        )
    assert brier(y, told.memberships_) < brier(y, plain.memberships_)


@pytest.mark.parametrize("wrong", [1, -3, 2.5, "ten"])
def test_wrong_numbers_of_resamples(wrong, touching):
    with pytest.raises(ValueError, match="resamples must be 0 or an integer of at least 2"):
        SoftClustering(3, n_resamples=wrong).fit(touching.X)


@pytest.mark.parametrize("n", [3, 4, 7])
def test_few_objects(n):
    X = np.random.default_rng(n).normal(size=(n, 2))
    model = fitted(X, n_resamples=2)
    assert model.memberships_.shape == (n, 3)


def test_isolated_objects_do_not_break_it():
    A = np.kron(np.eye(3), np.ones((8, 8))) - np.eye(24)
    A = sp.csr_array(np.pad(A, ((0, 2), (0, 2))))
    model = fitted(A, affinity="precomputed", n_resamples=3)
    np.testing.assert_allclose(model.memberships_.sum(axis=1), 1.0)


def test_probabilities_improve_on_real_sets(data_home):
    gain = []
    for name in ("glass", "breast_tissue", "ecoli"):
        dataset = load(name, home=data_home)
        y, k = dataset.labels[0], dataset.n_classes[0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            single = SoftClustering(k, random_state=5).fit(dataset.X)
            model = SoftClustering(k, n_resamples=6, random_state=5).fit(dataset.X)
        gain.append(brier(y, single.memberships_) - brier(y, model.memberships_))
    assert np.mean(gain) > 0.03


def test_subsamples_too_thin_for_fine_structure_count_less():
    """In 63 % of the objects the rings are broken; the whole fit sees them."""
    X, labels, posterior = make_rings(200, noise=0.07, random_state=103)
    single = SoftClustering(2, random_state=3).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnstableResultWarning)
        model = SoftClustering(2, n_resamples=5, random_state=3).fit(X)
    assert accuracy(posterior.argmax(axis=1), single.labels_) > 0.95
    assert accuracy(posterior.argmax(axis=1), model.labels_) > 0.95
    assert brier(labels, model.memberships_) <= brier(labels, single.memberships_) + 0.02
