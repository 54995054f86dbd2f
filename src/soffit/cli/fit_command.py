"""`soffit fit`: cluster the objects of a file."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from soffit.cli._choice_words import choice_as_dict, explain_choice
from soffit.cli._clusters import as_dicts, count_uncertain, describe_clusters, show_clusters
from soffit.cli._scores import score, show_scores
from soffit.cli.command import CLUSTERING, Command
from soffit.cli.console import Talk
from soffit.cli.methods import METHODS, MethodName, Settings
from soffit.cli.options import (
    MODEL,
    ClustersOption,
    InputFile,
    MaxTimeOption,
    NeighborsOption,
    Pairs,
    Reading,
    Running,
    Verbosity,
    at_least,
    with_option_groups,
)
from soffit.cli.steps import Fit, Outputs, fit_model, read_pairs, read_source, show_files

MethodOption = Annotated[
    MethodName,
    typer.Option(
        "--method",
        metavar="NAME",
        rich_help_panel=MODEL,
        help="The model. soft is best on most data. The others are published methods of the same "
        "family: sof, baum-eagon, completely-positive, relation, hierarchy, spectral, and "
        "higher-order for crossing lines.",
    ),
]
ResamplesOption = Annotated[
    int,
    typer.Option(
        "--resamples",
        metavar="N",
        callback=at_least(0),
        rich_help_panel=MODEL,
        help="Refit the model on N subsamples, which gives better-calibrated probabilities and "
        "shows where the clusters are unstable. 10 is enough.",
    ),
]


@with_option_groups
def fit(
    file: InputFile,
    *,
    clusters: ClustersOption = None,
    method: MethodOption = MethodName.soft,
    neighbors: NeighborsOption = None,
    resamples: ResamplesOption = 0,
    running: Running,
    max_time: MaxTimeOption = None,
    reading: Reading,
    pairs: Pairs,
    outputs: Outputs,
    verbosity: Verbosity,
) -> None:
    """Cluster the objects of a file, softly.

    Each object gets a probability for every cluster. The table shows the size of each cluster, the
    mean certainty of its members, and the columns that set it apart.
    """
    settings = Settings(clusters, neighbors, resamples, running.seed, running.jobs, max_time)
    settings.check(method, pairs=bool(pairs.files))
    outputs.check(file, *pairs.files)
    talk = verbosity.talk()
    source = read_source(talk, file, reading)
    outputs.check_source(source)
    done = fit_model(talk, method, settings, source, read_pairs(pairs, source))
    answer = {"command": "fit", "method": method.value, "model": METHODS[method].model}
    present(talk, done, outputs, answer, label=reading.label)


def present(
    talk: Talk,
    done: Fit,
    outputs: Outputs,
    answer: dict[str, Any],
    *,
    label: str | None,
    hints: bool = True,
) -> None:
    """Write the files; then say, or print as JSON, all there is to say about a fit."""
    model, source = done.model, done.source
    files = outputs.write(talk, done)
    is_table = source.kind == "table"
    clusters = describe_clusters(
        model.memberships_, source.data if is_table else None, tuple(source.columns)
    )
    certainty = model.memberships_.max(axis=1)
    scores = score(source.truth, model.memberships_)
    given = model.get_params()
    chosen = given["n_clusters"] is None and given.get("levels") is None
    talk.say(_what_was_done(done, len(clusters)), style="bold")
    if chosen:
        for sentence in explain_choice(model):
            talk.say(sentence)
    talk.say()
    show_clusters(talk, clusters, certainty)
    if scores is not None:
        show_scores(talk, scores, label or "label")
    show_files(talk, files)
    if hints:
        _say_next(talk, done, files)
    talk.emit(
        answer
        | {
            "input": source.path,
            "kind": source.kind,
            "n_objects": len(certainty),
            "columns": source.columns,
            "n_clusters": len(clusters),
            "choice": choice_as_dict(model) if chosen else None,
            "clusters": as_dicts(clusters),
            "mean_certainty": certainty.mean(),
            "n_uncertain": count_uncertain(certainty),
            "scores": scores,
            "converged": model.converged_,
            "seconds": round(done.seconds, 3),
            "notes": source.notes,
            "warnings": done.warnings,
            "files": files,
        }
    )


def _what_was_done(done: Fit, n_clusters: int) -> str:
    n, p = done.source.data.shape
    how = {
        "table": f"{n} objects with {p} column{'s' * (p != 1)}",
        "graph": f"A graph of {n} nodes",
    }.get(done.source.kind, f"{n} objects with their {done.source.kind}")
    name = type(done.model).__name__
    return f"{how}: {n_clusters} cluster{'s' * (n_clusters != 1)} by {name}."


def _say_next(talk: Talk, done: Fit, files: dict[str, str]) -> None:
    """What a newcomer may want to do now."""
    missing = []
    if "output" not in files:
        missing.append("-o clusters.csv to keep the memberships")
    if "report" not in files:
        missing.append("--report report.html to look at them")
    if "model" not in files and done.source.kind == "table":
        missing.append("--save model.soffit to place new objects later")
    if missing:
        talk.say(f"Next: add {', '.join(missing)}.", style="dim")
    elif "model" in files:
        talk.say(f"Next: soffit predict {files['model']} NEW.csv -o new.csv", style="dim")


FIT = Command(
    "fit",
    fit,
    (
        "soffit fit flowers.csv",
        "soffit fit flowers.csv -k 3 --drop species -o clusters.csv",
        "soffit fit flowers.csv --label species --resamples 10 --report report.html",
        "soffit fit patients.csv --id patient --impute median --save model.soffit",
        "soffit fit distances.csv --kind distances -k 5 -o clusters.parquet",
    ),
    CLUSTERING,
)
