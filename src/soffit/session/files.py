"""The files of a session: all that was said, the pairs, and how to repeat the result."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from soffit._atomic import replaced
from soffit._version import __version__
from soffit._wording import Message, Parameter
from soffit.io.data_error import DataError
from soffit.report.method import python_lines
from soffit.results.per_object import Result
from soffit.session.answers_and_edits import Edit, State
from soffit.session.session import Session

_FORMAT = 1
SESSION = "session.json"
MUST_LINK, CANNOT_LINK = "must_link.csv", "cannot_link.csv"
MEMBERSHIPS, MODEL, REPORT = "memberships.csv", "model.soffit", "report.html"
SCRIPT, COMMANDS = "repeat.py", "repeat.sh"


class SessionFolder:
    """A folder that holds a session; every file in it is written as a whole or not at all.

    `path`: the folder; it is made when the first step is saved.
    `command`: the command that fits the model without its pairs and edits, to be completed.
    """

    def __init__(self, path: Path, command: Sequence[str] | None = None) -> None:
        self.path = path
        self.command = command
        self._written: dict[str, str] = {}
        self._about: tuple[Any, dict[str, Any]] | None = None

    def file(self, name: str) -> Path:
        """A file of the folder."""
        return self.path / name

    # --- saving --------------------------------------------------------------------------------

    def save(self, session: Session) -> None:
        """Write the session, the pairs and the lines that repeat the result."""
        self.path.mkdir(parents=True, exist_ok=True)
        state = session.state
        content = {
            "format": _FORMAT,
            "soffit": __version__,
            "data": {"path": session.source.path, **self._identity(session.source)},
            "model": _parameters(session.template),
            "state": _encoded(state, session),
            "history": [_encoded(earlier, session, state) for earlier in session.history],
        }
        self._write(SESSION, json.dumps(content, ensure_ascii=False, indent=1))
        pairs = {MUST_LINK: state.together, CANNOT_LINK: state.apart}
        for name, groups in pairs.items():
            self._write(name, _as_csv(groups, session.table.ids) if groups else None)
        if session.outcome is not None and not session.is_stale:
            self._write(SCRIPT, self.python(session) + "\n")
            self._write(COMMANDS, self.shell(session) + "\n" if self.command else None)

    def _identity(self, source: Any) -> dict[str, Any]:
        """The fingerprint of the data, computed once."""
        if self._about is None or self._about[0] is not source:
            self._about = source, fingerprint(source)
        return self._about[1]

    def _write(self, name: str, content: str | None) -> None:
        """Write a file if it changes; None removes it."""
        path = self.file(name)
        if content is None:
            path.unlink(missing_ok=True)
        elif self._written.get(name) != content or not path.exists():
            with replaced(path) as temporary:
                temporary.write_text(content, encoding="utf-8", newline="\n")
        if content is not None:
            self._written[name] = content

    def export(self, session: Session, what: Sequence[str]) -> dict[str, Path]:
        """Write the result: "memberships", "model" or "report"; returns the files."""
        outcome = session.outcome
        if outcome is None:
            raise ValueError("There is no result yet. Wait for the fit.")
        self.path.mkdir(parents=True, exist_ok=True)
        writers = {
            "memberships": (MEMBERSHIPS, self._write_memberships),
            "model": (MODEL, self._write_model),
            "report": (REPORT, self._write_report),
        }
        found = {}
        for name in what:
            if name not in writers:
                raise ValueError(f"{name!r} cannot be written. Choose among {', '.join(writers)}.")
            file, write = writers[name]
            write(session, self.file(file))
            found[name] = self.file(file)
        self.save(session)
        return found

    @staticmethod
    def _write_memberships(session: Session, path: Path) -> None:
        from soffit.io import write_result

        assert session.outcome is not None
        source = session.source
        write_result(Result.of(session.outcome.model, source), str(path), source=source)

    @staticmethod
    def _write_model(session: Session, path: Path) -> None:
        from soffit.persistence import save

        assert session.outcome is not None
        save(session.outcome.model, str(path))

    def _write_report(self, session: Session, path: Path) -> None:
        from soffit.report import write_report

        assert session.outcome is not None
        command = self.shell(session) if self.command else None
        write_report(str(path), session.outcome.model, source=session.source, command=command)

    # --- repeating -----------------------------------------------------------------------------

    def python(self, session: Session) -> str:
        """Python lines that repeat the result."""
        assert session.outcome is not None
        state = session.outcome.state
        lines = python_lines(session.outcome.summary).splitlines()
        known = []
        if state.together:
            known.append(("must_link", MUST_LINK))
        if state.apart:
            known.append(("cannot_link", CANNOT_LINK))
        if not known:
            return "\n".join(lines)
        ids = "source.ids"
        if session.source.ids is None or session.source.id_name == "row":
            ids = f"range(1, {session.n_objects + 1})"
        defined = [f"{name} = read_pairs({str(self.file(file))!r}, {ids})" for name, file in known]
        place = next(number for number, line in enumerate(lines) if line.startswith("model = "))
        lines[place:place] = defined
        imported = "from soffit.io import read"
        if imported in lines:
            lines[lines.index(imported)] = f"{imported}, read_pairs"
        else:
            lines.insert(0, "from soffit.io import read_pairs")
        return "\n".join(lines)

    def shell(self, session: Session) -> str:
        """Commands that repeat the result: a fit, and one `soffit edit` per edit."""
        assert session.outcome is not None
        state = session.outcome.state
        parts = list(self.command or ("soffit", "fit", session.source.path))
        if state.n_clusters is not None:
            parts += ["-k", str(state.n_clusters)]
        for option, pairs, name in (
            ("--must-link", state.together, MUST_LINK),
            ("--cannot-link", state.apart, CANNOT_LINK),
        ):
            if pairs:
                parts += [option, str(self.file(name))]
        model = str(self.file(MODEL))
        lines = [shlex.join([*parts, "--save", model])]
        lines += [
            shlex.join(["soffit", "edit", model, *edit.command(), "--save", model])
            for edit in state.edits
        ]
        return "\n".join(lines)

    # --- reading -------------------------------------------------------------------------------

    def resume(
        self, source: Any, model: Any, ids: Sequence[str]
    ) -> tuple[State, list[State]] | None:
        """The state and the history of an earlier session; None if there is none."""
        path = self.file(SESSION)
        if not path.exists():
            return None
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if content["format"] != _FORMAT:
                raise DataError(
                    f"{path}: it was written by another version of soffit ({content['soffit']}).",
                    Message("Pass another folder as ", Parameter("session"), "."),
                )
            self._check_same(content, source, model)
            place = {name: number for number, name in enumerate(ids)}
            state = _decoded(content["state"], place, None)
            history = [_decoded(entry, place, state) for entry in content["history"]]
        except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
            if isinstance(error, DataError):
                raise
            raise DataError(
                f"{path}: it cannot be read as a session ({type(error).__name__}: {error}).",
                Message("Remove it, or pass another folder as ", Parameter("session"), "."),
            ) from error
        return state, history

    def _check_same(self, content: dict[str, Any], source: Any, model: Any) -> None:
        path = self.file(SESSION)
        if content["data"]["hash"] != self._identity(source)["hash"]:
            pairs = [path.parent / name for name in (MUST_LINK, CANNOT_LINK)]
            known = [
                Parameter(name, str(file))
                for name, file in zip(("must_link", "cannot_link"), pairs, strict=True)
                if file.exists()
            ]
            hint = Message(", and keep the answers with ", *_separated(known)) if known else ""
            raise DataError(
                f"{path}: this session is about other data: {content['data']['path']} with "
                f"{content['data']['n_objects']:,} objects, or the same file read with other "
                "options.",
                Message("Pass another folder as ", Parameter("session"), hint, "."),
            )
        before, now = content["model"], _parameters(model)
        for name in sorted({*before, *now}):
            if before.get(name) != now.get(name):
                raise DataError(
                    Message(
                        f"{path}: this session was started with ",
                        Parameter(name, before.get(name)),
                        f", not {now.get(name)!r}.",
                    ),
                    Message(
                        "Repeat the value, or pass another folder as ", Parameter("session"), "."
                    ),
                )


def fingerprint(source: Any) -> dict[str, Any]:
    """A short value that changes with the data."""
    digest = hashlib.blake2b(digest_size=16)
    data = source.data
    parts = (data.data, data.indices, data.indptr) if sp.issparse(data) else (data,)
    for part in parts:
        array = np.ascontiguousarray(part)
        digest.update(str((array.shape, array.dtype)).encode())
        digest.update(array.view(np.uint8).data if array.size else b"")
    digest.update("\0".join(source.columns).encode())
    if source.ids is not None:
        digest.update("\0".join(map(str, source.ids)).encode())
    return {"n_objects": source.n_objects, "hash": digest.hexdigest()}


def _separated(parameters: list[Parameter]) -> list[str | Parameter]:
    return [part for parameter in parameters for part in (" and ", parameter)][1:]


def _parameters(model: Any) -> dict[str, Any]:
    """The parameters that change the result, but for the number of clusters."""
    left_out = ("n_clusters", "callback", "verbose", "n_jobs", "max_time", "warm_start")
    given = model.get_params(deep=False)
    plain = (str, int, float, bool, type(None))
    return {
        name: value if isinstance(value, plain) else repr(value)
        for name, value in sorted(given.items())
        if name not in left_out
    }


# --- states as JSON -------------------------------------------------------------------------------


def _encoded(state: State, session: Session, of: State | None = None) -> dict[str, Any]:
    """A state with objects by name; what another one begins with is given by its length."""
    ids = session.table.ids

    def named(groups: Sequence[Sequence[int]], other: Sequence[Sequence[int]] | None) -> Any:
        if other is not None and tuple(other[: len(groups)]) == tuple(groups):
            return len(groups)
        return [[ids[number] for number in group] for group in groups]

    whole = of or None
    found = {
        "n_clusters": state.n_clusters,
        "together": named(state.together, whole and whole.together),
        "apart": named(state.apart, whole and whole.apart),
        "skipped": named(state.skipped, whole and whole.skipped),
        "edits": [[edit.kind, list(edit.clusters), edit.argument] for edit in state.edits],
    }
    if state.edits and state.numbers is not None and state.numbers != state.key:
        k, together, apart = state.numbers
        found["numbers"] = [k, named(together, state.together), named(apart, state.apart)]
    return found


def _decoded(entry: dict[str, Any], place: dict[str, int], whole: State | None) -> State:
    def numbered(groups: Any, other: Any) -> tuple[Any, ...]:
        if isinstance(groups, int):
            return tuple(other[:groups])
        return tuple(tuple(place[name] for name in group) for group in groups)

    state = State(
        n_clusters=None if entry["n_clusters"] is None else int(entry["n_clusters"]),
        together=numbered(entry["together"], whole and whole.together),
        apart=numbered(entry["apart"], whole and whole.apart),
        skipped=numbered(entry["skipped"], whole and whole.skipped),
        edits=tuple(
            Edit(kind, tuple(int(number) for number in clusters), argument)
            for kind, clusters, argument in entry["edits"]
        ),
    )
    if not state.edits:
        return state
    if "numbers" not in entry:
        return replace(state, numbers=state.key)
    k, together, apart = entry["numbers"]
    numbers = (k, numbered(together, state.together), numbered(apart, state.apart))
    return replace(state, numbers=numbers)


def _as_csv(groups: Sequence[Sequence[int]], ids: Sequence[str]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for group in groups:
        writer.writerow([ids[number] for number in group])
    return text.getvalue()
