"""The steps that commands share: read a file, fit a model, write files."""

from __future__ import annotations

import shlex
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import typer

from soffit._compile import told_of_compiling
from soffit._parameters import ParameterError
from soffit._threads import recorded_warnings
from soffit._wording import in_words_of_the_command, listed
from soffit.cli.console import Talk, existing, usage_error
from soffit.cli.methods import METHODS, Settings, make_model
from soffit.cli.options import RESULTS, FileFormat, OptionGroup, Pairs, a_share, choice

# Libraries that some endings need, and the extras that install them.
_NEEDS = {
    "h5ad": ("anndata", "anndata"),
    "graphml": ("networkx", "graphs"),
    "gml": ("networkx", "graphs"),
    "gexf": ("networkx", "graphs"),
    "xlsx": ("xlsxwriter", "excel"),
}
RESULT_ENDINGS = (
    *("csv", "tsv", "parquet", "arrow", "feather", "jsonl", "json", "xlsx", "npz"),
    *("h5ad", "graphml", "gml", "gexf"),
)
# Formats that hold the data anyway, and one that never does.
_ALWAYS_WITH_DATA = (".h5ad", ".graphml", ".gml", ".gexf")


_ROW = "row"


# --- reading --------------------------------------------------------------------------------------


def read_source(
    talk: Talk,
    path: Path,
    reading: FileFormat | None = None,
    *,
    is_compared: bool = True,
    **fixed: Any,
) -> Any:
    """The file as `soffit.io.Source`, whose notes are printed; `fixed` are arguments of `read`."""
    from soffit import io

    arguments: dict[str, Any] = ({} if reading is None else reading.arguments()) | fixed
    existing(path)
    try:
        with talk.working(f"Reading {path}"):
            source, remarks = with_remarks(lambda: io.read(str(path), **arguments))
    except (io.UnknownColumnError, ParameterError) as error:
        # The mistake is in the arguments, not in the file.
        raise typer.BadParameter(in_words_of_the_command(error)) from None
    source = numbered_from_one(source)
    # A finished fit has compared the objects in its own way.
    compared = mixed_notes(source) if is_compared else []
    notes = [*map(in_words_of_the_command, source.notes), *compared]
    source = replace(source, notes=tuple(notes))
    for note in (*source.notes, *remarks):
        talk.note(note)
    return source


def numbered_from_one(found: Any) -> Any:
    """A source or a result whose objects, if they have no names, are called by their row."""
    import numpy as np

    n = found.n_objects if hasattr(found, "n_objects") else len(found.labels)
    unnamed = found.ids is None or np.array_equal(found.ids, np.arange(n))
    return replace(found, ids=np.arange(1, n + 1).astype(str), id_name=_ROW) if unnamed else found


def without_numbers(source: Any) -> Any:
    """The same without names that only number the objects: a model need not keep them."""
    numbered = source.id_name == _ROW and source.ids[-1:].tolist() == [str(source.n_objects)]
    return replace(source, ids=None, id_name="id") if numbered else source


def describe_file(path: Path, layout: FileFormat) -> Any:
    """What a file holds, as `soffit.io.Description`."""
    from soffit import io

    try:
        return io.describe(str(existing(path)), **layout.arguments())
    except ParameterError as error:
        raise typer.BadParameter(in_words_of_the_command(error)) from None


def mixed_notes(source: Any) -> list[str]:
    """How a table of numbers, text and gaps is compared."""
    if not source.is_mixed:
        return []
    texts = listed([repr(name) for name in source.categories])
    what = f"Text ({texts}) and numbers are" if texts else "Columns are"
    return [
        f"{what} compared by a mixed distance (gower): every column counts alike, and gaps are "
        "left out of the comparison."
    ]


def read_pairs(pairs: Pairs, source: Any) -> dict[str, Any]:
    """Pairs of objects from their files, as arguments of `fit`."""
    from soffit import io

    return {
        name: io.read_pairs(str(existing(path)), source.ids)
        for name, path in vars(pairs).items()
        if path is not None
    }


# --- fitting --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model, its data, and its warnings."""

    model: Any
    source: Any
    seconds: float
    warnings: list[str] = field(default_factory=list)


