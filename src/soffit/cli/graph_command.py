"""`soffit graph`: communities of a graph."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from soffit.cli.command import CLUSTERING, Command
from soffit.cli.console import Talk
from soffit.cli.fit_command import present
from soffit.cli.methods import METHODS, MethodName, Settings, make_model
from soffit.cli.options import (
    MODEL,
    CannotLinkOption,
    ClustersOption,
    JobsOption,
    JsonOption,
    Kind,
    MustLinkOption,
    OutputOption,
    QuietOption,
    ReportOption,
    SaveOption,
    SeedOption,
)
from soffit.cli.steps import Outputs, Reading, fit_model, read_pairs, read_source

EdgesFile = Annotated[
    Path,
    typer.Argument(
        metavar="EDGES",
        show_default=False,
        help="The graph: an edge list (CSV, TSV or text with two columns of nodes and perhaps a "
        "third of weights), GraphML, GML, Matrix Market, or a square matrix of weights.",
    ),
]
MethodOption = Annotated[
    MethodName,
    typer.Option(
        "--method",
        metavar="NAME",
        rich_help_panel=MODEL,
        help="The model. soft serves large and small communities alike; relation explains the "
        "edges as steps of a random walk, and a node may be in several communities by right. "
        "Also: sof, baum-eagon, completely-positive, hierarchy, spectral.",
    ),
]


def graph(
    file: EdgesFile,
    *,
    clusters: ClustersOption = None,
    method: MethodOption = MethodName.soft,
    seed: SeedOption = 0,
    jobs: JobsOption = None,
    must_link: MustLinkOption = None,
    cannot_link: CannotLinkOption = None,
    output: OutputOption = None,
    report: ReportOption = None,
    save: SaveOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Find the communities of a graph, softly.

    Each node gets a probability for every community. Heavier edges tie more strongly; edges have
    no direction. An output ending in graphml or gml is the graph itself with the results as
    attributes of its nodes.
    """
    settings = Settings(clusters, seed=seed, jobs=jobs)
    settings.check(method, pairs=must_link is not None or cannot_link is not None)
    outputs = Outputs(output, report, save)
    outputs.check(file, *(path for path in (must_link, cannot_link) if path is not None))
    talk = Talk(quiet=quiet, as_json=as_json)
    source = read_source(talk, file, Reading(kind=Kind.graph))
    outputs.check_source(source)
    known = {"must_link": read_pairs(must_link, source)}
    known["cannot_link"] = read_pairs(cannot_link, source)
    done = fit_model(talk, make_model(method, settings, source.kind), source, **known)
    answer = {"command": "graph", "method": method.value, "model": METHODS[method].model}
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
