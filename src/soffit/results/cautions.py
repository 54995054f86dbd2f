"""Warnings about a result, each with a remedy: the same in terminal, JSON and report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components

from soffit._typing import Matrix, is_sparse
from soffit._wording import (
    Message,
    Parameter,
    capitalized,
    count_of,
    listed,
    number,
    percent,
    shorten,
)
from soffit.affinity.distinct import repeated_rows
from soffit.affinity.given_objects import Standardizer, outweighing
from soffit.results.fit_quality import UNSTABLE_BELOW, agreement_sentence
from soffit.results.sentences import LIKELY_CHOICE, telling_sentence, uncertainty
from soffit.results.summary import Summary

_LOW_RECALL = 0.9
# A number of clusters that is so many times less probable than another one is contradicted.
_FAR_LESS = 0.01
_LOW_STABILITY = 0.5
_MANY_UNCERTAIN = 0.25
# A cluster with fewer objects than this share of an even one is tiny; so is one below three.
_TINY_SHARE = 0.1
_TINY = 3
_NAMED = 5
# An outlier is this many interquartile ranges outside the middle half; it is one of few.
_FAR = 10.0
_FEW_FAR = 0.01
_ENOUGH = 20
# From this share of copies on, the rest is what the data consist of.
_MOSTLY_COPIES = 0.8


@dataclass(frozen=True)
class Caution:
    """A heading, the finding and the remedy. Plain text, not HTML.

    `is_warned` says that the fit has issued a Python warning about it, which commands show anyway.
    """

    heading: str
    seen: str
    remedy: str
    is_warned: bool = False

    def __str__(self) -> str:
        return str(self.message)

    @property
    def message(self) -> Message:
        """All of it, with the parameters of the remedy marked."""
        head = "" if self.seen.startswith(self.heading) else f"{self.heading}. "
        return Message(f"{head}{self.seen} ", self.remedy)


@dataclass(frozen=True)
class Check:
    """One check of a result: what it was about, and what came of it."""

    subject: str  # What was checked, as part of a sentence.
    caution: Caution | None = None  # What was found.
    skipped: str = ""  # Why it could not be checked; empty if it was.


def cautions(summary: Summary) -> list[Caution]:
    """All cautions, the most serious first."""
    return [check.caution for check in checks(summary) if check.caution is not None]


def checks(summary: Summary) -> list[Check]:
    """All checks that concern this result, those that could not be made among them."""
    found = []
    for subject, missing, check in _CHECKS:
        skipped = missing(summary)
        if skipped is None:
            continue
        caution = None if skipped else check(summary)
        found.append(Check(subject, caution, skipped))
    return found


# --- the fit --------------------------------------------------------------------------------------


def _a_sample(summary: Summary) -> str | None:
    return "" if summary.all_sizes else None


def _sampled(summary: Summary) -> Caution | None:
    n, sizes = sum(summary.all_sizes), summary.all_sizes
    shown = [
        f"{summary.name_of(cluster)} {size:,} ({percent(size / n)})"
        for cluster, size in enumerate(sizes)
    ]
    seen = f"These are {summary.n_objects:,} of {n:,} objects. Among all: {listed(shown)}."
    remedy = "Counts, shares and tables elsewhere are those of the sample."
    return Caution("A sample is shown", seen, remedy)


def _not_converged(summary: Summary) -> Caution | None:
    stop = summary.stop
    if stop is None:
        return None
    seen = f"{stop.sentence('It')} {stop.outlook}"
    return Caution("The fit did not converge", seen, stop.remedy, is_warned=True)


def _low_recall(summary: Summary) -> Caution | None:
    recall = getattr(summary.model, "neighbor_recall_", None)
    if recall is None or recall >= _LOW_RECALL:
        return None
    return Caution(
        "The neighbour search missed many neighbours",
        f"It found {percent(float(recall))} of the true nearest neighbours in a sample of objects.",
        Message(
            "Reduce the number of columns, for instance with PCA, or increase ",
            Parameter("n_neighbors"),
            ".",
        ),
    )


def _unstable(summary: Summary) -> Caution | None:
    agreement = summary.agreement
    if agreement is None or agreement >= UNSTABLE_BELOW:
        return None
    return Caution(
        "The clusters change when objects are left out",
        agreement_sentence(agreement),
        "Try another number of clusters or neighbours, or pass pairs of objects that belong "
        "together or apart.",
        is_warned=True,
    )


def _shaky_clusters(summary: Summary) -> Caution | None:
    if summary.stability is None:
        return None
    shaky = np.flatnonzero(summary.stability < _LOW_STABILITY)
    if not len(shaky):
        return None
    one = len(shaky) == 1
    return Caution(
        "One cluster is unstable" if one else f"{len(shaky)} clusters are unstable",
        f"{capitalized(_clusters(summary, shaky))} {'does' if one else 'do'} not recur when "
        "the fit is repeated on subsamples of the objects.",
        f"Interpret {'it' if one else 'them'} with caution, or use fewer clusters.",
    )


def _doubtful_number(summary: Summary) -> Caution | None:
    choice = summary.choice
    if summary.suggestion is not None:
        return _contradicted_number(summary.suggestion, summary.n_clusters)
    if choice is None or choice.confidence >= LIKELY_CHOICE or choice.runner_up is None:
        return None
    return Caution(
        "The number of clusters is uncertain",
        f"{choice.n_clusters} was chosen with a confidence of {choice.confidence:.2f}; "
        + (
            "next best is a single cluster: the objects may also be one continuum."
            if choice.runner_up == 1
            else f"{choice.runner_up} is the next best number."
        ),
        "Look at the map before you rely on the clusters."
        if choice.runner_up == 1
        else Message(
            "Fit again with ",
            Parameter("n_clusters", choice.runner_up),
            " and compare the results.",
        ),
    )


def _contradicted_number(choice: Any, given: int) -> Caution | None:
    """A number that was given, if by the evidence another one is far more probable."""
    credibility = dict(zip(choice.ks.tolist(), choice.table["credibility"].tolist(), strict=True))
    best = choice.n_clusters
    if credibility[given] >= _FAR_LESS * credibility[best]:
        return None
    others = "A single cluster is" if best == 1 else f"{best} clusters are"
    remedy = (
        f"If you need {given}, treat them as a convenient division: with other objects the "
        "boundaries may lie elsewhere, whatever the memberships say."
    )
    return Caution(
        "The data suggest another number of clusters",
        f"{others} far more probable than {given} (confidence {choice.confidence:.2f}).",
        remedy
        if best == 1
        else Message("Compare with ", Parameter("n_clusters", best), f". {remedy}"),
    )


# --- the graph ------------------------------------------------------------------------------------


def _disconnected(summary: Summary) -> Caution | None:
    A = summary.affinities
    if A is None or summary.n_objects < 2:
        return None
    sizes = component_sizes(A)
    linked = sizes[sizes > 1]
    if len(linked) < 2:
        return None
    largest = percent(float(linked.max()) / summary.n_objects)
    seen = (
        f"The graph of similarities has {len(linked):,} connected components of two or more "
        f"objects; the largest holds {largest} of the objects."
    )
    if len(linked) == summary.n_clusters:
        seen += " There are as many components as clusters: these may simply be well separated."
    return Caution(
        "The graph is not connected",
        seen,
        "Add links if clusters should extend across components."
        if summary.has_given_links
        else Message(
            "Increase ",
            Parameter("n_neighbors"),
            " if clusters should extend across components.",
        ),
    )


def _isolated(summary: Summary) -> Caution | None:
    A = summary.affinities
    if A is None or summary.n_objects < 2:
        return None
    alone = isolated(A)
    if not len(alone):
        return None
    one = len(alone) == 1
    return Caution(
        f"{count_of(len(alone), 'object')} {'is' if one else 'are'} isolated",
        f"{_objects(summary, alone)} {'has' if one else 'have'} no links to other objects, so "
        f"{'its cluster' if one else 'their clusters'} cannot be determined.",
        Message(
            f"Treat {'it' if one else 'them'} as {'an outlier' if one else 'outliers'}, or ",
            "add links."
            if summary.has_given_links
            else Message("increase ", Parameter("n_neighbors"), "."),
        ),
    )


def component_sizes(A: Matrix) -> Any:
    """Numbers of objects in the connected components of a graph."""
    n = A.shape[0]
    if not is_sparse(A) and ((A > 0).sum(axis=1) >= n - 1).any():
        # One object is linked to all others; a copy in another format would only cost memory.
        return np.array([n])
    _, part = connected_components(A, directed=False)
    return np.bincount(part)


def isolated(A: Matrix) -> Any:
    """Objects without a link to any other."""
    links = np.asarray((A > 0).sum(axis=1)).ravel() - (np.asarray(A.diagonal()) > 0)
    return np.flatnonzero(links == 0)


# --- the data and the clusters --------------------------------------------------------------------


def _duplicates(summary: Summary) -> Caution | None:
    if summary.table is None:
        return None
    copies = repeated_rows(summary.table)
    if not len(copies):
        return None
    distinct = summary.n_objects - len(copies)
    if len(copies) > _MOSTLY_COPIES * summary.n_objects:
        return Caution(
            f"Only {count_of(distinct, 'row')} {'is' if distinct == 1 else 'are'} different",
            f"All other objects have the same values in all columns as "
            f"{'it' if distinct == 1 else 'one of them'}.",
            "Clusters can only be unions of these rows. More columns would tell more.",
        )
    one = len(copies) == 1
    return Caution(
        f"{count_of(len(copies), 'object')} {'is a duplicate' if one else 'are duplicates'}",
        f"{_objects(summary, copies)} {'has' if one else 'have'} the same values in all columns as "
        f"{'another object' if one else 'other objects'}.",
        f"Remove {'it' if one else 'them'} if {'it is' if one else 'they are'} there by mistake: "
        "each copy counts as an object, and many copies can look like a cluster.",
    )


def _column_values(summary: Summary) -> Caution | None:
    seen = telling_sentence(summary)
    if not seen:
        return None
    one = len(summary.telling_columns) == 1
    return Caution(
        f"The clusters follow {'one column' if one else 'two columns'}",
        seen,
        Message(
            f"Leave {'it' if one else 'one of them'} out to see what else the objects have in "
            "common: ",
            Parameter("drop", [summary.telling_columns[-1]]),
            ".",
        ),
    )


def _uneven_units(summary: Summary) -> Caution | None:
    """Columns of different units that the user did not want to be standardized."""
    table, model = summary.table, summary.model
    if summary.is_standardized is not False or table is None or is_sparse(table):
        return None
    if getattr(model, "standardize", None) is not False or table.shape[1] < 2:
        return None
    if not Standardizer.of(table, "auto").is_active:
        return None
    spread = np.std(np.asarray(table, dtype=np.float64), axis=0)
    largest, usual = outweighing(spread)
    times = number(spread[largest] / spread[usual]) if spread[usual] > 0 else "many"
    return Caution(
        "One column outweighs the others",
        f"The spread of “{shorten(summary.columns[largest])}” is {times} times that of "
        f"“{shorten(summary.columns[usual])}”, and the columns were not standardized: it alone "
        "decides which objects are similar.",
        Message("Fit again with ", Parameter("standardize", True), " unless this is intended."),
    )


def _far_outliers(summary: Summary) -> Caution | None:
    """Objects with a value far outside those of all others."""
    if summary.table is None or summary.n_objects < _ENOUGH:
        return None
    far: dict[int, int] = {}
    for j, column in enumerate(np.asarray(summary.table).T):
        low, high = np.quantile(column, [0.25, 0.75])
        reach = _FAR * (high - low)
        outside = np.flatnonzero((column < low - reach) | (column > high + reach))
        # Many of them are a long tail or a column of mostly one value, not single outliers.
        if reach > 0 and len(outside) <= max(1, _FEW_FAR * summary.n_objects):
            far.update({int(i): j for i in outside if int(i) not in far})
    if not far:
        return None
    which = sorted(far)
    one = len(which) == 1
    names = sorted({summary.columns[j] for j in far.values()})
    where = listed([f"“{shorten(name)}”" for name in names], most=3, noun="columns")
    return Caution(
        f"{count_of(len(which), 'object')} {'is' if one else 'are'} far from all others",
        f"{_objects(summary, which)} {'has a value' if one else 'have values'} of {where} more "
        f"than {_FAR:g} interquartile ranges away from most.",
        f"Check {'it' if one else 'them'} for errors; a long tail is often better clustered after "
        "taking logarithms.",
    )


def _tiny_clusters(summary: Summary) -> Caution | None:
    if summary.n_clusters == 1:
        return None
    limit = max(_TINY, _TINY_SHARE * summary.n_objects / summary.n_clusters)
    # If clusters of equal size would be tiny, small ones are expected.
    if summary.n_objects < 2 * _TINY * summary.n_clusters:
        limit = 1
    tiny = np.flatnonzero(summary.sizes < limit)
    if not len(tiny):
        return None
    one = len(tiny) == 1
    sizes = sorted({int(summary.sizes[cluster]) for cluster in tiny})
    held = count_of(sizes[0], "object") if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]} objects"
    if sizes[-1] > 0:
        seen = f"{'is' if one else 'are each'} the most probable {summary.noun} of only {held}"
    else:
        seen = f"{'is' if one else 'are'} empty: no object has it as its most probable one"
    return Caution(
        f"{f'One {summary.noun} is' if one else f'{len(tiny)} {summary.plural} are'} very small",
        f"{capitalized(_clusters(summary, tiny))} {seen}.",
        "Check the members: they may be outliers. Otherwise use fewer clusters.",
    )


def _many_uncertain(summary: Summary) -> Caution | None:
    if summary.n_uncertain < _MANY_UNCERTAIN * summary.n_objects:
        return None
    return Caution(
        "Many objects are uncertain",
        uncertainty(summary),
        Message(
            "The clusters may really overlap; then another ",
            Parameter("random_state"),
            " or order of the rows may give others. If you expected separated ones, try fewer "
            "clusters or other columns.",
        ),
    )


def _objects(summary: Summary, which: Any) -> str:
    names = [f"“{shorten(summary.id_of(int(position)))}”" for position in which[: _NAMED + 1]]
    if len(which) <= _NAMED + 1:
        return listed(names)
    return f"{', '.join(names[:_NAMED])} and {len(which) - _NAMED:,} more"


def _clusters(summary: Summary, which: Any) -> str:
    names = [shorten(summary.names[cluster]) for cluster in which]
    noun = summary.noun if len(names) == 1 else summary.plural
    return f"{noun} {listed(names, most=8)}"


# --- what each check needs ------------------------------------------------------------------------

# A check that does not concern a result at all is None; one that lacks something says what.
_Missing = Message | str | None


def _a_fit(summary: Summary) -> _Missing:
    return "" if summary.model is not None else "it is not recorded how the result was computed."


def _a_search(summary: Summary) -> _Missing:
    return "" if getattr(summary.model, "neighbor_recall_", None) is not None else None


def _resamples(summary: Summary) -> _Missing:
    if summary.agreement is not None:
        return ""
    if not hasattr(summary.model, "n_resamples"):
        return None
    return Message("needs ", Parameter("n_resamples", 10), ".")


def _stabilities(summary: Summary) -> _Missing:
    return "" if summary.stability is not None else None


def _a_choice(summary: Summary) -> _Missing:
    if summary.n_clusters == 1 and summary.choice is None:
        return None
    if summary.choice is not None or summary.noun == "class" or summary.model is None:
        return "" if summary.choice is not None else None
    if summary.is_edited or summary.is_chosen:
        return None
    if summary.suggestion is not None:
        return ""
    return "it was specified; without a number of clusters soffit chooses one and says how clearly."


def _links(summary: Summary) -> _Missing:
    if summary.n_objects < 2:
        return None
    return "" if summary.affinities is not None else None


def _a_table(summary: Summary) -> _Missing:
    if summary.kind not in ("table", None):
        return None
    return "" if summary.table is not None else "no table was given."


def _numbers(summary: Summary) -> _Missing:
    found = _a_table(summary)
    is_dense = summary.table is not None and not is_sparse(summary.table)
    return found if found != "" or is_dense else None


def _numbers_only(summary: Summary) -> _Missing:
    return _numbers(summary) if summary.mixed is None else None


def _a_standardization(summary: Summary) -> _Missing:
    return None if summary.is_standardized is None else _numbers_only(summary)


def _several(summary: Summary) -> _Missing:
    return None if summary.n_clusters == 1 else ""


_CHECKS: tuple[
    tuple[str, Callable[[Summary], _Missing], Callable[[Summary], Caution | None]], ...
] = (
    ("what is shown", _a_sample, _sampled),
    ("convergence", _a_fit, _not_converged),
    ("the neighbour search", _a_search, _low_recall),
    ("stability under resampling", _resamples, _unstable),
    ("the stability of single clusters", _stabilities, _shaky_clusters),
    ("the number of clusters", _a_choice, _doubtful_number),
    ("links between parts of the data", _links, _disconnected),
    ("isolated objects", _links, _isolated),
    ("the units of the columns", _a_standardization, _uneven_units),
    ("columns that decide alone", _numbers, _column_values),
    ("far outliers", _numbers_only, _far_outliers),
    ("duplicates", _a_table, _duplicates),
    ("very small or empty clusters", _several, _tiny_clusters),
    ("uncertain objects", _several, _many_uncertain),
)
