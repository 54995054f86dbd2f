"""Read any supported file."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from soffit._parameters import OneOf, Rule, check_parameters
from soffit._wording import Message, Parameter
from soffit.io.anndata_files import read_annotated
from soffit.io.data_error import DataError
from soffit.io.file_options import FileOptions
from soffit.io.formats import LocalFile, recognise
from soffit.io.graph_files import (
    read_edges,
    read_gexf,
    read_gml,
    read_graphml,
    read_node_link,
)
from soffit.io.matrices.arrays import read_matrix_market, source_from_npy, source_from_npz
from soffit.io.matrices.square_matrix import read_matrix
from soffit.io.source import KINDS, Source
from soffit.io.tables.columns import Impute, TextRule
from soffit.io.tables.documents import WordWeights
from soffit.io.tables.json_files import is_node_link, json_rows, load_json
from soffit.io.tables.table import Choice, read_table
from soffit.io.tables.tabular import Rows, could_be_edges, has_edge_header, is_edge_list
from soffit.io.tables.typed import OPENERS
from soffit.io.text.delimited import DelimitedRows

Reader = Callable[[Path, str, Choice, FileOptions], Source]
_RULES: dict[str, Rule] = {
    "kind": OneOf(("auto", *KINDS)),
    "impute": OneOf((None, "none", "auto", "median", "mean", "drop")),
    "text": OneOf(("auto", "category", "onehot", "words", "drop")),
}


def read(  # noqa: PLR0913
    path: str | os.PathLike[str],
    *,
    kind: Literal["auto", "table", "distances", "similarities", "graph"] = "auto",
    columns: Sequence[str] | None = None,
    drop: Sequence[str] | None = None,
    id: str | None = None,
    label: str | None = None,
    sample_weight: str | None = None,
    impute: Impute | None = None,
    text: TextRule | Any = "auto",
    sep: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    na: str | Sequence[Any] | None = None,
    sheet: str | int | None = None,
    skip_rows: int = 0,
    encoding: str | None = None,
) -> Source:
    r"""Read a table, a matrix of distances or similarities, or a graph from a file.

    The ending names the format of a file, and the content is checked against it: CSV and TSV
    (separator, header, notation of numbers, quotes and encoding are detected), Parquet, Arrow and
    Feather, JSON and JSON lines, Excel, NumPy ``.npy`` and ``.npz``, Matrix Market ``.mtx``, edge
    lists (``.edges``, ``.edgelist``, and ``.txt`` with two columns of nodes), GraphML, GML, GEXF
    and ``.h5ad``. Text files are read block by block, so that only the numbers need to fit into
    memory; if they do not in double precision, single precision is used.

    Parameters
    ----------
    path : str or path
        The file, or "-" for standard input. Files compressed by gzip, bzip2 or xz, such as
        ``table.csv.gz``, are unpacked.
    kind : {"auto", "table", "distances", "similarities", "graph"}, default="auto"
        What the file holds. A square symmetric table could be any of them: "auto" refuses it and
        asks for this parameter.
    columns, drop : sequence of str, optional
        Features to use, or to leave out. All columns are used by default.
    id : str, optional
        The column that names the objects. By default the first column, if it is called id, name,
        index, key or nothing and its values tell the objects apart; otherwise the first column of
        text with a different value in every row.
    label : str, optional
        The column of known labels; it is not used as a feature.
    sample_weight : str, optional
        The column of the weights of the objects, such as how many each row stands for; it is not
        used as a feature. Rows of weight 0 are left out. Models take the weights from the source.
    impute : {None, "none", "auto", "median", "mean", "drop"}, default=None
        What to do about missing and infinite values: refuse the file (None), leave them missing
        for ``metric="gower"`` ("none"; "auto" does so if at most a fifth of the entries is
        missing), fill in the median or the mean of the column (for text, the frequencies of its
        values), or drop the rows.
    text : {"auto", "category", "onehot", "words", "drop"} or fitted model, default="auto"
        Columns of text become a column of 0 and 1 for each value. With "auto" those with many
        distinct values and dates are left out; "onehot" encodes all, "drop" leaves out all. With
        "category" a column of text stays one column, of the codes of `Source.categories`, for
        ``metric="gower"``. With "words" the columns of documents (or those in `columns`) become a
        sparse table with one column per word, weighted by TF-IDF; "auto" and "category" do so if
        there is nothing but documents. A model that was fitted to such a table takes new documents
        with its own words and weights: pass the model.
    sep : str, optional
        The character between the entries of a text file; "tab" and "blank" are names for the
        tab and for any run of blanks. Detected by default; tabs come first in a ``.tsv`` file.
    decimal, thousands : str, optional
        The decimal sign ("." or ",") and the separator of thousands (",", ".", " " or "'") in
        text. By default both are detected from all columns, and numbers that could be read in
        two ways are refused.
    na : str or sequence, optional
        Entries that stand for a missing value, besides the empty one, NA, NaN, null, ? and the
        like.
    sheet : str or int, optional
        Sheet of an Excel workbook: its name, or its number counted from 1. The first by default.
    skip_rows : int, default=0
        Lines (of a sheet: rows) to skip before the header.
    encoding : str, optional
        Encoding of a text file, such as "latin-1". By default UTF-8, UTF-16 or Windows-1252.

    Returns
    -------
    Source
        The data, names, labels, and notes on what was assumed or left out.

    Raises
    ------
    DataError
        If the file cannot be read or used. The message names the file, the place and a remedy.
    ValueError
        If a parameter does not have one of the values above.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from soffit.io import read
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "flowers.csv"
    ...     _ = path.write_text("id;size;colour\na;1,5;red\nb;2;blue\nc;2,5;red\nd;4;red\n")
    ...     source = read(path)
    >>> source.columns
    ('size', 'colour=blue', 'colour=red')
    >>> source.data[0]
    array([1.5, 0. , 1. ])
    >>> source.ids.tolist()
    ['a', 'b', 'c', 'd']
    """
    word_weights = None
    if hasattr(text, "_fitted"):
        word_weights = _words_of(text)
        text = "words"
    check_parameters("read", {"kind": kind, "impute": impute, "text": text}, _RULES)
    where = Path(path)
    chosen = (_names(columns, "columns"), _names(drop, "drop"))
    choice = Choice(*chosen, id, label, sample_weight, impute, text, word_weights)
    options = FileOptions.checked(
        sep=sep,
        decimal=decimal,
        thousands=thousands,
        na=na,
        sheet=sheet,
        skip_rows=skip_rows,
        encoding=encoding,
    )
    local = LocalFile.of(where)
    with local.named():
        format_name = recognise(local.path)
        check_options(local.path, format_name, options)
        source = READERS[format_name](local.path, kind, choice, options)
    if sample_weight is not None and source.sample_weight is None:
        raise DataError(
            Message(f"{path}: only columns of a table can be ", Parameter("sample_weight"), "."),
            Message("Leave out ", Parameter("sample_weight"), "."),
        )
    changed = _changed(kind, choice) | options.changed()
    return replace(source, path=str(where), options=changed, file=local)


def _words_of(model: Any) -> WordWeights:
    weights = WordWeights.of(model)
    if weights is None:
        raise ValueError(
            Message(
                f"The {type(model).__name__} passed as ",
                *(Parameter("text"), " was not fitted to the words of documents. Pass "),
                *(Parameter("text", "words"), " to weight them anew."),
            )
        )
    return weights


_TEXT_ONLY = ("sep", "encoding")
_NUMBERS = ("decimal", "thousands", "na")


def check_options(path: Path, format_name: str, options: FileOptions) -> None:
    """Refuse options that a format does not have, so that none is without effect."""
    is_text = format_name in ("delimited text", "edge list")
    possible = {
        *(_TEXT_ONLY if is_text else ()),
        *(_NUMBERS if is_text or format_name in (*OPENERS, "JSON") else ()),
        *(("skip_rows",) if is_text or format_name == "Excel" else ()),
        *(("sheet",) if format_name == "Excel" else ()),
    }
    wrong = next((name for name in options.changed() if name not in possible), None)
    if wrong is not None:
        raise DataError(
            Message(f"{path}: ", Parameter(wrong), f" does not apply to {format_name} files."),
            Message("Leave out ", Parameter(wrong), "."),
        )


def _changed(kind: str, choice: Choice) -> dict[str, Any]:
    """The options that are not at their defaults."""
    given = vars(choice) | {"text": None if choice.text == "auto" else choice.text}
    del given["word_weights"]
    options = {} if kind == "auto" else {"kind": kind}
    return options | {name: value for name, value in given.items() if value is not None}


def _names(given: Sequence[str] | None, parameter: str) -> list[str] | None:
    if isinstance(given, str):
        raise TypeError(f"{parameter} must be a list of names; pass [{given!r}].")
    return None if given is None else list(given)


def open_rows(path: Path, format_name: str, options: FileOptions) -> Rows | None:
    """Rows of a tabular file; None for other formats."""
    if format_name == "JSON":
        content = load_json(path)
        return None if is_node_link(content) else json_rows(path, content, options)
    if format_name in OPENERS:
        return OPENERS[format_name](path, options)
    if format_name == "delimited text":
        return DelimitedRows.open(path, "auto", options)
    return DelimitedRows.open(path, "edges", options) if format_name == "edge list" else None


def _read_delimited(path: Path, kind: str, choice: Choice, options: FileOptions) -> Source:
    if kind == "graph" or (kind == "auto" and path.suffix.lower() == ".txt"):
        edges = DelimitedRows.open(path, "edges", options)
        if kind == "graph" and is_edge_list(edges):
            return _read_edge_list(edges, choice)
        if kind == "auto" and could_be_edges(edges):
            return _read_guessed_edges(edges, choice, "its first two columns look like nodes")
    return _from_rows(DelimitedRows.open(path, "auto", options), kind, choice)


def _read_typed(path: Path, kind: str, choice: Choice, options: FileOptions) -> Source:
    return _from_rows(OPENERS[recognise(path)](path, options), kind, choice)


def _from_rows(rows: Rows, kind: str, choice: Choice) -> Source:
    if kind == "graph" and is_edge_list(rows):
        return _read_edge_list(rows, choice)
    if kind == "auto" and has_edge_header(rows.names):
        named = " and ".join(repr(name) for name in rows.names[:2])
        return _read_guessed_edges(rows, choice, f"its first columns are {named}")
    if kind in ("distances", "similarities", "graph"):
        return read_matrix(rows, choice, kind)  # type: ignore[arg-type]
    return read_table(rows, choice, ask=kind == "auto")


def _read_edge_list(rows: Rows, choice: Choice) -> Source:
    _refuse_choice(rows.path, choice, "an edge list", ("columns", "drop", "id", "label"))
    return read_edges(rows)


def _read_guessed_edges(rows: Rows, choice: Choice, reason: str) -> Source:
    rows.notes.append(
        Message(
            f"Read as an edge list, because {reason}. Pass ",
            *(Parameter("kind", "table"), " if they are features."),
        )
    )
    return _read_edge_list(rows, choice)


def _read_edges_file(path: Path, kind: str, choice: Choice, options: FileOptions) -> Source:
    _check_kind(path, kind, ("graph",))
    return _read_edge_list(DelimitedRows.open(path, "edges", options), choice)


def _graph_reader(read_graph: Callable[[Path, str | None], Source]) -> Reader:
    def read_file(path: Path, kind: str, choice: Choice, options: FileOptions) -> Source:
        _check_kind(path, kind, ("graph",))
        _refuse_choice(path, choice, "a graph", ("columns", "drop", "id"))
        return read_graph(path, choice.label)

    return read_file


def _read_json(path: Path, kind: str, choice: Choice, options: FileOptions) -> Source:
    content = load_json(path)
    if kind in ("auto", "graph") and is_node_link(content):
        _refuse_choice(path, choice, "a graph", ("columns", "drop", "id"))
        return read_node_link(path, content, choice.label)
    return _from_rows(json_rows(path, content, options), kind, choice)


def _read_h5ad(path: Path, kind: str, choice: Choice, options: FileOptions) -> Source:
    _check_kind(path, kind, ("graph", "table"))
    _refuse_choice(path, choice, "an .h5ad file", ("columns", "drop", "id"))
    return read_annotated(path, kind, choice.label)


def _check_kind(path: Path, kind: str, possible: Sequence[str]) -> None:
    if kind not in ("auto", *possible):
        raise DataError(
            f"{path}: a {path.suffix} file cannot be read as {kind}, only as "
            f"{' or '.join(possible)}.",
            Message("Leave out ", Parameter("kind"), "."),
        )


def _refuse_choice(path: Path, choice: Choice, what: str, options: Sequence[str]) -> None:
    given: list[Any] = [option for option in options if getattr(choice, option) is not None]
    if given:
        raise DataError(
            f"{path}: {what} has no columns to choose from.",
            Message("Leave out ", Parameter(given[0]), "."),
        )


READERS: dict[str, Reader] = {
    "delimited text": _read_delimited,
    "edge list": _read_edges_file,
    "Parquet": _read_typed,
    "Arrow": _read_typed,
    "JSON lines": _read_typed,
    "Excel": _read_typed,
    "NumPy array": lambda path, kind, choice, _: source_from_npy(path, kind, choice),
    "NumPy archive": lambda path, kind, choice, _: source_from_npz(path, kind, choice),
    "Matrix Market": lambda path, kind, choice, _: read_matrix_market(path, kind, choice),
    "JSON": _read_json,
    "GraphML": _graph_reader(read_graphml),
    "GML": _graph_reader(read_gml),
    "GEXF": _graph_reader(read_gexf),
    "AnnData": _read_h5ad,
}