def fit_model(
    talk: Talk,
    name: str,
    settings: Settings,
    source: Any,
    pairs: dict[str, Any] | None = None,
    **parameters: Any,
) -> Fit:
    """Fit a model with these settings to the source; `parameters` are more of its own."""
    n = source.n_objects
    check_number(settings.clusters, n)
    is_sparse_table = source.kind == "table" and hasattr(source.data, "indptr")
    if METHODS[name].tables_only and is_sparse_table:
        raise ValueError(f"--method {name} cannot read sparse tables, such as words. Omit it.")
    begin = time.perf_counter()
    with talk.working(f"Clustering {n} objects") as tell:
        watch = {"callback": lambda event: tell(steps(event))}
        model = make_model(
            name, settings, source.kind, is_mixed=source.is_mixed, **parameters, **watch
        )
        data = without_numbers(source)
        with compiling_told(tell):
            _, remarks = with_remarks(lambda: model.fit(data, **(pairs or {})), model)
    if model.stop_reason_ == "interrupted":
        raise KeyboardInterrupt
    for remark in remarks:
        talk.warn(remark)
    return Fit(model, source, time.perf_counter() - begin, remarks)


def steps(event: Any) -> str:
    """The description of a fit in progress."""
    return f"{event.phase.capitalize()}, step {event.iteration}"


def compiling_told(tell: Callable[[str], None]) -> AbstractContextManager[None]:
    """A context in which a person is told that the first fit after an installation compiles."""
    return told_of_compiling(lambda _: tell("Compiling, once (soffit warmup does it ahead)"))


def with_remarks(work: Callable[[], Any], model: Any = None) -> tuple[Any, list[str]]:
    """The result of some work, and its warnings in the words of the command."""
    with recorded_warnings() as caught:
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
            remedy = " Increase --max-time." if stop.reason == "max_time" else ""
            return f"{stop.sentence()} {stop.outlook}{remedy}"
    if model is not None and issubclass(warning.category, UnstableResultWarning):
        return (
            f"The clusters are unstable. {agreement_sentence(model.agreement_)} The memberships "
            "allow for it. Try another -k or --neighbors, or pass --must-link or --cannot-link."
        )
    return in_words_of_the_command(warning.message)


def check_number(clusters: int | None, n: int) -> None:
    """Reject more clusters than objects."""
    if clusters is not None and clusters > n:
        raise ValueError(
            f"-k {clusters} is larger than the number of objects, {n}. Choose at most {n}."
        )


