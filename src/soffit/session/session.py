"""A session: data, a model, and all that a person has said about the result."""

from __future__ import annotations

import time
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import RLock
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from soffit._kept import Kept, keeping
from soffit._threads import recorded_warnings
from soffit._typing import IntArray
from soffit._wording import capitalized, count_of, listed, message_of, spelled
from soffit.graph import Graph
from soffit.memberships.answers import chances_wrong
from soffit.memberships.measures import column, dense_rows, largest
from soffit.results.cautions import cautions
from soffit.results.summary import CLEAR_FROM, UNCERTAIN_BELOW, Summary
from soffit.selection.suggest_pairs import before_answers, valued_pairs
from soffit.session.answers_and_edits import Edit, Key, State, counterparts, renumbered
from soffit.session.object_table import ObjectTable

# A session remembers this many steps for undo.
_MOST_UNDONE = 60
# Fits that are kept for undo, if the data are small.
_FITS_KEPT = 8
_SMALL = 50_000
# Questions that are prepared at once, so that one is there while the model is fitted anew.
_QUESTIONS = 8
# Questions end when the best one left concerns fewer objects than this share of all.
LITTLE = 0.005
# Objects of a frozen cluster that are linked.
_MOST_FROZEN = 200
# Answers that are wrong with at least this probability are worth a second look.
_PROBABLY = 0.3


@dataclass(frozen=True)
class Question:
    """Two objects to compare.

    Attributes
    ----------
    a, b : int
        The objects.
    gain : float
        About how many objects the answer concerns.
    chance : float
        Probability that they are in one cluster, by the model.
    """

    a: int
    b: int
    gain: float
    chance: float


@dataclass(frozen=True, eq=False)
class Change:
    """What the last refit changed.

    Attributes
    ----------
    moved : bool array of shape (n,)
        Objects whose most probable cluster is another one.
    sentence : str
        The same in words.
    """

    moved: NDArray[np.bool_]
    sentence: str

    @property
    def n_moved(self) -> int:
        """Number of objects that moved."""
        return int(self.moved.sum())


@dataclass(frozen=True, eq=False)
class Outcome:
    """The result of one state.

    Attributes
    ----------
    version : int
        Counts the results of a session.
    state : State
        What was said.
    model : fitted model
        The result, with all edits.
    base : array of shape (n,)
        Labels of the fit before the edits.
    slots : tuple of int
        A colour for each cluster, which it keeps over refits.
    questions : tuple of Question
        The best ones, best first.
    change : Change or None
        What differs from the result before; None for the first one.
    seconds : float
        Time of the fit.
    notes : tuple of str
        Edits that could not be kept, and warnings of the fit.
    """

    version: int
    state: State
    model: Any
    base: IntArray
    slots: tuple[int, ...]
    questions: tuple[Question, ...] = ()
    change: Change | None = None
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    source: Any = field(default=None, repr=False)
    data: Any = field(default=None, repr=False)

    @cached_property
    def summary(self) -> Summary:
        """Sizes, words and warnings."""
        if self.source is not None:
            return Summary.of(self.model, source=self.source)
        return Summary.of(self.model, self.data)

    @cached_property
    def cautions(self) -> tuple[Any, ...]:
        """Warnings about the result."""
        return tuple(cautions(self.summary))


@dataclass(frozen=True)
class Disputed:
    """An answer that is worth a second look.

    Attributes
    ----------
    a, b : int
        The objects.
    answer : str
        What was said, "together" or "apart".
    is_followed : bool
        Whether the result follows it all the same.
    """

    a: int
    b: int
    answer: str
    is_followed: bool


class BusyError(ValueError):
    """A refit is under way, and the step needs its result."""


