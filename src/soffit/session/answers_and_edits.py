"""What a person has said: pairs, the number of clusters, and edits of clusters.

A state is a plain value. With the data and the parameters of the model it determines the result,
through the public API alone: `fit` with `must_link` and `cannot_link`, then `merge`, `split` and
`rename`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from soffit._typing import IntArray
from soffit.affinity import SideInformation
from soffit.memberships.matching import partners

Pair = tuple[int, int]
Key = tuple[int | None, tuple[tuple[int, ...], ...], tuple[Pair, ...]]


@dataclass(frozen=True)
class Edit:
    """One step after the fit: a method of the model and its argument."""

    kind: Literal["merge", "split", "rename"]  # The method.
    clusters: tuple[int, ...]  # The clusters, by the numbers they have before this step.
    argument: Any = None  # Number of parts of a split, or the name.

    def apply(self, model: Any) -> Any:
        """The edited model."""
        if self.kind == "merge":
            return model.merge(list(self.clusters))
        if self.kind == "split":
            return model.split(self.clusters[0], n=self.argument)
        return model.rename({self.clusters[0]: self.argument})

    def command(self) -> list[str]:
        """The same as an option of `soffit edit`."""
        if self.kind == "merge":
            return ["--merge", ",".join(map(str, self.clusters))]
        if self.kind == "split":
            return ["--split", f"{self.clusters[0]}:{self.argument}"]
        return ["--name", f"{self.clusters[0]}={self.argument}"]


def edits_of(steps: Iterable[str]) -> tuple[Edit, ...]:
    """The edits of a model, from the Python calls in its `curation_`.

    A step that is none of these, such as `update`, ends the list: what follows it cannot be
    repeated with the same data.
    """
    found: list[Edit] = []
    for step in steps:
        call = ast.parse(step, mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            break
        name, named = call.func.id, {key.arg: key.value for key in call.keywords}
        if name not in ("merge", "split", "rename") or len(call.args) != 1:
            break
        given = ast.literal_eval(call.args[0])
        if name == "rename":
            found += [Edit("rename", (number,), word) for number, word in given.items()]
        elif name == "split":
            parts = ast.literal_eval(named["n"]) if "n" in named else 2
            found.append(Edit("split", (given,), parts))
        else:
            found.append(Edit("merge", tuple(given)))
            if "name" in named:
                word = ast.literal_eval(named["name"])
                found.append(Edit("rename", (min(given),), word))
    return tuple(found)


# --- edits after another fit ----------------------------------------------------------------------


def renumbered(edits: Sequence[Edit], place: Sequence[int | None], k: int) -> tuple[Edit, ...]:
    """The same edits for a fit whose clusters have other numbers.

    Every cluster has an identity that edits hand on: a merged cluster is a new one, and so are the
    parts of a split one, the largest of which keeps the number. Edits are replayed on identities in
    the former order and in the new one.

    `edits`: in the numbers of the former fit.
    `place`: the new number of each former cluster; None for one that has no counterpart.
    `k`: number of clusters of the new fit.
    Returns without merges and splits if the fits differ in their number of clusters, which these
        edits were a correction of; without names of clusters that are no more.
    """
    same_number = len(place) == k and None not in place
    former: list[Any] = list(range(len(place)))
    new: list[Any] = [("other", number) for number in range(k)]
    for identity, number in enumerate(place):
        if number is not None:
            new[number] = identity
    found: list[Edit] = []
    for step, edit in enumerate(edits):
        who = [former[number] for number in edit.clusters]
        if edit.kind != "rename":
            _replay(former, who, edit, step)
            if not same_number:
                continue
        elif any(identity not in new for identity in who):
            continue
        there = tuple(sorted(new.index(identity) for identity in who))
        found.append(replace(edit, clusters=there))
        if edit.kind != "rename":
            _replay(new, who, edit, step)
    return tuple(found)


def _replay(order: list[Any], who: list[Any], edit: Edit, step: int) -> None:
    """Carry out a merge or a split on a list of identities."""
    where = sorted(order.index(identity) for identity in who)
    if edit.kind == "merge":
        order[where[0]] = ("merged", step)
        for number in reversed(where[1:]):
            del order[number]
        return
    order[where[0]] = ("part", step, 0)
    order.extend(("part", step, part) for part in range(1, int(edit.argument)))


def counterparts(former: IntArray, new: IntArray) -> list[int | None]:
    """The cluster of the new labels that shares most objects with each former cluster."""
    shared = np.zeros((int(former.max()) + 1, int(new.max()) + 1))
    np.add.at(shared, (former, new), 1.0)
    return [None if partner < 0 else int(partner) for partner in partners(shared)]


# --- the state ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class State:
    """Everything a person has said so far."""

    n_clusters: int | None = None  # The number of clusters; None lets the model choose.
    together: tuple[tuple[int, ...], ...] = ()  # Pairs and groups of objects that belong together.
    apart: tuple[Pair, ...] = ()  # Pairs of objects that belong to different clusters.
    skipped: tuple[Pair, ...] = ()  # Pairs that were not decided; they are not asked about again.
    edits: tuple[Edit, ...] = ()  # In the numbers of the clusters of the fit `numbers`.
    numbers: Key | None = None  # The fit whose numbers the edits use; None if there are no edits.

    @property
    def key(self) -> Key:
        """What the fit depends on."""
        return self.n_clusters, self.together, self.apart

    @property
    def n_answers(self) -> int:
        """Number of answers, groups included."""
        return len(self.together) + len(self.apart)

    def answered(self, a: int, b: int, answer: Literal["together", "apart", "skip"]) -> State:
        """With another answer, which replaces an earlier one about the same pair."""
        pair = (min(a, b), max(a, b))
        state = self.without(pair)
        if answer == "together":
            return replace(state, together=(*state.together, pair))
        if answer == "apart":
            return replace(state, apart=(*state.apart, pair))
        return replace(state, skipped=(*state.skipped, pair))

    def without(self, pair: Pair) -> State:
        """Without an answer about this pair."""
        if pair not in self.together and pair not in self.apart and pair not in self.skipped:
            return self
        return replace(
            self,
            together=tuple(group for group in self.together if group != pair),
            apart=tuple(other for other in self.apart if other != pair),
            skipped=tuple(other for other in self.skipped if other != pair),
        )

    def grouped(self, objects: Sequence[int], apart_from: Sequence[int] = ()) -> State:
        """With a group that belongs together, and whose first object differs from others."""
        group = tuple(dict.fromkeys(int(number) for number in objects))
        state = replace(self, together=(*self.together, group))
        for other in apart_from:
            state = state.answered(group[0], int(other), "apart")
        return state

    def edited(self, edit: Edit) -> State:
        """With another edit, in the numbers of the clusters as they are now."""
        return replace(self, edits=(*self.edits, edit), numbers=self.numbers or self.key)

    def counted(self, n_clusters: int | None) -> State:
        """With another number of clusters."""
        return replace(self, n_clusters=n_clusters)

    def fit_arguments(self) -> dict[str, Any]:
        """The pairs as arguments of `fit`."""
        given = {"must_link": self.together, "cannot_link": self.apart}
        return {name: [list(pair) for pair in pairs] for name, pairs in given.items() if pairs}

    def needed_clusters(self, n: int) -> int:
        """A number of clusters that the answers need at least: objects that all differ."""
        links = [(group[0], other) for group in self.together for other in group[1:]]
        must, cannot = (
            np.array(pairs, dtype=np.int64).reshape(-1, 2) for pairs in (links, self.apart)
        )
        return SideInformation(must, cannot, n).n_clusters()
