"""Files of graphs: edge lists, and what networkx reads after a check of the content.

An edge list has two columns of nodes, and perhaps a third of weights.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any
from xml.parsers import expat

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from soffit._typing import FloatArray
from soffit._wording import Message, Parameter, count_of
from soffit.graph import distinct_pairs, undirected
from soffit.inputs import read_input
from soffit.io.data_error import DataError, check_bytes, check_names, need, shown
from soffit.io.source import Source, text_array
from soffit.io.tables.table import check_unique
from soffit.io.tables.tabular import Rows, collect
from soffit.io.text.dialect import EDGE_ENDS

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


_WEIGHTS = ("weight", "value", "w", "similarity", "count")


@dataclass(frozen=True)
class _EdgeColumns:
    source: str
    target: str
    weight: str | None


def read_edges(rows: Rows) -> Source:
    """Undirected weights between nodes; the weights of repeated edges add up."""
    chosen = _find_columns(rows)
    weights = [] if chosen.weight is None else [chosen.weight]
    found = collect(rows, weights, [chosen.source, chosen.target], [], 0)
    tails, heads = found.texts[chosen.source], found.texts[chosen.target]
    _check_ends(rows, tails, heads)
    values = found.numbers[:, 0] if weights else np.ones(found.n_rows)
    _check_weights(rows, values, tails, heads)
    names, pairs = _number_nodes(tails, heads)
    notes = [*rows.notes, *_edge_notes(pairs, chosen)]
    return Source(
        "graph",
        _adjacency(rows, pairs, values, len(names)),
        ids=text_array(names),
        id_name="node",
        notes=tuple(note for note in notes if "no header" not in note),
        path=str(rows.path),
    )


def _find_columns(rows: Rows) -> _EdgeColumns:
    names = list(rows.names)
    lower = [name.strip().lower() for name in names]
    ends = next((pair for pair in EDGE_ENDS if pair[0] in lower and pair[1] in lower), None)
    if ends is None and len(names) not in (2, 3):
        raise DataError(
            f"{rows.path}: an edge list has two columns of nodes and perhaps one of weights, but "
            f"this file has {count_of(len(names), 'column')}.",
            Message(
                "Name the columns source, target and weight, or pass ",
                *(Parameter("kind", "table"), "."),
            ),
        )
    if ends is None:
        weight = names[2] if len(names) == 3 else None
        chosen = _EdgeColumns(names[0], names[1], weight)
    else:
        at = next((lower.index(name) for name in _WEIGHTS if name in lower), None)
        if at is None and len(names) == 3:
            at = next(i for i, name in enumerate(lower) if name not in ends)
        weight = None if at is None else names[at]
        chosen = _EdgeColumns(names[lower.index(ends[0])], names[lower.index(ends[1])], weight)
    if chosen.weight is not None and rows.kinds[chosen.weight] != "number":
        entry = next(iter(rows.blocks([chosen.weight], [chosen.weight])))[chosen.weight][0]
        raise DataError(
            f"{rows.path}: edge weights must be numbers, but column {shown(chosen.weight)} has "
            f"{shown(entry)}.",
            "Correct the column, or remove it from the file.",
        )
    return chosen


def _check_ends(rows: Rows, tails: Sequence[str | None], heads: Sequence[str | None]) -> None:
    for row, (tail, head) in enumerate(zip(tails, heads, strict=True)):
        if not tail or not head:
            raise DataError(
                f"{rows.path}: {rows.place(row)} names only one node.", "Every edge needs two."
            )


def _check_weights(
    rows: Rows, values: FloatArray, tails: Sequence[str | None], heads: Sequence[str | None]
) -> None:
    # Written so that NaN fails too.
    wrong = np.flatnonzero(~((values >= 0) & (values < np.inf)))
    if wrong.size:
        row = int(wrong[0])
        value = "missing" if np.isnan(values[row]) else f"{values[row]:g}"
        raise DataError(
            f"{rows.path}: {rows.place(row)}: the weight of the edge ({shown(tails[row])}, "
            f"{shown(heads[row])}) is {value} ({count_of(int(wrong.size), 'such edge')}).",
            "Weights must be finite and nonnegative: correct them or remove these edges.",
        )


def _number_nodes(
    tails: Sequence[str | None], heads: Sequence[str | None]
) -> tuple[list[str], NDArray[np.intp]]:
    """Names of the nodes (integers sorted, others in order of appearance), and the pairs."""
    in_order = chain.from_iterable(zip(tails, heads, strict=True))
    names = [str(name) for name in dict.fromkeys(in_order)]
    if all(re.fullmatch(r"\d{1,18}", name) for name in names):
        names.sort(key=int)
    number = {name: position for position, name in enumerate(names)}
    pairs = np.empty((len(tails), 2), dtype=np.intp)
    pairs[:, 0] = [number[str(name)] for name in tails]
    pairs[:, 1] = [number[str(name)] for name in heads]
    return names, pairs


def _edge_notes(pairs: NDArray[np.intp], chosen: _EdgeColumns) -> list[str]:
    notes = []
    if chosen.weight is None:
        notes.append("Every edge has weight 1.")
    loops = int((pairs[:, 0] == pairs[:, 1]).sum())
    if loops:
        notes.append(f"{count_of(loops, 'edge')} from a node to itself stay on the diagonal.")
    repeated = len(pairs) - len(distinct_pairs(pairs))
    if repeated:
        notes.append(
            f"{count_of(repeated, 'edge')} repeat another, in the same or the other direction; "
            "their weights add up."
        )
    return notes


def _adjacency(rows: Rows, pairs: NDArray[Any], weights: FloatArray, n: int) -> sp.csr_array:
    A = undirected(pairs, weights, n)
    A.eliminate_zeros()
    if A.nnz == 0:
        raise DataError(
            f"{rows.path}: no edge has a positive weight.", "Add edges with weights above 0."
        )
    return A
