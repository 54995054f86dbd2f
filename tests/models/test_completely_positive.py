from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from tests.reference.factorization import problem_loss

from soffit import CompletelyPositive
from soffit.datasets import make_bridge, make_donut, make_gaussians
from soffit.factorize import Problem
from soffit.metrics import accuracy, adjusted_rand
from soffit.normalize import normalize

SOLVERS = ["coordinate", "multiplicative", "parallel"]


def factorized(model):
    """The matrix that the model factorized."""
    return model._fitted.placer.factorized(model.side_information_)


@pytest.fixture(scope="module")
def donut():
    return make_donut(200, random_state=617)


@pytest.fixture(scope="module")
def donut_affinity(donut):
    return gaussian(donut.X, 0.5)


@pytest.fixture(scope="module")
def blobs():
    return make_gaussians(150, n_clusters=3, separation=8.0, random_state=8191)


def gaussian(X, sigma):
    return np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=-1) / sigma**2)


def planted_graph(sizes, inside, outside, seed):
    """A random graph with more ties inside the given blocks, and the blocks."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    share = np.where(labels[:, None] == labels, inside, outside)
    upper = np.triu(np.random.default_rng(seed).random(share.shape) < share, 1)
    return sp.csr_array((upper | upper.T).astype(float)), labels


def sample_of_pairs(n, share, seed):
    upper = np.triu(np.random.default_rng(seed).random((n, n)) < share, 1)
    return (upper | upper.T).astype(float)


# --- what the paper shows -------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
def test_donut_is_found_from_every_random_start(solver, donut, donut_affinity):
    for seed in range(10):
        model = CompletelyPositive(
            2,
            affinity="precomputed",
            normalization="additive",
            solver=solver,
            n_init=1,
            max_iter=5000,
            random_state=seed,
        ).fit(donut_affinity)
        assert accuracy(donut.labels, model.labels_) == 1.0


def test_donut_is_found_from_points_with_the_default_kernel(donut):
    model = CompletelyPositive(2, normalization="additive", n_init=1, random_state=29).fit(donut.X)
    assert accuracy(donut.labels, model.labels_) == 1.0
    assert np.mean(model.predict(donut.X) == model.labels_) >= 0.97


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_donut_is_found_from_a_tenth_of_the_pairs(storage, donut, donut_affinity):
    exact = 0
    for seed in range(6):
        known = sample_of_pairs(200, 0.1, 101 + seed)
        model = CompletelyPositive(
            2, affinity="precomputed", normalization="additive", random_state=seed
        ).fit(storage(donut_affinity * known), pair_weight=storage(known))
        exact += accuracy(donut.labels, model.labels_) == 1.0
    assert exact == 6


def test_memberships_cross_the_bridge_smoothly():
    sample = make_bridge(random_state=31)
    model = CompletelyPositive(2, random_state=37).fit(sample.X)
    across = model.memberships_[-10:, model.labels_[0]]
    assert across[0] > 0.9
    assert across[-1] < 0.1
    assert np.all(np.diff(across) < 0)


def test_degrees_do_not_matter_after_sinkhorn():
    # Blocks of unequal size whose nodes have very different degrees.
    rng = np.random.default_rng(41)
    labels = np.repeat(np.arange(4), [40, 25, 20, 15])
    weight = np.where(labels[:, None] == labels, 0.6, 0.15) + rng.normal(0, 0.05, (100, 100))
    degree = rng.lognormal(0.0, 0.8, 100)
    A = np.maximum((weight + weight.T) / 2, 0) * np.outer(degree, degree)
    model = CompletelyPositive(4, affinity="precomputed", random_state=43).fit(A)
    assert adjusted_rand(labels, model.labels_) == 1.0


# --- what is fitted -------------------------------------------------------------------------------


@pytest.mark.parametrize("normalization", ["sinkhorn", "additive", None])
@pytest.mark.parametrize("solver", SOLVERS)
def test_memberships_are_the_rows_of_the_factor(solver, normalization, blobs):
    model = CompletelyPositive(
        3, solver=solver, normalization=normalization, max_iter=5000, random_state=47
    ).fit(blobs.X)
    G = model.factor_
    np.testing.assert_allclose(model.memberships_, G / G.sum(axis=1, keepdims=True))
    assert accuracy(blobs.labels, model.labels_) == 1.0
    assert model.converged_
    assert len(model.objective_history_) == model.n_iter_ + 1
    assert np.all(np.diff(model.objective_history_) <= 1e-9 * model.objective_history_[0])


def test_objective_is_the_loss_of_the_factor(blobs):
    model = CompletelyPositive(3, random_state=53).fit(blobs.X)
    F = normalize(model.affinity_matrix_, "sinkhorn").matrix
    np.testing.assert_allclose(factorized(model), F, rtol=1e-7)
    problem = Problem(F, 3, constraint="nonnegative")
    loss = problem_loss(problem, model.factor_, np.ones(3))
    assert model.objective_ == pytest.approx(loss, rel=1e-9)
    np.testing.assert_allclose(problem.matrix.sum(axis=1), 1.0, atol=1e-7)


def test_more_starts_are_never_worse(blobs):
    A = gaussian(blobs.X, 1.0)
    one, many = (
        CompletelyPositive(6, affinity="precomputed", n_init=n, random_state=59).fit(A).objective_
        for n in (1, 8)
    )
    assert many <= one * (1 + 1e-4)


def test_unfinished_fits_warn(blobs):
    with pytest.warns(ConvergenceWarning, match="stopped after 2 iterations"):
        CompletelyPositive(3, max_iter=2, n_init=1, random_state=61).fit(blobs.X)


def test_solvers_agree(donut_affinity):
    objectives = [
        CompletelyPositive(
            2,
            affinity="precomputed",
            normalization="additive",
            solver=solver,
            max_iter=5000,
            random_state=67,
        )
        .fit(donut_affinity)
        .objective_
        for solver in SOLVERS
    ]
    np.testing.assert_allclose(objectives, objectives[0], rtol=1e-3)


# --- graphs ---------------------------------------------------------------------------------------


def test_sparse_graph_starts_from_eigenvectors_and_stays_sparse():
    graph, labels = planted_graph([120, 80, 60], 0.25, 0.005, 71)
    fits = [
        CompletelyPositive(3, affinity="precomputed", random_state=seed).fit(graph)
        for seed in (73, 79)
    ]
    assert sp.issparse(factorized(fits[0]))
    assert adjusted_rand(labels, fits[0].labels_) == 1.0
    np.testing.assert_array_equal(fits[0].memberships_, fits[1].memberships_)


def test_dense_and_sparse_storage_of_one_graph_agree():
    graph, _ = planted_graph([50, 40], 0.15, 0.01, 83)
    dense, sparse = (
        CompletelyPositive(2, affinity="precomputed", random_state=89).fit(A)
        for A in (graph.toarray(), graph)
    )
    np.testing.assert_allclose(dense.memberships_, sparse.memberships_, atol=1e-6)
    assert dense.objective_ == pytest.approx(sparse.objective_, rel=1e-9)


def test_graph_without_total_support_gets_a_diagonal():
    # A path has no doubly stochastic scaling without similarities of objects to themselves.
    path = sp.diags_array([np.ones(29), np.ones(29)], offsets=[-1, 1], format="csr")
    model = CompletelyPositive(2, affinity="precomputed", random_state=97).fit(path)
    assert np.isfinite(model.memberships_).all()
    assert model.labels_[0] != model.labels_[-1]


@pytest.mark.parametrize("normalization", ["sinkhorn", "additive", None])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_isolated_objects_get_the_mean_membership(normalization, storage):
    A = np.kron(np.diag([1.0, 1.0, 0.0]), np.ones((8, 8)))
    model = CompletelyPositive(
        2, affinity="precomputed", normalization=normalization, random_state=103
    ).fit(storage(A[:19, :19]))
    assert not model.factor_[16:].any()
    expected = model.memberships_[:16].mean(axis=0)
    np.testing.assert_allclose(model.memberships_[16:], np.tile(expected, (3, 1)))
    np.testing.assert_allclose(model.predict_proba(np.zeros((1, 19)))[0], expected)


# --- weights of pairs -----------------------------------------------------------------------------


@pytest.mark.parametrize("normalization", ["sinkhorn", "additive", None])
def test_blobs_are_found_from_a_fifth_of_the_pairs(normalization, blobs):
    known = sample_of_pairs(150, 0.2, 107)
    model = CompletelyPositive(3, normalization=normalization, random_state=109)
    model.fit(blobs.X, pair_weight=known)
    assert accuracy(blobs.labels, model.labels_) == 1.0
    again = model.predict_proba(blobs.X)
    assert np.mean(again.argmax(axis=1) == model.labels_) >= 0.97


def test_unknown_is_not_zero(donut, donut_affinity):
    known = sample_of_pairs(200, 0.1, 113)
    model = CompletelyPositive(
        2, affinity="precomputed", normalization="additive", random_state=127
    )
    as_zero = model.fit(donut_affinity * known).labels_
    assert accuracy(donut.labels, as_zero) < 0.9


def test_storages_of_weights_agree(blobs):
    known = sample_of_pairs(150, 0.3, 131)
    model = CompletelyPositive(3, normalization="additive", random_state=137)
    dense = model.fit(blobs.X, pair_weight=known).memberships_
    sparse = model.fit(blobs.X, pair_weight=sp.csr_array(known)).memberships_
    np.testing.assert_array_equal(dense, sparse)


def test_objects_without_known_pairs_get_the_mean_membership(blobs):
    known = np.ones((150, 150))
    known[7] = known[:, 7] = 0.0
    model = CompletelyPositive(3, random_state=139).fit(blobs.X, pair_weight=known)
    others = np.delete(model.memberships_, 7, axis=0)
    np.testing.assert_allclose(model.memberships_[7], others.mean(axis=0))


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ones((4, 4)), r"pair_weight must have shape \(150, 150\)"),
        (-np.ones((150, 150)), "nonnegative"),
        (np.triu(np.ones((150, 150))), "symmetric"),
    ],
)
def test_bad_weights_are_refused(weight, message, blobs):
    with pytest.raises(ValueError, match=message):
        CompletelyPositive(3).fit(blobs.X, pair_weight=weight)


# --- side information -----------------------------------------------------------------------------


def pairs_among(members, labels, n_pairs, seed):
    rng = np.random.default_rng(seed)
    pairs = rng.permutation(np.stack(np.triu_indices(len(members), 1), axis=1))[:n_pairs]
    pairs = members[pairs]
    same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    return pairs[same], pairs[~same]


@pytest.mark.parametrize("normalization", ["sinkhorn", "additive", None])
@pytest.mark.parametrize("affinity", ["rbf", "nearest_neighbors"])
def test_side_information_helps_the_points_it_touches_and_the_others(affinity, normalization):
    sample = make_gaussians(120, n_clusters=3, separation=2.2, random_state=149)
    touched = np.random.default_rng(151).permutation(120)[:60]
    must, cannot = pairs_among(touched, sample.labels, 900, 157)
    # Without normalization the many pairs that follow weigh more than the affinities: two of the
    # sixty others are lost by them.
    model = CompletelyPositive(
        3,
        affinity=affinity,
        normalization=normalization,
        transitive=normalization is not None,
        random_state=163,
    )
    plain = model.fit(sample.X).labels_
    told = model.fit(sample.X, must_link=must, cannot_link=cannot).labels_
    before = accuracy(sample.labels[touched], plain[touched])
    assert accuracy(sample.labels[touched], told[touched]) >= max(0.95, before + 0.03)
    others = np.setdiff1d(np.arange(120), touched)
    assert accuracy(sample.labels[others], told[others]) >= (
        accuracy(sample.labels[others], plain[others]) - 0.02
    )


def test_many_cannot_links_without_normalization_empty_no_cluster():
    sample = make_gaussians(120, n_clusters=3, separation=4.0, random_state=223)
    touched = np.random.default_rng(227).permutation(120)[:60]
    must, cannot = pairs_among(touched, sample.labels, 1700, 229)
    for affinity in ("rbf", "nearest_neighbors"):
        model = CompletelyPositive(3, affinity=affinity, normalization=None, random_state=233)
        model.fit(sample.X, must_link=must, cannot_link=cannot)
        assert accuracy(sample.labels[touched], model.labels_[touched]) >= 0.95


def test_side_information_leaves_a_graph_sparse():
    graph, _ = planted_graph([60, 60], 0.15, 0.01, 167)
    model = CompletelyPositive(2, affinity="precomputed", random_state=173)
    model.fit(graph, must_link=[(0, 1)], cannot_link=[(2, 100)])
    assert sp.issparse(factorized(model))
    assert factorized(model).nnz <= graph.nnz + 120 + 4
    assert model.affinity_matrix_.nnz == graph.nnz


def test_transitive_closure_adds_what_follows(blobs):
    model = CompletelyPositive(3, transitive=True, random_state=179)
    with pytest.raises(ValueError, match=r"through other objects.*: 0 - 1 - 2\."):
        model.fit(blobs.X, must_link=[(0, 1), (1, 2)], cannot_link=[(0, 2)])
    chain = model.fit(blobs.X, must_link=[(0, 1), (1, 2)])
    direct = CompletelyPositive(3, random_state=179)
    direct.fit(blobs.X, must_link=[(0, 1), (1, 2), (0, 2)])
    np.testing.assert_array_equal(chain.memberships_, direct.memberships_)


@pytest.mark.parametrize("solver", ["multiplicative", "parallel"])
def test_negative_targets_name_the_remedy(solver, blobs):
    model = CompletelyPositive(3, normalization=None, solver=solver, random_state=181)
    with pytest.raises(ValueError, match=r"normalization='additive'.*solver='coordinate'"):
        model.fit(blobs.X, cannot_link=[(0, 1)])
    CompletelyPositive(3, normalization=None, random_state=181).fit(blobs.X, cannot_link=[(0, 1)])
    for normalization in ("additive", "sinkhorn"):
        model.set_params(normalization=normalization, max_iter=5000)
        model.fit(blobs.X, cannot_link=[(0, 1)])


def test_known_pairs_count_as_observed(blobs):
    known = sample_of_pairs(150, 0.1, 191)
    together = np.flatnonzero(blobs.labels == 0)[:2]
    known[np.ix_(together, together)] = 0.0
    model = CompletelyPositive(3, normalization="additive", random_state=193)
    model.fit(blobs.X, pair_weight=known, must_link=[together])
    assert factorized(model)[together[0], together[1]] > 0


# --- parameters -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("normalization", "degree"),
        ("solver", "rows"),
        ("constraint_weight", 0.0),
        ("constraint_weight", 1.5),
        ("init", "kmeans"),
        ("n_init", 0),
        ("transitive", "yes"),
    ],
)
def test_bad_parameters_are_named(parameter, value, blobs):
    with pytest.raises(ValueError, match=f"CompletelyPositive: {parameter} must be"):
        CompletelyPositive(3, **{parameter: value}).fit(blobs.X)


def test_single_precision_is_kept(donut, donut_affinity):
    model = CompletelyPositive(
        2, affinity="precomputed", normalization="additive", random_state=197
    )
    wide = model.fit(donut_affinity).memberships_
    narrow = model.fit(donut_affinity.astype(np.float32)).memberships_
    assert narrow.dtype == np.float32
    np.testing.assert_allclose(narrow, wide, atol=0.01)
    known = sample_of_pairs(200, 0.2, 199)
    narrow = model.fit(donut_affinity.astype(np.float32), pair_weight=known).memberships_
    assert narrow.dtype == np.float32
    assert accuracy(donut.labels, narrow.argmax(axis=1)) == 1.0


def test_one_start_of_each_kind(blobs):
    for start in ("random", "spectral"):
        model = CompletelyPositive(3, init=start, n_init=3, random_state=211).fit(blobs.X)
        assert accuracy(blobs.labels, model.labels_) == 1.0
