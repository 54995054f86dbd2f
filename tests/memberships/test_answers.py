"""Memberships after answers, of which some may be wrong."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from soffit import SoftClustering
from soffit.affinity import NeighborGraph, SideInformation
from soffit.datasets import make_gaussians
from soffit.graph import Graph
from soffit.memberships import answers as module
from soffit.memberships.answers import chances_wrong, follow_answers, predicts_better
from soffit.metrics import accuracy


@pytest.fixture(scope="module")
def overlapping():
    X, y, _ = make_gaussians(300, n_clusters=3, separation=3.0, random_state=2203)
    A = Graph.of(NeighborGraph().fit(X).matrix_).without_diagonal().matrix
    return A, y, SoftClustering(3, random_state=3).fit(X).memberships_


def answers(y, n_pairs, errors, seed):
    """Random pairs as a person would answer who errs with some probability."""
    rng = np.random.default_rng(seed)
    first, second = np.triu_indices(len(y), 1)
    chosen = rng.choice(len(first), n_pairs, replace=False)
    pairs = np.column_stack([first[chosen], second[chosen]])
    wrong = rng.random(n_pairs) < errors
    same = (y[pairs[:, 0]] == y[pairs[:, 1]]) ^ wrong
    return SideInformation.of(pairs[same], pairs[~same], len(y)), pairs[wrong]


def test_rows_sum_to_one_in_any_storage(overlapping):
    A, y, P = overlapping
    side, _ = answers(y, 80, 0.0, 5)
    sparse = follow_answers(P, A, side)
    np.testing.assert_allclose(sparse.sum(axis=1), 1.0, atol=1e-9)
    assert sparse.min() >= 0
    np.testing.assert_allclose(follow_answers(P, A.toarray(), side), sparse, atol=1e-6)
    single = follow_answers(P.astype(np.float32), sp.csr_array(A.astype(np.float32)), side)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, sparse, atol=1e-2)
    stored = follow_answers(sp.csr_array(P), A, side)
    assert isinstance(stored, sp.csr_array)
    np.testing.assert_allclose(stored.toarray(), sparse, atol=1e-3)


def test_nothing_said_changes_nothing(overlapping):
    A, y, P = overlapping
    assert follow_answers(P, A, SideInformation.of(None, None, len(y))) is P
    alone = np.ones((len(y), 1))
    assert follow_answers(alone, A, SideInformation.of([(0, 1)], None, len(y))) is alone


def test_confirmations_move_no_object(overlapping):
    """Answers that the memberships already give change no label."""
    A, y, P = overlapping
    labels = P.argmax(axis=1)
    sure = np.flatnonzero(P.max(axis=1) > 0.95)
    rng = np.random.default_rng(7)
    pairs = np.unique(np.sort(rng.choice(sure, (40, 2)), axis=1), axis=0)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    told = follow_answers(P, A, SideInformation.of(pairs[same], pairs[~same], len(y)))
    assert np.mean(told.argmax(axis=1) == labels) > 0.99


def test_answers_help_and_wrong_ones_are_outvoted(overlapping):
    A, y, P = overlapping
    start = accuracy(y, P.argmax(axis=1))
    honest, _ = answers(y, 900, 0.0, 11)
    assert accuracy(y, follow_answers(P, A, honest).argmax(axis=1)) > start + 0.1
    erring, wrong = answers(y, 900, 0.1, 11)
    labels = follow_answers(P, A, erring).argmax(axis=1)
    assert accuracy(y, labels) > start + 0.05
    # With six answers per object, most wrong ones are not followed.
    same = labels[wrong[:, 0]] == labels[wrong[:, 1]]
    truth = y[wrong[:, 0]] == y[wrong[:, 1]]
    assert np.mean(same == truth) > 0.8


def test_one_wrong_answer_stays_where_it_is(overlapping):
    """A lie about two typical objects moves at most a few others."""
    A, _, P = overlapping
    a, b = (int(P[:, cluster].argmax()) for cluster in (0, 1))
    told = follow_answers(P, A, SideInformation.of([(a, b)], None, len(P)))
    assert np.sum(told.argmax(axis=1) != P.argmax(axis=1)) <= 5


def test_less_trust_moves_less(overlapping):
    A, y, P = overlapping
    side, _ = answers(y, 100, 0.0, 13)
    moved = [
        np.abs(follow_answers(P, A, side, weight=weight) - P).sum() for weight in (0.01, 0.3, 1.0)
    ]
    assert moved[0] < moved[1] < moved[2]


def test_a_cluster_never_vanishes():
    P = np.array([[0.9, 0.1], [0.9, 0.1], [0.8, 0.2], [0.4, 0.6]])
    A = np.ones((4, 4)) - np.eye(4)
    told = follow_answers(P, A, SideInformation.of([(0, 3), (1, 3), (2, 3)], None, 4))
    assert set(told.argmax(axis=1)) == {0, 1}


def test_an_object_without_neighbours_follows_its_partner():
    P = np.array([[0.95, 0.05], [0.05, 0.95], [0.5, 0.5]])
    told = follow_answers(P, sp.csr_array((3, 3)), SideInformation.of([(2, 1)], None, 3))
    assert told[2, 1] > 0.8
    np.testing.assert_allclose(told.sum(axis=1), 1.0)


def test_a_single_answer_is_kept():
    """Whatever the data say: equal objects, sure of one cluster, that must not be together."""
    P = np.tile([[0.99, 0.01]], (6, 1))
    P[3:] = [0.01, 0.99]
    A = np.kron(np.eye(2), np.ones((3, 3))) - np.eye(6)
    apart = follow_answers(P, A, SideInformation.of(None, [(0, 1)], 6)).argmax(axis=1)
    assert apart[0] != apart[1]
    assert apart[2:].tolist() == [0, 1, 1, 1]
    together = follow_answers(P, A, SideInformation.of([(0, 5), (1, 2)], None, 6)).argmax(axis=1)
    assert together[0] == together[5]


def test_beliefs_are_exact_on_a_chain():
    """Against all assignments of three objects to three clusters, one answer of each kind."""
    rng = np.random.default_rng(17)
    prior, wrong = rng.dirichlet(np.ones(3), 3), 0.07
    joint = np.einsum("a,b,c->abc", *prior)
    same = np.eye(3)
    joint *= np.where(same, 1 - wrong, wrong)[:, :, None]
    joint *= np.where(same, wrong, 1 - wrong)[None, :, :]
    joint /= joint.sum()
    pairs = module._Pairs.of(SideInformation.of([(0, 1)], [(1, 2)], 3))
    beliefs, chances = pairs.beliefs(prior, wrong, 1.0)
    expected = [joint.sum(axis=tuple({0, 1, 2} - {axis})) for axis in range(3)]
    np.testing.assert_allclose(beliefs, expected, atol=1e-6)
    apart, together = joint.sum(axis=2)[same == 0].sum(), joint.sum(axis=0)[same == 1].sum()
    np.testing.assert_allclose(chances, [apart, together], atol=1e-6)


def test_many_answers_take_the_short_way(overlapping, limits):
    A, y, P = overlapping
    side, _ = answers(y, 3000, 0.1, 19)
    exact = follow_answers(P, A, side).argmax(axis=1)
    limits(answers_objects=100)
    assert np.mean(follow_answers(P, A, side).argmax(axis=1) == exact) > 0.95


def test_contradictions_through_chains_raise_the_chance_of_being_wrong():
    """A ring of three must-links and a cannot-link: one of the four is wrong, and any may be."""
    P, A = np.full((4, 2), 0.5), sp.csr_array((4, 4))
    P[0] = [0.99, 0.01]
    ring = chances_wrong(P, A, SideInformation.of([(0, 1), (1, 2), (2, 3)], [(0, 3)], 4))
    chain = chances_wrong(P, A, SideInformation.of([(0, 1), (1, 2), (2, 3)], None, 4))
    assert ring.min() > 2 * chain.max()


@pytest.fixture(scope="module")
def square():
    """Four groups, further apart from left to right than from top to bottom."""
    centers = [(-3, -2), (-3, 2), (3, -2), (3, 2)]
    X, group, _ = make_gaussians(240, centers=centers, random_state=7)
    return X, np.array([0, 0, 1, 1])[group], np.array([0, 1, 0, 1])[group]


def test_answers_turn_a_partition_as_a_whole(square):
    X, sides, heights = square
    assert accuracy(sides, SoftClustering(2, random_state=7).fit(X).labels_) > 0.95
    found, _ = answers(heights, 40, 0.1, 1)
    model = SoftClustering(2, random_state=7).fit(X, must_link=found.must, cannot_link=found.cannot)
    assert accuracy(heights, model.labels_) > 0.95


def test_a_partition_that_obeys_single_objects_predicts_nothing(square):
    X, sides, heights = square
    A = Graph.of(NeighborGraph().fit(X).matrix_).without_diagonal().matrix
    found, _ = answers(heights, 24, 0.0, 1)
    assert predicts_better(heights, sides, A, found)
    assert not predicts_better(sides, sides, A, found)
    only_there = sides.copy()
    only_there[found.touched()] = heights[found.touched()]
    assert not predicts_better(only_there, sides, A, found)


def test_objects_that_stay_are_as_certain_as_before(overlapping):
    A, y, P = overlapping
    found, _ = answers(y, 8, 0.0, 5)
    after = follow_answers(P, A, found)
    stay = after.argmax(axis=1) == P.argmax(axis=1)
    assert 0.9 < stay.mean() < 1
    assert after[stay].max(axis=1).mean() > P[stay].max(axis=1).mean() - 0.02
