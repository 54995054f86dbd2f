"""Valleys between clusters, by hand and against a plain second implementation."""

import numpy as np
import pytest
import scipy.sparse as sp
from tests.reference.relations import planted_graph

from soffit.selection.density import Links, shallowest_valley


def plain(A, coordinates, labels):
    """The definition, with every cut summed anew over all pairs."""
    A = A.toarray()
    worst = 0.0
    for a in range(labels.max() + 1):
        for b in range(a + 1, labels.max() + 1):
            one, two = np.flatnonzero(labels == a), np.flatnonzero(labels == b)
            if A[np.ix_(one, two)].sum() == 0:
                continue
            line = coordinates[two].mean(axis=0) - coordinates[one].mean(axis=0)
            both = np.concatenate([one, two])
            order = both[np.argsort(coordinates[both] @ line, kind="stable")]
            B = A[np.ix_(order, order)]
            cut = np.array([B[:t, t:].sum() for t in range(1, len(order))])
            play = int(0.1 * min(len(one), len(two)))
            near = np.arange(len(one) - 1 - play, len(one) + play)
            boundary = near[cut[near].argmin()]
            inside = min(cut[: boundary + 1].max(), cut[boundary:].max())
            worst = max(worst, cut[boundary] / inside)
    return worst


@pytest.mark.parametrize("seed", [3, 5, 8])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_agrees_with_the_definition(seed, dtype):
    A, blocks = planted_graph([40, 30, 20, 25], seed, inside=10.0, outside=2.0)
    rng = np.random.default_rng(seed)
    coordinates = (np.eye(4)[blocks] + 0.3 * rng.normal(size=(len(blocks), 4))).astype(dtype)
    labels = np.where(rng.random(len(blocks)) < 0.1, rng.integers(0, 4, len(blocks)), blocks)
    A = sp.csr_array(A, dtype=dtype)
    found = shallowest_valley(Links.of(A), coordinates, labels)
    assert found == pytest.approx(plain(A, coordinates.astype(float), labels), rel=1e-5)


def test_a_chain_with_one_weak_link():
    # Objects on a line, links of weight 1 but for the one in the middle.
    weights = np.ones(9)
    weights[4] = 0.25
    A = sp.csr_array(np.diag(weights, 1) + np.diag(weights, -1))
    line = np.arange(10.0)[:, None]
    links = Links.of(A)
    assert shallowest_valley(links, line, np.repeat([0, 1], 5)) == pytest.approx(0.25)
    # A boundary elsewhere costs as much as any other place.
    assert shallowest_valley(links, line, np.repeat([0, 1], [3, 7])) == pytest.approx(1.0)


def test_clusters_without_any_link_have_no_boundary():
    A = sp.csr_array(np.kron(np.eye(2), np.ones((5, 5)) - np.eye(5)))
    labels = np.repeat([0, 1], 5)
    assert shallowest_valley(Links.of(A), np.eye(2)[labels], labels) == 0.0
