"""Trees and flows of a soft hierarchy."""

from __future__ import annotations

import numpy as np
import pytest

from soffit.figures import hierarchy
from soffit.figures.hierarchy import ancestors, flows, own_size


def test_the_tree_has_a_node_a_cluster(soft_hierarchy):
    nodes = soft_hierarchy.tree_
    trace = hierarchy(soft_hierarchy).data[0]
    assert trace.type == "icicle"
    assert len(trace.ids) == 1 + len(nodes)
    for node in range(len(nodes)):
        expected = "root" if nodes.parent[node] < 0 else str(nodes.parent[node])
        assert trace.parents[1 + node] == expected


def test_leaves_are_as_wide_as_their_size(soft_hierarchy):
    nodes = soft_hierarchy.tree_
    width = own_size(nodes.parent, nodes.size)
    bottom = nodes.level == 1
    np.testing.assert_array_equal(width[bottom], nodes.size[bottom])
    parents = np.unique(nodes.parent[nodes.parent >= 0])
    assert not width[parents].any()
    assert width[bottom].sum() == pytest.approx(90.0)


def test_ancestors_by_hand():
    top, belief = ancestors(np.array([3, 3, 4, 5, 5, -1]), np.array([0.5, 1, 1, 0.8, 0.6, 1]))
    assert top.tolist() == [5] * 6
    np.testing.assert_allclose(belief, [0.4, 0.8, 0.6, 0.8, 0.6, 1.0])


def test_flows_are_the_soft_links(soft_hierarchy):
    levels = soft_hierarchy.levels_[::-1]
    drawn = flows(levels)
    assert len(drawn.cluster) == 2 + 5 + 9
    for source, target, value in zip(drawn.source, drawn.target, drawn.value, strict=True):
        depth = drawn.depth[target]
        assert drawn.depth[source] == depth - 1
        child, parent = drawn.cluster[target], drawn.cluster[source]
        size = levels[depth].memberships[:, child].sum()
        assert value == pytest.approx(size * levels[depth].parents[child, parent])
    links = sum(np.count_nonzero(level.parents >= 0.02) for level in levels[1:])
    assert len(drawn.value) == links


def test_flows_into_a_level_add_up(soft_hierarchy):
    drawn = flows(soft_hierarchy.levels_[::-1])
    total = drawn.value[drawn.depth[drawn.target] == 2].sum()
    assert 0.9 * 90 < total <= 90 + 1e-9


def test_nodes_carry_the_colour_of_the_top(soft_hierarchy):
    drawn = flows(soft_hierarchy.levels_[::-1])
    assert drawn.tint[drawn.depth == 0].tolist() == drawn.cluster[drawn.depth == 0].tolist()
    bottom = drawn.depth == 2
    parents = soft_hierarchy.levels_
    chain = parents[0].parents @ parents[1].parents
    np.testing.assert_array_equal(drawn.tint[bottom], chain.argmax(axis=1)[drawn.cluster[bottom]])


def test_the_sankey_diagram(soft_hierarchy):
    trace = hierarchy(soft_hierarchy, "sankey").data[0]
    drawn = flows(soft_hierarchy.levels_[::-1])
    np.testing.assert_allclose(trace.link.value, drawn.value)
    assert trace.node.x.min() > 0
    assert trace.node.x.max() < 1
    for depth in range(3):
        assert (np.diff(trace.node.y[drawn.depth == depth]) > 0).all()


def test_a_single_level():
    from soffit import SoftHierarchy
    from soffit.datasets import make_gaussians

    X, _, _ = make_gaussians(60, n_clusters=2, separation=6.0, random_state=53)
    model = SoftHierarchy(levels=[2], random_state=53).fit(X)
    assert len(hierarchy(model).data[0].ids) == 3
    assert len(hierarchy(model, "sankey").data[0].link.value) == 0


def test_wrong_requests(soft_hierarchy, memberships):
    with pytest.raises(ValueError, match="kind must be 'tree' or 'sankey'"):
        hierarchy(soft_hierarchy, "wheel")
    with pytest.raises(ValueError, match="Pass a fitted SoftHierarchy"):
        hierarchy(memberships)
