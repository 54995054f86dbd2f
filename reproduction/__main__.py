"""`python -m reproduction`: tables and figures of the papers, beside ours."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from reproduction.harness.experiment import Setup
from reproduction.harness.page import write_docs
from reproduction.harness.registry import experiments
from reproduction.harness.report import Section
from reproduction.harness.run import Event, kept_sections, run

_ALL = "all"
_DESCRIPTION = (
    "Make tables and figures of the papers again, beside the published ones. Without a name the "
    "experiments are listed. Results are kept: a run goes on where it stopped, and finished work "
    "is not run again. Each experiment writes table.md, runs.csv and figures."
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the experiments that the arguments name."""
    parser = _parser()
    options = parser.parse_args(arguments)
    known = {experiment.name: experiment for experiment in experiments()}
    if not options.names:
        _list_experiments(options)
        return
    chosen = list(known) if _ALL in options.names else list(dict.fromkeys(options.names))
    for name in chosen:
        if name not in known:
            parser.error(f"NAME: {name!r} is not an experiment. Choose {', '.join(known)} or all.")
    if options.data is not None and not options.data.is_dir():
        parser.error(f"--data: there is no folder {options.data}.")
    setup = Setup(options.runs, options.quick, options.data)
    listener = None if options.quiet else _Progress()
    try:
        sections = run(chosen, options.out, setup=setup, jobs=options.jobs, listener=listener)
    except KeyboardInterrupt:
        print("Stopped. The same command goes on from here.", file=sys.stderr)
        raise SystemExit(130) from None
    rows = [[s.name, _verdicts(s), str(options.out / s.name / "table.md")] for s in sections]
    page = None
    if options.docs is not None:
        page = str(write_docs(kept_sections(options.out), options.out, options.docs))
    if options.json:
        print(json.dumps({"out": str(options.out), "verdicts": {r[0]: r[1] for r in rows}}))
    elif not options.quiet:
        _print_columns([["experiment", "verdicts", "report"], *rows])
        if page is not None:
            print(f"Written: {page}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m reproduction", description=_DESCRIPTION)
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help="experiments, or all")
    runs = "repetitions of what is random; those of the papers by default"
    add("--runs", type=_count, metavar="N", help=runs)
    add("--jobs", type=_count, default=1, metavar="N", help="processes (default 1)")
    data = "where the data sets are; SOFFIT_DATA by default"
    add("--data", type=Path, metavar="FOLDER", help=data)
    out = "where results are kept and written (default build/reproduction)"
    add("--out", type=Path, default=Path("build/reproduction"), metavar="FOLDER", help=out)
    docs = "also assemble reproduction.md there, of all results in the folder"
    add("--docs", type=Path, metavar="FOLDER", help=docs)
    quick = "few runs on parts of the data, to see that it works"
    add("--quick", action="store_true", help=quick)
    add("--quiet", action="store_true", help="print nothing but errors")
    add("--json", action="store_true", help="print the outcome as JSON")
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text!r}.")
    return int(text)


def _list_experiments(options: argparse.Namespace) -> None:
    if options.json:
        print(json.dumps({"experiments": [experiment.name for experiment in experiments()]}))
        return
    rows = [[e.name, e.paper, e.title] for e in experiments()]
    _print_columns([["name", "paper", "what"], *rows])
    print("Run some of them, or all: python -m reproduction all --jobs 2")


def _print_columns(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())


class _Progress:
    """Notes as lines; where the run is, in one line that is written over in a terminal."""

    def __call__(self, event: Event) -> None:
        terminal = sys.stderr.isatty()
        end = "\x1b[K\n" if terminal else "\n"
        if event.kind == "note":
            print(f"{event.experiment}: {event.text}", end=end, file=sys.stderr)
        elif terminal or event.kind == "report":
            text = f"{event.finished} of {event.total}  {event.experiment} {event.text}"
            print(text, end="\x1b[K\r" if terminal else end, file=sys.stderr, flush=True)


def _verdicts(section: Section) -> str:
    heads = [finding.verdict.partition(":")[0] for finding in section.findings]
    counts = [f"{heads.count(head)} {head}" for head in dict.fromkeys(heads)]
    return ", ".join(counts) or section.summary


if __name__ == "__main__":
    main()
