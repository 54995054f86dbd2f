"""The steps that commands share: read a file, fit a model, write what is asked for."""

from __future__ import annotations

import shlex
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import typer

from soffit.cli.console import Talk
from soffit.cli.error_messages import existing, in_words_of_the_command, usage_error
from soffit.cli.options import Impute, Kind, TextColumns

# Libraries behind some endings, and the extras that bring them.
_NEEDS = {
    "h5ad": ("anndata", "anndata"),
    "graphml": ("networkx", "graphs"),
    "gml": ("networkx", "graphs"),
    "xlsx": ("xlsxwriter", "excel"),
}
RESULT_ENDINGS = (
    *("csv", "tsv", "parquet", "arrow", "feather", "jsonl", "json", "xlsx", "npz"),
    *("h5ad", "graphml", "gml"),
)


# --- reading --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reading:
    """What the options say about the file."""

    kind: Kind = Kind.auto
    columns: list[str] | None = None
    drop: list[str] | None = None
    id: str | None = None
    label: str | None = None
    impute: Impute | None = None
    text: TextColumns = TextColumns.auto


def read_source(talk: Talk, path: Path, reading: Reading) -> Any:
    """The file as `soffit.io.Source`; its notes are said aloud."""
    from soffit import io

    existing(path)
    try:
        source, remarks = _read(talk, path, reading)
    except io.UnknownColumnError as error:
        # A slip on the command line, not in the file.
        raise typer.BadParameter(str(error)) from None
    for note in (*source.notes, *remarks):
        talk.note(note)
    return source


def _read(talk: Talk, path: Path, reading: Reading) -> tuple[Any, list[str]]:
    from soffit import io

    with talk.working(f"Reading {path}"):
        return with_remarks(
            lambda: io.read(
                str(path),
                kind=reading.kind.value,
                columns=reading.columns,
                drop=reading.drop,
                id=reading.id,
                label=reading.label,
                impute=None if reading.impute is None else reading.impute.value,
                text=reading.text.value,
            )
        )


def read_pairs(path: Path | None, source: Any) -> Any:
    """Pairs of objects from a file; None without one."""
    if path is None:
        return None
    from soffit import io

    return io.read_pairs(str(existing(path)), source.ids)


# --- fitting --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model, what it was fitted to, and what was remarked on the way."""

    model: Any
    source: Any
    seconds: float
    warnings: list[str] = field(default_factory=list)


def fit_model(talk: Talk, model: Any, source: Any, **known: Any) -> Fit:
    """Fit the model to the source; pairs are passed on where there are any."""
    n = source.data.shape[0]
    _check_number(model, n)
    given = {name: value for name, value in known.items() if value is not None}
    begin = time.perf_counter()
    with talk.working(f"Clustering {n} objects") as tell:
        model.set_params(callback=lambda event: tell(steps(event)))
        _, remarks = with_remarks(lambda: model.fit(source.data, **given), model)
        model.set_params(callback=None)
    if model.stopped_ == "interrupted":
        raise KeyboardInterrupt
    if source.columns and source.kind == "table":
        # So that `predict` can ask a new file for the same columns.
        model.feature_names_in_ = np.array(source.columns, dtype=object)
    for remark in remarks:
        talk.warn(remark)
    return Fit(model, source, time.perf_counter() - begin, remarks)


def steps(event: Any) -> str:
    """What a fit is doing, as words beside the spinner."""
    return f"{event.phase.capitalize()}, step {event.iteration}"


