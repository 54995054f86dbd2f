from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import sqrtm
from tests.reference.relations import planted_graph

from benchmarks.datasets import load
from soffit.datasets import make_gaussians
from soffit.memberships import Level
from soffit.metrics import accuracy
from soffit.models import SoftHierarchy


def _fitted(**options):
    # Six blocks of 40, in two groups of three.
    A, labels = planted_graph([40] * 6, 5, inside=12.0, outside=0.0)
    rng = np.random.default_rng(7)
    ends = np.concatenate([rng.integers(0, 120, (150, 2)), rng.integers(120, 240, (150, 2))])
    few = np.column_stack([rng.integers(0, 120, 15), rng.integers(120, 240, 15)])
    ends = np.concatenate([ends, few])
    links = sp.coo_array((np.ones(len(ends)), ends.T), shape=A.shape).tocsr()
    A = sp.csr_array(A + links + links.T)
    options = {"levels": [12, 6, 2], "random_state": 29, "affinity": "precomputed"} | options
    return A, labels, SoftHierarchy(**options).fit(A)


@pytest.mark.parametrize("refine", [True, False])
def test_every_level_is_a_soft_clustering(refine):
    A, labels, model = _fitted(refine=refine)
    assert [level.n_clusters for level in model.levels_] == [12, 6, 2]
    for level in (1, 2, 3):
        memberships = model.at_level(level)
        np.testing.assert_allclose(memberships.sum(axis=1), 1.0, atol=1e-9)
        assert memberships.min() >= 0.0
    assert accuracy(labels, model.at_level(2).argmax(axis=1)) == 1.0
    assert accuracy(labels // 3, model.labels_) == 1.0
    np.testing.assert_allclose(model.memberships_, model.at_level(3), atol=1e-12)
    np.testing.assert_array_equal(model.at_level(-1), model.at_level(3))
    assert model.n_clusters_ == 2
    assert model.converged_
    degrees = A.toarray().sum(axis=1) - A.diagonal()
    np.testing.assert_allclose(model.factor_.sum(axis=0), 1.0)
    np.testing.assert_allclose(
        model.factor_ * model.lambda_, degrees[:, None] * model.memberships_, atol=1e-9
    )


@pytest.mark.parametrize("refine", [True, False])
def test_similarities_and_weights_follow_equation_5(refine):
    A, _, model = _fitted(refine=refine)
    degrees = A.toarray().sum(axis=1) - A.diagonal()
    for level in model.levels_:
        B = degrees[:, None] * level.memberships
        np.testing.assert_allclose(level.weights, B.sum(axis=0))
        np.testing.assert_allclose(level.similarities, B.T @ level.memberships, atol=1e-9)
        # The row sums of the similarities are the weights: the next level's degrees.
        np.testing.assert_allclose(level.similarities.sum(axis=1), level.weights)
        if level.parents is not None:
            np.testing.assert_allclose(level.parents.sum(axis=1), 1.0)


def test_without_refinement_memberships_follow_the_chain():
    _, _, model = _fitted(refine=False)
    bottom, middle, top = model.levels_
    np.testing.assert_allclose(middle.memberships, bottom.memberships @ bottom.parents, atol=1e-12)
    np.testing.assert_allclose(top.memberships, middle.memberships @ middle.parents, atol=1e-12)


@pytest.mark.parametrize("refine", [True, False])
def test_the_tree_joins_blocks_of_one_group(refine):
    _, _, model = _fitted(refine=refine)
    tree = model.tree_
    assert len(tree) == 20
    assert tree.roots.tolist() == [18, 19]
    assert sorted(len(tree.children(root)) for root in tree.roots) == [3, 3]
    np.testing.assert_allclose(tree.weight[tree.level == 1].sum(), 1.0)
    np.testing.assert_allclose(tree.size[tree.level == 2].sum(), 240.0)


def test_induced_affinities_keep_the_degrees_and_grow_smoother():
    A, _, model = _fitted(refine=False)
    degrees = A.toarray().sum(axis=1) - A.diagonal()
    spread = []
    for level in (1, 2, 3):
        induced = model.induced_affinity(level)
        assert induced.shape == (240, 240)
        np.testing.assert_allclose(induced.sum(axis=1), degrees)
        W = induced.toarray()
        np.testing.assert_allclose(W, W.T, atol=1e-12)
        np.testing.assert_allclose(induced.rows([3, 5]), W[[3, 5]])
        spread.append(int(np.sum(W / W.max() > 0.01)))
    assert spread[0] < spread[1] < spread[2]


def test_level_2_of_exact_factorizations_is_two_steps_not_four():
    rng = np.random.default_rng(19)
    memberships = rng.dirichlet([0.3, 0.3], size=9)
    degrees = rng.uniform(1.0, 3.0, (9, 1))
    B = degrees * memberships
    weights = B.sum(axis=0)
    root = np.sqrt(weights)
    W = B @ np.diag(1 / weights) @ B.T
    # The similarities C of the clusters have an exact factorization with as many clusters.
    C = B.T @ memberships
    upper = root[:, None] * np.real(sqrtm(C / np.outer(root, root))) * root
    assert upper.min() > 0
    bottom = Level(memberships, weights, C, upper / weights[:, None])
    top = Level(memberships @ bottom.parents, upper.sum(axis=0), np.eye(2))
    model = SoftHierarchy()
    # Any graph with these degrees will do.
    model.levels_ = [bottom, top]
    model.affinity_matrix_ = np.roll(np.diag(degrees[:, 0]), 1, axis=1)
    np.testing.assert_allclose(model.induced_affinity(1).toarray(), W)
    walk = W / degrees.T
    np.testing.assert_allclose(model.induced_affinity(2).toarray(), walk @ W)
    assert np.abs(model.induced_affinity(2).toarray() - walk @ walk @ walk @ W).max() > 1e-3


@pytest.mark.parametrize("level", [0, 4, -4])
def test_unknown_levels_are_named(level):
    _, _, model = _fitted()
    for method in (model.at_level, model.induced_affinity):
        with pytest.raises(ValueError, match=rf"from 1 \(bottom\) to 3 \(top\).*got {level}"):
            method(level)


@pytest.mark.parametrize("levels", [[], [3, 3], [2, 4], [4, 0], [4.0, 2], "42", 5, [True]])
def test_levels_must_decrease(levels):
    with pytest.raises(ValueError, match="levels must be None or a decreasing sequence"):
        SoftHierarchy(levels=levels).fit(np.random.default_rng(3).random((20, 2)))


def test_levels_must_suit_the_objects_and_the_number_of_clusters():
    X = np.random.default_rng(3).random((20, 2))
    with pytest.raises(ValueError, match=r"levels starts with 30 .* n_samples=20.* at most 20"):
        SoftHierarchy(levels=[30, 2]).fit(X)
    with pytest.raises(ValueError, match=r"n_clusters=3 is not the last of levels=\[8, 2\]"):
        SoftHierarchy(3, levels=[8, 2]).fit(X)
    assert SoftHierarchy(2, levels=np.array([8, 2])).fit(X).n_clusters_ == 2


def test_levels_are_chosen():
    X, labels, _ = make_gaussians(400, n_clusters=4, separation=7.0, random_state=11)
    model = SoftHierarchy(random_state=29).fit(X)
    assert [level.n_clusters for level in model.levels_] == [20, 4]
    assert accuracy(labels, model.labels_) >= 0.98
    assert [level.n_clusters for level in SoftHierarchy(2).fit(X).levels_] == [20, 6, 2]


@pytest.mark.parametrize("refine", [True, False])
def test_new_objects_are_passed_up_to_the_top(refine):
    X, labels, _ = make_gaussians(300, n_clusters=3, separation=7.0, random_state=13)
    model = SoftHierarchy(levels=[20, 8, 3], refine=refine, random_state=29).fit(X)
    fresh, fresh_labels, _ = make_gaussians(90, n_clusters=3, separation=7.0, random_state=17)
    placed = model.predict_proba(fresh)
    assert placed.shape == (90, 3)
    np.testing.assert_allclose(placed.sum(axis=1), 1.0)
    both = np.concatenate([labels, fresh_labels])
    assert accuracy(both, np.concatenate([model.labels_, placed.argmax(axis=1)])) >= 0.98
    assert np.mean(model.predict(X) == model.labels_) >= 0.97


@pytest.mark.parametrize("seed", [41, 43])
def test_handwritten_digits(seed, data_home):
    dataset = load("usps", home=data_home)
    digits = (dataset.labels[0] >= 1) & (dataset.labels[0] <= 4)
    X, labels = dataset.X[digits], dataset.labels[0][digits]
    model = SoftHierarchy(levels=[100, 20, 10, 4], random_state=seed).fit(X)
    assert accuracy(labels, model.labels_) >= 0.975
