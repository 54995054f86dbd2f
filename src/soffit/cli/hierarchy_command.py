"""`soffit hierarchy`: clusters of clusters."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.text import Text
from rich.tree import Tree

from soffit.cli.command import CLUSTERING, Command
from soffit.cli.console import Talk, plain
from soffit.cli.error_messages import usage_error
from soffit.cli.fit_command import present
from soffit.cli.methods import MethodName, Settings, make_model
from soffit.cli.options import (
    MODEL,
    RESULTS,
    ClustersOption,
    ColumnsOption,
    DropOption,
    IdOption,
    ImputeOption,
    InputFile,
    JobsOption,
    JsonOption,
    Kind,
    KindOption,
    LabelOption,
    NeighborsOption,
    OutputOption,
    QuietOption,
    ReportOption,
    SaveOption,
    SeedOption,
    TextColumns,
    TextOption,
    names_of,
    whole_numbers,
)
from soffit.cli.steps import Fit, Outputs, Reading, fit_model, read_source

# A larger tree than this fills the screen; its lower levels are then left out.
_MOST_BRANCHES = 60

LevelsOption = Annotated[
    str | None,
    typer.Option(
        "--levels",
        metavar="A,B,C",
        show_default=False,
        rich_help_panel=MODEL,
        help="How many clusters each level has, from the bottom to the top, such as 100,20,5. "
        "Without it the numbers are chosen.",
    ),
]
EachLevelOption = Annotated[
    bool,
    typer.Option(
        "--each-level",
        metavar="",
        rich_help_panel=RESULTS,
        help="Write a file for every level, not only for the top: clusters.csv becomes "
        "clusters-100.csv, clusters-20.csv and clusters-5.csv.",
    ),
]


def hierarchy(
    file: InputFile,
    *,
    levels: LevelsOption = None,
    clusters: ClustersOption = None,
    neighbors: NeighborsOption = None,
    seed: SeedOption = 0,
    jobs: JobsOption = None,
    kind: KindOption = Kind.auto,
    columns: ColumnsOption = None,
    drop: DropOption = None,
    id_column: IdOption = None,
    label: LabelOption = None,
    impute: ImputeOption = None,
    text: TextOption = TextColumns.auto,
    output: OutputOption = None,
    each_level: EachLevelOption = False,
    report: ReportOption = None,
    save: SaveOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Find clusters of clusters: many small ones at the bottom, a few at the top.

    A small cluster may belong to several larger ones; the tree that is printed shows the most
    probable, and how probable it is.
    """
    from soffit.results.summary import level_sizes

    numbers = None if levels is None else _checked(whole_numbers(levels, "--levels"), clusters)
    outputs = Outputs(output, report, save)
    outputs.check(file)
    if each_level and output is None:
        raise usage_error("There is no file to write: give -o as well.", "--each-level")
    talk = Talk(quiet=quiet, as_json=as_json)
    reading = Reading(kind, names_of(columns), names_of(drop), id_column, label, impute, text)
    source = read_source(talk, file, reading)
    outputs.check_source(source)
    n = source.data.shape[0]
    if numbers is not None and numbers[0] > n:
        raise ValueError(
            f"--levels {levels} begins with more clusters than there are objects, {n}."
        )
    settings = Settings(None if numbers else clusters, neighbors, seed=seed, jobs=jobs)
    model = make_model(MethodName.hierarchy, settings, source.kind, levels=numbers)
    done = fit_model(talk, model, source)
    files = _write_levels(done, output) if each_level and output is not None else {}
    sizes = level_sizes(model.levels_)
    talk.show(_drawn(model.tree_, sizes))
    answer = {
        "command": "hierarchy",
        "model": "SoftHierarchy",
        "levels": [level.n_clusters for level in model.levels_],
        "tree": _nodes(model.tree_, sizes),
        "level_files": files,
    }
    for path in files.values():
        talk.say(f"Level: {path}", style="green")
    present(talk, done, outputs, answer, label=label)


def _checked(numbers: list[int], clusters: int | None) -> list[int]:
    falls = all(a > b for a, b in pairwise(numbers))
    if not falls or numbers[-1] < 1:
        raise usage_error(
            "The numbers must fall from the bottom to the top, as in 100,20,5.", "--levels"
        )
    if clusters is not None and clusters != numbers[-1]:
        raise usage_error(
            f"-k {clusters} is not the last of the levels, {numbers[-1]}. Leave one out.", "-k"
        )
    return numbers


def _write_levels(done: Fit, output: Path) -> dict[str, str]:
    """One file per level, named by its number of clusters; the top is written as the result too."""
    from soffit import io

    files = {}
    for level in done.model.levels_:
        source = done.source
        part = io.Result.from_memberships(
            level.memberships, ids=source.ids, id_name=source.id_name, truth=source.truth
        )
        path = output.with_stem(f"{output.stem}-{level.n_clusters}")
        io.write_result(part, str(path), source=source)
        files[str(level.n_clusters)] = str(path)
    return files


def _drawn(tree: Any, sizes: Any) -> Tree:
    """The tree from the top down, as far as it fits on a screen."""
    deepest = int(tree.level.max())
    while deepest > 1 and np.count_nonzero(tree.level >= deepest - 1) <= _MOST_BRANCHES:
        deepest -= 1
    lowest = deepest if np.count_nonzero(tree.level >= deepest) <= _MOST_BRANCHES else deepest + 1
    drawn = Tree(Text(f"{len(tree.roots)} clusters at the top", style="bold"))
    for root in tree.roots.tolist():
        _grow(drawn, tree, sizes, root, lowest)
    return drawn


def _grow(branch: Tree, tree: Any, sizes: Any, node: int, lowest: int) -> None:
    from soffit.results.words import count_of

    words = f"cluster {tree.cluster[node]}: {count_of(int(sizes[node]), 'object')}"
    if tree.parent[node] >= 0:
        words += f", {tree.probability[node]:.0%} here"
    below = tree.children(node).tolist()
    if below and tree.level[node] <= lowest:
        words += f", {count_of(len(below), 'cluster')} below"
        below = []
    grown = branch.add(Text(plain(words)))
    for child in below:
        _grow(grown, tree, sizes, child, lowest)


def _nodes(tree: Any, sizes: Any) -> list[dict[str, Any]]:
    names = ("level", "cluster", "weight", "parent", "probability")
    return [
        {"node": node, "size": int(sizes[node]), "expected_size": tree.size[node]}
        | {name: getattr(tree, name)[node] for name in names}
        for node in range(len(tree))
    ]


HIERARCHY = Command(
    "hierarchy",
    hierarchy,
    (
        "soffit hierarchy customers.csv --levels 100,20,5 -o groups.csv",
        "soffit hierarchy customers.csv -k 5",
    ),
    CLUSTERING,
)
