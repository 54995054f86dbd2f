"""`soffit reproduce`: tables and figures of the papers, beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from soffit.cli.command import LEARNING, Command
from soffit.cli.console import Talk
from soffit.cli.error_messages import usage_error
from soffit.cli.options import JsonOption, QuietOption, at_least

if TYPE_CHECKING:
    from soffit.reproduce import Event, Section

_ALL = "all"
NamesArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME]...", show_default=False, help="Experiments, or all."),
]
RunsOption = Annotated[
    int | None,
    typer.Option(
        "--runs",
        metavar="N",
        callback=at_least(1),
        show_default=False,
        help="Repetitions of what is random; those of the papers by default.",
    ),
]
JobsOption = Annotated[
    int, typer.Option("--jobs", metavar="N", callback=at_least(1), help="Processes.")
]
DataOption = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="FOLDER",
        show_default=False,
        help="Where the data sets are; SOFFIT_DATA by default.",
    ),
]
OutOption = Annotated[
    Path, typer.Option("--out", metavar="FOLDER", help="Where results are kept and written.")
]
DocsOption = Annotated[
    Path | None,
    typer.Option(
        "--docs",
        metavar="FOLDER",
        show_default=False,
        help="Also assemble reproduction.md there, of all results in the folder.",
    ),
]
QuickOption = Annotated[
    bool, typer.Option("--quick", help="Few runs on parts of the data, to see that it works.")
]


def reproduce(
    names: NamesArgument = None,
    *,
    runs: RunsOption = None,
    jobs: JobsOption = 1,
    data: DataOption = None,
    out: OutOption = Path("reproduction"),
    docs: DocsOption = None,
    quick: QuickOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Make tables and figures of the papers again, beside the published ones.

    Without a name the experiments are listed. Results are kept: a run goes on where it stopped,
    and what is finished is not run again. Each experiment writes table.md, runs.csv and figures.
    """
    from soffit.reproduce import Setup, experiments, kept_sections, run, write_docs

    talk = Talk(quiet=quiet, as_json=as_json)
    known = {experiment.name: experiment for experiment in experiments()}
    if not names:
        talk.table(
            ["name", "paper", "what"], [[e.name, e.paper, e.title] for e in known.values()], words=3
        )
        talk.say("Run some of them, or all: soffit reproduce all --jobs 2")
        talk.emit({"command": "reproduce", "experiments": list(known)})
        return
    chosen = list(known) if _ALL in names else list(dict.fromkeys(names))
    for name in chosen:
        if name not in known:
            raise usage_error(
                f"{name!r} is no experiment. Choose {', '.join(known)} or all.", "NAME"
            )
    if data is not None and not data.is_dir():
        raise usage_error(f"There is no folder {data}.", "--data")
    setup = Setup(runs, quick, data)
    with talk.working("Beginning") as say:

        def listen(event: Event) -> None:
            if event.kind == "note":
                talk.note(f"{event.experiment}: {event.text}")
            say(f"{event.finished} of {event.total}  {event.experiment} {event.text}")

        sections = run(chosen, out, setup=setup, jobs=jobs, listener=listen)
    rows = [[s.name, _verdicts(s), str(out / s.name / "table.md")] for s in sections]
    talk.table(["experiment", "verdicts", "report"], rows, words=3)
    if docs is not None:
        talk.say(f"Written: {write_docs(kept_sections(out), out, docs)}")
    talk.emit({"command": "reproduce", "out": str(out), "verdicts": {r[0]: r[1] for r in rows}})


def _verdicts(section: Section) -> str:
    heads = [finding.verdict.partition(":")[0] for finding in section.findings]
    counts = [f"{heads.count(head)} {head}" for head in dict.fromkeys(heads)]
    return ", ".join(counts) or section.summary


REPRODUCE = Command(
    "reproduce",
    reproduce,
    ("soffit reproduce", "soffit reproduce sof-tables --runs 5", "soffit reproduce all --jobs 2"),
    LEARNING,
)
