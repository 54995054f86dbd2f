"""Pairs worth asking about."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from soffit import (
    BaumEagon,
    CompletelyPositive,
    HigherOrder,
    RelationFactorization,
    SoF,
    SoftClustering,
    SpectralClustering,
)
from soffit.affinity import SideInformation
from soffit.datasets import make_gaussians
from soffit.metrics import accuracy
from soffit.selection import suggest_pairs
from soffit.selection.suggest_pairs import Answers

MODELS = [SoftClustering, SoF, BaumEagon, CompletelyPositive, RelationFactorization]


@pytest.fixture(scope="module")
def sample() -> Any:
    return make_gaussians(150, n_clusters=3, separation=3.0, random_state=2741)


@pytest.fixture(scope="module")
def model(sample: Any) -> SoftClustering:
    return SoftClustering(3, random_state=2741).fit(sample.X)


def keys(pairs: Any) -> set[tuple[int, int]]:
    return {(int(min(a, b)), int(max(a, b))) for a, b in pairs}


def answered(pairs: Any, labels: Any) -> dict[str, Any]:
    same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    return {"must_link": pairs[same], "cannot_link": pairs[~same]}


def check_pairs(pairs: Any, n_pairs: int, n: int) -> None:
    assert pairs.shape == (n_pairs, 2)
    assert pairs.dtype == np.int64
    assert pairs.min() >= 0
    assert pairs.max() < n
    assert np.all(pairs[:, 0] < pairs[:, 1])
    assert len(keys(pairs)) == n_pairs


# --- what is returned ----------------------------------------------------------------------------


@pytest.mark.parametrize("n_pairs", [1, 2, 10, 60, 400])
def test_pairs_are_distinct_and_ordered(model, n_pairs):
    check_pairs(suggest_pairs(model, n_pairs), n_pairs, 150)


@pytest.mark.parametrize("make", [*MODELS, SpectralClustering])
def test_every_model_of_affinities_is_served(make, sample):
    check_pairs(suggest_pairs(make(3, random_state=2741).fit(sample.X), 12), 12, 150)


@pytest.mark.parametrize("n_clusters", [2, 5, 30])
def test_any_number_of_clusters(n_clusters, sample):
    fitted = SoftClustering(n_clusters, random_state=907).fit(sample.X)
    check_pairs(suggest_pairs(fitted, 15), 15, 150)


def test_dense_and_sparse_similarities_give_the_same_pairs(sample):
    A = np.exp(-((sample.X[:, None] - sample.X[None]) ** 2).sum(axis=2))
    A[A < 1e-3] = 0.0
    dense = SoftClustering(3, affinity="precomputed", random_state=5).fit(A)
    weights = dense.memberships_
    twin = SimpleNamespace(memberships_=weights, affinity_matrix_=sp.csr_array(A))
    assert np.array_equal(suggest_pairs(dense, 10), suggest_pairs(twin, 10))


def test_graphs_are_served():
    import networkx as nx

    fitted = SoftClustering(2, random_state=5).fit(nx.karate_club_graph())
    check_pairs(suggest_pairs(fitted, 8), 8, 34)


@pytest.mark.parametrize(
    "A",
    [
        np.zeros((8, 8)),
        np.ones((8, 8)),
        sp.block_array([[np.ones((4, 4)), None], [None, np.eye(4)]]).toarray(),
    ],
    ids=["no ties", "all alike", "half without ties"],
)
def test_degenerate_affinities(A):
    fitted = SimpleNamespace(memberships_=np.full((8, 2), 0.5), affinity_matrix_=A)
    check_pairs(suggest_pairs(fitted, 28), 28, 8)


def test_two_objects():
    fitted = SimpleNamespace(memberships_=np.eye(2), affinity_matrix_=np.ones((2, 2)))
    assert suggest_pairs(fitted, 1).tolist() == [[0, 1]]


def test_same_seed_same_pairs_and_nothing_is_modified(model):
    before = model.memberships_.copy(), model.affinity_matrix_.toarray()
    first = suggest_pairs(model, 30, random_state=17)
    assert np.array_equal(first, suggest_pairs(model, 30, random_state=17))
    assert np.array_equal(first, suggest_pairs(model, 30, random_state=np.random.RandomState(17)))
    assert np.array_equal(model.memberships_, before[0])
    assert np.array_equal(model.affinity_matrix_.toarray(), before[1])


# --- what is asked -------------------------------------------------------------------------------


def test_pairs_are_spread_over_clusters():
    X = make_gaussians(400, n_clusters=5, separation=2.5, random_state=607).X
    fitted = SoftClustering(5, random_state=607).fit(X)
    asked = fitted.labels_[suggest_pairs(fitted, 10)]
    assert set(np.unique(asked)) == set(range(5))
    counts = np.bincount(asked.ravel(), minlength=5)
    assert counts.max() <= 10


def test_no_circle_while_there_is_other_to_ask(model):
    import networkx as nx

    graph = nx.Graph(suggest_pairs(model, 40).tolist())
    assert nx.is_forest(graph)


def test_objects_between_clusters_are_asked_about_before_sure_ones(model):
    """Once all regions are known, only doubtful objects are left."""
    pairs = np.empty((0, 2), dtype=np.int64)
    truth = model.labels_
    fitted = model
    for _ in range(6):
        pairs = np.concatenate([pairs, suggest_pairs(fitted, 15)])
        side = SideInformation.of(**answered(pairs, truth), n_objects=150)
        fitted = SimpleNamespace(
            memberships_=model.memberships_,
            affinity_matrix_=model.affinity_matrix_,
            side_information_=side,
        )
    known = np.unique(pairs)
    last = np.setdiff1d(suggest_pairs(fitted, 8), known)
    others = np.setdiff1d(np.arange(150), np.concatenate([known, last]))
    assert len(last) == 8
    assert model.entropy_[last].min() >= np.quantile(model.entropy_[others], 0.5)


def test_instability_draws_questions():
    """Two equally uncertain clusters: the one that is unstable is asked about."""
    X = make_gaussians(200, n_clusters=2, separation=30.0, random_state=331).X
    fitted = SoftClustering(2, random_state=331).fit(X)
    unstable = fitted.labels_ == 0
    memberships = np.array([[0.7, 0.3], [0.3, 0.7]])[fitted.labels_]
    entropy = np.full(200, 0.6)
    plain = SimpleNamespace(memberships_=memberships, affinity_matrix_=fitted.affinity_matrix_)
    doubtful = SimpleNamespace(
        **vars(plain), entropy_=entropy, instability_=np.where(unstable, 0.6, 0.0)
    )
    assert unstable[suggest_pairs(doubtful, 12)].sum() > unstable[suggest_pairs(plain, 12)].sum()


def test_resampled_model_is_served(sample):
    fitted = SoftClustering(3, n_resamples=2, random_state=11).fit(sample.X)
    check_pairs(suggest_pairs(fitted, 9), 9, 150)


# --- what is known -------------------------------------------------------------------------------


def test_rounds_never_repeat_themselves_or_what_follows(sample):
    labels = sample.labels
    fitted = SoftClustering(3, random_state=2741).fit(sample.X)
    pairs = np.empty((0, 2), dtype=np.int64)
    for _ in range(4):
        fresh = suggest_pairs(fitted, 12)
        if len(pairs):
            follows = SideInformation.of(**answered(pairs, labels), n_objects=150, transitive=True)
            assert not keys(fresh) & (keys(follows.must) | keys(follows.cannot))
        pairs = np.concatenate([pairs, fresh])
        fitted.fit(sample.X, **answered(pairs, labels))
    assert len(keys(pairs)) == 48


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), n_known=st.integers(0, 40))
def test_all_open_pairs_can_be_had_and_no_other(seed, n_known):
    rng = np.random.default_rng(seed)
    n = 14
    labels = rng.integers(0, 3, n)
    known = np.array([rng.choice(n, 2, replace=False) for _ in range(n_known)], dtype=int)
    known = known.reshape(-1, 2)
    follows = SideInformation.of(**answered(known, labels), n_objects=n, transitive=True)
    given_side = SideInformation.of(**answered(known, labels), n_objects=n)
    # Neighbours agree with all answers, so that these can be built upon.
    A = rng.random((n, n)) * (0.01 + (labels[:, None] == labels[None, :]))
    fitted = SimpleNamespace(
        memberships_=0.9 * np.eye(3)[labels] + 0.1 * rng.dirichlet(np.ones(3), n),
        affinity_matrix_=A + A.T,
        side_information_=given_side,
    )
    n_open = n * (n - 1) // 2 - follows.n_pairs
    if n_open:
        pairs = suggest_pairs(fitted, n_open)
        check_pairs(pairs, n_open, n)
        assert not keys(pairs) & (keys(follows.must) | keys(follows.cannot))
    with pytest.raises(ValueError, match=f"n_pairs={n_open + 1} is more than the {n_open}"):
        suggest_pairs(fitted, n_open + 1)


def test_contradicting_answers_are_survived():
    side = SideInformation.of([(0, 1), (1, 2)], [(0, 2)], 20)
    A = np.random.default_rng(3).random((20, 20))
    fitted = SimpleNamespace(
        memberships_=np.full((20, 2), 0.5), affinity_matrix_=A + A.T, side_information_=side
    )
    assert not keys(suggest_pairs(fitted, 187)) & {(0, 1), (1, 2), (0, 2)}


def test_nothing_is_built_on_dubious_answers():
    side = SideInformation.of([(0, 1), (1, 2), (4, 5)], None, 6)
    answers = Answers.of(side, 6, np.array([True, False, True]))
    a, b = np.triu_indices(6, 1)
    is_open = answers.is_open(a, b)
    assert not keys(np.column_stack([a, b])[is_open]) & {(0, 1), (1, 2), (4, 5)}
    # Implied only by an answer that may be wrong: this question tells.
    assert (0, 2) in keys(np.column_stack([a, b])[is_open])
    assert is_open.sum() == answers.n_open()
    assert answers.doubtful.tolist() == [2]


# --- what it is good for -------------------------------------------------------------------------


def test_wrong_start_is_mended_sooner_than_by_random_pairs():
    """One class is two blobs far apart, two classes touch: the plain cut is wrong."""
    asked, drawn = [], []
    for seed in (211, 223, 227, 229):
        X, labels, n = *_two_blobs_in_one_class(seed), 240
        rng = np.random.default_rng(seed)
        fitted = SoftClustering(3, random_state=seed).fit(X)
        pairs = np.empty((0, 2), dtype=np.int64)
        for _ in range(3):
            pairs = np.concatenate([pairs, suggest_pairs(fitted, 8)])
            fitted.fit(X, **answered(pairs, labels))
        random = np.array([rng.choice(n, 2, replace=False) for _ in range(24)])
        other = SoftClustering(3, random_state=seed).fit(X, **answered(random, labels))
        untouched = np.setdiff1d(np.arange(n), np.concatenate([pairs.ravel(), random.ravel()]))
        asked.append(accuracy(labels[untouched], fitted.labels_[untouched]))
        drawn.append(accuracy(labels[untouched], other.labels_[untouched]))
    assert np.mean(asked) > np.mean(drawn) + 0.05


def _two_blobs_in_one_class(seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    centers = np.array([[0.0, 0.0], [0.0, 5.0], [9.0, 0.0], [9.0, 3.2]])
    blob = np.arange(240) % 4
    return centers[blob] + rng.normal(size=(240, 2)), np.array([0, 0, 1, 2])[blob]


# --- errors --------------------------------------------------------------------------------------


def test_model_must_be_fitted():
    with pytest.raises(NotFittedError, match="Call fit before suggest_pairs"):
        suggest_pairs(SoftClustering(3), 5)


def test_model_must_have_affinities(sample):
    with pytest.raises(TypeError, match="HigherOrder has no affinity_matrix_"):
        suggest_pairs(HigherOrder(3, random_state=5).fit(sample.X), 5)


def test_one_cluster_leaves_nothing_to_ask(sample):
    with pytest.raises(ValueError, match="n_clusters=1"):
        suggest_pairs(SoftClustering(1).fit(sample.X), 5)


@pytest.mark.parametrize("n_pairs", [0, -3])
def test_number_must_be_positive(n_pairs, model):
    with pytest.raises(ValueError, match=f"n_pairs must be at least 1, got {n_pairs}"):
        suggest_pairs(model, n_pairs)


@pytest.mark.parametrize("n_pairs", [2.0, "3", True, None])
def test_number_must_be_whole(n_pairs, model):
    with pytest.raises(TypeError, match="n_pairs must be an integer"):
        suggest_pairs(model, n_pairs)


def test_more_pairs_than_there_are(model):
    with pytest.raises(ValueError, match="more than the 11175 pairs"):
        suggest_pairs(model, 11176)
