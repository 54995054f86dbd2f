"""The page inside a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from soffit._typing import IntArray
from soffit.app.server import asset
from soffit.app.view import Unknown, View
from soffit.app.worker import Worker
from soffit.inputs import read_input
from soffit.io.data_error import need
from soffit.io.source import Source
from soffit.mixed_columns import MixedTable, is_missing
from soffit.results.summary import is_matrix_model
from soffit.session.answers_and_edits import State, edits_of
from soffit.session.object_table import (
    Column,
    ObjectTable,
    attribute_columns,
    number_column,
    text_column,
)
from soffit.session.session import Session

_SCRIPTS = ("scatter.js", "explorer.js", "widget.js")


class Exploration:
    """A fitted model and what a person has said about it, shown by a notebook.

    Made by `explore`. The last line of a cell shows it.
    """

    def __init__(self, session: Session, view: View, widget: Any) -> None:
        self._session, self._view, self._widget = session, view, widget

    @property
    def model(self) -> Any:
        """The model with all answers and edits so far; it is fitted anew if need be."""
        if self._session.is_stale:
            self._session.refit()
        assert self._session.outcome is not None
        return self._session.outcome.model

    @property
    def must_link(self) -> list[list[int]]:
        """Pairs and groups of objects that belong together, by number."""
        return [list(group) for group in self._session.state.together]

    @property
    def cannot_link(self) -> list[list[int]]:
        """Pairs of objects that belong to different clusters, by number."""
        return [list(pair) for pair in self._session.state.apart]

    def undo(self) -> bool:
        """Take back the last step; False if there is none."""
        undone = self._session.undo()
        self._view.worker.poke()
        return undone

    def _repr_mimebundle_(self, **options: Any) -> Any:
        return self._widget._repr_mimebundle_(**options)

    def __repr__(self) -> str:
        state = self._session.state
        return (
            f"Exploration of {self._session.n_objects} objects: {len(state.together)} together, "
            f"{len(state.apart)} apart, {len(state.edits)} edits"
        )


def explore(model: Any, X: Any, *, ids: Sequence[Any] | None = None) -> Exploration:
    """Look at a fitted model in a notebook and steer it: map, table, questions and edits.

    The same page as that of ``soffit app``. Answers become `must_link` and `cannot_link` pairs, the
    model is fitted anew in the background, and clusters are merged, split and named; the given
    model is not changed.

    Parameters
    ----------
    model : fitted model
        A model that takes pairs, such as `SoftClustering`.
    X : table, matrix or graph
        The data that it was fitted to.
    ids : sequence, optional
        Names of the objects. By default those of the rows or nodes, or numbers from 0.

    Returns
    -------
    Exploration
        Shown as the last line of a cell. Its `model` is the current result, `must_link` and
        `cannot_link` the answers.

    Raises
    ------
    DataError
        If anywidget is not installed.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    ValueError
        If X is not the data of the model, or the model takes no pairs.

    Examples
    --------
    >>> from soffit import SoftClustering, explore
    >>> from soffit.datasets import make_moons
    >>> X, labels, posterior = make_moons(200, random_state=7)
    >>> model = SoftClustering(n_clusters=2, random_state=7).fit(X)
    >>> shown = explore(model, X)  # doctest: +SKIP
    >>> shown.model.labels_  # doctest: +SKIP
    """
    need("anywidget", "notebook", "soffit.explore")
    session = explored(model, X, ids)
    widget = make_widget()
    worker = Worker(session, changed=lambda: _tell(widget, view))
    view = View(session, worker, None, title=type(model).__name__)
    _connect(widget, view)
    worker.start()
    return Exploration(session, view, widget)


def explored(model: Any, X: Any, ids: Sequence[Any] | None = None) -> Session:
    """A session that begins with a fitted model."""
    from inspect import signature

    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model, "memberships_")
    if "must_link" not in signature(type(model).fit).parameters:
        raise ValueError(
            f"{type(model).__name__} takes no pairs, so its result cannot be steered. Use "
            "SoftClustering or CompletelyPositive."
        )
    table = _table(model, X, ids)
    if table.n_objects != len(model.labels_):
        raise ValueError(
            f"X has {table.n_objects} objects, but the model {len(model.labels_)}. Pass the "
            "data that it was fitted to."
        )
    side = getattr(model, "side_information_", None)
    state = State(
        n_clusters=model.n_clusters,
        together=() if side is None else _pairs(side.must),
        apart=() if side is None else _pairs(side.cannot),
        edits=edits_of(map(str, getattr(model, "curation_", ()))),
    )
    if state.edits:
        state = State(**{**vars(state), "numbers": state.key})
    source = X if isinstance(X, Source) else None
    session = Session(source, model, state=state, table=table, data=X)
    session.adopt(model)
    return session


def _pairs(pairs: IntArray) -> tuple[tuple[int, int], ...]:
    return tuple((int(a), int(b)) for a, b in np.asarray(pairs))


def _table(model: Any, X: Any, ids: Any) -> ObjectTable:
    """The objects and their columns, those of a data frame as they are."""
    if isinstance(X, Source):
        return ObjectTable.of(X)
    columns = _frame_columns(X)
    if getattr(model, "metric", None) == "gower":
        names = MixedTable.of(X).names
    else:
        given = read_input(X)
        names = given.names
        columns = columns or attribute_columns(X)
        if not columns and given.kind != "graph" and not is_matrix_model(model):
            columns = _array_columns(given.data)
    if ids is None:
        ids = range(len(model.labels_) if not hasattr(X, "shape") else _length(X))
        ids = ids if names is None else names
    return ObjectTable([str(name) for name in ids], columns, id_name="object")


def _length(X: Any) -> int:
    shape = getattr(X, "shape", None)
    return int(shape[0]) if shape else len(X)


def _frame_columns(X: Any) -> list[Column]:
    if not hasattr(X, "columns") or not hasattr(X, "__getitem__"):
        return []
    found = []
    for name in X.columns:
        series = X[name]
        values = np.asarray(series)
        if values.dtype.kind in "iuf":
            found.append(number_column(str(name), values.astype(np.float64)))
        else:
            texts = ["" if is_missing(value) else str(value) for value in series]
            found.append(text_column(str(name), texts))
    return found


# Columns of an array that are shown; more do not fit a table.
_MOST_COLUMNS = 60


def _array_columns(data: Any) -> list[Column]:
    import scipy.sparse as sp

    found = []
    for position in range(min(data.shape[1], _MOST_COLUMNS)):
        column = data[:, [position]]
        values = np.asarray(column.toarray() if sp.issparse(column) else column, dtype=np.float64)
        found.append(number_column(f"column {position}", values.ravel()))
    return found


# --- the widget -----------------------------------------------------------------------------------


def make_widget() -> Any:
    """A widget that runs the page."""
    import anywidget

    script = "\n".join(asset(name) for name in _SCRIPTS)
    return type("Explorer", (anywidget.AnyWidget,), {"_esm": script, "_css": asset("style.css")})()


def _connect(widget: Any, view: View) -> None:
    def answer(_: Any, message: dict[str, Any], buffers: Any) -> None:
        reply, attached = answered(view, message)
        widget.send(reply, attached)

    widget.on_msg(answer)


def answered(view: View, message: dict[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """The reply to a message of the page."""
    number = message.get("id")
    try:
        if message.get("kind") == "do":
            return {"id": number, "value": view.do(message["what"], message["given"])}, []
        given = {name: str(value) for name, value in message["given"].items()}
        found = view.get(message["what"], given)
    except (Unknown, ValueError, KeyError) as error:
        return {"id": number, "error": str(error)}, []
    if isinstance(found, bytes):
        return {"id": number}, [found]
    return {"id": number, "value": found}, []


def _tell(widget: Any, view: View) -> None:
    worker = view.worker
    widget.send({"news": {"busy": worker.is_busy, "phase": worker.phase, "error": worker.error}})
