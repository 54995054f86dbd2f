"""A tree of clusters: levels of a soft hierarchy, and the most probable parent of each cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from soffit._typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Level:
    """One level of a soft hierarchy.

    Attributes
    ----------
    memberships : ndarray of shape (n, m)
        Probability of each of the level's clusters given the object; rows sum to one (eq. 6).
    weights : ndarray of shape (m,)
        Weights of the clusters; they sum to the weight of the graph.
    similarities : ndarray of shape (m, m)
        Weight of the graph that passes between clusters (eq. 5); its row sums are the weights.
    parents : ndarray of shape (m, m_above), or None at the top
        Probability of each cluster of the level above, given a cluster of this one.

    Examples
    --------
    >>> from soffit import SoftHierarchy
    >>> from soffit.datasets import make_gaussians
    >>> X = make_gaussians(90, n_clusters=3, random_state=7).X
    >>> model = SoftHierarchy(levels=(6, 3), random_state=7).fit(X)
    >>> [level.memberships.shape for level in model.levels_]
    [(90, 6), (90, 3)]
    """

    memberships: FloatArray
    weights: FloatArray
    similarities: FloatArray
    parents: FloatArray | None = None
    _arrays: ClassVar[dict[str, str]] = {
        "memberships": "probabilities n m",
        "weights": "nonnegative m",
        "similarities": "nonnegative m m",
        "parents": "nonnegative? m *",
    }

    @property
    def n_clusters(self) -> int:
        """Number of clusters of this level."""
        return len(self.weights)


@dataclass(frozen=True, eq=False)
class ClusterTree:
    """All clusters of a hierarchy as nodes, each with its most probable parent.

    Nodes are numbered level by level from the bottom. A soft hierarchy has links to several
    parents; the tree keeps the most probable one and its probability.

    Attributes
    ----------
    level : ndarray of shape (N,)
        Level of each node, 1 at the bottom.
    cluster : ndarray of shape (N,)
        Number of the cluster inside its level, a column of that level's memberships.
    weight : ndarray of shape (N,)
        Share of the graph's weight.
    size : ndarray of shape (N,)
        Expected number of objects: the sum of their memberships.
    parent : ndarray of shape (N,)
        Node of the most probable parent, -1 at the top.
    probability : ndarray of shape (N,)
        Probability of that parent given the node; 1 at the top.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.memberships import ClusterTree, Level
    >>> bottom = Level(np.eye(3), np.ones(3), np.eye(3), np.array([[1, 0], [0.9, 0.1], [0, 1]]))
    >>> top = Level(np.eye(3)[:, :2], np.array([2.0, 1.0]), np.eye(2))
    >>> tree = ClusterTree.of([bottom, top])
    >>> tree.parent.tolist(), tree.children(3).tolist()
    ([3, 3, 4, -1, -1], [0, 1])
    """

    level: IntArray
    cluster: IntArray
    weight: FloatArray
    size: FloatArray
    parent: IntArray
    probability: FloatArray
    _arrays: ClassVar[dict[str, str]] = {
        "level": "int N",
        "cluster": "int N",
        "weight": "nonnegative N",
        "size": "nonnegative N",
        "parent": "int N -1<N",
        "probability": "finite N",
    }

    @classmethod
    def of(cls, levels: Sequence[Level]) -> ClusterTree:
        """The tree of the levels, from the bottom to the top."""
        counts = [level.n_clusters for level in levels]
        first = np.concatenate([[0], np.cumsum(counts)])
        parent = np.full(first[-1], -1, dtype=np.int64)
        probability = np.ones(first[-1])
        for number, level in enumerate(levels):
            if level.parents is not None:
                nodes = slice(first[number], first[number + 1])
                parent[nodes] = first[number + 1] + level.parents.argmax(axis=1)
                probability[nodes] = level.parents.max(axis=1)
        total = max(float(levels[0].weights.sum()), np.finfo(np.float64).tiny)
        return cls(
            level=np.repeat(np.arange(1, len(levels) + 1), counts),
            cluster=np.concatenate([np.arange(count) for count in counts]),
            weight=np.concatenate([level.weights for level in levels]) / total,
            size=np.concatenate([level.memberships.sum(axis=0) for level in levels]),
            parent=parent,
            probability=probability,
        )

    def __len__(self) -> int:
        return len(self.level)

    @property
    def roots(self) -> IntArray:
        """Nodes of the top level."""
        return np.flatnonzero(self.parent < 0)

    def children(self, node: int) -> IntArray:
        """Nodes of the level below whose most probable parent is this one.

        Parameters
        ----------
        node : int
            Number of a node.

        Returns
        -------
        ndarray of int
            Their numbers; empty at the bottom, and for a cluster that is not a most probable
            parent.
        """
        if not 0 <= node < len(self):
            raise ValueError(f"node must be from 0 to {len(self) - 1}, got {node!r}.")
        return np.flatnonzero(self.parent == node)

    def to_networkx(self) -> Any:
        """The tree as a directed networkx graph, edges from parents to children.

        Returns
        -------
        networkx.DiGraph
            Nodes have `level`, `cluster`, `weight` and `size`, edges have `probability`.
        """
        import networkx

        graph = networkx.DiGraph()
        for node in range(len(self)):
            graph.add_node(
                node,
                level=int(self.level[node]),
                cluster=int(self.cluster[node]),
                weight=float(self.weight[node]),
                size=float(self.size[node]),
            )
        for node in np.flatnonzero(self.parent >= 0).tolist():
            graph.add_edge(int(self.parent[node]), node, probability=float(self.probability[node]))
        return graph
