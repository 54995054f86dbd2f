"""`soffit fit`: cluster the objects of a file."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from soffit.cli.command import CLUSTERING, Command
from soffit.cli.console import Talk
from soffit.cli.methods import METHODS, MethodName, Settings, make_model
from soffit.cli.options import (
    MODEL,
    CannotLinkOption,
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
    MaxTimeOption,
    MustLinkOption,
    NeighborsOption,
    OutputOption,
    QuietOption,
    ReportOption,
    SaveOption,
    SeedOption,
    TextColumns,
    TextOption,
    at_least,
    names_of,
)
from soffit.cli.show_summary import show_choice, show_summary
from soffit.cli.steps import Fit, Outputs, Reading, fit_model, read_pairs, read_source, show_files

MethodOption = Annotated[
    MethodName,
    typer.Option(
        "--method",
        metavar="NAME",
        rich_help_panel=MODEL,
        help="The model. soft was best on most data. The others are published methods of the same "
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


def fit(
    file: InputFile,
    *,
    clusters: ClustersOption = None,
    method: MethodOption = MethodName.soft,
    neighbors: NeighborsOption = None,
    resamples: ResamplesOption = 0,
    seed: SeedOption = 0,
    jobs: JobsOption = None,
    max_time: MaxTimeOption = None,
    kind: KindOption = Kind.auto,
    columns: ColumnsOption = None,
    drop: DropOption = None,
    id_column: IdOption = None,
    label: LabelOption = None,
    impute: ImputeOption = None,
    text: TextOption = TextColumns.auto,
    must_link: MustLinkOption = None,
    cannot_link: CannotLinkOption = None,
    output: OutputOption = None,
    report: ReportOption = None,
    save: SaveOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Cluster the objects of a file, softly.

    Each object gets a probability for every cluster. The table that is printed names, for each
    cluster, its size, how certain its members are on average, and the columns that set it apart.
    """
    settings = Settings(clusters, neighbors, resamples, seed, jobs, max_time)
    settings.check(method, pairs=must_link is not None or cannot_link is not None)
    outputs = Outputs(output, report, save)
    outputs.check(file, *(path for path in (must_link, cannot_link) if path is not None))
    talk = Talk(quiet=quiet, as_json=as_json)
    reading = Reading(kind, names_of(columns), names_of(drop), id_column, label, impute, text)
    source = read_source(talk, file, reading)
    outputs.check_source(source)
    known = {"must_link": read_pairs(must_link, source)}
    known["cannot_link"] = read_pairs(cannot_link, source)
    done = fit_model(talk, make_model(method, settings, source.kind), source, **known)
    answer = {"command": "fit", "method": method.value, "model": METHODS[method].model}
    present(talk, done, outputs, answer, label=label)


def present(
    talk: Talk,
    done: Fit,
    outputs: Outputs,
    answer: dict[str, Any],
    *,
    label: str | None,
    hints: bool = True,
) -> None:
    """Write the files; then print a fit's summary, as text or as JSON."""
    from soffit.results.summary import Summary

    source = done.source
    files = outputs.write(talk, done)
    summary = Summary.of(done.model, source=source)
    talk.say(_what_was_done(done, summary.n_clusters), style="bold")
    show_choice(talk, summary)
    talk.say()
    show_summary(talk, summary, label)
    show_files(talk, files)
    if hints:
        _say_next(talk, done, files)
    talk.emit(
        answer
        | {
            "input": source.path,
            "kind": source.kind,
            "n_objects": summary.n_objects,
            "columns": source.columns,
        }
        | summary.as_dict()
        | {
            "converged": done.model.converged_,
            "seconds": round(done.seconds, 3),
            "notes": source.notes,
            "warnings": done.warnings,
            "files": files,
        }
    )


def _what_was_done(done: Fit, n_clusters: int) -> str:
    from soffit.results.words import count_of

    n, p = done.source.data.shape
    how = {
        "table": f"{count_of(n, 'object')} with {count_of(p, 'column')}",
        "graph": f"A graph of {count_of(n, 'node')}",
    }.get(done.source.kind, f"{count_of(n, 'object')} with their {done.source.kind}")
    return f"{how}: {count_of(n_clusters, 'cluster')} by {type(done.model).__name__}."


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
