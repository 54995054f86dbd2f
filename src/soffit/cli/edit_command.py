"""`soffit edit`: merge, split and name the clusters of a saved model."""

from __future__ import annotations

from typing import Annotated, Any

from soffit._wording import count_of
from soffit.cli.console import existing, show_summary, show_warnings, usage_error
from soffit.cli.options import AFTERWARDS, Command, Verbosity, option, with_option_groups
from soffit.cli.predict_command import ModelFile
from soffit.cli.steps import Fit, Outputs, show_files

EDITS = "Edits"

MergeOption = Annotated[
    list[str] | None,
    option(
        "--merge A,B,...",
        EDITS,
        "Merge these clusters, by number or name. May be repeated; all numbers are those of "
        "the model as it is. The merged cluster has the lowest number, and those after the others "
        "move up.",
    ),
]
SplitOption = Annotated[
    list[str] | None,
    option(
        "--split A[:N]",
        EDITS,
        "Split this cluster into N parts, 2 by default. The largest part keeps its number. "
        "May be repeated; done after --merge, with the numbers that clusters then have.",
    ),
]
NameOption = Annotated[
    list[str] | None,
    option(
        "--name A=NAME",
        EDITS,
        "Name a cluster. May be repeated; done last, with the numbers that clusters then have.",
    ),
]


def parsed_names(given: list[str] | None) -> dict[Any, str]:
    """Names by cluster, from texts such as 0=adults."""
    found: dict[Any, str] = {}
    for text in given or ():
        cluster, separator, name = text.partition("=")
        if not separator or not cluster.strip() or not name.strip():
            raise usage_error(
                f"{text!r} is not a number and a name. Write it as in 0=adults.", "--name"
            )
        key = _cluster(cluster)
        if key in found:
            raise usage_error(f"Cluster {cluster.strip()} is named twice.", "--name")
        found[key] = name.strip()
    return found


def parsed_merges(given: list[str] | None) -> list[list[Any]]:
    """Groups of clusters, from texts such as 2,5."""
    groups = []
    for text in given or ():
        group = [_cluster(part) for part in text.split(",") if part.strip()]
        if len(group) < 2:
            raise usage_error(
                f"{text!r} does not name two clusters. Write them as in 2,5.", "--merge"
            )
        groups.append(group)
    return groups


def parsed_splits(given: list[str] | None) -> list[tuple[Any, int]]:
    """Clusters and numbers of parts, from texts such as 3:2."""
    found = []
    for text in given or ():
        cluster, separator, parts = text.rpartition(":")
        if not separator:
            cluster, parts = text, "2"
        if not parts.strip().isdecimal() or int(parts) < 2 or not cluster.strip():
            raise usage_error(
                f"{text!r} is not a cluster and a number of parts, at least 2. Write it as in 3:2.",
                "--split",
            )
        found.append((_cluster(cluster), int(parts)))
    return found


def _cluster(text: str) -> Any:
    """A number, or a name."""
    text = text.strip()
    return int(text) if text.isdecimal() else text


@with_option_groups
def edit(
    model_file: ModelFile,
    *,
    merge: MergeOption = None,
    split: SplitOption = None,
    name: NameOption = None,
    outputs: Outputs,
    verbosity: Verbosity,
) -> None:
    """Merge, split and name the clusters of a saved model.

    The model file itself is not changed: --save writes a new one. Reports and predictions of it
    show the new clusters and names.
    """
    from soffit import load
    from soffit.results.summary import Summary

    merges, splits, names = parsed_merges(merge), parsed_splits(split), parsed_names(name)
    if not (merges or splits or names):
        raise usage_error("Nothing to do. Pass --merge, --split or --name.", "--merge")
    outputs.check(model_file)
    talk = verbosity.talk()
    with talk.working(f"Loading {model_file}"):
        model = load(str(existing(model_file)))
    if not hasattr(model, "merge"):
        raise ValueError(f"{model_file} holds a {type(model).__name__}, which has no clusters.")
    before = model.n_clusters_
    with talk.working("Editing the clusters"):
        model = edited(model, merges, splits, names)
    files = outputs.write(talk, Fit(model, None, 0.0))
    summary = Summary.of(model)
    changed = count_of(before, "cluster")
    if summary.n_clusters != before:
        changed = f"{changed} before, {summary.n_clusters:,} now"
    talk.say(
        f"{type(model).__name__} of {count_of(summary.n_objects, 'object')}: {changed}.", "bold"
    )
    talk.say()
    show_summary(talk, summary)
    warnings = show_warnings(talk, summary)
    show_files(talk, files)
    if "model" not in files:
        talk.say("Next: add --save new.soffit to keep the edited model.", style="dim")
    talk.emit(
        {"command": "edit", "input": str(model_file), "model": type(model).__name__}
        | {"edits": list(summary.curation)}
        | summary.as_dict()
        | {"warnings": warnings, "files": files}
    )


def edited(
    model: Any, merges: list[list[Any]], splits: list[tuple[Any, int]], names: dict[Any, str]
) -> Any:
    """The model after all edits, in this order."""
    if merges:
        model = model.merge(*merges)
    for cluster, parts in splits:
        model = model.split(cluster, n=parts)
    return model.rename(names) if names else model


EDIT = Command(
    "edit",
    edit,
    (
        "soffit edit flowers.soffit --merge 0,1 --save fewer.soffit",
        "soffit edit flowers.soffit --split 2:3 --name 0=small -o clusters.csv",
    ),
    AFTERWARDS,
)
