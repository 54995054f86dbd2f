"""Sentences about a summary that several outputs share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from soffit._typing import is_sparse
from soffit._wording import (
    Message,
    Parameter,
    capitalized,
    count_of,
    listed,
    number,
    percent,
    shorten,
    spelled,
)
from soffit.affinity.given_objects import outweighing
from soffit.results.members import called
from soffit.results.profiles import separating_groups, separation
from soffit.results.summary import CLEAR_FROM, UNCERTAIN_BELOW, Summary

_MOST_SIZES = 6
# Columns named in the first sentences, and the share of a column's variance between the clusters
# from which it is.
_NAMED_COLUMNS = 3
_TELLING = 0.15
# Confidence from which a choice is called clear, and likely; below that there is a warning.
CLEAR_CHOICE = 0.8
LIKELY_CHOICE = 0.5
# A valley of this share of the density beside it is hardly one.
_HARDLY_LOWER = 0.95
# In a valley of this depth, as a logarithm, the density falls to less than a half.
_DEEP = 0.7


def headline(summary: Summary) -> str:
    """What was found: the clusters by what is special about them, sizes, and how clear it is."""
    objects = count_of(summary.n_objects, "object")
    if summary.n_clusters == 1:
        verb = "forms" if summary.n_objects == 1 else "form"
        return f"The {objects} {verb} a single {summary.noun}."
    verb = "falls" if summary.n_objects == 1 else "fall"
    clusters = count_of(summary.n_clusters, summary.noun)
    return f"{objects} {verb} into {clusters}{_sizes(summary)}. {capitalized(_belonging(summary))}."


def _belonging(summary: Summary) -> str:
    share, n = float((summary.certainty >= CLEAR_FROM).mean()), summary.n_uncertain
    if share == 1:
        return "all of them clearly belong to one"
    some = f"{percent(share)} of them clearly belong" if share else "none of them clearly belongs"
    if n:
        return f"{some} to one, and {n:,} {'is' if n == 1 else 'are'} uncertain"
    return f"{some} to one, {'the others' if share else 'all of them'} probably"


def _sizes(summary: Summary) -> str:
    sizes = sorted(summary.sizes.tolist(), reverse=True)
    if len(sizes) <= _MOST_SIZES:
        named = called(summary)
        if named:
            order = sorted(range(len(sizes)), key=lambda c: -summary.sizes[c])
            return f": {listed([f'{named[c]} ({summary.sizes[c]:,})' for c in order])}"
        return f" of {listed([f'{size:,}' for size in sizes])}"
    return f" of {sizes[-1]:,} to {sizes[0]:,} objects each"


def differing(summary: Summary) -> str:
    """The columns in which the clusters differ most, in one sentence; or nothing."""
    if summary.n_clusters == 1 or summary.pixels is not None:
        return ""
    own = _separating(summary)
    known = [] if summary.attributes is None else _separating(summary.attributes)
    return " ".join(
        part
        for names, part in (
            (own, f"They differ most in {listed(own)}."),
            (known, f"Of what else is known, {listed(known)} {_differs(known)} most."),
        )
        if names
    )


def _separating(summary: Summary) -> list[str]:
    groups = separating_groups(summary, _NAMED_COLUMNS)
    shares = separation(summary, groups)
    return [
        shorten(group.name, 40)
        for group, share in zip(groups, shares, strict=True)
        if share >= _TELLING or is_sparse(summary.table)
    ]


def _differs(names: Sequence[str]) -> str:
    return "differs" if len(names) == 1 else "differ"


def uncertainty(summary: Summary) -> str:
    """How many objects are uncertain, and what that means."""
    n, total = summary.n_uncertain, summary.n_objects
    if not n:
        return f"No object is uncertain: every largest membership is {UNCERTAIN_BELOW:g} or more."
    are = "is" if n == 1 else "are"
    return (
        f"{n:,} of {count_of(total, 'object')} {are} uncertain (largest membership below "
        f"{UNCERTAIN_BELOW:g})."
    )


def missing_labels(summary: Summary) -> str:
    """A sentence on objects without a label; nothing if there are none."""
    if summary.truth is None or not (summary.truth == "").any():
        return ""
    count = int((summary.truth == "").sum())
    verb, counted = ("has", "does") if count == 1 else ("have", "do")
    return f"{capitalized(spelled(count, 'object'))} {verb} no label and {counted} not count here."


def edited(summary: Summary) -> str:
    """How the clusters were changed after the fit, as Python calls; or nothing."""
    if not summary.curation:
        return ""
    what = "changed" if summary.is_edited else "named"
    return f"The clusters were {what} after the fit: {listed(summary.curation, most=8)}."


# --- the columns ----------------------------------------------------------------------------------


def standardization(summary: Summary) -> Message | None:
    """Whether the columns were standardized, and why; nothing if there is nothing to say."""
    columns = summary.columns
    if summary.is_standardized is None or len(columns) < 2:
        return None
    setting = getattr(summary.model, "standardize", "auto")
    if not isinstance(setting, str):
        return Message(f"The columns were {'' if setting else 'not '}standardized, as specified.")
    if not summary.is_standardized:
        # Words and counts have one unit.
        if is_sparse(summary.table):
            return None
        return Message(
            "The columns were not standardized: their spreads are similar (",
            Parameter("standardize", True),
            " standardizes them).",
        )
    spread = summary.model._fitted.preparation.spread
    if len(spread) != len(columns):
        return Message("The columns were standardized, because their units differ.")
    largest, usual = outweighing(spread)
    return Message(
        f"The columns were standardized, because their units differ: the spread of "
        f"{shorten(columns[largest])} ({number(spread[largest])}) is "
        f"{number(spread[largest] / spread[usual])} times that of {shorten(columns[usual])} (",
        Parameter("standardize", False),
        " keeps them as they are).",
    )


# --- the number of clusters -----------------------------------------------------------------------


def choice_made(summary: Summary) -> str:
    """Which number of clusters the fit chose, and how clear the choice is; or nothing."""
    choice = summary.choice
    if choice is None:
        return ""
    chosen = f"The number of clusters, {choice.n_clusters}, was chosen"
    if choice.runner_up is None:
        return f"{chosen}: with so few objects no other number was considered."
    how = "clear" if choice.confidence >= CLEAR_CHOICE else "likely"
    how = how if choice.confidence >= LIKELY_CHOICE else "a close call"
    return (
        f"{chosen} among {int(choice.ks.min())} to {int(choice.ks.max())}: confidence "
        f"{choice.confidence:.2f} ({how}), runner-up {choice.runner_up}."
    )


def division(summary: Summary) -> Message | None:
    """How to divide objects that the fit left together; nothing if there are more clusters."""
    model, choice = summary.model, summary.choice
    if summary.n_clusters > 1 or summary.is_edited or getattr(model, "n_clusters", 1) is not None:
        return None
    number = 2 if choice is None else choice.runner_up or 2
    return Message(
        "pass ",
        Parameter("n_clusters", number),
        " to divide the objects all the same; their memberships then tell which are typical and "
        "which lie between.",
    )


def choice_evidence(summary: Summary) -> str:
    """The evidence for the chosen number of clusters; empty if it was given."""
    choice = summary.choice
    if choice is not None:
        if choice.n_clusters == 1:
            return _evidence_for_one(choice)
        at = choice.ks == choice.n_clusters
        return _evidence({name: values[at][0] for name, values in choice.table.items()})
    return _path_evidence(summary) if summary.is_chosen else ""


def _evidence_for_one(choice: Any) -> str:
    if choice.runner_up is None:
        return ""
    tried = f"Partitions into 2 to {int(choice.ks.max())} clusters were tried"
    if "depth" not in choice.table:
        return f"{tried}: none is clearly better than what chance brings in such a graph."
    second = choice.ks == 2
    depth = float(choice.table["depth"][second][0]) if second.any() else 0.0
    if depth > _DEEP:
        return (
            f"{tried}: one cluster is more probable than any of them, although the density falls "
            f"to {percent(math.exp(-depth))} between two dense regions."
        )
    falls = f"falls to {percent(math.exp(-depth))}" if depth > 0.05 else "hardly falls"
    return (
        f"{tried}: no valley between dense regions is clearly deeper than those that occur by "
        f"chance in one cluster. In the deepest one the density {falls}."
    )


def _evidence(evidence: dict[str, Any]) -> str:
    longer = math.exp(min(float(evidence["gap"]), 9.0))
    k, valley = int(evidence["k"]), float(evidence["valley"])
    depth = f"The density falls to {percent(valley)}"
    if valley < 0.05 or valley > _HARDLY_LOWER:
        depth = "There is a gap" if valley < 0.05 else "The density hardly falls"
    stable = ""
    if "stability" in evidence:
        stable = (
            " The adjusted Rand index with the clusters that are found without a fifth of the "
            f"links is {float(evidence['stability']):.2f}."
        )
    return (
        f"Evidence: a random walk on the neighbour graph stays within {k} groups {longer:.1f} "
        f"times longer than within {k + 1}. {depth} between the two nearest clusters.{stable}"
    )


def _path_evidence(summary: Summary) -> str:
    """The evidence of models with their own rule, a path of pruning thresholds."""
    chosen = f"The number of clusters, {summary.n_clusters}, was found by the model's own rule"
    path = getattr(summary.model, "threshold_path_", None)
    if path is None or not len(path):
        return f"{chosen}."
    lasted = int((path[:, 1] == summary.n_clusters).sum())
    return (
        f"{chosen}: it persists at {lasted} of {len(path)} increasing weight thresholds for "
        "pruning clusters."
    )


def telling_sentence(summary: Summary) -> str:
    """Which columns determine the clusters, if one or two do."""
    columns = [f"“{shorten(name)}”" for name in summary.telling_columns]
    if not columns:
        return ""
    one = len(columns) == 1
    what, value, same = (
        ("one column", "it", "it does") if one else ("two columns", "both", "these do")
    )
    return (
        f"The clusters follow {what}, {listed(columns)}: nearly all objects with the same value of "
        f"{value} are in the same cluster, so the clusters say nothing more than {same}."
    )
