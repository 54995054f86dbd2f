from __future__ import annotations

import numpy as np
import pytest

from soffit.memberships import ClusterTree, Level


def _levels():
    bottom = Level(
        memberships=np.array([[1.0, 0, 0], [0.5, 0.5, 0], [0, 0, 1], [0, 1, 0]]),
        weights=np.array([3.0, 3.0, 2.0]),
        similarities=np.eye(3),
        parents=np.array([[0.9, 0.1], [0.6, 0.4], [0.0, 1.0]]),
    )
    top = Level(np.full((4, 2), 0.5), np.array([5.0, 3.0]), np.eye(2))
    return [bottom, top]


def test_nodes_go_from_the_bottom_to_the_top():
    tree = ClusterTree.of(_levels())
    assert len(tree) == 5
    assert tree.level.tolist() == [1, 1, 1, 2, 2]
    assert tree.cluster.tolist() == [0, 1, 2, 0, 1]
    assert tree.parent.tolist() == [3, 3, 4, -1, -1]
    np.testing.assert_allclose(tree.probability, [0.9, 0.6, 1.0, 1.0, 1.0])
    np.testing.assert_allclose(tree.weight, np.array([3, 3, 2, 5, 3]) / 8)
    np.testing.assert_allclose(tree.size, [1.5, 1.5, 1.0, 2.0, 2.0])
    assert tree.roots.tolist() == [3, 4]
    assert tree.children(3).tolist() == [0, 1]
    assert tree.children(0).tolist() == []


@pytest.mark.parametrize("node", [-1, 5])
def test_unknown_nodes_are_named(node):
    with pytest.raises(ValueError, match=rf"node must be from 0 to 4, got {node}"):
        ClusterTree.of(_levels()).children(node)


def test_networkx_graph_is_a_forest_with_attributes():
    networkx = pytest.importorskip("networkx", reason="networkx is not installed")
    graph = ClusterTree.of(_levels()).to_networkx()
    assert networkx.is_forest(graph)
    assert graph.nodes[4] == {"level": 2, "cluster": 1, "weight": 3 / 8, "size": 2.0}
    assert graph.edges[3, 1] == {"probability": 0.6}