def with_remarks(work: Callable[[], Any], model: Any = None) -> tuple[Any, list[str]]:
    """The result of some work, and its warnings as sentences for users of the command."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", FutureWarning)
        # The command has brought the columns into the model's order itself.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        result = work()
    remarks = [_in_words(warning, model) for warning in caught]
    return result, list(dict.fromkeys(remarks))


def _in_words(warning: warnings.WarningMessage, model: Any) -> str:
    from sklearn.exceptions import ConvergenceWarning

    from soffit.exceptions import UnstableResultWarning
    from soffit.results.fit_quality import EarlyStop, agreement_sentence

    if model is not None and issubclass(warning.category, ConvergenceWarning):
        stop = EarlyStop.of(model)
        if stop is not None:
            remedy = " Allow more with --max-time." if stop.reason == "max_time" else ""
            return f"{stop.sentence()} {stop.outlook}{remedy}"
    if model is not None and issubclass(warning.category, UnstableResultWarning):
        return (
            f"The clusters are unstable. {agreement_sentence(model.agreement_)} The memberships "
            "allow for it. Try another -k or --neighbors, or pass --must-link or --cannot-link."
        )
    return in_words_of_the_command(str(warning.message))


def _check_number(model: Any, n: int) -> None:
    if model.n_clusters is not None and model.n_clusters > n:
        raise ValueError(
            f"-k {model.n_clusters} asks for more clusters than there are objects, {n}. Choose at "
            f"most {n}."
        )


# --- writing --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outputs:
    """Files to write; checked before the work, so that no long fit is lost."""

    output: Path | None = None
    report: Path | None = None
    save: Path | None = None

    def check(self, *inputs: Path) -> None:
        """Refuse files that could not be written, or would replace an input."""
        check_output(self.output, "--output", RESULT_ENDINGS, inputs)
        check_output(self.report, "--report", ("html", "htm"), inputs)
        check_output(self.save, "--save", ("soffit",), inputs)

    def check_source(self, source: Any) -> None:
        """Refuse a format that cannot hold results of this kind."""
        ending = "" if self.output is None else self.output.suffix.lower()
        if ending in (".graphml", ".gml") and source.kind != "graph":
            raise usage_error(f"{ending} files hold graphs, and {source.path} is none.", "--output")
        if ending == ".h5ad" and source.kind != "table" and source.origin is None:
            raise usage_error(f"{source.path} is neither a table nor an .h5ad file.", "--output")

    def write(self, talk: Talk, fit: Fit) -> dict[str, str]:
        """Write what was asked for; returns the files by what they hold."""
        from soffit import io, save

        files: dict[str, str] = {}
        if self.output is not None:
            with talk.working(f"Writing {self.output}"):
                result = io.Result.of(fit.model, fit.source)
                io.write_result(result, str(self.output), source=fit.source)
            files["output"] = str(self.output)
        if self.report is not None:
            self._write_report(talk, fit)
            files["report"] = str(self.report)
        if self.save is not None:
            with talk.working(f"Writing {self.save}"):
                save(fit.model, str(self.save))
            files["model"] = str(self.save)
        return files

    def _write_report(self, talk: Talk, fit: Fit) -> None:
        from soffit.report import write_report

        with talk.working(f"Writing {self.report}"):
            write_report(str(self.report), fit.model, source=fit.source, command=this_command())


def check_output(
    path: Path | None, option: str, endings: tuple[str, ...], inputs: tuple[Path, ...] = ()
) -> None:
    """Refuse an ending that means nothing here, a missing folder, and an input's own name."""
    if path is None:
        return
    ending = path.suffix.lower().lstrip(".")
    if ending not in endings:
        listed = ", ".join(f".{known}" for known in endings)
        raise usage_error(f"{path} must end in one of {listed}.", option)
    library, extra = _NEEDS.get(ending, ("", ""))
    if library and find_spec(library) is None:
        raise ImportError(
            f'{path} needs {library}, which is not installed: pip install "soffit[{extra}]"'
        )
    if path.is_dir() or not path.parent.is_dir():
        what = "is a folder" if path.is_dir() else "is in a folder that does not exist"
        raise usage_error(f"{path} {what}.", option)
    if any(path.resolve() == given.resolve() for given in inputs):
        raise usage_error(f"{path} is the input and would be lost. Choose another name.", option)


def this_command() -> str:
    """What the user has typed, to be repeated by others."""
    return shlex.join(["soffit", *sys.argv[1:]])


def show_files(talk: Talk, files: dict[str, str]) -> None:
    """Say where everything is."""
    names = {"output": "Memberships", "report": "Report", "model": "Model"}
    for what, path in files.items():
        talk.say(f"{names.get(what, what)}: {path}", style="green")
