"""The content of a file, ready to be clustered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from soffit._wording import first_few
from soffit.io.data_error import DataError, shown

Kind = Literal["table", "distances", "similarities", "graph"]
KINDS: tuple[Kind, ...] = ("table", "distances", "similarities", "graph")


@dataclass(frozen=True, eq=False)
class Source:
    """Data from a file: values, names, and notes on how they were read.

    Every estimator takes a source as its X: the names of its columns become `feature_names_in_`.

    Attributes
    ----------
    kind : {"table", "distances", "similarities", "graph"}
        What `data` holds.
    data : ndarray or csr_array
        For a table, one row per object and one column per feature; otherwise a square matrix
        with one row and one column per object.
    columns : tuple of str
        Names of the features of a table, such as ``"colour=red"`` for a value of a text column;
        empty for anything else.
    ids : ndarray of str or None
        Identifiers of the objects. None if the file has none: objects are then numbered from 0.
    id_name : str
        Name of the column of identifiers.
    truth : ndarray of str or None
        The column of known labels; empty text where a label is missing.
    sample_weight : ndarray of float or None
        The weights of the objects; None if they count alike.
    notes : tuple of str
        What was left out, encoded, filled in or assumed, as sentences.
    origin : object
        What results are written back into: the rows of a table file, a networkx graph or an AnnData
        object, else None.
    kept : ndarray of int or None
        The rows of the file that are objects, if some were dropped.
    categories : mapping of str to tuple of str
        The texts that the codes 0, 1, ... of a column stand for, by its name. See ``text`` of
        `read`.
    is_mixed : bool
        Whether a table has text, yes/no or missing values, so that ``metric="gower"`` suits it.
    path : str
        The file.
    options : mapping or None
        The arguments of `read` that were not at their defaults, so that it can be repeated. None
        if the source was not read from a file.
    file : object
        Keeps the temporary copy of a compressed file or of standard input, else None.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.io import Source
    >>> source = Source("table", np.eye(3), columns=("x", "y", "z"))
    >>> source.n_objects
    3
    >>> source.with_columns(["z", "x"]).data
    array([[0., 1.],
           [0., 0.],
           [1., 0.]])
    """

    kind: Kind
    data: Any
    columns: tuple[str, ...] = ()
    ids: NDArray[Any] | None = None
    id_name: str = "id"
    truth: NDArray[Any] | None = None
    notes: tuple[str, ...] = ()
    origin: Any = None
    path: str = ""
    options: Mapping[str, Any] | None = None
    kept: NDArray[Any] | None = field(default=None, repr=False)
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    is_mixed: bool = False
    sample_weight: NDArray[Any] | None = field(default=None, repr=False)
    file: Any = field(default=None, repr=False)

    @property
    def n_objects(self) -> int:
        """The number of objects."""
        return int(self.data.shape[0])

    def with_columns(self, names: Sequence[str]) -> Source:
        """The same table with exactly these features, in this order.

        New objects must have the features of the fitted ones. A value of a text column that does
        not occur in this file becomes a column of zeros; other features are left out, and a note
        says so.

        Parameters
        ----------
        names : sequence of str
            Names of features, as in `columns` of the fitted table.

        Returns
        -------
        Source
            A table with `names` as its columns.

        Raises
        ------
        DataError
            If this is not a table, or if it lacks one of the features.
        """
        if self.kind != "table":
            raise DataError(f"{self.path}: it holds {self.kind}, which have no named columns.")
        if tuple(names) == self.columns:
            return self
        place = {name: position for position, name in enumerate(self.columns)}
        encoded = {name.partition("=")[0] for name in self.columns if "=" in name}
        missing = [n for n in names if n not in place and n.partition("=")[0] not in encoded]
        if missing:
            raise DataError(
                f"{self.path}: it lacks the columns {first_few(map(shown, missing))}.",
                "New objects need the columns that the model was fitted to; this file has "
                f"{first_few(map(shown, self.columns), 12)}.",
            )
        asked = set(names)
        surplus = [name for name in self.columns if name not in asked]
        notes = self.notes
        if surplus:
            notes += (f"Left out, because not needed: {first_few(map(shown, surplus))}.",)
        taken = _take(self.data, [place.get(name) for name in names])
        texts = {name: self.categories[name] for name in names if name in self.categories}
        return replace(self, data=taken, columns=tuple(names), notes=notes, categories=texts)


def _take(data: Any, positions: Sequence[int | None]) -> Any:
    """Columns by position; None is a column of zeros."""
    known = [position for position in positions if position is not None]
    where = [place for place, position in enumerate(positions) if position is not None]
    if sp.issparse(data):
        spread = sp.csr_array(
            (np.ones(len(known), dtype=data.dtype), (known, where)),
            shape=(data.shape[1], len(positions)),
        )
        return sp.csr_array(data @ spread)
    taken = np.zeros((data.shape[0], len(positions)), dtype=data.dtype)
    taken[:, where] = data[:, known]
    return taken


def text_array(values: Sequence[Any]) -> NDArray[Any]:
    """An array of str, or of Python objects if a few long texts would make it huge."""
    texts = ["" if value is None else str(value) for value in values]
    longest = max(map(len, texts), default=0)
    if longest <= 256:
        return np.array(texts, dtype=np.str_)
    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    return array
