from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from tests.reference.problems import block_diagonal
from tests.reference.relations import divergence, planted_graph

from benchmarks.datasets import load
from soffit.affinity import NeighborGraph
from soffit.datasets import make_gaussians
from soffit.exceptions import EmptyClusterWarning
from soffit.metrics import accuracy, adjusted_rand, nmi
from soffit.models import RelationFactorization


def _graph_model(k, **options):
    return RelationFactorization(k, affinity="precomputed", random_state=29, **options)


def test_what_the_paper_names_is_there():
    A, labels = planted_graph([40, 60, 80], 5)
    model = _graph_model(3).fit(A)
    degrees = A.sum(axis=1)
    np.testing.assert_allclose(model.factor_.sum(axis=0), 1.0)
    np.testing.assert_allclose(model.bipartite_, model.factor_ * model.lambda_)
    np.testing.assert_allclose(model.bipartite_.sum(axis=1), degrees)
    np.testing.assert_allclose(model.memberships_, model.bipartite_ / degrees[:, None])
    np.testing.assert_allclose(model.lambda_.sum(), A.sum())
    assert model.objective_ == pytest.approx(
        divergence(A.toarray(), model.factor_, model.lambda_), rel=1e-9
    )
    p = (model.factor_ * model.lambda_) @ model.factor_.T / A.sum()
    assert model.log_likelihood_ == pytest.approx(float(np.log(p[A.toarray() > 0]).sum()))
    assert accuracy(labels, model.labels_) == 1.0


def test_isolated_nodes_get_the_prior():
    A, _ = planted_graph([40, 80], 7)
    A = block_diagonal([A, sp.csr_array((2, 2))])
    model = _graph_model(2).fit(A)
    np.testing.assert_allclose(model.memberships_[120], model.lambda_ / model.lambda_.sum())


def test_self_similarities_play_no_part():
    A, _ = planted_graph([40, 60], 11)
    plain = _graph_model(2).fit(A)
    looped = _graph_model(2).fit(sp.csr_array(A + 5.0 * sp.eye_array(100)))
    np.testing.assert_array_equal(plain.memberships_, looped.memberships_)


def test_the_number_of_clusters_is_found():
    A, labels = planted_graph([50, 60, 80, 110], 13, inside=12.0)
    model = _graph_model(None).fit(A)
    assert model.n_clusters_ == model.memberships_.shape[1] == 4
    assert accuracy(labels, model.labels_) > 0.99
    assert model.threshold_path_.shape[1] == 2
    assert 4 in model.threshold_path_[:, 1]
    X, labels, _ = make_gaussians(600, n_clusters=6, separation=6.0, random_state=17)
    found = RelationFactorization(None, random_state=29).fit(X)
    assert found.n_clusters_ == 6
    assert adjusted_rand(labels, found.labels_) > 0.95
    assert found.predict_proba(X[:5]).shape == (5, 6)


def test_a_given_threshold_prunes():
    A, labels = planted_graph([40] * 5, 19, inside=12.0, outside=2.6)
    model = _graph_model(None, pruning=0.04).fit(A)
    assert model.n_clusters_ == 5
    assert accuracy(labels, model.labels_) == 1.0
    assert np.diff(model.objective_history_).max(initial=0.0) <= 1e-9 * A.sum()
    assert _graph_model(12, pruning=0.06).fit(A).n_clusters_ == 5


def test_sparsity_empties_shares():
    A, _ = planted_graph([60, 60], 23, inside=8.0, outside=3.0)
    plain, sparse = _graph_model(2).fit(A), _graph_model(2, sparsity=0.15).fit(A)
    assert (sparse.memberships_ == 0).sum() > (plain.memberships_ < 1e-6).sum()
    np.testing.assert_allclose(sparse.memberships_.sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [("sparsity", 1.0), ("sparsity", -0.1), ("pruning", 1), ("pruning", "a"), ("n_init", -1)],
)
def test_bad_parameters_are_named(parameter, value):
    model = RelationFactorization(2).set_params(**{parameter: value})
    with pytest.raises(ValueError, match=rf"{parameter} must be .*got {value!r}"):
        model.fit(np.eye(5))


@pytest.mark.parametrize("n", [1, 2, 3, 11])
def test_few_objects_and_no_number(n):
    X = np.random.default_rng(31).random((n, 2))
    model = RelationFactorization(None, random_state=29).fit(X)
    np.testing.assert_allclose(model.memberships_.sum(axis=1), 1.0)


def test_twenty_thousand_nodes_in_ten_blocks():
    # 18 neighbours inside a block and 2 outside, on average. Exact, and without the speed asserted
    # here (benchmarks do) quick enough to be a test.
    A, labels = planted_graph([2000] * 10, 37, inside=18.0, outside=2.0)
    model = _graph_model(10).fit(A)
    assert accuracy(labels, model.labels_) == 1.0


@pytest.mark.parametrize(
    ("name", "k", "least"), [("karate", 2, 0.88), ("polbooks", 3, 0.62), ("football", 12, 0.88)]
)
def test_known_graphs(name, k, least, data_home):
    dataset = load(f"graph_{name}", home=data_home)
    model = _graph_model(k).fit(dataset.graph)
    assert adjusted_rand(dataset.labels[0], model.labels_) >= least


@pytest.mark.parametrize("seed", [41, 43])
def test_handwritten_digits(seed, data_home):
    dataset = load("usps", home=data_home)
    digits = (dataset.labels[0] >= 1) & (dataset.labels[0] <= 4)
    X, labels = dataset.X[digits], dataset.labels[0][digits]
    published = NeighborGraph(n_neighbors=10, keep="union", weights="binary")
    for affinity in ("nearest_neighbors", published):
        model = RelationFactorization(4, affinity=affinity, random_state=seed).fit(X)
        assert accuracy(labels, model.labels_) >= 0.98
        assert nmi(labels, model.labels_) >= 0.92


def test_large_graphs_are_fitted_as_small_ones_are(limits):
    A, labels = planted_graph([200, 300, 400], 67)
    small = _graph_model(3).fit(A)
    limits(divergence_objects=100, graph_nodes=300)
    large = _graph_model(3).fit(A)
    assert large.converged_
    assert large.objective_ == pytest.approx(small.objective_, rel=1e-3)
    assert large.log_likelihood_ == pytest.approx(small.log_likelihood_, rel=1e-3)
    assert accuracy(labels, large.labels_) >= accuracy(labels, small.labels_) - 0.005
    np.testing.assert_allclose(large.memberships_.sum(axis=1), 1.0)
    np.testing.assert_allclose(large.bipartite_.sum(axis=1), A.sum(axis=1), rtol=1e-6)
    warm = large.set_params(warm_start=True, tol=1e-3).fit(A)
    assert warm.n_iter_ <= 3
    assert warm.objective_ <= small.objective_ * 1.001


def test_memory_is_asked_for_before_it_is_used(monkeypatch):
    A, _ = planted_graph([200, 300], 71)
    monkeypatch.setattr("soffit._memory.available_memory", lambda: 2**10)
    with pytest.raises(MemoryError, match="smaller n_clusters"):
        _graph_model(2).fit(A)


@pytest.mark.parametrize("n_clusters", [1, 2])
def test_priors_leave_a_cluster_where_nothing_is_linked(n_clusters):
    model = RelationFactorization(n_clusters, affinity="precomputed", sparsity=0.5, pruning=0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyClusterWarning)
        model.fit(np.zeros((5, 5)))
    assert model.n_clusters_ >= 1
    np.testing.assert_allclose(model.memberships_.sum(axis=1), 1.0)
