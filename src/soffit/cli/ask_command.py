"""`soffit ask`: questions about pairs of objects, in the terminal."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Annotated, Any

from rich import box
from rich.table import Table
from rich.text import Text

from soffit._wording import count_of, visible
from soffit.cli.console import Talk, show_summary, show_warnings
from soffit.cli.options import (
    CLUSTERING,
    UNWEIGHTED,
    Command,
    InputFile,
    Pairs,
    Reading,
    Verbosity,
    with_option_groups,
)
from soffit.cli.sessions import Sessions, SessionSettings, open_session, with_model
from soffit.cli.steps import Fit, Outputs, show_files

if TYPE_CHECKING:
    from soffit.session.session import Question, Session

# Rows of a question that fit on a screen.
_MOST_ROWS = 14
_WIDEST = 60
# A difference from here on, in standard deviations, is marked.
_MARKED = 0.5
# After a refit that took longer, several answers are taken before the next one.
_PATIENCE = 2.0
_TOGETHER_UNTIL = 5
_KEYS = {
    **dict.fromkeys(("y", "yes", "t", "together", "j"), "together"),
    **dict.fromkeys(("n", "no", "a", "apart"), "apart"),
    **dict.fromkeys(("s", "skip", "?"), "skip"),
    **dict.fromkeys(("u", "undo"), "undo"),
    **dict.fromkeys(("q", "quit", "exit"), "quit"),
}
_PROMPT = "Together? [y]es, [n]o, [s]kip, [u]ndo, [q]uit: "


@with_option_groups
def ask(
    file: InputFile,
    *,
    settings: SessionSettings,
    sessions: Sessions,
    reading: Annotated[Reading, UNWEIGHTED],
    pairs: Pairs,
    outputs: Outputs,
    verbosity: Verbosity,
) -> None:
    """Answer the few questions that settle most, and improve the clusters.

    Shows two objects at a time and asks whether they belong together; each answer is saved and the
    model fitted anew. The pairs are chosen so that an answer settles as much as possible. Ends when
    little is left to gain. Answer y, n, s (skip), u (undo) or q (quit); run it again to go on.
    """
    outputs.check(file, *pairs.files)
    talk = verbosity.talk()
    session, folder = open_session(talk, file, sessions, settings, reading=reading, pairs=pairs)
    outputs.check_source(session.source)
    first = with_model(session, talk, f"Clustering {session.n_objects} objects")
    start = session.state.n_answers
    _show_state(talk, first)
    _converse(talk, session)
    outcome = session.outcome
    assert outcome is not None
    if session.is_stale:
        outcome = with_model(session, talk, "Fitting all answers")
    folder.save(session)
    files = outputs.write(talk, Fit(outcome.model, session.source, outcome.seconds))
    state = outcome.state
    n_new = max(state.n_answers - start, 0)
    talk.say()
    talk.say(f"{n_new} answers given, {state.n_answers} in all.", style="bold")
    show_summary(talk, outcome.summary, reading.label)
    warnings = show_warnings(talk, outcome.summary)
    disputed = _show_disputed(talk, session)
    if state.n_answers:
        talk.say(f"Answers and commands that repeat the result: {folder.path}", style="green")
    show_files(talk, files)
    talk.emit(
        {
            "command": "ask",
            "input": session.source.path,
            "session": str(folder.path),
            "n_answers": state.n_answers,
            "n_together": len(state.together),
            "n_apart": len(state.apart),
            "disputed": disputed,
            "settled": session.is_settled,
        }
        | outcome.summary.as_dict()
        | {"warnings": warnings, "files": files}
    )


# --- the conversation -----------------------------------------------------------------------------


def _converse(talk: Talk, session: Session) -> None:
    """Ask until the person quits, or little is left to gain."""
    number = 0
    while True:
        question = session.question()
        if question is None and session.is_stale:
            _refit(talk, session)
            continue
        if question is None:
            _say_end(talk, session)
            return
        number += 1
        _show_question(talk, session, question, number)
        said = _answer(talk)
        if said == "quit":
            return
        if said == "undo":
            number = max(number - 2, 0) if session.undo() else number - 1
            if session.is_stale:
                _refit(talk, session)
            continue
        session.answer(question.a, question.b, said)  # type: ignore[arg-type]
        if said != "skip" and _is_due(session):
            _refit(talk, session)


def _is_due(session: Session) -> bool:
    """Whether to refit now: at once if it is quick, else after several answers."""
    outcome = session.outcome
    assert outcome is not None
    waiting = session.state.n_answers - outcome.state.n_answers
    # The first fit may have compiled its loops: its time says nothing.
    return outcome.version == 1 or outcome.seconds <= _PATIENCE or waiting >= _TOGETHER_UNTIL


def _refit(talk: Talk, session: Session) -> None:
    outcome = with_model(session, talk, "Fitting")
    if outcome.change is not None:
        talk.say(outcome.change.sentence, style="cyan")
    advice = session.advice()
    if advice:
        talk.warn(
            f"{advice} Run it again with -k {session.state.needed_clusters(session.n_objects)}."
        )


def _answer(talk: Talk) -> str:
    """The next answer from standard input; the end of it quits."""
    while True:
        talk.prompt(_PROMPT)
        line = sys.stdin.readline()
        if not line:
            return "quit"
        said = _KEYS.get(line.strip().casefold())
        if said is not None:
            return said
        talk.say("Type y, n, s, u or q, then Enter.")


# --- what is shown --------------------------------------------------------------------------------


def _show_state(talk: Talk, outcome: Any) -> None:
    from soffit.results.sentences import headline

    talk.say(headline(outcome.summary), style="bold")
    talk.say()


def _show_question(talk: Talk, session: Session, question: Question, number: int) -> None:
    table, outcome = session.table, session.outcome
    assert outcome is not None
    ids = [
        f"{visible(table.id_name)} {visible(table.ids[row])}" for row in (question.a, question.b)
    ]
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    grid.add_column("")
    for name in ids:
        grid.add_column(name, overflow="fold", max_width=_WIDEST)
    grid.add_column("")
    compared = table.compared(question.a, question.b)
    for column, difference in compared[:_MOST_ROWS]:
        marked = not math.isnan(difference) and difference >= _MARKED
        style = "bold yellow" if marked else ""
        cells = [Text(visible(column.shown(row)), style=style) for row in (question.a, question.b)]
        grid.add_row(
            Text(visible(column.name), style="" if column.is_used else "dim"),
            *cells,
            _words(column.kind, difference),
        )
    summary = outcome.summary
    clusters = [
        f"{summary.names[summary.labels[row]]} ({summary.certainty[row]:.2f})"
        for row in (question.a, question.b)
    ]
    grid.add_row(
        Text("cluster now", style="dim"), *(Text(visible(c), style="dim") for c in clusters), ""
    )
    talk.say()
    concerned = count_of(max(round(question.gain), 1), "object")
    talk.say(f"Question {number}: it concerns about {concerned}.", style="bold")
    talk.show(grid)
    if len(compared) > _MOST_ROWS:
        talk.say(f"... and {len(compared) - _MOST_ROWS:,} more columns that differ less.", "dim")


def _words(kind: str, difference: float) -> Text:
    if kind != "number" or math.isnan(difference) or difference < _MARKED:
        return Text("")
    return Text(f"{difference:.1f} sd apart", style="dim")


def _say_end(talk: Talk, session: Session) -> None:
    outcome = session.outcome
    assert outcome is not None
    if outcome.model.n_clusters_ < 2:
        talk.say("There is one cluster, so there is nothing to ask. Pass -k 2 or more.")
        return
    talk.say("Little is left to gain: no further answer would change more than a few objects.")


def _show_disputed(talk: Talk, session: Session) -> list[dict[str, Any]]:
    """Answers that the data or other answers contradict."""
    ids = session.table.ids
    found = [
        {"a": ids[entry.a], "b": ids[entry.b], "answer": entry.answer}
        | {"followed": entry.is_followed}
        for entry in session.disputed()
    ]
    if found:
        talk.say()
        talk.say("The data or your other answers contradict these answers. Check them:")
        for entry in found[:10]:
            ignored = "" if entry["followed"] else " (outvoted)"
            talk.say(f"  {entry['a']} and {entry['b']}: you said {entry['answer']}{ignored}")
        if len(found) > 10:
            talk.say(f"  ... and {len(found) - 10} more")
    return found


ASK = Command(
    "ask",
    ask,
    (
        "soffit ask flowers.csv -k 3",
        "soffit ask flowers.csv -k 3 --drop species -o clusters.csv",
    ),
    CLUSTERING,
)
