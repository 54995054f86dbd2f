"""`--dask`: files larger than memory, read, fitted, placed and written block by block."""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Annotated, Any

import typer

from soffit._wording import in_words_of_the_command
from soffit.cli.console import Talk, usage_error
from soffit.cli.methods import DEFAULT_METHOD, Settings, make_model
from soffit.cli.options import MODEL, Reading, option
from soffit.cli.steps import Outputs, show_files, steps, this_command, with_remarks

DaskOption = Annotated[
    str | None,
    option(
        "--dask WHERE",
        MODEL,
        "Read and place the objects block by block, for files larger than memory: local "
        "(processes of this machine, also without a value), threads, or the address of a Dask "
        "scheduler. The data are then "
        "an .npy, .zarr, .parquet or .csv file, a folder, or a pattern such as 'part-*.parquet'; "
        "-o is a folder for Parquet files.",
    ),
]
SampleSizeOption = Annotated[
    int | None,
    option(
        "--sample-size N",
        MODEL,
        "With --dask: how many objects are fitted (1,000,000); the others are placed.",
        min=1,
    ),
]


@contextmanager
def cluster(where: str, talk: Talk) -> Iterator[None]:
    """A context in which Dask works there."""
    from soffit.io.data_error import need

    if where == "threads":
        need("dask.array", "dask", "--dask")
        yield
        return
    distributed = need("distributed", "dask", "--dask")
    with talk.working(f"Starting Dask ({where})"):
        try:
            local = _processes(distributed) if where == "local" else nullcontext()
            client = distributed.Client(local if where == "local" else where, timeout=10)
        except (OSError, ValueError) as error:
            raise usage_error(
                f"There is no Dask scheduler at {where} ({error}). Pass its address, for example "
                "tcp://host:8786, or local.",
                "--dask",
            ) from None
    with local, client:
        yield


def _processes(distributed: Any) -> Any:
    """A cluster of processes of this machine, which Ctrl-C does not reach.

    A terminal sends it to all processes of a command. Here it waits until they have started.
    """
    if not hasattr(signal, "pthread_sigmask"):
        return _local_cluster(distributed)
    # This process of Python's own would unblock the signal when it starts.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        # What is blocked here is blocked in processes that start here, and in those that follow.
        return _local_cluster(distributed)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _local_cluster(distributed: Any) -> Any:
    return distributed.LocalCluster(
        threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=logging.ERROR
    )


def fit_in_blocks(
    talk: Talk,
    file: Path,
    settings: Settings,
    reading: Reading,
    outputs: Outputs,
    *,
    where: str,
    sample_size: int | None,
    answer: dict[str, Any],
) -> None:
    """`soffit fit --dask`."""
    from soffit import save

    if answer["method"] != DEFAULT_METHOD:
        raise usage_error(f"--dask fits the method {DEFAULT_METHOD} only.", "--method")
    _check_folder(outputs.output, file)
    for option_name, value in (
        ("--min-certainty", outputs.min_certainty is not None),
        ("--only-memberships", outputs.only_memberships),
    ):
        if value:
            raise usage_error("It is not supported with --dask.", option_name)
    begin = time.perf_counter()
    with cluster(where, talk):
        X = _read(talk, file, reading)
        given: dict[str, Any] = {} if sample_size is None else {"sample_size": sample_size}
        with talk.working("Clustering blocks") as tell:
            given["callback"] = lambda event: tell(steps(event))
            model = make_model(DEFAULT_METHOD, settings, "table", **given)
            _, remarks = with_remarks(lambda: model.fit(X), model)
        if model.stop_reason_ == "interrupted":
            raise KeyboardInterrupt
        counts, files = _placed(talk, model.memberships_, outputs.output)
        if outputs.report is not None:
            _write_report(talk, model, X, counts, outputs.report)
            files["report"] = str(outputs.report)
        if outputs.save is not None:
            save(model, str(outputs.save))
            files["model"] = str(outputs.save)
    for remark in remarks:
        talk.warn(remark)
    fitted = len(model.sample_indices_)
    talk.say(
        f"{counts.n_objects:,} objects with {model.n_features_in_} columns: {model.n_clusters_} "
        f"clusters by SoftClustering, from a sample of {fitted:,}.",
        style="bold",
    )
    _show_counts(talk, counts)
    show_files(talk, files)
    talk.emit(
        answer
        | {
            "input": str(file),
            **_answer(counts),
            "n_fitted": fitted,
            "leftover_share": model.leftover_share_,
            "converged": model.converged_,
            "seconds": round(time.perf_counter() - begin, 3),
            "warnings": remarks,
            "files": files,
        }
    )


def predict_in_blocks(
    talk: Talk, model: Any, file: Path, output: Path | None, *, where: str, name: Path
) -> None:
    """`soffit predict --dask`."""
    from soffit.io import read_blocks

    _check_folder(output, file)
    with cluster(where, talk):
        columns = list(getattr(model, "feature_names_in_", [])) or None
        X = read_blocks(str(file), columns=columns)
        counts, files = _placed(talk, model.predict_proba(X), output)
    talk.say(
        f"{counts.n_objects:,} new objects among {len(counts.sizes)} clusters of "
        f"{type(model).__name__}.",
        style="bold",
    )
    _show_counts(talk, counts)
    show_files(talk, files)
    talk.emit(
        {"command": "predict", "model": str(name), "input": str(file)}
        | _answer(counts)
        | {"files": files}
    )


