"""`soffit hierarchy`: clusters of clusters."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from rich.text import Text
from rich.tree import Tree

from soffit._wording import count_of, visible
from soffit.cli.console import usage_error
from soffit.cli.fit_command import present
from soffit.cli.methods import Settings
from soffit.cli.options import (
    CLUSTERING,
    MODEL,
    RESULTS,
    Command,
    InputFile,
    Only,
    Reading,
    Verbosity,
    option,
    whole_numbers,
    with_option_groups,
)
from soffit.cli.steps import Fit, Outputs, fit_model, read_source

# A larger tree does not fit on the screen; its lower levels are then left out.
_MOST_BRANCHES = 60

LevelsOption = Annotated[
    str | None,
    option(
        "--levels A,B,C",
        MODEL,
        "The number of clusters of each level, from the bottom to the top, such as 100,20,5. "
        "By default soffit chooses them.",
    ),
]
EachLevelOption = Annotated[
    bool,
    option(
        "--each-level",
        RESULTS,
        "Write one file per level, not only for the top: clusters.csv becomes "
        "clusters-100.csv, clusters-20.csv and clusters-5.csv.",
    ),
]


@with_option_groups
def hierarchy(
    file: InputFile,
    *,
    levels: LevelsOption = None,
    settings: Annotated[Settings, Only(("clusters", "neighbors", "standardize", "seed", "jobs"))],
    reading: Reading,
    outputs: Outputs,
    each_level: EachLevelOption = False,
    verbosity: Verbosity,
) -> None:
    """Find a hierarchy of clusters: many small ones at the bottom, a few at the top.

    A small cluster may belong to several larger ones; the tree shows the most probable one and its
    probability.
    """
    from soffit.results.summary import level_sizes

    numbers = None
    if levels is not None:
        numbers = _checked(whole_numbers(levels, "--levels"), settings.clusters)
        settings = replace(settings, clusters=None)
    outputs.check(file)
    if each_level and outputs.output is None:
        raise usage_error("There is no output file. Add -o as well.", "--each-level")
    talk = verbosity.talk()
    source = read_source(talk, file, reading)
    outputs.check_source(source)
    n = source.n_objects
    if numbers is not None and numbers[0] > n:
        raise ValueError(f"--levels {levels} starts with more clusters than objects ({n}).")
    done = fit_model(talk, "hierarchy", settings, source, levels=numbers)
    model = done.model
    files = {}
    if each_level and outputs.output is not None:
        files = _write_levels(done, outputs.output, lean=outputs.only_memberships)
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
    present(talk, done, outputs, answer, label=reading.label)


def _checked(numbers: list[int], clusters: int | None) -> list[int]:
    falls = all(a > b for a, b in pairwise(numbers))
    if not falls or numbers[-1] < 1:
        raise usage_error(
            "The numbers must decrease from the bottom to the top, as in 100,20,5.", "--levels"
        )
    if clusters is not None and clusters != numbers[-1]:
        raise usage_error(
            f"-k {clusters} differs from the last level, {numbers[-1]}. Omit one of them.", "-k"
        )
    return numbers


def _write_levels(done: Fit, output: Path, *, lean: bool) -> dict[str, str]:
    """One file per level, named by its number of clusters; the top is written as the result too."""
    from soffit import io

    files = {}
    for level in done.model.levels_:
        source = done.source
        part = io.Result.from_memberships(
            level.memberships, ids=source.ids, id_name=source.id_name, truth=source.truth
        )
        path = output.with_stem(f"{output.stem}-{level.n_clusters}")
        io.write_result(part, str(path), source=source, only_memberships=lean)
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
    words = f"cluster {tree.cluster[node]}: {count_of(int(sizes[node]), 'object')}"
    if tree.parent[node] >= 0:
        words += f", {tree.probability[node]:.0%} here"
    below = tree.children(node).tolist()
    if below and tree.level[node] <= lowest:
        words += f", {count_of(len(below), 'cluster')} below"
        below = []
    grown = branch.add(Text(visible(words)))
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
