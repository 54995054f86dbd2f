"""What a page shows and asks for, apart from how it is transported.

A page calls `View.get` for what it shows and `View.do` for what a person does. The server and the
notebook widget hand the calls on.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soffit._typing import FloatArray, IntArray
from soffit._version import __version__
from soffit._wording import capitalized, count_of, in_words_of_the_command, visible
from soffit.app.worker import Worker
from soffit.figures.layouts import Layout, telling_layout
from soffit.figures.style import DOUBT, DOUBT_ON_DARK, colour, on_dark
from soffit.report.object_map import drawn_links, shows_names
from soffit.results.sentences import choice_evidence, choice_made, headline
from soffit.session.files import CANNOT_LINK, MUST_LINK, SessionFolder
from soffit.session.object_table import PICTURES, Column
from soffit.session.session import Outcome, Question, Session

_PALETTE = 90
_MOST_ROWS = 500
# Rows of a question; more do not help a person.
_MOST_COMPARED = 16
# A difference from here on, in standard deviations, is marked.
_MARKED = 0.5
_MOST_DISPUTED = 20
_LARGEST_PICTURE = 2**24
_MOST_NOTES = 6
# Names of columns that hold pixels, such as pixel_3_5, px17 or p12.
_PIXEL = re.compile(r"(pixel|px|pix|p)[ _.]?\d+([ _.x]\d+)?", re.IGNORECASE)


class Unknown(ValueError):  # noqa: N818 - it becomes a 404, not a failure
    """A page asked for something that is not there."""


class View:
    """The model of a page.

    Parameters
    ----------
    session : Session
        The session, with a result.
    folder : SessionFolder, optional
        Where results are written; None if nothing is (in a notebook).
    worker : Worker
        Refits in the background.
    title : str
        What the page is about.
    """

    def __init__(
        self, session: Session, worker: Worker, folder: SessionFolder | None, title: str
    ) -> None:
        self.session, self.worker, self.folder, self.title = session, worker, folder, title
        self._placed: Layout | None = None
        self._selection: NDArray[np.int64] | None = None
        self._orders: dict[Any, IntArray] = {}
        self._evidence: Any = None

    # --- for display ---------------------------------------------------------------------------

    @property
    def outcome(self) -> Outcome:
        """The result that is shown."""
        outcome = self.session.outcome
        assert outcome is not None
        return outcome

    def get(self, what: str, given: dict[str, str]) -> dict[str, Any] | bytes:
        """Something to show: a value for JSON, or the bytes of an array."""
        parts: dict[str, Callable[[dict[str, str]], dict[str, Any] | bytes]] = {
            "state": lambda _: self._state(),
            "question": lambda _: self._question(),
            "rows": self._rows,
            "object": self._object,
            "array": self._array,
            "picture": self._picture,
            "evidence": lambda _: self._more_evidence(),
            "repeat": lambda _: self._repeat(),
        }
        if what not in parts:
            raise Unknown(f"There is nothing called {what!r}.")
        return parts[what](given)

    def _state(self) -> dict[str, Any]:
        session, outcome, worker = self.session, self.outcome, self.worker
        summary, state = outcome.summary, session.state
        palette = [colour(slot) for slot in range(_PALETTE)]
        # Without a folder it was opened from Python.
        say = str if self.folder is None else in_words_of_the_command
        return {
            "sequence": worker.sequence,
            "version": outcome.version,
            "busy": worker.is_busy,
            "phase": worker.phase,
            "error": worker.error,
            "soffit": __version__,
            "title": self.title,
            "n": session.n_objects,
            "id_name": session.table.id_name,
            "headline": headline(summary),
            "k": summary.n_clusters,
            "chosen": state.n_clusters,
            "clusters": [self._cluster(number) for number in range(summary.n_clusters)],
            "light": {"palette": palette, "ramp": DOUBT},
            "dark": {"palette": list(map(on_dark, palette)), "ramp": DOUBT_ON_DARK},
            "columns": [_column(column) for column in session.table.columns],
            "pixels": self._pixels,
            "measures": [name for name in self._measures() if name != "cluster"],
            "evidence": self._evidence_of_choice(),
            "answers": {
                "together": len(state.together),
                "apart": len(state.apart),
                "skipped": len(state.skipped),
            },
            "edits": len(state.edits),
            "can_undo": bool(session.history),
            "change": None if outcome.change is None else outcome.change.sentence,
            "n_moved": 0 if outcome.change is None else outcome.change.n_moved,
            "seconds": outcome.seconds,
            "advice": session.advice(),
            "needed": state.needed_clusters(session.n_objects),
            "disputed": self._disputed(),
            "notes": [say(note) for note in outcome.notes][:_MOST_NOTES],
            "cautions": [say(caution.message) for caution in outcome.cautions][:_MOST_NOTES],
            "folder": None if self.folder is None else str(self.folder.path),
            "map": self._map(),
        }

    def _cluster(self, number: int) -> dict[str, Any]:
        outcome = self.outcome
        found = outcome.summary.clusters[number]
        words = []
        for difference in found.apart:
            here, everywhere = difference.values()
            words.append({"column": difference.column, "here": here, "overall": everywhere})
        return {
            "cluster": number,
            "name": found.name,
            "named": found.name != str(number),
            "slot": outcome.slots[number],
            "size": found.size,
            "certainty": None if np.isnan(found.certainty) else found.certainty,
            "uncertain": found.n_uncertain,
            "words": words,
            "picture": self._mean_picture(number),
        }

    @cached_property
    def _pixels(self) -> dict[str, Any] | None:
        return _pixels(self.session.table.columns)

    def _mean_picture(self, cluster: int) -> list[float] | None:
        """The mean of each pixel, where columns are the pixels of pictures."""
        summary, columns = self.outcome.summary, self.session.table.columns
        found = self._pixels
        if found is None or summary.means is None:
            return None
        place = {name: j for j, name in enumerate(summary.columns)}
        inside = summary.means.inside[cluster]
        names = [columns[position].name for position in found["columns"]]
        return [round(float(inside[place[name]]), 3) if name in place else 0.0 for name in names]

    def _evidence_of_choice(self) -> dict[str, Any] | None:
        summary = self.outcome.summary
        choice = summary.choice or self._evidence
        if choice is None:
            return None
        said = [choice_made(summary), choice_evidence(summary)]
        if summary.choice is None:
            said = [
                f"The data suggest {count_of(choice.n_clusters, 'cluster')} (confidence "
                f"{choice.confidence:.2f})."
            ]
        return {
            "ks": [int(k) for k in choice.ks],
            "credibility": [float(value) for value in choice.table["credibility"]],
            "suggested": int(choice.n_clusters),
            "sentence": " ".join(filter(None, said)),
        }

    def _more_evidence(self) -> dict[str, Any]:
        """The evidence for all numbers of clusters, computed when it is asked for."""
        if self.outcome.summary.choice is None and self._evidence is None:
            from soffit.fitting.curation import density_of
            from soffit.selection import choose_k_of_graph

            model = self.session.unedited()
            A = model.affinity_matrix_
            density = density_of(model._fitted.placer, A.shape[0])
            self._evidence = choose_k_of_graph(A, density=density)
        return self._evidence_of_choice() or {}

    def _disputed(self) -> list[dict[str, Any]]:
        ids = self.session.table.ids
        return [
            {
                "a": entry.a,
                "b": entry.b,
                "names": [ids[entry.a], ids[entry.b]],
                "answer": entry.answer,
                "followed": entry.is_followed,
            }
            for entry in self.session.disputed()[:_MOST_DISPUTED]
        ]

    # --- the map -------------------------------------------------------------------------------

    def _placement(self) -> Layout:
        """Where objects are drawn; they stay there when the clusters change."""
        if self._placed is None:
            self._placed = telling_layout(self.outcome.summary)
        return self._placed

    def _map(self) -> dict[str, Any]:
        placed = self._placement()
        axes = (
            None
            if placed.axes is None
            else [capitalized(axis or "spread evenly") for axis in placed.axes]
        )
        summary = self.outcome.summary
        names = list(map(visible, self.session.table.ids)) if shows_names(summary) else []
        return {"axes": axes, "note": placed.note, "names": names}

    def _measures(self) -> dict[str, FloatArray]:
        """Numbers of each object that it can be coloured and sorted by."""
        summary = self.outcome.summary
        found: dict[str, Any] = {
            "cluster": summary.labels,
            "certainty": summary.certainty,
            "entropy": summary.entropy,
        }
        for name in ("overlap", "instability"):
            values = getattr(summary, name)
            if values is not None:
                found[name] = values
        return found

    def _array(self, given: dict[str, str]) -> bytes:
        """Bytes of one number per object, or two for points; little-endian."""
        name, outcome = given.get("name", ""), self.outcome
        arrays: dict[str, Callable[[], Any]] = {
            "points": lambda: self._placement().points.astype("<f4"),
            "slots": lambda: np.asarray(outcome.slots, dtype="<u2")[outcome.summary.labels],
            "strength": lambda: np.round(255 * outcome.summary.certainty).astype("u1"),
            "moved": lambda: self._moved().astype("u1"),
            "links": lambda: drawn_links(outcome.summary, np.arange(len(outcome.base))),
        }
        if name in arrays:
            return np.ascontiguousarray(arrays[name]()).tobytes()
        if name.startswith("column:"):
            values = self._column(name.removeprefix("column:")).values
        elif name in self._measures():
            values = self._measures()[name]
        else:
            raise Unknown(f"There is no array {name!r}.")
        return np.asarray(values).astype("<f4").tobytes()

    def _moved(self) -> NDArray[np.bool_]:
        change = self.outcome.change
        return np.zeros(self.session.n_objects, dtype=bool) if change is None else change.moved

    def _column(self, position: str) -> Column:
        columns = self.session.table.columns
        if not position.isdecimal() or int(position) >= len(columns):
            raise Unknown(f"There is no column {position!r}.")
        return columns[int(position)]

    # --- objects -------------------------------------------------------------------------------

    def _chosen(self, given: dict[str, str]) -> IntArray:
        """Objects of a cluster, or of the selection, that contain a text; sorted."""
        table, outcome = self.session.table, self.outcome
        sort, descending = given.get("sort", ""), given.get("descending") == "1"
        search, cluster = given.get("search", "").strip(), given.get("cluster", "")
        selected = given.get("selected") == "1" and self._selection is not None
        moved = given.get("moved") == "1"
        key = (outcome.version, sort, descending, search, cluster, selected, moved)
        known = self._orders.get(key)
        if known is not None and not selected:
            return known
        keep = np.ones(table.n_objects, dtype=bool)
        if selected and self._selection is not None:
            keep[:] = False
            keep[self._selection] = True
        if cluster.isdecimal():
            keep &= outcome.summary.labels == int(cluster)
        if moved and outcome.change is not None:
            keep &= outcome.change.moved
        if search:
            keep &= table.containing(search)
        if sort:
            order = table.order(sort, self._measures(), descending)
            rows = order[keep[order]]
        else:
            rows = np.flatnonzero(keep)
        self._orders = {**dict(list(self._orders.items())[-3:]), key: rows}
        return rows

    def _rows(self, given: dict[str, str]) -> dict[str, Any]:
        rows = self._chosen(given)
        first = min(_whole(given.get("offset"), 0), max(len(rows) - 1, 0))
        size = min(_whole(given.get("limit"), 50), _MOST_ROWS)
        return {
            "total": len(rows),
            "offset": first,
            "rows": [self._row(int(row)) for row in rows[first : first + size]],
        }

    def _row(self, row: int) -> dict[str, Any]:
        summary, table = self.outcome.summary, self.session.table
        label = int(summary.labels[row])
        own = summary.rows([row])[0]
        shares = np.where(np.arange(summary.n_clusters) == label, -1.0, own)
        second = int(shares.argmax())
        return {
            "row": row,
            "id": table.ids[row],
            "cluster": label,
            "certainty": float(summary.certainty[row]),
            "second": second,
            "second_share": float(own[second]),
            "values": [column.shown(row)[:200] for column in table.columns],
        }

    def _object(self, given: dict[str, str]) -> dict[str, Any]:
        return self._row(self._number(given.get("row")))

    def _number(self, text: Any) -> int:
        row = _whole(text, -1)
        if not 0 <= row < self.session.n_objects:
            raise Unknown(f"There is no object {text!r}.")
        return row

    def _picture(self, given: dict[str, str]) -> bytes:
        row, column = self._number(given.get("row")), _whole(given.get("column"), -1)
        path: Path | None = None
        if 0 <= column < len(self.session.table.columns):
            path = self.session.table.picture(row, column)
        if path is None or path.stat().st_size > _LARGEST_PICTURE:
            raise Unknown("There is no such picture.")
        return path.read_bytes()

    def picture_type(self, given: dict[str, str]) -> str:
        """The type of a picture, by its ending."""
        column = self.session.table.columns[_whole(given.get("column"), 0)]
        ending = Path(str(column.texts[self._number(given.get("row"))])).suffix.lower()
        return PICTURES.get(ending, "application/octet-stream")

    # --- questions -----------------------------------------------------------------------------

    def _question(self) -> dict[str, Any]:
        question = self.session.question()
        if question is None:
            waiting = self.worker.is_busy
            return {"question": None, "waiting": waiting, "reason": "" if waiting else self._end()}
        return {"question": self._asked(question), "waiting": False, "reason": ""}

    def _end(self) -> str:
        if self.outcome.model.n_clusters_ < 2:
            return "There is one cluster, so there is nothing to ask. Choose two or more."
        return (
            "Little is left to gain: no further answer would change more than a few objects. Split "
            "or merge clusters, or change their number, if something still looks wrong."
        )

    def _asked(self, question: Question) -> dict[str, Any]:
        table, a, b = self.session.table, question.a, question.b
        compared = table.compared(a, b)
        most, pixels = _MOST_COMPARED, self._pixels
        if pixels is not None:
            # The picture shows them.
            shown = {table.columns[number].name for number in pixels["columns"]}
            compared = [entry for entry in compared if entry[0].name not in shown]
        place = {column.name: number for number, column in enumerate(table.columns)}
        return {
            "objects": [self._row(a), self._row(b)],
            "concerns": max(round(question.gain), 1),
            "more": max(len(compared) - most, 0),
            "columns": [
                {
                    "name": column.name,
                    "index": place[column.name],
                    "kind": column.kind,
                    "used": column.is_used,
                    "values": [column.shown(a), column.shown(b)],
                    "difference": None if np.isnan(difference) else difference,
                    "marked": bool(difference >= _MARKED),
                }
                for column, difference in compared[:most]
            ],
        }

    # --- what a person does --------------------------------------------------------------------

    def do(self, step: str, given: dict[str, Any]) -> dict[str, Any]:
        """Record a step; returns what the page should show at once."""
        session = self.session
        steps: dict[str, Callable[[], Any]] = {
            "answer": lambda: session.answer(given["a"], given["b"], given["answer"]),
            "retract": lambda: session.retract(given["a"], given["b"]),
            "together": lambda: session.together(given["objects"]),
            "freeze": lambda: session.freeze(self._shown_cluster(given["cluster"])),
            "merge": lambda: session.merge(given["clusters"]),
            "split": lambda: session.split(given["cluster"], given.get("n", 2)),
            "rename": lambda: session.rename(given["cluster"], given["name"]),
            "clusters": lambda: session.set_clusters(given["n"]),
            "undo": session.undo,
            "select": lambda: self._select(given["objects"]),
            "export": lambda: self._export(given["what"]),
        }
        if step not in steps:
            raise Unknown(f"There is no step {step!r}.")
        if step in ("merge", "split", "rename", "freeze"):
            shown = given.get("version", self.outcome.version)
            if shown != self.outcome.version:
                raise ValueError("The clusters have just changed. Look again, and repeat the step.")
        try:
            found = steps[step]()
        except (KeyError, TypeError) as error:
            raise ValueError(f"{step}: the request is not complete ({error}).") from error
        self.worker.poke()
        return {"done": step} | (found if isinstance(found, dict) else {})

    def _shown_cluster(self, cluster: Any) -> int:
        if not isinstance(cluster, int) or not 0 <= cluster < self.outcome.model.n_clusters_:
            raise ValueError(f"There is no cluster {cluster!r}.")
        return cluster

    def _select(self, objects: Any) -> None:
        chosen = np.asarray(objects, dtype=np.int64).ravel()
        if len(chosen) and not (chosen.min() >= 0 and chosen.max() < self.session.n_objects):
            raise ValueError("The selection names objects that are not there.")
        self._selection = chosen if len(chosen) else None

    # --- files ---------------------------------------------------------------------------------

    def _export(self, what: Any) -> dict[str, Any]:
        if self.folder is None:
            raise ValueError("Nothing is written from a notebook; use `.model` and `.save()`.")
        if self.worker.is_busy:
            raise ValueError("The clusters are being fitted. Wait a moment, then write the files.")
        written = self.folder.export(self.session, [str(name) for name in what])
        return {"files": {name: str(path) for name, path in written.items()}}

    def file(self, name: str) -> Path:
        """A file of the session to download."""
        from soffit.session import files

        known = {
            "must_link": MUST_LINK,
            "cannot_link": CANNOT_LINK,
            "memberships": files.MEMBERSHIPS,
            "model": files.MODEL,
            "report": files.REPORT,
            "python": files.SCRIPT,
            "shell": files.COMMANDS,
        }
        if self.folder is None or name not in known or not self.folder.file(known[name]).is_file():
            raise Unknown(f"There is no file {name!r}.")
        return self.folder.file(known[name])

    def _repeat(self) -> dict[str, Any]:
        if self.folder is None:
            from soffit.report.method import python_lines

            return {"python": python_lines(self.outcome.summary), "shell": ""}
        shell = self.folder.shell(self.session) if self.folder.command else ""
        return {"python": self.folder.python(self.session), "shell": shell}


def _pixels(columns: list[Column]) -> dict[str, Any] | None:
    """The columns that hold the pixels of square pictures, row by row; None if there are none."""
    places = [
        number
        for number, column in enumerate(columns)
        if column.is_used and column.kind == "number" and _PIXEL.fullmatch(column.name)
    ]
    side = math.isqrt(len(places))
    if side < 4 or side * side != len(places):
        return None
    largest = max(float(np.nanmax(columns[place].values)) for place in places)
    return {"columns": places, "side": side, "largest": largest}


def _column(column: Column) -> dict[str, Any]:
    known = column.values[np.isfinite(column.values)]
    return {
        "name": column.name,
        "kind": column.kind,
        "used": column.is_used,
        "categories": list(column.categories),
        "range": [float(known.min()), float(known.max())] if len(known) else None,
    }


def _whole(text: Any, otherwise: int) -> int:
    return int(text) if str(text).isdecimal() else otherwise
