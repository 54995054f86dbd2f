"""`soffit predict`: memberships of new objects from a saved model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from soffit._wording import count_of, first_few
from soffit.cli.console import Talk, existing, show_summary, usage_error
from soffit.cli.dask_files import DaskOption, predict_in_blocks
from soffit.cli.options import (
    AFTERWARDS,
    RESULTS,
    Command,
    FileFormat,
    Only,
    OptionGroup,
    Reading,
    Verbosity,
    a_share,
    choice,
    with_option_groups,
)
from soffit.cli.steps import Outputs, describe_file, read_source, show_files, with_remarks

# An object is far outside if chance puts one of all new objects there less often than this.
_CHANCE = 0.05


def columns_to_read(path: Path, model: Any, layout: FileFormat) -> list[str] | None:
    """The columns of a file from which the model's columns are made.

    A column of the model is one of the file, or a value of a text column, such as `colour=red`.
    Other columns are not read. None if the columns have no names, or if most of the model's are not
    there and are words: these are in documents.
    """
    from soffit.io.tables.documents import WordWeights

    names = list(model.feature_names_in_)
    present = [column.name for column in describe_file(path, layout).columns]
    made = {name for name in names if any(_makes(column, name) for column in present)}
    if not present or (2 * len(made) < len(names) and WordWeights.of(model) is not None):
        return None
    missing = [name for name in names if name not in made]
    if missing:
        raise ValueError(
            f"{path} lacks columns of the model: {first_few(map(repr, missing))}. Add them, or fit "
            "a model without them (`soffit fit --drop`)."
        )
    return [column for column in present if any(_makes(column, name) for name in names)]


def _makes(column: str, name: str) -> bool:
    return name == column or name.startswith(f"{column}=")


ModelFile = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL",
        help="A model written by `soffit fit --save`, ending in .soffit.",
    ),
]
NewFile = Annotated[
    Path,
    typer.Argument(
        metavar="INPUT",
        help="The new objects, with the columns that the model was fitted to, in any order; other "
        "columns are ignored. For a model of a matrix or graph: one row per new object, one "
        "column per fitted object.",
    ),
]


@dataclass(frozen=True)
class Refusal(OptionGroup):
    """Which new objects are assigned to no cluster, besides uncertain ones."""

    max_novelty: float | None = choice(
        "--max-novelty P",
        RESULTS,
        "In the output file, the cluster of an object whose novelty is above P, such as 0.99, is "
        "-1: none.",
        callback=a_share,
    )

    def check(self, output: Path | None) -> None:
        """Reject a limit that would not be applied."""
        if self.max_novelty is not None and output is None:
            raise usage_error("It needs an output file: add -o clusters.csv.", "--max-novelty")


@with_option_groups
def predict(
    model_file: ModelFile,
    file: NewFile,
    *,
    outputs: Annotated[Outputs, Only(("output", "only_memberships", "min_certainty"))],
    refusal: Refusal,
    reading: Annotated[Reading, Only(("id_column", "label", "impute"))],
    dask: DaskOption = None,
    layout: FileFormat,
    verbosity: Verbosity,
) -> None:
    """Assign new objects to the clusters of a saved model.

    Each new object gets a probability for every cluster of the model; the clusters themselves do
    not change. Its novelty tells how far outside everything seen it lies: of 1000 objects like the
    fitted ones, 10 have a novelty of 0.99 or more. What lies far outside is still placed in the
    nearest cluster, often with certainty; --max-novelty leaves it out.
    """
    from soffit import load
    from soffit.results.summary import Summary

    if dask is not None:
        if outputs.min_certainty is not None or refusal != Refusal() or reading != Reading():
            raise usage_error(
                "It takes no --min-certainty, --max-novelty, --impute, --id or --label.", "--dask"
            )
        model = load(str(existing(model_file)))
        talk, output = verbosity.talk(), outputs.output
        predict_in_blocks(talk, model, file, output, where=dask, name=model_file)
        return
    outputs.check(model_file, file)
    refusal.check(outputs.output)
    talk = verbosity.talk()
    with talk.working(f"Loading {model_file}"):
        model = load(str(existing(model_file)))
    if refusal.max_novelty is not None and not model._fitted.knows_novelty:
        raise usage_error(
            f"{type(model).__name__} measures no novelty. Use --min-certainty.", "--max-novelty"
        )
    label, impute = reading.label, reading.impute
    given = {"id": reading.id_column, "label": label, "impute": impute and impute.value}
    source = _read(talk, model, existing(file), layout, **given)
    with talk.working(f"Predicting {source.n_objects} objects"):
        result, remarks = with_remarks(lambda: predicted(model, source))
    for remark in remarks:
        talk.warn(remark)
    summary = Summary.of(result)
    files = outputs.write_result(talk, result, source, max_novelty=refusal.max_novelty)
    name = type(model).__name__
    new = count_of(summary.n_objects, "new object")
    talk.say(f"{new} among {count_of(summary.n_clusters, 'cluster')} of {name}.", "bold")
    talk.say()
    show_summary(talk, summary, label)
    n_outside, sentence = objects_outside(result.novelty)
    if sentence and refusal.max_novelty is None:
        sentence += " --max-novelty 0.99 gives such objects no cluster (-1) in the output file."
    if sentence:
        talk.warn(sentence)
    show_files(talk, files)
    if not files:
        talk.say("Next: add -o new.csv to write the memberships.", style="dim")
    talk.emit(
        {
            "command": "predict",
            "model": name,
            "input": str(file),
        }
        | summary.as_dict()
        | {
            "n_outside": n_outside,
            "notes": source.notes,
            "warnings": [*remarks, *filter(None, [sentence])],
            "files": files,
        }
    )


def predicted(model: Any, source: Any) -> Any:
    """Memberships and novelty of new objects, with the names of the clusters."""
    from soffit import io
    from soffit.results.per_object import cluster_names_of

    novelty = None
    if model._fitted.knows_novelty:
        novelty = model.novelty_score(source)
    return io.Result.from_memberships(
        model.predict_proba(source),
        ids=source.ids,
        id_name=source.id_name,
        truth=source.truth,
        novelty=novelty,
        names=cluster_names_of(model),
    )


def objects_outside(novelty: Any) -> tuple[int | None, str]:
    """How many objects lie outside what was fitted, and a sentence if these are notable.

    They are if there are more than chance explains, or if one is too far outside for chance.
    """
    from soffit.affinity.isolation import OUTSIDE_FROM

    if novelty is None:
        return None, ""
    n, count = len(novelty), int((novelty >= OUTSIDE_FROM).sum())
    expected = (1.0 - OUTSIDE_FROM) * n
    limit = max(OUTSIDE_FROM, 1.0 - _CHANCE / n)
    far = int((novelty >= limit).sum())
    if count > expected + 2.0 * expected**0.5:
        chance = f"by chance about {expected:.1g} would be"
        shown, how = count, f"novelty {OUTSIDE_FROM:g} or more; {chance}"
    elif far:
        shown, how = far, f"novelty {limit:.6g} or more"
    else:
        return count, ""
    verb, whose = ("lies", "Its cluster means") if shown == 1 else ("lie", "Their clusters mean")
    return count, (
        f"{shown:,} of {count_of(n, 'new object')} {verb} outside everything that the model was "
        f"fitted to ({how}). {whose} little."
    )


def _read(talk: Talk, model: Any, path: Path, layout: FileFormat, **chosen: Any) -> Any:
    """The new objects with the model's columns, in the model's order."""
    from soffit.affinity.mixed_table import MixedPreparation
    from soffit.results.summary import is_matrix_model

    takes_matrix = is_matrix_model(model)
    has_names = not takes_matrix and hasattr(model, "feature_names_in_")
    columns = columns_to_read(path, model, layout) if has_names else None
    is_mixed = isinstance(model._fitted.preparation, MixedPreparation)
    if columns is not None:
        chosen |= {"columns": columns, "text": "category" if is_mixed else "onehot"}
    elif has_names and describe_file(path, layout).columns:
        # A file without columns of its own has rows of word weights, in the model's order.
        return read_source(talk, path, layout, kind="table", text=model, **chosen)
    if is_mixed and chosen.get("impute") is None:
        chosen["impute"] = "none"
    source = read_source(talk, path, layout, kind="table", **chosen)
    if columns is not None:
        ordered = source.with_columns(list(model.feature_names_in_))
        for note in ordered.notes[len(source.notes) :]:
            talk.note(note)
        return ordered
    n_given = source.data.shape[1]
    n_expected = getattr(model, "n_features_in_", n_given)
    if n_given != n_expected:
        what = "columns, one per fitted object" if takes_matrix else "columns"
        raise ValueError(f"The model needs {n_expected} {what}, but the file has {n_given}.")
    return source


PREDICT = Command(
    "predict",
    predict,
    (
        "soffit predict model.soffit new.csv -o new_clusters.csv",
        "soffit predict model.soffit new.csv --impute median -o new.parquet",
    ),
    AFTERWARDS,
)
