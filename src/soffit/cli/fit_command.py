"""`soffit fit`: cluster the objects of a file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from soffit._wording import count_of
from soffit.cli.console import (
    Talk,
    show_choice,
    show_standardization,
    show_summary,
    show_warnings,
    usage_error,
)
from soffit.cli.dask_files import DaskOption, SampleSizeOption, fit_in_blocks
from soffit.cli.edit_command import NameOption, parsed_names
from soffit.cli.methods import DEFAULT_METHOD, METHODS, Settings, known_method
from soffit.cli.options import (
    CLUSTERING,
    MODEL,
    Command,
    InputFile,
    Pairs,
    Reading,
    Verbosity,
    option,
    with_option_groups,
)
from soffit.cli.steps import Fit, Outputs, fit_model, read_pairs, read_source, show_files

if TYPE_CHECKING:
    from soffit.results.summary import Summary

MethodOption = Annotated[
    str,
    option(
        "--method NAME",
        MODEL,
        "The model. soft is best for most data. The others are published methods of the same "
        "family: sof, baum-eagon, completely-positive, relation, hierarchy, spectral, and "
        "higher-order for crossing lines.",
        callback=known_method,
        autocompletion=lambda: list(METHODS),
    ),
]


@with_option_groups
def fit(
    file: InputFile,
    *,
    settings: Settings,
    method: MethodOption = DEFAULT_METHOD,
    dask: DaskOption = None,
    sample_size: SampleSizeOption = None,
    reading: Reading,
    pairs: Pairs,
    name: NameOption = None,
    outputs: Outputs,
    verbosity: Verbosity,
) -> None:
    """Find soft clusters of the objects in a file.

    Each object gets a probability for every cluster. The table shows the size of each cluster, the
    mean certainty of its members, and the columns that set it apart.
    """
    settings.check(method, pairs=bool(pairs.files))
    if dask is not None:
        if pairs.files or name or settings.resamples:
            raise usage_error("It takes no pairs, names or --resamples.", "--dask")
        outputs.check_others(file)
        answer = {"command": "fit", "method": method, "model": METHODS[method].name}
        fit_in_blocks(
            *(verbosity.talk(), file, settings, reading, outputs),
            where=dask,
            sample_size=sample_size,
            answer=answer,
        )
        return
    if sample_size is not None:
        raise usage_error("It needs --dask.", "--sample-size")
    names = parsed_names(name) if name else {}
    outputs.check(file, *pairs.files)
    talk = verbosity.talk()
    as_numbers = reading.as_numbers() if METHODS[method].tables_only else {}
    source = read_source(talk, file, reading, **as_numbers)
    outputs.check_source(source)
    done = fit_model(talk, method, settings, source, read_pairs(pairs, source))
    if names:
        done = replace(done, model=done.model.rename(names))
    answer = {"command": "fit", "method": method, "model": METHODS[method].name}
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
    """Write the files, then print the summary of a fit as text or JSON."""
    from soffit.results.summary import Summary

    source = done.source
    files = outputs.write(talk, done)
    summary = Summary.of(done.model, source=source)
    talk.say(_what_was_done(done, summary.n_clusters), style="bold")
    show_standardization(talk, summary)
    show_choice(talk, summary)
    talk.say()
    show_summary(talk, summary, label)
    warnings = show_warnings(talk, summary)
    show_files(talk, files)
    if hints:
        _say_next(talk, done, summary, files)
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
            "warnings": [*done.warnings, *warnings],
            "files": files,
        }
    )


def _what_was_done(done: Fit, n_clusters: int) -> str:
    n, p = done.source.data.shape
    how = {
        "table": f"{count_of(n, 'object')} with {count_of(p, 'column')}",
        "graph": f"A graph of {count_of(n, 'node')}",
    }.get(done.source.kind, f"{count_of(n, 'object')} with their {done.source.kind}")
    return f"{how}: {count_of(n_clusters, 'cluster')} by {type(done.model).__name__}."


def _say_next(talk: Talk, done: Fit, summary: Summary, files: dict[str, str]) -> None:
    """Suggestions for the next step."""
    from soffit._wording import in_words_of_the_command
    from soffit.results.sentences import division

    advice = division(summary)
    if advice is not None:
        talk.say(f"Next: {in_words_of_the_command(advice)}", style="dim")
        return
    missing = []
    if "output" not in files:
        missing.append("-o clusters.csv to write the memberships")
    if "report" not in files:
        missing.append("--report report.html to view them")
    if "model" not in files and done.source.kind == "table":
        missing.append("--save model.soffit to predict new objects later")
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
        "soffit fit flowers.csv -k 3 --name 0=small --min-certainty 0.7 -o clusters.csv",
        "soffit fit distances.csv --kind distances -k 5 -o clusters.parquet",
        "soffit fit 'part-*.parquet' -k 20 --dask -o clusters.parquet",
    ),
    CLUSTERING,
)