def report_in_blocks(
    talk: Talk, model_file: Path, data: Path, page: Path, *, where: str, title: str | None
) -> None:
    """`soffit report --dask`: exact counts of all objects, and some of them to look at."""
    import numpy as np

    from soffit import load
    from soffit.distributed.shown_sample import MOST_SHOWN
    from soffit.io import read_blocks

    if model_file.suffix.lower() != ".soffit":
        raise usage_error(f"It needs a model, such as model.soffit, not {model_file}.", "--dask")
    model = load(str(model_file))
    with cluster(where, talk):
        columns = list(getattr(model, "feature_names_in_", [])) or None
        X = read_blocks(str(data), columns=columns)
        counts, _ = _placed(talk, model.predict_proba(X), None)
        n = counts.n_objects
        numbers = np.arange(n)
        if n > MOST_SHOWN:
            numbers = np.unique(np.random.default_rng(0).integers(n, size=MOST_SHOWN))
        _write_report(talk, model, X, counts, page, numbers=numbers, title=title)
    _show_counts(talk, counts)
    files = {"report": str(page)}
    show_files(talk, files)
    talk.emit(
        {"command": "report", "input": str(model_file), "data": str(data)}
        | _answer(counts)
        | {"n_shown": len(numbers), "files": files}
    )


def _read(talk: Talk, file: Path, reading: Reading) -> Any:
    from soffit.cli.options import names_of
    from soffit.io import UnknownColumnError, read_blocks

    for name, value in (
        ("--id", reading.id_column),
        ("--label", reading.label),
        ("--weight", reading.weight),
        ("--impute", reading.impute),
    ):
        if value is not None:
            raise usage_error("It is not supported with --dask.", name)
    try:
        with talk.working(f"Opening {file}"):
            return read_blocks(
                str(file), columns=names_of(reading.columns), drop=names_of(reading.drop) or ()
            )
    except UnknownColumnError as error:
        raise typer.BadParameter(in_words_of_the_command(error)) from None


def _check_folder(output: Path | None, file: Path) -> None:
    """Refuse, before the fit, a folder for results that cannot be written or is no such folder."""
    from soffit.distributed.shown_sample import BlockWriter
    from soffit.io.lazy_files import matching_files

    if output is None:
        return
    if output.suffix.lower() != ".parquet":
        raise usage_error(
            f"With --dask the memberships are a folder of Parquet files: choose a name that ends "
            f"in .parquet instead of {output}.",
            "--output",
        )
    if output.is_file():
        raise usage_error(f"{output} is a file. Choose another name.", "--output")
    if not output.parent.is_dir():
        raise usage_error(f"{output} is in a folder that does not exist.", "--output")
    if not output.is_dir():
        return
    for name in matching_files(file):
        given = Path(name).resolve()
        if output.resolve() in (given, *given.parents):
            raise usage_error(
                f"{output} holds the input, which would be overwritten. Choose another name.",
                "--output",
            )
    strangers = BlockWriter.strangers(output)
    if strangers:
        raise usage_error(
            f"{output} is a folder with other files, such as {strangers[0].name}. Choose another "
            "name.",
            "--output",
        )


def _placed(talk: Talk, memberships: Any, output: Path | None) -> tuple[Any, dict[str, str]]:
    """Counts of all objects; their memberships are written on the way."""
    import numpy as np

    from soffit.distributed.engine import Engine
    from soffit.distributed.row_blocks import Blocks
    from soffit.distributed.shown_sample import BlockWriter, count_and_write
    from soffit.fitting.monitor import Progress

    progress = Progress("soffit", 0)
    if any(np.isnan(count) for count in memberships.chunks[0]) and output is not None:
        with talk.working("Counting objects"):
            memberships = Blocks(memberships).counted(Engine.current(), progress).array
    writer, files = None, {}
    if output is not None:
        starts = np.concatenate([[0], np.cumsum(memberships.chunks[0])]).astype(int)
        writer = BlockWriter.into(output, starts)
        files["output"] = str(output)
    with talk.working("Placing all objects"):
        return count_and_write(memberships, writer, progress), files


def _write_report(
    talk: Talk,
    model: Any,
    X: Any,
    counts: Any,
    path: Path,
    *,
    numbers: Any = None,
    title: str | None = None,
) -> None:
    from soffit.report import write_report

    with talk.working(f"Writing {path}"):
        found, more = model._shown_sample(X, counts.sizes, numbers)
        write_report(str(path), found, command=this_command(), title=title, **more)


def _show_counts(talk: Talk, counts: Any) -> None:
    talk.say()
    rows = [
        (str(number), f"{size:,}", f"{size / counts.n_objects:.2%}", f"{certainty:.2f}")
        for number, (size, certainty) in enumerate(zip(counts.sizes, counts.certainty, strict=True))
    ]
    talk.table(("cluster", "size", "share", "certainty"), rows, words=0)
    talk.say()


def _answer(counts: Any) -> dict[str, Any]:
    return {
        "n_objects": counts.n_objects,
        "n_clusters": len(counts.sizes),
        "clusters": [
            {"cluster": number, "size": int(size), "certainty": round(float(certainty), 4)}
            for number, (size, certainty) in enumerate(
                zip(counts.sizes, counts.certainty, strict=True)
            )
        ],
    }