class Session:
    """Answers and edits of a person, with a model that follows them.

    The result of a state is what the public API gives: `fit` with the pairs, then the edits.
    Recording a step is quick and `refit` may take long, so that a user interface can call it in
    another thread; one thread at a time may do so.

    Parameters
    ----------
    source : soffit.io.Source or None
        The data; None if they were not read from a file.
    model : estimator
        Its parameters are used; it is not changed. If it is fitted to the data, the fit is the
        first result.
    state : State, optional
        What was said before.
    saved : callable, optional
        Called with the session after every step.
    table : ObjectTable, optional
        The columns that a person sees; those of the source by default.
    data : table, matrix or graph, optional
        What `fit` takes; the source by default.
    """

    def __init__(
        self,
        source: Any,
        model: Any,
        *,
        state: State | None = None,
        history: Sequence[State] = (),
        saved: Callable[[Session], None] | None = None,
        table: ObjectTable | None = None,
        data: Any = None,
    ) -> None:
        self.source = source
        self.data = source if data is None else data
        self.table = ObjectTable.of(source) if table is None else table
        self.template = clone(model)
        self.state = State(n_clusters=model.n_clusters) if state is None else state
        self.history = list(history)
        self.outcome: Outcome | None = None
        self.lock = RLock()
        self._saved = saved
        self._fits: OrderedDict[Key, Any] = OrderedDict()
        self._steps = Kept()
        # The graph never changes during a session, nor do its regions.
        self._regions: dict[int, IntArray] = {}

    @property
    def n_objects(self) -> int:
        """Number of objects."""
        return self.table.n_objects

    # --- steps ---------------------------------------------------------------------------------

    def answer(self, a: int, b: int, answer: Literal["together", "apart", "skip"]) -> None:
        """Record whether two objects belong together."""
        self._check_objects((a, b))
        if answer not in ("together", "apart", "skip"):
            raise ValueError(f"An answer is together, apart or skip, got {answer!r}.")
        if a == b:
            raise ValueError("A pair has two different objects.")
        self._step(self.state.answered(int(a), int(b), answer))

    def retract(self, a: int, b: int) -> None:
        """Forget the answer about a pair."""
        self._step(self.state.without((min(a, b), max(a, b))))

    def together(self, objects: Sequence[int]) -> None:
        """Record that all these objects belong together."""
        self._check_objects(objects)
        if len(set(objects)) < 2:
            raise ValueError("A group needs two objects or more. Select more of them.")
        self._step(self.state.grouped([int(number) for number in objects]))

    def freeze(self, cluster: int) -> None:
        """Hold a cluster: its clear objects belong together, and apart from other clusters.

        They become a group of must-links, at most 200 objects spread over the cluster, and one
        cannot-link to the clearest object of every other cluster.
        """
        with self.lock:
            outcome = self._settled("A cluster is frozen")
            memberships = outcome.model.memberships_
            labels = outcome.model.labels_
            share = column(memberships, cluster)
            clear = np.flatnonzero((labels == cluster) & (share >= CLEAR_FROM))
            if len(clear) < 2:
                raise ValueError(
                    f"{self._called(cluster)} has fewer than two objects that clearly belong to "
                    "it, so there is nothing to hold."
                )
            clear = clear[np.argsort(-share[clear], kind="stable")]
            first, rest = clear[:1], clear[1:]
            step = max(1, -(-len(rest) // (_MOST_FROZEN - 1)))
            others = [
                c for c in range(memberships.shape[1]) if c != cluster and (labels == c).any()
            ]
            typical = [
                int(np.where(labels == other, column(memberships, other), -1.0).argmax())
                for other in others
            ]
            self._step(self.state.grouped([*first, *rest[::step]], apart_from=typical))

    def merge(self, clusters: Sequence[int]) -> None:
        """Merge clusters."""
        self._edit(Edit("merge", tuple(sorted(int(number) for number in clusters))))

    def split(self, cluster: int, n: int = 2) -> None:
        """Split a cluster."""
        self._edit(Edit("split", (int(cluster),), int(n)))

    def rename(self, cluster: int, name: str) -> None:
        """Name a cluster."""
        self._edit(Edit("rename", (int(cluster),), str(name).strip() or None))

    def set_clusters(self, n_clusters: int | None) -> None:
        """Set the number of clusters; None lets the model choose."""
        if n_clusters is not None and not 1 <= int(n_clusters) <= self.n_objects:
            raise ValueError(
                f"The number of clusters must be between 1 and {self.n_objects}, got {n_clusters}."
            )
        self._step(self.state.counted(None if n_clusters is None else int(n_clusters)))

    def undo(self) -> bool:
        """Take back the last step; False if there is none."""
        with self.lock:
            if not self.history:
                return False
            self.state = self.history.pop()
            self._save()
            return True

    def _edit(self, edit: Edit) -> None:
        """Try an edit on the current result, and record it if it works."""
        with self.lock:
            outcome = self._settled("Clusters are edited")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                edit.apply(outcome.model)
            self._step(self.state.edited(edit))

    def _settled(self, what: str) -> Outcome:
        if self.outcome is None or self.is_stale:
            raise BusyError(
                f"{what} as they are shown, but the clusters are being fitted. Wait a moment."
            )
        return self.outcome

    def _step(self, state: State) -> None:
        with self.lock:
            if state == self.state:
                return
            self.history.append(self.state)
            del self.history[:-_MOST_UNDONE]
            self.state = state
            self._save()

    def _save(self) -> None:
        if self._saved is not None:
            self._saved(self)

    def _check_objects(self, objects: Sequence[int]) -> None:
        for number in objects:
            if not 0 <= int(number) < self.n_objects:
                raise ValueError(f"There is no object {number}: there are {self.n_objects}.")

    def _called(self, cluster: int) -> str:
        assert self.outcome is not None
        return f"Cluster {self.outcome.summary.names[cluster]}"

    # --- results -------------------------------------------------------------------------------

    @property
    def is_stale(self) -> bool:
        """Whether the result does not show the last step yet."""
        shown = self.outcome
        if shown is None:
            return True
        return shown.state.key != self.state.key or shown.state.edits != self.state.edits

    def refit(self, callback: Callable[[Any], Any] | None = None) -> Outcome:
        """Fit the current state; returns the result, which is also `outcome`."""
        with self.lock:
            asked = state = self.state
        begin = time.perf_counter()
        fitted, notes = self._fitted(state, callback)
        state, model, lost = self._edited(state, fitted)
        before = self.outcome
        slots = _slots(before, model)
        outcome = Outcome(
            version=1 if before is None else before.version + 1,
            state=state,
            model=model,
            base=fitted.labels_,
            slots=slots,
            questions=self._questions(model, state),
            change=None if before is None else _change(before, model, slots),
            seconds=time.perf_counter() - begin,
            notes=(*notes, *lost),
            source=self.source,
            data=self.data,
        )
        with self.lock:
            self.outcome = outcome
            if self.state.key == asked.key and self.state.edits == asked.edits:
                # The edits now have the numbers of this fit.
                self.state = replace(self.state, edits=state.edits, numbers=state.numbers)
                self._save()
        return outcome

    def unedited(self) -> Any:
        """The fit that is shown, without the edits after it."""
        assert self.outcome is not None
        return self._fits.get(self.outcome.state.key, self.outcome.model)

    def adopt(self, model: Any) -> Outcome:
        """Take a model that is already fitted to the current state as the first result."""
        self.outcome = Outcome(
            version=1,
            state=self.state,
            model=model,
            base=model.labels_,
            slots=tuple(range(model.n_clusters_)),
            questions=self._questions(model, self.state),
            source=self.source,
            data=self.data,
        )
        return self.outcome

    def _fitted(self, state: State, callback: Any) -> tuple[Any, list[str]]:
        """The fit of a state without its edits, from memory if it is recent."""
        known = self._fits.get(state.key)
        if known is not None:
            self._fits.move_to_end(state.key)
            return known, []
        model = clone(self.template).set_params(n_clusters=state.n_clusters, callback=callback)
        with recorded_warnings() as caught, keeping(self._steps):
            model.fit(self.data, **state.fit_arguments())
        model.set_params(callback=None)
        self._fits[state.key] = model
        while len(self._fits) > (_FITS_KEPT if self.n_objects <= _SMALL else 2):
            self._fits.popitem(last=False)
        return model, list(dict.fromkeys(message_of(warning.message) for warning in caught))

    def _edited(self, state: State, fitted: Any) -> tuple[State, Any, list[str]]:
        """The fitted model with the edits of a state, in the numbers of this fit."""
        if not state.edits:
            return replace(state, numbers=None), fitted, []
        edits = state.edits
        if state.numbers is not None and state.numbers != state.key:
            origin = replace(state, n_clusters=state.numbers[0], together=state.numbers[1])
            former, _ = self._fitted(replace(origin, apart=state.numbers[2]), None)
            place = counterparts(former.labels_, fitted.labels_)
            place += [None] * (former.n_clusters_ - len(place))
            edits = renumbered(edits, place, fitted.n_clusters_)
        model, kept, lost = fitted, [], []
        if len(edits) < len(state.edits):
            lost.append(
                "Merged and split clusters are as they were, because the number of clusters is "
                "another one. Edit the new clusters."
            )
        for edit in edits:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model = edit.apply(model)
                kept.append(edit)
            except ValueError as error:
                lost.append(f"An edit was dropped: {error}")
                break
        return replace(state, edits=tuple(kept), numbers=state.key), model, lost

    def _questions(self, model: Any, state: State) -> tuple[Question, ...]:
        if model.n_clusters_ < 2:
            return ()
        skipped = set(state.skipped)
        try:
            pairs, values = valued_pairs(
                model, _QUESTIONS + len(skipped), known_regions=self._regions
            )
        except ValueError:
            # Hardly any pair is left without an answer.
            return ()
        P = model.memberships_
        found = [
            Question(
                int(a),
                int(b),
                float(value) / np.log(2),
                float(dense_rows(P, [a])[0] @ dense_rows(P, [b])[0]),
            )
            for (a, b), value in zip(pairs, values, strict=True)
            if (int(a), int(b)) not in skipped and value > 0
        ]
        return tuple(found[:_QUESTIONS])

    def question(self) -> Question | None:
        """The best question that has no answer yet; None if little is left to gain."""
        with self.lock:
            if self.outcome is None:
                return None
            done = {*self.state.together, *self.state.apart, *self.state.skipped}
            enough = LITTLE * self.n_objects
            for question in self.outcome.questions:
                if (question.a, question.b) not in done and question.gain >= enough:
                    return question
        return None

    @property
    def is_settled(self) -> bool:
        """Whether the best question left concerns hardly any object."""
        return not self.is_stale and self.question() is None

    def disputed(self) -> list[Disputed]:
        """Answers that the result does not follow, and those that are probably wrong.

        Neighbours of the two objects and other answers about them decide, through any chain of
        answers. Such an answer may be right, but is worth a second look.
        """
        outcome = self.outcome
        if outcome is None:
            return []
        labels = outcome.model.labels_
        pairs = [(group[0], group[1]) for group in self.state.together if len(group) == 2]
        said = [*((pair, "together") for pair in pairs), *((p, "apart") for p in self.state.apart)]
        chances = _chances_wrong(outcome.model)
        found = []
        for pair, answer in said:
            same = bool(labels[pair[0]] == labels[pair[1]])
            if same != (answer == "together"):
                found.append(Disputed(*pair, answer, is_followed=False))
            elif chances(*pair) >= _PROBABLY:
                found.append(Disputed(*pair, answer, is_followed=True))
        return sorted(found, key=lambda entry: entry.is_followed)

    def advice(self) -> str:
        """What the answers say about the number of clusters, if they need more; or nothing."""
        if self.outcome is None:
            return ""
        needed, k = self.state.needed_clusters(self.n_objects), self.outcome.model.n_clusters_
        if needed <= k:
            return ""
        return (
            f"Your answers need at least {count_of(needed, 'cluster')}: as many objects are all "
            f"apart from one another. There are {k}."
        )


def _chances_wrong(model: Any) -> Callable[[int, int], float]:
    """Probability that the answer about two objects is wrong; zero for a pair without one."""
    side, copies = model.side_information_, getattr(model, "copies_", None)
    if side is not None and copies is not None:
        side = side.among_distinct(copies)
    if side is None:
        return lambda a, b: 0.0
    A = Graph.of(model.affinity_matrix_).without_diagonal().matrix
    pairs = np.concatenate([side.must, side.cannot])
    found = chances_wrong(before_answers(model), A, side)
    chances = dict(zip(map(tuple, pairs.tolist()), found, strict=True))

    def chance(a: int, b: int) -> float:
        ends = (a, b) if copies is None else (int(copies[a]), int(copies[b]))
        return float(chances.get((min(ends), max(ends)), 0.0))

    return chance


def _slots(before: Outcome | None, model: Any) -> tuple[int, ...]:
    """Colours: those of the clusters that share most objects, free ones for new clusters."""
    k = int(model.n_clusters_)
    if before is None:
        return tuple(range(k))
    place = counterparts(before.model.labels_, model.labels_)
    slots: list[int | None] = [None] * k
    for former, number in enumerate(place):
        if number is not None:
            slots[number] = before.slots[former]
    free = iter(slot for slot in range(2 * k + len(place)) if slot not in slots)
    return tuple(next(free) if slot is None else slot for slot in slots)


def _change(before: Outcome, model: Any, slots: tuple[int, ...]) -> Change:
    former = np.asarray(before.slots)[before.model.labels_]
    moved = former != np.asarray(slots)[model.labels_]
    unsure = [
        int((largest(found.memberships_)[1] < UNCERTAIN_BELOW).sum())
        for found in (before.model, model)
    ]
    parts = []
    if before.model.n_clusters_ != model.n_clusters_:
        parts.append(
            f"{count_of(model.n_clusters_, 'cluster')} instead of {before.model.n_clusters_}"
        )
    count = int(moved.sum())
    parts.append(f"{spelled(count, 'object')} moved to another cluster")
    if unsure[0] != unsure[1]:
        parts.append(f"{unsure[1]:,} uncertain instead of {unsure[0]:,}")
    return Change(moved, f"{capitalized(listed(parts))}.")