# --- writing --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outputs(OptionGroup):
    """Files to write; checked before a long fit, not after it."""

    output: Path | None = choice(
        "-o --output FILE",
        RESULTS,
        "Write your table with the cluster, certainty, entropy and memberships of each "
        "object. The ending chooses the format: csv, tsv, parquet, arrow, jsonl, json, xlsx or "
        "npz; also graphml, gml and gexf for graphs, and h5ad.",
    )
    report: Path | None = choice(
        "--report HTML",
        RESULTS,
        "Write a page with figures, a description of the clusters, and a table of all "
        "objects. It is one file that works offline.",
    )
    save: Path | None = choice(
        "--save MODEL",
        RESULTS,
        "Write the fitted model to a file ending in .soffit, to assign new objects later "
        "with `soffit predict`.",
    )
    only_memberships: bool = choice(
        "--only-memberships",
        RESULTS,
        "Leave the columns of your table out of the output file, except for the identifier.",
        default=False,
    )
    min_certainty: float | None = choice(
        "--min-certainty P",
        RESULTS,
        "In the output file, the cluster of an object whose largest membership is below P is "
        "-1: none.",
        callback=a_share,
    )

    def check(self, *inputs: Path) -> None:
        """Reject files that cannot be written or would replace an input."""
        check_output(self.output, "--output", RESULT_ENDINGS, inputs)
        if self.output is None:
            for wanted, option in (
                (self.min_certainty is not None, "--min-certainty"),
                (self.only_memberships, "--only-memberships"),
            ):
                if wanted:
                    raise usage_error("It needs an output file: add -o clusters.csv.", option)
        elif self.only_memberships and self.output.suffix.lower() in _ALWAYS_WITH_DATA:
            ending = self.output.suffix
            raise usage_error(f"{ending} files hold the data themselves.", "--only-memberships")
        self.check_others(*inputs)

    def check_others(self, *inputs: Path) -> None:
        """Reject unsuitable names of the report and the model."""
        check_output(self.report, "--report", ("html", "htm"), inputs)
        check_output(self.save, "--save", ("soffit",), inputs)

    def check_source(self, source: Any) -> None:
        """Reject a format that cannot hold results of this kind."""
        ending = "" if self.output is None else self.output.suffix.lower()
        if ending in (".graphml", ".gml", ".gexf") and source.kind != "graph":
            raise usage_error(f"{ending} files hold graphs; {source.path} does not.", "--output")
        if ending == ".h5ad" and source.kind != "table" and source.origin is None:
            raise usage_error(f"{source.path} is neither a table nor an .h5ad file.", "--output")

    def write(self, talk: Talk, fit: Fit) -> dict[str, str]:
        """Write the files; returns their names by what they hold."""
        from soffit import save
        from soffit.io import Result

        files: dict[str, str] = {}
        if self.output is not None:
            files |= self.write_result(talk, Result.of(fit.model, fit.source), fit.source)
        if self.report is not None:
            self._write_report(talk, fit)
            files["report"] = str(self.report)
        if self.save is not None:
            with talk.working(f"Writing {self.save}"):
                save(fit.model, str(self.save))
            files["model"] = str(self.save)
        return files

    def write_result(
        self, talk: Talk, result: Any, source: Any, *, max_novelty: float | None = None
    ) -> dict[str, str]:
        """Write memberships, and say how many objects were assigned to no cluster."""
        from soffit import io

        if self.output is None:
            return {}
        least = self.min_certainty
        if least is not None or max_novelty is not None:
            result = result.with_refusal(least, max_novelty)
        with talk.working(f"Writing {self.output}"):
            lean = self.only_memberships
            io.write_result(result, str(self.output), source=source, only_memberships=lean)
        limits = [
            *([] if least is None else [f"a certainty below {least:g}"]),
            *([] if max_novelty is None else [f"a novelty above {max_novelty:g}"]),
        ]
        if limits:
            count, n = int((result.labels < 0).sum()), len(result.labels)
            have, their = ("has", "its") if count == 1 else ("have", "their")
            talk.note(
                f"{count:,} of {n:,} objects {have} {' or '.join(limits)}: {their} cluster is -1."
            )
        return {"output": str(self.output)}

    def _write_report(self, talk: Talk, fit: Fit) -> None:
        from soffit.report import write_report

        with talk.working(f"Writing {self.report}"):
            write_report(str(self.report), fit.model, source=fit.source, command=this_command())


def check_output(
    path: Path | None, option: str, endings: tuple[str, ...], inputs: tuple[Path, ...] = ()
) -> None:
    """Reject an unsuitable extension, a missing folder, and the name of an input."""
    if path is None:
        return
    ending = path.suffix.lower().lstrip(".")
    if ending not in endings:
        listed = ", ".join(f".{known}" for known in endings)
        raise usage_error(f"{path} must end in one of {listed}.", option)
    library, extra = _NEEDS.get(ending, ("", ""))
    if library:
        from soffit.io.data_error import need

        need(library, extra, f"Writing {path.suffix} files")
    if path.is_dir() or not path.parent.is_dir():
        what = "is a folder" if path.is_dir() else "is in a folder that does not exist"
        raise usage_error(f"{path} {what}.", option)
    if any(path.resolve() == given.resolve() for given in inputs):
        raise usage_error(
            f"{path} is an input and would be overwritten. Choose another name.", option
        )


def this_command() -> str:
    """The command line of this process."""
    return shlex.join(["soffit", *sys.argv[1:]])


def show_files(talk: Talk, files: dict[str, str]) -> None:
    """Print the names of the files."""
    names = {"output": "Memberships", "report": "Report", "model": "Model"}
    for what, path in files.items():
        talk.say(f"{names.get(what, what)}: {path}", style="green")
