"""What `soffit ask` and `soffit app` share: a session about a file, new or resumed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from soffit._wording import as_options, in_words_of_the_command
from soffit.cli.console import Talk, usage_error
from soffit.cli.methods import DEFAULT_METHOD, Settings, make_model
from soffit.cli.options import Only, OptionGroup, Pairs, Reading, choice
from soffit.cli.steps import (
    check_number,
    compiling_told,
    read_pairs,
    read_source,
    steps,
    without_numbers,
)

if TYPE_CHECKING:
    from soffit.session.files import SessionFolder
    from soffit.session.session import Session

SESSIONS = "Session"

# The options of the model of a session: all but the time limit, which each fit would have anew.
SessionSettings = Annotated[
    Settings,
    Only(("clusters", "max_clusters", "neighbors", "standardize", "resamples", "seed", "jobs")),
]


@dataclass(frozen=True)
class Sessions(OptionGroup):
    """Where a session is kept."""

    session: Path | None = choice(
        "--session FOLDER",
        SESSIONS,
        "Where answers and edits are saved after each step, and resumed from. By default a "
        "folder beside the input: flowers.session for flowers.csv.",
    )
    fresh: bool = choice(
        "--fresh",
        SESSIONS,
        "Start anew: an earlier session in the folder is kept as session.json.old.",
        default=False,
    )

    def folder(self, file: Path) -> Path:
        """Where the session is kept."""
        if str(file) == "-":
            raise usage_error(
                "A session is about a file, so that it can be resumed. Save the data first.",
                "INPUT",
            )
        if self.session is None:
            name = file.name
            for ending in (".gz", ".bz2", ".xz"):
                name = name.removesuffix(ending)
            return file.with_name(f"{Path(name).stem}.session")
        if self.session.is_file():
            raise usage_error(f"{self.session} is a file. Pass a folder.", "--session")
        return self.session


def open_session(
    talk: Talk,
    file: Path,
    sessions: Sessions,
    settings: Settings,
    *,
    reading: Reading,
    pairs: Pairs,
) -> tuple[Session, SessionFolder]:
    """A session about the data in a file, resumed if there is an earlier one."""
    from soffit.session.answers_and_edits import State
    from soffit.session.files import SESSION, SessionFolder
    from soffit.session.object_table import ObjectTable
    from soffit.session.session import Session

    settings.check(DEFAULT_METHOD)
    where = sessions.folder(file)
    source = read_source(talk, file, reading)
    check_number(settings.clusters, source.n_objects)
    model = make_model(DEFAULT_METHOD, settings, source.kind, is_mixed=source.is_mixed)
    folder = SessionFolder(where, _command(file, source, settings))
    if sessions.fresh and folder.file(SESSION).exists():
        folder.file(SESSION).replace(folder.file(f"{SESSION}.old"))
    table = ObjectTable.of(source)
    state = State(n_clusters=settings.clusters)
    history: list[State] = []
    data = without_numbers(source)
    earlier = folder.resume(data, model, table.ids)
    if earlier is not None:
        state, history = earlier
        if settings.clusters is not None and settings.clusters != state.n_clusters:
            history, state = [*history, state], state.counted(settings.clusters)
        talk.note(f"Resumed {where}: {state.n_answers} answers, {len(state.edits)} edits.")
    known = read_pairs(pairs, source)
    for group in known.get("must_link", ()):
        state = state.grouped([int(number) for number in group])
    for group in known.get("cannot_link", ()):
        numbers = [int(number) for number in group]
        for place, a in enumerate(numbers):
            for b in numbers[place + 1 :]:
                state = state.answered(a, b, "apart")
    session = Session(
        data,
        model,
        state=state,
        history=history,
        saved=folder.save,
        table=table,
    )
    return session, folder


def _command(file: Path, source: Any, settings: Settings) -> list[str]:
    """The command that fits this model, without its number of clusters and its pairs."""
    defaults = {"text": "category", "impute": "auto"}
    read = {
        name: value
        for name, value in (source.options or {}).items()
        if defaults.get(name, object()) != value
    }
    fit: dict[str, Any] = {}
    if settings.neighbors is not None:
        fit["n_neighbors"] = settings.neighbors
    if settings.standardize != "auto":
        fit["standardize"] = settings.standardize == "yes"
    if settings.max_clusters is not None and settings.clusters is None:
        fit["max_clusters"] = settings.max_clusters
    if settings.resamples:
        fit["n_resamples"] = settings.resamples
    if settings.seed:
        fit["random_state"] = settings.seed
    return ["soffit", "fit", str(file), *as_options(read | fit)]


def with_model(session: Session, talk: Talk, text: str) -> Any:
    """Fit the current state, with a spinner; returns the result."""
    with talk.working(text) as tell, compiling_told(tell):
        outcome = session.refit(lambda event: tell(steps(event)))
    for note in outcome.notes:
        talk.warn(in_words_of_the_command(note))
    return outcome
