"""From memberships to clusters: labels with refusal, overlapping sets, attributes of nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from soffit._parameters import Number, OrNone, check_parameter
from soffit._typing import IntArray, is_sparse
from soffit._wording import first_few
from soffit.memberships.measures import check_memberships, column, entropy, largest

# The cluster of an object that is assigned to none.
UNASSIGNED = -1
# An object belongs to a set if its membership is at least this share of its largest one.
_SHARE_OF_LARGEST = 0.5


def assigned(memberships: Any, *, min_certainty: float | None = None) -> IntArray:
    """The most probable cluster of each object, or -1 if its membership is too small."""
    check_share("min_certainty", min_certainty)
    labels, certainty = largest(memberships)
    if min_certainty is not None:
        # In the precision of the memberships: 0.7 in single precision is not below 0.7.
        labels[certainty < memberships.dtype.type(min_certainty)] = UNASSIGNED
    return labels


def check_share(name: str, value: Any) -> None:
    """Raise ParameterError unless the value is None or a number from 0 to 1."""
    check_parameter(name, value, OrNone(Number(0.0, maximum=1.0)))


# --- overlapping sets -----------------------------------------------------------------------------


def as_sets(
    model: Any, threshold: float | None = None, *, names: Sequence[Any] | None = None
) -> list[set[Any]]:
    """The clusters as sets of objects, which may overlap.

    Parameters
    ----------
    model : fitted model or array of shape (n, k)
        A model, a result, or memberships.
    threshold : float, optional
        An object belongs to every cluster in which its membership is at least this; it may belong
        to none. By default it belongs to its most probable cluster, and to all others in which its
        membership is at least half as large. An object without any preference then belongs to all.
    names : sequence, optional
        What to call the objects; by default their names, if the model knows them, or their numbers.

    Returns
    -------
    list of set
        One set per cluster, in the order of the clusters. Functions of networkx for communities
        take such a list.

    Examples
    --------
    >>> from soffit.memberships import as_sets
    >>> rows = [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]]
    >>> as_sets(rows, names=["ann", "bob", "cyd"]) == [{"ann", "bob"}, {"bob", "cyd"}]
    True
    >>> as_sets(rows, threshold=0.5)
    [{0, 1}, {2}]
    """
    check_share("threshold", threshold)
    rows = _memberships_of(model)
    called = _objects_of(model, rows.shape[0], names)
    least = rows.dtype.type(_SHARE_OF_LARGEST) * largest(rows)[1]
    if threshold is not None:
        least = np.full(rows.shape[0], threshold, dtype=rows.dtype)
    if is_sparse(rows):
        there = rows.copy()
        there.data = (rows.data >= np.repeat(least, np.diff(rows.indptr))).astype(rows.dtype)
        there.eliminate_zeros()
        by_cluster = sp.csc_array(there)
        numbers = np.split(by_cluster.indices, by_cluster.indptr[1:-1])
        return [{called[i] for i in members.tolist()} for members in numbers]
    belongs = rows >= least[:, None]
    return [{called[i] for i in np.flatnonzero(column).tolist()} for column in belongs.T]


# --- nodes of graphs ------------------------------------------------------------------------------


def to_networkx(model: Any, graph: Any, *, key: str = "soffit", copy: bool = True) -> Any:
    """Write clusters and memberships to the nodes of a networkx graph.

    Every node gets the attributes that ``soffit graph -o communities.graphml`` writes: ``soffit``,
    the number of its cluster, ``soffit_certainty``, ``soffit_entropy``, and its memberships
    ``p0``, ``p1``, ...; if clusters have names, also ``soffit_name``.

    Parameters
    ----------
    model : fitted model or array of shape (n, k)
        A model fitted to the graph, a result, or memberships in the order of the nodes.
    graph : networkx graph
        Nodes are found by name; they may be some of those that were fitted.
    key : str, default "soffit"
        Another name for the attributes: `key`, ``key_certainty``, ``key_entropy``, ``key_p0``, ...
    copy : bool, default True
        Whether to return a copy; False changes the graph itself.

    Returns
    -------
    networkx graph
        The graph with attributes.

    Examples
    --------
    >>> import networkx as nx
    >>> from soffit import SoftClustering
    >>> from soffit.memberships import to_networkx
    >>> graph = nx.karate_club_graph()
    >>> model = SoftClustering(n_clusters=2, random_state=7).fit(graph)
    >>> marked = to_networkx(model, graph)
    >>> sorted(set(marked.nodes[0]) - set(graph.nodes[0]))
    ['p0', 'p1', 'soffit', 'soffit_certainty', 'soffit_entropy']
    """
    marked = graph.copy() if copy else graph
    nodes = list(marked.nodes)
    for name, values in _node_attributes(model, nodes, key).items():
        for node, value in zip(nodes, values, strict=True):
            marked.nodes[node][name] = value
    return marked


def to_igraph(model: Any, graph: Any, *, key: str = "soffit", copy: bool = True) -> Any:
    """Write clusters and memberships to the vertices of an igraph graph.

    Parameters
    ----------
    model : fitted model or array of shape (n, k)
        A model fitted to the graph, a result, or memberships in the order of the vertices.
    graph : igraph.Graph
        Vertices are found by their attribute ``"name"``, if they have it; else by number.
    key, copy
        As for `to_networkx`.

    Returns
    -------
    igraph.Graph
        The graph with attributes; see `to_networkx` for their names.

    Examples
    --------
    >>> import igraph
    >>> from soffit import SoftClustering
    >>> from soffit.memberships import to_igraph
    >>> graph = igraph.Graph.Famous("Zachary")
    >>> model = SoftClustering(n_clusters=2, random_state=7).fit(graph)
    >>> to_igraph(model, graph).vs.attributes()
    ['soffit', 'soffit_certainty', 'soffit_entropy', 'p0', 'p1']
    """
    marked = graph.copy() if copy else graph
    named = "name" in marked.vertex_attributes()
    nodes = marked.vs["name"] if named else list(range(marked.vcount()))
    for name, values in _node_attributes(model, nodes, key).items():
        marked.vs[name] = values
    return marked


def _node_attributes(model: Any, nodes: list[Any], key: str) -> dict[str, list[Any]]:
    """Values of all attributes, in the order of the nodes."""
    rows = _memberships_of(model)[_positions(model, nodes)]
    labels, certainty = largest(rows)
    attributes = {key: labels.tolist()}
    names = getattr(model, "cluster_names_", None)
    if names is not None:
        attributes[f"{key}_name"] = [str(names[label]) for label in labels]
    attributes[f"{key}_certainty"] = certainty.astype(np.float64).tolist()
    attributes[f"{key}_entropy"] = entropy(rows).astype(np.float64).tolist()
    prefix = "p" if key == "soffit" else f"{key}_p"
    for cluster in range(rows.shape[1]):
        attributes[f"{prefix}{cluster}"] = column(rows, cluster).astype(np.float64).tolist()
    return attributes


def _positions(model: Any, nodes: list[Any]) -> IntArray:
    """The object of each node."""
    n = _memberships_of(model).shape[0]
    names = getattr(model, "object_names_", None)
    if names is None:
        if len(nodes) != n:
            raise ValueError(
                f"The graph has {len(nodes)} nodes, but there are memberships of {n} objects, "
                "which have no names. Pass the graph that was fitted."
            )
        return np.arange(n)
    position = {name: number for number, name in enumerate(_plain(names))}
    unknown = [node for node in nodes if node not in position]
    if unknown:
        raise ValueError(
            f"The model was not fitted to the nodes {first_few(map(repr, unknown))}. Pass the "
            "graph that was fitted, or a part of it."
        )
    return np.array([position[node] for node in nodes], dtype=np.int64)


# --- what was given -------------------------------------------------------------------------------


def _memberships_of(model: Any) -> Any:
    for place in ("memberships_", "memberships"):
        found = getattr(model, place, None)
        if found is not None:
            return check_memberships(found)
    if hasattr(model, "fit"):
        from sklearn.exceptions import NotFittedError

        raise NotFittedError(f"This {type(model).__name__} is not fitted yet. Call fit first.")
    return check_memberships(model)


def _objects_of(model: Any, n: int, names: Sequence[Any] | None) -> list[Any]:
    known = getattr(model, "object_names_", None) if names is None else names
    known = getattr(model, "ids", None) if known is None else known
    if known is None:
        return list(range(n))
    if len(known) != n:
        raise ValueError(f"names has {len(known)} entries for {n} objects. Pass one per object.")
    return _plain(known)


def _plain(names: Any) -> list[Any]:
    """Names as Python's own types."""
    return list(names.tolist() if isinstance(names, np.ndarray) else names)
