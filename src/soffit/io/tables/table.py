"""A table of features: identifiers, columns and values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soffit._threads import row_blocks
from soffit._typing import FloatArray, Matrix, is_sparse
from soffit._wording import Message, Parameter, count_of, first_few
from soffit.io.data_error import DataError, check_names, shown
from soffit.io.source import Source, text_array
from soffit.io.tables.columns import (
    Impute,
    Split,
    TextRule,
    are_names,
    assemble,
    category_values,
    constant_columns,
    empty_columns,
    encode_note,
    fill_gaps,
    gaps_note,
    is_filled,
    left_out_notes,
    most_values,
    sentinel_notes,
    sources,
    split_categories,
)
from soffit.io.tables.documents import WordWeights, word_table
from soffit.io.tables.tabular import Category, Collected, Rows, collect

_LIKE_AN_IDENTIFIER = re.compile(
    r"|unnamed: 0|(.*[ _.\-])?(ids?|names?|index|key|identifier|uuid)|row.?names?", re.IGNORECASE
)
# An index or a key may be a measurement, such as a body mass index.
_SURELY_AN_IDENTIFIER = re.compile(r"(.*[ _.\-])?(ids?|identifier|uuid)", re.IGNORECASE)
# As in customerId; the capital letter excludes words such as acid.
_CAMEL_CASE = re.compile(r".*[a-z]I[dD]")
# In fewer rows, consecutive numbers may be measurements.
_FEWEST_NUMBERED = 30
# Names of a column that says how many objects each row stands for.
_COUNTS = frozenset(("freq", "frequency", "count", "counts", "n", "cases"))
_WHOLE_NUMBER = re.compile(r"[-+]?\d+")
# What to pass for a square matrix.
SAY_WHICH = Message(
    *("Pass ", Parameter("kind", "distances"), ", ", Parameter("kind", "similarities"), " or "),
    *(Parameter("kind", "graph"), " for pairs of objects, or ", Parameter("kind", "table")),
    " if its columns are features.",
)


def looks_like_identifier(name: str) -> bool:
    """Whether a column of this name is likely to identify the objects."""
    bare = name.strip()
    return bool(_LIKE_AN_IDENTIFIER.fullmatch(bare) or _CAMEL_CASE.fullmatch(bare))


def candidate(rows: Rows, taken: Sequence[str]) -> str | None:
    """The first column, if it looks like an identifier and has no other role."""
    first = rows.names[0]
    fits = rows.kinds[first] in ("text", "number") and rows.has_header
    return first if fits and first not in taken and looks_like_identifier(first) else None


def is_identifier(kind: str, values: Sequence[str | None]) -> bool:
    """Whether the values are unique and not fractions."""
    if any(not value for value in values) or len(set(values)) < len(values):
        return False
    return kind == "text" or all(_WHOLE_NUMBER.fullmatch(value or "") for value in values)


def _repeats_identifiers(kind: str, values: Sequence[str | None]) -> bool:
    """Whether at least half of the values are distinct, and not fractions: numbers of patients."""
    known = [value for value in values if value]
    if 2 * len(set(known)) < len(values):
        return False
    return kind == "text" or all(_WHOLE_NUMBER.fullmatch(value) for value in known)


def checked_ids(path: Path, name: str, values: Sequence[str | None], rows: Rows) -> NDArray[Any]:
    """Identifiers from a column that the user named; gaps and duplicates are refused."""
    gaps = [position for position, value in enumerate(values) if not value]
    if gaps:
        places = first_few(rows.place(position) for position in gaps)
        raise DataError(
            f"{path}: the id column {shown(name)} has "
            f"{count_of(len(gaps), 'empty entry')} ({places}).",
            Message("Give every object an identifier, or leave out ", Parameter("id"), "."),
        )
    return check_unique(path, name, [str(value) for value in values])


def check_unique(path: Path, name: str, values: Sequence[str]) -> NDArray[Any]:
    """Refuse duplicate identifiers."""
    if len(set(values)) < len(values):
        repeated = [(value, count) for value, count in Counter(values).items() if count > 1]
        some = first_few(f"{shown(value)} ({count} times)" for value, count in repeated)
        raise DataError(
            f"{path}: {shown(name)} has {count_of(len(repeated), 'identifier')} that "
            f"{'occurs' if len(repeated) == 1 else 'occur'} more than once: {some}.",
            Message(
                "Identifiers must be unique: correct the file, or choose another column with ",
                *(Parameter("id"), "."),
            ),
        )
    return text_array(values)


@dataclass(frozen=True)
class Choice:
    """What the user chose about the columns of a table."""

    columns: Sequence[str] | None = None
    drop: Sequence[str] | None = None
    id: str | None = None
    label: str | None = None
    sample_weight: str | None = None
    impute: Impute | None = None
    text: TextRule = "auto"
    word_weights: WordWeights | None = None


@dataclass(frozen=True)
class _Roles:
    """What each column is used for; `maybe_id` may turn out to be the identifier."""

    features: list[str]
    numbers: list[str]
    words: list[str]
    id: str | None
    maybe_id: str | None
    label: str | None


def check_choice(rows: Rows, choice: Choice) -> None:
    """Refuse names of columns that do not exist."""
    for parameter, given in (("columns", choice.columns), ("drop", choice.drop)):
        check_names(rows.path, list(given or ()), rows.names, parameter)
    for parameter in ("id", "label", "sample_weight"):
        name = getattr(choice, parameter)
        check_names(rows.path, [] if name is None else [name], rows.names, parameter)


def read_table(rows: Rows, choice: Choice, *, ask: bool) -> Source:
    """One row per object, one column per feature; `ask` refuses what may be a square matrix."""
    check_choice(rows, choice)
    notes = list(rows.notes)
    roles = _assign_roles(rows, choice, notes)
    if not (roles.numbers or roles.words or roles.maybe_id):
        is_words = choice.text == "words"
        raise _no_documents(rows, choice, roles) if is_words else _nothing_left(rows, notes)
    kept = [name for name in (roles.id or roles.maybe_id, roles.label) if name is not None]
    found = collect(rows, roles.numbers, kept, roles.words, most_values(choice.text))
    notes += found.notes
    ids, roles, found = _identify(rows, roles, found, notes)
    split = split_categories(
        rows.path, found.categories, found.n_rows, choice.text, wanted=choice.columns or ()
    )
    chosen, many = split.chosen, split.many
    if ids is None:
        ids, roles, many = _named_by_text(rows, choice, roles, many, notes)
    documents = _documents(rows, choice, roles, split)
    weights = None if choice.sample_weight is None else _weights(rows, choice.sample_weight)
    if documents:
        notes += left_out_notes(replace(split, documents=[]), many, named=ids is not None)
        table = word_table(rows.path, _joined(rows, documents), documents, choice.word_weights)
        notes += table.notes
        described = _described(roles, ids, found, table.kept, notes)
        source = Source(
            *("table", table.values, table.words),
            notes=tuple(notes),
            origin=rows,
            path=str(rows.path),
            **described,
        )
        return _weighted(source, weights, choice.sample_weight)
    notes += left_out_notes(split, many, named=ids is not None)
    codes = choice.text == "category"
    notes += encode_note(chosen, choice.text)
    notes += [] if codes else gaps_note(chosen, choice.impute)
    fill = is_filled(choice.impute)
    X, names = assemble(
        rows.path, roles.features, found.numbers, roles.numbers, chosen, fill=fill, codes=codes
    )
    if ask:
        ask_if_square(rows.path, X, names, ids)
    if choice.columns is None or choice.impute != "none":
        X, names = _without_empty(rows, X, names, notes)
    if choice.columns is None:
        X, names = _without_numbering(X, names, rows, notes)
    texts = category_values(chosen) if codes else {}
    notes += sentinel_notes(X, sources(names, chosen), texts)
    X, selected, said = fill_gaps(rows.path, X, sources(names, chosen), choice.impute, texts)
    notes += said
    described = _described(roles, ids, found, selected, notes)
    notes += _constant_note(X, names)
    notes += [] if choice.sample_weight else _counts_note(X, names, texts)
    has_gaps = choice.impute not in (None, "drop") and bool(np.isnan(X).any())
    truths = codes and any(rows.kinds.get(name) == "boolean" for name in names)
    source = Source(
        "table",
        X,
        columns=tuple(names),
        categories={name: texts[name] for name in names if name in texts},
        is_mixed=bool(texts) or has_gaps or truths,
        notes=tuple(notes),
        origin=rows,
        path=str(rows.path),
        **described,
    )
    return _weighted(source, weights, choice.sample_weight)


def _weights(rows: Rows, name: str) -> FloatArray:
    """The weights of all rows: a column of numbers, none missing or negative."""
    if rows.kinds[name] != "number":
        raise DataError(
            f"{rows.path}: the column {shown(name)} of weights does not hold numbers.",
            Message("Choose another column with ", Parameter("sample_weight"), "."),
        )
    weights = np.asarray(collect(rows, [name], [], [], 0).numbers[:, 0], dtype=np.float64)
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any():
        first = int(wrong.argmax())
        what = "is missing" if np.isnan(weights[first]) else f"is {weights[first]:g}"
        raise DataError(
            f"{rows.path}: the weight in {rows.place(first)} of {shown(name)} {what}.",
            "Weights must be numbers of at least 0; rows of weight 0 are left out.",
        )
    if not weights.any():
        raise DataError(
            f"{rows.path}: all weights in {shown(name)} are 0.",
            Message("Choose another column with ", Parameter("sample_weight"), "."),
        )
    return weights


def _weighted(source: Source, weights: FloatArray | None, name: str | None) -> Source:
    """The source with its weights, without rows of weight 0."""
    if weights is None:
        return source
    kept = np.arange(len(weights)) if source.kept is None else source.kept
    counts = weights[kept] > 0
    notes = [f"{shown(name or '')} holds the weights of the objects."]
    weighted = replace(source, sample_weight=weights[kept][counts])
    if not counts.all():
        notes.append(f"{count_of(int((~counts).sum()), 'row')} of weight 0 left out.")
        ids = text_array((kept + 1).tolist()) if source.ids is None else source.ids
        weighted = replace(
            weighted,
            data=source.data[counts],
            ids=ids[counts],
            id_name="row" if source.ids is None else source.id_name,
            truth=None if source.truth is None else source.truth[counts],
            kept=kept[counts],
        )
    return replace(weighted, notes=(*source.notes, *notes))


def _described(
    roles: _Roles,
    ids: NDArray[Any] | None,
    found: Collected,
    selected: NDArray[np.intp] | None,
    notes: list[str],
) -> dict[str, Any]:
    """Names and labels of the objects, those of the rows `selected` if some were dropped."""
    truth = None if roles.label is None else text_array(found.texts[roles.label])
    id_name = roles.id or "id"
    if selected is not None:
        truth = None if truth is None else truth[selected]
        if ids is None:
            ids, id_name = text_array(range(1, found.n_rows + 1)), "row"
            notes.append("Objects are identified by their row in the file, counted from 1.")
        ids = ids[selected]
    return {"ids": ids, "id_name": id_name, "truth": truth, "kept": selected}


def _assign_roles(rows: Rows, choice: Choice, notes: list[str]) -> _Roles:
    taken = {n for n in (choice.id, choice.label, choice.sample_weight) if n is not None}
    dropped = set(choice.drop or ())
    maybe_id = None
    if choice.id is None:
        maybe_id = candidate(rows, [*taken, *dropped, *(choice.columns or ())])
    wanted = list(rows.names) if choice.columns is None else list(dict.fromkeys(choice.columns))
    unused = taken | dropped | {maybe_id}
    features = [name for name in wanted if name not in unused]
    numbers = [name for name in features if rows.kinds[name] in ("number", "boolean")]
    words = [name for name in features if rows.kinds[name] == "text"]
    if choice.text == "words" and numbers:
        notes.append(f"Left out {first_few(map(shown, numbers))}: only words are compared.")
        numbers = []
    if choice.text == "drop" and words:
        notes.append(f"Left out {first_few(map(shown, words))}: text.")
        words = []
    for kind, reason in (("date", "dates and times"), ("other", "lists or other nested values")):
        left = [name for name in features if rows.kinds[name] == kind]
        if left:
            notes.append(f"Left out {first_few(map(shown, left))}: {reason}.")
    truths = [name for name in numbers if rows.kinds[name] == "boolean"]
    if truths:
        notes.append(f"True and false became 1 and 0 in {first_few(map(shown, truths))}.")
    return _Roles(features, numbers, words, choice.id, maybe_id, choice.label)


def _identify(
    rows: Rows, roles: _Roles, found: Collected, notes: list[str]
) -> tuple[NDArray[Any] | None, _Roles, Collected]:
    """Identifiers if there are any; otherwise the candidate column is a feature."""
    if roles.id is not None:
        return checked_ids(rows.path, roles.id, found.texts[roles.id], rows), roles, found
    name = roles.maybe_id
    if name is None:
        return None, roles, found
    values = found.texts[name]
    if is_identifier(rows.kinds[name], values):
        title = f", {shown(name)}," if name else ""
        notes.append(f"The first column{title} identifies the objects.")
        as_id = _Roles(roles.features, roles.numbers, roles.words, name or "id", None, roles.label)
        return text_array(values), as_id, found
    if _repeats_identifiers(rows.kinds[name], values) and (roles.numbers or roles.words):
        notes.append(
            Message(
                f"Left out the first column, {shown(name)}: it is named like an identifier, and "
                "most of its values are unique. Some occur more than once, so objects are "
                "identified by their row. List it in ",
                *(Parameter("columns"), " to use it as a feature."),
            )
        )
        left = _Roles(roles.features, roles.numbers, roles.words, None, None, roles.label)
        return None, left, found
    notes.append(
        Message(
            f"The first column, {shown(name)}, is named like an identifier, but its values are "
            "not unique, so it is used as a feature. Leave it out with ",
            *(Parameter("drop", [name]), " if it is not one."),
        )
    )
    return None, *_as_feature(rows, roles, found, name)


def _named_by_text(
    rows: Rows, choice: Choice, roles: _Roles, many: list[str], notes: list[str]
) -> tuple[NDArray[Any] | None, _Roles, list[str]]:
    """The first column of text with a different value in every row names the objects.

    Columns that are features are not tried: `many` cannot be one, and with `Choice.columns` those
    that are not listed are none.
    """
    tried = list(many)
    if choice.columns is not None:
        unused = {*choice.columns, *(choice.drop or ()), choice.label, choice.sample_weight}
        tried = [n for n in rows.names if rows.kinds[n] == "text" and n not in unused]
    for name in tried:
        values = _different_texts(rows, name)
        if values is not None:
            notes.append(
                Message(
                    f"{shown(name)} names the objects: it is text, different in every row. Pass ",
                    *(Parameter("id"), " for other names."),
                )
            )
            named = replace(roles, id=name, maybe_id=None)
            return text_array(values), named, [other for other in many if other != name]
    return None, roles, many


def _different_texts(rows: Rows, name: str) -> list[str] | None:
    """The entries of a column, if they are names: short, none empty, all different."""
    parts = []
    for block in rows.blocks([name], [name]):
        part = block[name].str.strip_chars()
        if part.null_count() or not part.is_unique().all() or not are_names(part.to_list()):
            return None
        parts.extend(part.to_list())
    return parts if len(set(parts)) == len(parts) else None


def _documents(rows: Rows, choice: Choice, roles: _Roles, split: Split) -> list[str]:
    """The columns whose words are the features; none if there are others to use."""
    if choice.text == "words":
        given = [name for name in roles.words if name in (choice.columns or ())]
        found = given or split.documents
        if found:
            return found
        raise _no_documents(rows, choice, roles)
    nothing_else = not roles.numbers and not split.chosen and choice.text in ("auto", "category")
    return split.documents if nothing_else else []


def _no_documents(rows: Rows, choice: Choice, roles: _Roles) -> DataError:
    texts = first_few(map(shown, roles.words)) or "none"
    if choice.word_weights is None:
        whose, remedy = "", Message("Name the column of documents in ", Parameter("columns"), ".")
    else:
        whose = ", which the model was fitted to"
        remedy = Message("Pass a file with a column of documents.")
    return DataError(
        f"{rows.path}: no column holds documents{whose}. Columns of text: {texts}.", remedy
    )


def _joined(rows: Rows, documents: Sequence[str]) -> list[str]:
    """One text per row."""
    return [
        " ".join(entry for entry in entries if entry)
        for block in rows.blocks(documents, documents)
        for entries in zip(*(block[name].to_list() for name in documents), strict=True)
    ]


def _as_feature(rows: Rows, roles: _Roles, found: Collected, name: str) -> tuple[_Roles, Collected]:
    import polars as pl

    column = pl.Series(found.texts[name], dtype=pl.String)
    numbers, words = roles.numbers, roles.words
    values, categories = found.numbers, dict(found.categories)
    if rows.kinds[name] == "number":
        if name in rows.problems:
            raise rows.problems[name]
        first = rows.as_numbers(name, column)
        values = np.column_stack([first.to_numpy().astype(values.dtype), values])
        numbers = [name, *numbers]
    else:
        categories[name] = Category(most_values("auto"))
        categories[name].add(column)
        words = [name, *words]
    changed = Collected(found.n_rows, values, found.texts, categories, found.notes)
    new_roles = _Roles([name, *roles.features], numbers, words, None, None, roles.label)
    return new_roles, changed


def ask_if_square(path: Path, X: Matrix, names: Sequence[str], ids: NDArray[Any] | None) -> None:
    """Refuse a table that may well be a matrix over pairs of objects."""
    n, width = X.shape
    if n != width or n < 3:
        return
    labelled = ids is not None and list(ids) == list(names)
    if labelled or _is_symmetric(X):
        how = "with equal names of rows and columns" if labelled else "symmetric"
        raise DataError(
            f"{path}: it is a square table, {n} x {n}, {how}. It could hold distances, "
            "similarities, a graph or features.",
            SAY_WHICH,
        )


def _is_symmetric(X: Matrix) -> bool:
    if is_sparse(X):
        return abs(X - X.T).nnz == 0
    # Block by block: the first one settles it for an ordinary table.
    return all(
        np.array_equal(X[rows], X[:, rows].T, equal_nan=True) for rows in row_blocks(X.shape)
    )


def _without_empty(
    rows: Rows, X: FloatArray, names: list[str], notes: list[str]
) -> tuple[FloatArray, list[str]]:
    empty = empty_columns(X)
    if empty.any():
        left = [name for name, nothing in zip(names, empty, strict=True) if nothing]
        notes.append(f"Left out {first_few(map(shown, left))}: no values.")
        X = X[:, ~empty]
        names = [name for name, nothing in zip(names, empty, strict=True) if not nothing]
    if not names:
        raise _nothing_left(rows, notes)
    return X, names


def _without_numbering(
    X: FloatArray, names: list[str], rows: Rows, notes: list[str]
) -> tuple[FloatArray, list[str]]:
    """Leave out columns of numbers that only count or name the rows."""
    numbering = [
        name
        for place, name in enumerate(names)
        if rows.kinds.get(name) == "number" and _numbers_rows(name, X[:, place])
    ]
    if not numbering or len(numbering) == len(names):
        return X, names
    notes.append(
        Message(
            f"Left out {first_few(map(shown, numbering))}: they number the objects. To use them as "
            "features, name all features in ",
            *(Parameter("columns"), "."),
        )
        if len(numbering) > 1
        else Message(
            f"Left out {shown(numbering[0])}: it numbers the objects. To use it as a feature, name "
            "all features in ",
            *(Parameter("columns"), "."),
        )
    )
    kept = [place for place, name in enumerate(names) if name not in numbering]
    return X[:, kept], [names[place] for place in kept]


def _numbers_rows(name: str, column: FloatArray) -> bool:
    """Whether the values are those of a counter, or mostly different whole numbers of ids."""
    n = len(column)
    if n < _FEWEST_NUMBERED or column[0] != np.floor(column[0]):
        return False
    if column[0] in (0, 1) and np.array_equal(column, np.arange(n) + column[0]):
        return True
    whole = bool(np.isfinite(column).all() and (column == np.floor(column)).all())
    if not whole or not looks_like_identifier(name):
        return False
    # Objects may have been recorded twice, as patients are who come again.
    rules = (_SURELY_AN_IDENTIFIER, _CAMEL_CASE)
    may_repeat = any(rule.fullmatch(name.strip()) for rule in rules)
    return len(np.unique(column)) >= (n / 2 if may_repeat else n)


def _nothing_left(rows: Rows, notes: Sequence[str]) -> DataError:
    return DataError(
        Message.joined(" ", [f"{rows.path}: no numeric column is left.", *notes]),
        Message(
            *("Add numeric columns, or pass ", Parameter("text", "onehot")),
            " for one column per value of a text.",
        ),
    )


def _constant_note(X: FloatArray, names: Sequence[str]) -> list[str]:
    constant = constant_columns(X)
    if len(X) < 2 or not constant.any():
        return []
    same = [name for name, alike in zip(names, constant, strict=True) if alike]
    return [f"Constant, so without effect: {first_few(map(shown, same))}."]


def _counts_note(X: FloatArray, names: Sequence[str], texts: Mapping[str, Any]) -> list[Message]:
    """A column of counts beside columns of text only, as in tables of frequencies."""
    numbers = [place for place, name in enumerate(names) if name not in texts]
    counts = [place for place in numbers if names[place].strip().lower() in _COUNTS]
    values = X[:, counts]
    if not texts or len(counts) != 1 or not np.array_equal(values, np.rint(np.maximum(values, 0))):
        return []
    others = X[:, [place for place in numbers if place not in counts]]
    if not np.isin(others, (0, 1)).all():
        return []
    name = names[counts[0]]
    return [
        Message(
            f"{shown(name)} seems to count objects and is compared like any other column. Pass ",
            *(Parameter("sample_weight", name), " if each row stands for so many objects."),
        )
    ]
