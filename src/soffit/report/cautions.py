"""What a reader should know before trusting a result, each with what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components

from soffit._typing import Matrix, is_sparse
from soffit.report._subject import Subject
from soffit.report._words import capitalized, count_of, listed, percent, shorten

_LOW_RECALL = 0.9
_LOW_AGREEMENT = 0.7
_LOW_STABILITY = 0.5
_LOW_CONFIDENCE = 0.5
_MANY_DOUBTFUL = 0.25
# A cluster with fewer objects than this share of an even one is tiny; so is one below three.
_TINY_SHARE = 0.1
_TINY = 3
_NAMED = 5


# Why a fit ended before it settled, and what to do.
_STOPS = {
    "max_iter": (
        "while the memberships were still changing",
        "Raise max_iter{now}, or tol if this precision is enough.",
    ),
    "max_time": (
        "because the time was over, and the best result so far was kept",
        "Allow it more time with max_time.",
    ),
    "callback": (
        "because the callback asked for it, and the best result so far was kept",
        "Let it run to its end if you need more precision.",
    ),
    "interrupted": (
        "because it was interrupted, and the best result so far was kept",
        "Let it run to its end if you need more precision.",
    ),
}


@dataclass(frozen=True)
class Remark:
    """One remark: a heading, what was seen, and what can be done. Plain text, not HTML."""

    heading: str
    seen: str
    remedy: str


def remarks(subject: Subject) -> list[Remark]:
    """All remarks, the gravest first."""
    found = [check(subject) for check in _CHECKS]
    return [remark for remark in found if remark is not None]


# --- the fit --------------------------------------------------------------------------------------


def _not_converged(subject: Subject) -> Remark | None:
    if getattr(subject.model, "converged_", True):
        return None
    reason, remedy = _STOPS.get(getattr(subject.model, "stopped_", ""), _STOPS["max_iter"])
    limit = getattr(subject.model, "max_iter", None)
    now = "" if limit is None else f" (now {limit:,})"
    n_iter = count_of(int(subject.model.n_iter_), "iteration")
    return Remark(
        "The fit did not settle",
        f"It stopped after {n_iter} {reason}.",
        remedy.format(now=now),
    )


def _low_recall(subject: Subject) -> Remark | None:
    recall = getattr(subject.model, "neighbor_recall_", None)
    if recall is None or recall >= _LOW_RECALL:
        return None
    return Remark(
        "The neighbour search missed many neighbours",
        f"It found {percent(float(recall))} of the true nearest neighbours in a sample of objects.",
        "Reduce the number of columns, for instance with PCA, or search with a larger n_neighbors.",
    )


def _unstable(subject: Subject) -> Remark | None:
    agreement = getattr(subject.model, "agreement_", None)
    if agreement is None or agreement >= _LOW_AGREEMENT:
        return None
    return Remark(
        "The clusters change when objects are left out",
        f"Two fits to parts of the objects agree on {percent(float(agreement))} of them.",
        "Try another number of clusters or of neighbours, or tell the model pairs of objects that "
        "belong together or apart.",
    )


def _shaky_clusters(subject: Subject) -> Remark | None:
    stability = getattr(subject.model, "cluster_stability_", None)
    if stability is None:
        return None
    shaky = np.flatnonzero(np.asarray(stability) < _LOW_STABILITY)
    if not len(shaky):
        return None
    one = len(shaky) == 1
    return Remark(
        "One cluster is unstable" if one else f"{len(shaky)} clusters are unstable",
        f"{capitalized(_clusters(subject, shaky))} {'does' if one else 'do'} not come back when "
        "the fit is repeated on parts of the objects.",
        f"Read {'it' if one else 'them'} with caution, or ask for fewer clusters.",
    )


def _doubtful_number(subject: Subject) -> Remark | None:
    choice = getattr(subject.model, "k_choice_", None)
    if choice is None or choice.confidence >= _LOW_CONFIDENCE or choice.runner_up is None:
        return None
    return Remark(
        "The number of clusters is not clear-cut",
        f"{choice.n_clusters} was chosen with a confidence of {choice.confidence:.2f}; "
        f"{choice.runner_up} is the next best number.",
        f"Fit again with {choice.runner_up}, and keep what makes more sense to you.",
    )


# --- the graph ------------------------------------------------------------------------------------


def _disconnected(subject: Subject) -> Remark | None:
    A = subject.affinities
    if A is None or subject.n_objects < 2:
        return None
    sizes = component_sizes(A)
    linked = sizes[sizes > 1]
    if len(linked) < 2:
        return None
    largest = percent(float(linked.max()) / subject.n_objects)
    seen = (
        f"The graph of similarities falls into {len(linked):,} parts without any link between "
        f"them; the largest holds {largest} of the objects."
    )
    if len(linked) == subject.n_clusters:
        seen += " There are as many parts as clusters: the objects may simply be that well apart."
    return Remark(
        "The objects are not all connected",
        seen,
        "Add links if clusters should be able to reach across these gaps."
        if subject.has_given_links
        else "Raise n_neighbors if clusters should be able to reach across these gaps.",
    )


def _isolated(subject: Subject) -> Remark | None:
    A = subject.affinities
    if A is None or subject.n_objects < 2:
        return None
    alone = isolated(A)
    if not len(alone):
        return None
    one = len(alone) == 1
    return Remark(
        f"{count_of(len(alone), 'object')} {'is' if one else 'are'} linked to no other",
        f"{_objects(subject, alone)} {'has' if one else 'have'} no neighbour, so that nothing says "
        f"where {'it belongs' if one else 'they belong'}.",
        f"Treat {'it' if one else 'them'} as {'an outlier' if one else 'outliers'}, or "
        + ("add links." if subject.has_given_links else "raise n_neighbors."),
    )


def component_sizes(A: Matrix) -> Any:
    """Numbers of objects in the connected parts of a graph."""
    n = A.shape[0]
    if not is_sparse(A) and ((A > 0).sum(axis=1) >= n - 1).any():
        # Someone is linked to everybody; a copy in another format would only cost memory.
        return np.array([n])
    _, part = connected_components(A, directed=False)
    return np.bincount(part)


def isolated(A: Matrix) -> Any:
    """Objects without a link to any other."""
    links = np.asarray((A > 0).sum(axis=1)).ravel() - (np.asarray(A.diagonal()) > 0)
    return np.flatnonzero(links == 0)


# --- the data and the clusters --------------------------------------------------------------------


def _duplicates(subject: Subject) -> Remark | None:
    if subject.table is None:
        return None
    copies = repeated_rows(subject.table)
    if not copies:
        return None
    one = len(copies) == 1
    return Remark(
        f"{count_of(len(copies), 'object')} {'is an exact copy' if one else 'are exact copies'}",
        f"{_objects(subject, copies)} {'has' if one else 'have'} the same values in all columns as "
        f"{'another object' if one else 'other objects'}.",
        f"Leave {'it' if one else 'them'} out if {'it is' if one else 'they are'} there by "
        "mistake: copies fill one another's neighbour lists and can pass for a cluster.",
    )


def repeated_rows(table: Matrix) -> list[int]:
    """Rows that are equal to an earlier one."""
    seen: set[int] = set()
    repeated = []
    for number, content in enumerate(_row_contents(table)):
        key = hash(content)
        if key in seen:
            repeated.append(number)
        seen.add(key)
    return repeated


def _row_contents(table: Matrix) -> Iterator[Any]:
    if not is_sparse(table):
        # Adding zero makes both zeros the same bytes.
        yield from ((row + 0.0).tobytes() for row in table)
        return
    tidy = table.copy()
    tidy.eliminate_zeros()
    tidy.sort_indices()
    for begin, end in pairwise(tidy.indptr):
        yield tidy.indices[begin:end].tobytes(), tidy.data[begin:end].tobytes()


def _tiny_clusters(subject: Subject) -> Remark | None:
    if subject.n_clusters == 1:
        return None
    limit = max(_TINY, _TINY_SHARE * subject.n_objects / subject.n_clusters)
    # Where even clusters would be tiny, small ones are no surprise.
    if subject.n_objects < 2 * _TINY * subject.n_clusters:
        limit = 1
    tiny = np.flatnonzero(subject.sizes < limit)
    if not len(tiny):
        return None
    one = len(tiny) == 1
    sizes = sorted({int(subject.sizes[cluster]) for cluster in tiny})
    held = count_of(sizes[0], "object") if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]} objects"
    if sizes[-1] > 0:
        seen = f"{'is' if one else 'are each'} the likeliest {subject.noun} of only {held}"
    else:
        seen = f"{'is' if one else 'are'} nobody's likeliest {subject.noun}"
    return Remark(
        f"{f'One {subject.noun} is' if one else f'{len(tiny)} {subject.plural} are'} very small",
        f"{capitalized(_clusters(subject, tiny))} {seen}.",
        "Look at the members: they may be outliers. Otherwise ask for fewer clusters.",
    )


def _many_doubtful(subject: Subject) -> Remark | None:
    share = float((subject.certainty < 0.5).mean())
    if share < _MANY_DOUBTFUL:
        return None
    return Remark(
        "Many objects have no cluster of their own",
        f"{percent(share)} of the objects have less than half of their membership in any one "
        "cluster.",
        "Clusters may overlap by nature. If you expected clear ones, try fewer clusters, or "
        "other columns.",
    )


def _objects(subject: Subject, which: Any) -> str:
    names = [f"“{shorten(subject.id_of(int(position)))}”" for position in which[: _NAMED + 1]]
    if len(which) <= _NAMED + 1:
        return listed(names)
    return f"{', '.join(names[:_NAMED])} and {len(which) - _NAMED:,} more"


def _clusters(subject: Subject, which: Any) -> str:
    names = [shorten(subject.names[cluster]) for cluster in which]
    noun = subject.noun if len(names) == 1 else subject.plural
    return f"{noun} {listed(names, most=8)}"


_CHECKS: tuple[Callable[[Subject], Remark | None], ...] = (
    _not_converged,
    _low_recall,
    _unstable,
    _shaky_clusters,
    _doubtful_number,
    _disconnected,
    _isolated,
    _duplicates,
    _tiny_clusters,
    _many_doubtful,
)
