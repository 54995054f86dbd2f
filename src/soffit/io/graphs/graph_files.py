"""GraphML, GEXF, GML and JSON files of graphs, read by networkx after a check of the content."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any
from xml.parsers import expat

from soffit.inputs import read_input
from soffit.io.data_error import DataError, check_names, need
from soffit.io.limits import check_bytes
from soffit.io.source import Source, text_array
from soffit.io.tables.table import check_unique

# A parsed graph takes many times the memory of its text: short elements become dictionaries.
_GROWTH = {"GraphML": 65.0, "GEXF": 65.0, "GML": 50.0}


def read_graphml(path: Path, label: str | None = None) -> Source:
    """A GraphML file without a document type; weights are the edge attribute "weight"."""
    networkx = need("networkx", "graphs", "Reading GraphML files")
    _check_prologue(path)
    return _read(path, networkx.read_graphml, "GraphML", label)


def read_gexf(path: Path, label: str | None = None) -> Source:
    """A GEXF file, as Gephi writes it; nodes are named by their label if these differ."""
    networkx = need("networkx", "graphs", "Reading GEXF files")
    _check_prologue(path)

    def parse(file: Any) -> Any:
        graph = networkx.read_gexf(file)
        labels = {node: str(data.get("label", node)) for node, data in graph.nodes(data=True)}
        differ = len(set(labels.values())) == len(labels)
        return networkx.relabel_nodes(graph, labels) if differ else graph

    return _read(path, parse, "GEXF", label)


def read_node_link(path: Path, content: Any, label: str | None = None) -> Source:
    """A graph as lists of nodes and links, whose ends are names or numbers of nodes."""
    networkx = need("networkx", "graphs", "Reading graphs from JSON")
    nodes = content["nodes"]
    links = content.get("links", content.get("edges"))
    try:
        graph = _node_link_graph(networkx, nodes, links)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise DataError(
            f"{path}: its nodes and links are not a graph ({type(error).__name__}: {error}).",
            'Write {"nodes": [{"id": "a"}, ...], "links": [{"source": "a", "target": "b"}, ...]}.',
        ) from error
    return graph_source(path, graph, label)


def _node_link_graph(networkx: Any, nodes: list[Any], links: list[Any]) -> Any:
    """A networkx graph; the weight of a link is its weight or value."""
    data = [node if isinstance(node, dict) else {"id": node} for node in nodes]
    keys = [node.get("id", node.get("name", number)) for number, node in enumerate(data)]
    titles = [
        str(node.get("name", node.get("label", key))) for node, key in zip(data, keys, strict=True)
    ]
    names = titles if len(set(titles)) == len(titles) else [str(key) for key in keys]
    by_key = dict(zip(keys, names, strict=True))
    ends = [(link["source"], link["target"]) for link in links]
    if not all(end in by_key for pair in ends for end in pair):
        by_key = dict(enumerate(names))
    graph = networkx.Graph()
    for name, node in zip(names, data, strict=True):
        graph.add_node(name, **{str(key): value for key, value in node.items()})
    for (one, other), link in zip(ends, links, strict=True):
        weight = float(link.get("weight", link.get("value", 1.0)))
        pair = by_key[one], by_key[other]
        before = graph.get_edge_data(*pair, default={"weight": 0.0})["weight"]
        graph.add_edge(*pair, weight=before + weight)
    return graph


def read_gml(path: Path, label: str | None = None) -> Source:
    """A GML file; nodes are named by their label, or by their id where labels are missing."""
    networkx = need("networkx", "graphs", "Reading GML files")

    def parse(file: Any) -> Any:
        lines = file.read().decode("utf-8-sig").splitlines()
        try:
            return networkx.parse_gml(lines, label="label")
        except networkx.NetworkXError as error:
            if "label" not in str(error):
                raise
            return networkx.parse_gml(lines, label="id")

    return _read(path, parse, "GML", label)


def graph_source(path: Path, graph: Any, label: str | None = None) -> Source:
    """The weights, names and labels of a networkx graph."""
    notes = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            given = read_input(graph)
        except (ValueError, TypeError) as error:
            raise DataError(f"{path}: {error}") from error
    notes += [str(warning.message) for warning in caught]
    truth = None
    if label is not None:
        known = {key for _, attributes in graph.nodes(data=True) for key in attributes}
        check_names(path, [label], sorted(map(str, known)), "label")
        truth = text_array([attributes.get(label) for _, attributes in graph.nodes(data=True)])
    return Source(
        "graph",
        given.data,
        ids=check_unique(path, "node", [str(node) for node in graph.nodes]),
        id_name="node",
        truth=truth,
        notes=tuple(notes),
        origin=graph,
        path=str(path),
    )


def _read(path: Path, parse: Any, title: str, label: str | None) -> Source:
    needed = _GROWTH[title] * path.stat().st_size
    check_bytes(path, needed, "reading it", "Save it as an edge list.")
    try:
        with path.open("rb") as file:
            graph = parse(file)
    except Exception as error:
        # The parsers raise exceptions of many kinds; for the user they all mean the same.
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise DataError(
            f"{path}: not valid {title} ({reason}).", "Fix it or export it again."
        ) from error
    return graph_source(path, graph, label)


class _PrologueEndsError(Exception):
    """The first element was reached without a declaration."""


def _check_prologue(path: Path) -> None:
    """Refuse a document type before the parser starts: its entities could fill the memory."""
    parser = expat.ParserCreate()

    def refuse(*_: Any) -> None:
        raise DataError(
            f"{path}: it declares a document type (<!DOCTYPE ...>), which graph files do not need "
            "and which can be used to exhaust the memory.",
            "Remove the declaration.",
        )

    def stop(*_: Any) -> None:
        raise _PrologueEndsError

    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = stop
    try:
        with path.open("rb") as file:
            parser.ParseFile(file)
    except _PrologueEndsError:
        return
    except (expat.ExpatError, LookupError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(
            f"{path}: not valid XML ({error}).", "Fix it or export it again."
        ) from error
