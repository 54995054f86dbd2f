"""`soffit graph`: communities of a graph."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from soffit.cli.fit_command import present
from soffit.cli.methods import DEFAULT_METHOD, METHODS, Settings, known_method
from soffit.cli.options import (
    CLUSTERING,
    MODEL,
    Command,
    FileFormat,
    Only,
    Pairs,
    Verbosity,
    option,
    with_option_groups,
)
from soffit.cli.steps import Outputs, fit_model, read_pairs, read_source

EdgesFile = Annotated[
    Path,
    typer.Argument(
        metavar="EDGES",
        help="The graph: an edge list (CSV, TSV or text with two columns of nodes and an optional "
        "third column of weights), GraphML, GML, GEXF, Matrix Market, or a square matrix of "
        "weights.",
    ),
]
MethodOption = Annotated[
    str,
    option(
        "--method NAME",
        MODEL,
        "The model. soft finds communities of any size; relation models the edges as "
        "steps of a random walk, and a node may belong to several communities. Also: sof, "
        "baum-eagon, completely-positive, hierarchy, spectral.",
        callback=known_method,
        autocompletion=lambda: list(METHODS),
    ),
]


@with_option_groups
def graph(
    file: EdgesFile,
    *,
    settings: Annotated[Settings, Only(("clusters", "max_clusters", "seed", "jobs"))],
    method: MethodOption = DEFAULT_METHOD,
    layout: FileFormat,
    pairs: Pairs,
    outputs: Outputs,
    verbosity: Verbosity,
) -> None:
    """Find soft communities of a graph.

    Each node gets a probability for every community. Edges are undirected; larger
    weights mean stronger links. An output file ending in .graphml or .gml contains the graph with
    the result as node attributes.
    """
    settings.check(method, pairs=bool(pairs.files))
    outputs.check(file, *pairs.files)
    talk = verbosity.talk()
    source = read_source(talk, file, layout, kind="graph")
    outputs.check_source(source)
    done = fit_model(talk, method, settings, source, read_pairs(pairs, source))
    answer = {"command": "graph", "method": method, "model": METHODS[method].name}
    present(talk, done, outputs, answer, label=None)


GRAPH = Command(
    "graph",
    graph,
    (
        "soffit graph friends.csv",
        "soffit graph friends.csv -k 8 -o communities.csv --report report.html",
        "soffit graph friends.graphml --method relation -o communities.graphml",
    ),
    CLUSTERING,
)
