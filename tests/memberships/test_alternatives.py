"""Partitions of nearly equal quality are weighed, and memberships allow for all of them."""

from __future__ import annotations

import numpy as np
import pytest

from soffit import SoftClustering
from soffit.datasets import make_gaussians, make_moons, make_unequal
from soffit.memberships.calibration import Alternative, average_over, weigh_partitions
from soffit.memberships.mixture import describe_partitions
from soffit.metrics import adjusted_rand, posterior_distance
from soffit.partition.candidates import RankedPartition, ranked_partitions
from soffit.partition.eigenvectors import leading_eigenvectors


def ranked(*candidates: tuple[np.ndarray, float]) -> list[RankedPartition]:
    return [RankedPartition(labels, False, score) for labels, score in candidates]


def weigh(
    candidates: list[RankedPartition], X: np.ndarray | None, n_clusters: int
) -> list[Alternative]:
    return weigh_partitions(candidates, X, n_clusters, cut=lambda _: -3.0, random_state=7)


def test_without_features_the_cut_decides() -> None:
    even, odd = np.arange(20) % 2, np.arange(20) // 10
    found = weigh(ranked((even, -3.0), (odd, -2.9)), None, 2)
    assert found[0].labels is even
    assert found[0].weight == 1.0
    assert found[1].weight == pytest.approx(np.exp(-0.5))
    assert found[0].mixture is None


def test_a_much_worse_candidate_is_left_out() -> None:
    even, odd = np.arange(20) % 2, np.arange(20) // 10
    found = weigh(ranked((even, -4.0), (odd, -2.0)), None, 2)
    assert len(found) == 1


def test_densities_decide_between_similar_cuts() -> None:
    X, labels, _ = make_gaussians(200, n_clusters=2, separation=9.0, random_state=11)
    halves = np.arange(len(X)) % 2
    found = weigh(ranked((labels, -2.9), (halves, -3.0)), X, 2)
    assert adjusted_rand(labels, found[0].labels) == 1.0
    assert found[0].mixture is not None


def test_a_clean_cut_outweighs_mixtures_that_contradict_it() -> None:
    """Whatever the graph separates, Gaussians may describe in another way."""
    X, labels, _ = make_gaussians(200, n_clusters=2, separation=4.0, random_state=11)
    across = (X[:, 1] > np.median(X[:, 1])).astype(int)

    def cut(found: np.ndarray) -> float:
        return -6.0 if adjusted_rand(across, found) > 0.99 else -2.9

    found = weigh_partitions(ranked((across, -6.0)), X, 2, cut=cut, random_state=7)
    assert found[0].labels is across
    assert found[0].mixture is not None
    assert found[0].mixture.trust == 0.0
    # A smaller difference leaves the decision to the densities.
    found = weigh_partitions(ranked((across, -4.0)), X, 2, cut=cut, random_state=7)
    assert found[0].mixture is not None
    assert found[0].mixture.alone
    assert adjusted_rand(labels, found[0].labels) > 0.8


def test_a_mixture_that_leaves_its_partition_is_not_trusted() -> None:
    """Where components cannot have the shape of the clusters, they describe something else."""
    X = np.random.default_rng(5).uniform(size=(300, 2))
    frames = np.floor(10.0 * np.abs(X - 0.5).max(axis=1)).astype(int)
    found = weigh(ranked((frames, -3.0)), X, 5)
    mixture = found[0].mixture
    assert found[0].labels is frames
    assert mixture is not None
    assert np.mean(mixture.memberships(X).argmax(axis=1) == frames) < 0.5
    assert mixture.trust == 0.0


def test_where_residuals_fit_the_likelihood_decides() -> None:
    """Half moons in many Gaussians: other cuts of the graph are far less likely."""
    X, _, posterior = make_moons(1500, random_state=31)
    model = SoftClustering(2, random_state=3).fit(X)
    assert posterior_distance(posterior, model.memberships_) < 0.03


def test_partitions_are_described_by_one_kind_of_mixture() -> None:
    X, labels, _ = make_gaussians(300, n_features=8, separation=6.0, random_state=5)
    moved = labels.copy()
    moved[:60] = (moved[:60] + 1) % 3
    alone = describe_partitions(X, [labels], 3, random_state=3).partitions[0]
    first, second = describe_partitions(X, [labels, moved], 3, random_state=3).partitions
    assert first.log_density == alone.log_density
    assert first.mixture.tails == second.mixture.tails
    assert first.log_density >= second.log_density


def test_clusters_are_matched_before_the_average() -> None:
    best = np.array([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9]])
    average = average_over(best, [best[:, ::-1]], [0.5])
    np.testing.assert_allclose(average, best)
    other = np.array([[0.9, 0.1], [0.2, 0.8], [0.1, 0.9]])
    average = average_over(best, [other], [1.0])
    np.testing.assert_allclose(average.sum(axis=1), 1.0)
    np.testing.assert_allclose(average[1], [0.5, 0.5], atol=0.01)


def test_others_make_objects_less_certain_but_do_not_move_them() -> None:
    rng = np.random.default_rng(7)
    best, *others = rng.dirichlet(np.ones(3), size=(5, 200))
    average = average_over(best, others, [0.9, 0.9, 0.8, 0.8])
    np.testing.assert_array_equal(average.argmax(axis=1), best.argmax(axis=1))
    assert average.max(axis=1).mean() < best.max(axis=1).mean()


def test_alternatives_that_contradict_each_other_leave_no_cluster_empty() -> None:
    best = np.array([[0.9, 0.1], [0.1, 0.9], [0.9, 0.1]])
    others = [
        np.array([[0.9, 0.1], [0.9, 0.1], [0.1, 0.9]]),
        np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3]]),
    ]
    average = average_over(best, others, [1.0, 1.0])
    assert set(average.argmax(axis=1)) == {0, 1}
    np.testing.assert_allclose(average.sum(axis=1), 1.0)
    # What the others say still counts.
    assert average[1, 1] < best[1, 1]


def test_equal_candidates_are_ranked_once() -> None:
    X, labels, _ = make_gaussians(120, separation=9.0, random_state=5)
    model = SoftClustering(3, random_state=5).fit(X)
    A = model.affinity_matrix_
    V = leading_eigenvectors(A, 20)[1]
    found = ranked_partitions(A, V, 3, random_state=5)
    assert all(
        adjusted_rand(one.labels, other.labels) < 1.0
        for number, one in enumerate(found)
        for other in found[:number]
    )
    assert [one.rank for one in found] == sorted(one.rank for one in found)
    assert adjusted_rand(labels, found[0].labels) == 1.0


def test_clusters_of_very_unequal_sizes_are_described_by_their_densities() -> None:
    X, _, posterior = make_unequal(1500, n_features=10, random_state=107)
    model = SoftClustering(3, random_state=3).fit(X)
    assert adjusted_rand(posterior.argmax(axis=1), model.labels_) > 0.5
    # New objects get the same correction as the fitted ones beside them.
    assert np.mean(model.predict(X) == model.labels_) > 0.97


def test_where_candidates_contradict_each_other_memberships_are_less_certain() -> None:
    """A square without any structure has many equally good halves."""
    X = np.random.default_rng(13).uniform(size=(400, 2))
    model = SoftClustering(2, random_state=3).fit(X)
    assert model.memberships_.max(axis=1).mean() < 0.9
