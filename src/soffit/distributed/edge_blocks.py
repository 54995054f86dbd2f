"""Relations of a graph whose edges are in blocks: expectation-maximisation by ranges of objects.

The edges are sorted by the range of objects that they belong to, and stay at the workers. Once a
start is known, objects are numbered in the order of its clusters and the edges sorted again, so
that neighbours are close in memory. Per iteration every range computes the ratios of its own rows;
only these and the rows of all objects travel. Ranges depend on nothing but the number of objects,
and so do the bytes of the result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from soffit._typing import FloatArray, IntArray
from soffit._wording import Message, Parameter, first_few
from soffit.distributed.engine import Engine, need_dask
from soffit.distributed.placement import entropy_of, labels_of
from soffit.distributed.row_blocks import row_hash
from soffit.factorize.divergence.em import cluster_prior, descend, rows_or_prior
from soffit.factorize.divergence.relations import UNEXPLAINED, entropy_of_weights, unit_of
from soffit.factorize.divergence.sparse_rows import (
    SupportState,
    Widening,
    column_shares,
    missing,
    moved_support,
    spread_rows,
    widened,
)
from soffit.factorize.problem import Factorization
from soffit.fitting.monitor import Progress

# A range has at least so many objects, and there are at most so many ranges.
_ROWS = 2**12
_MOST_RANGES = 64
# The start is found in a graph that keeps so many edges per object.
_KEPT = 16
_SPREAD = 0.2
# Bytes per object of the rows of all objects, their neighbours and the start, at one worker.
_PER_OBJECT = 600
_MOST_OBJECTS = 2**31 - 2


# --- edges by ranges of objects -------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class EdgeRange:
    """All edges of the objects from `first` to `last`, in both directions, as rows."""

    first: int
    last: int
    n: int
    indptr: IntArray
    indices: IntArray
    data: FloatArray

    @property
    def rows(self) -> range:
        """The objects."""
        return range(self.first, self.last)

    def graph(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Row positions of all objects, columns and weights, as kernels take them."""
        indptr = np.zeros(self.n + 1, dtype=self.indptr.dtype)
        indptr[self.first : self.last + 1] = self.indptr
        return indptr, self.indices, self.data

    def degrees(self) -> FloatArray:
        """Sums of the weights of each object."""
        row = np.repeat(np.arange(self.last - self.first), np.diff(self.indptr))
        return np.bincount(row, self.data, minlength=self.last - self.first).astype(np.float64)


def _edges(frame: Any, number: int) -> tuple[IntArray, IntArray, FloatArray]:
    """Ends and weights of the edges of a block."""
    ends = [np.asarray(frame[name], dtype=np.int64) for name in ("source", "target")]
    if "weight" in frame.columns:
        weights = np.asarray(frame["weight"])
        kept = np.float32 if weights.dtype == np.float32 else np.float64
        weights = weights.astype(kept, copy=False)
    else:
        weights = np.ones(len(ends[0]), dtype=np.float32)
    for name, values, wrong in (
        ("source", ends[0], ends[0] < 0),
        ("target", ends[1], ends[1] < 0),
        ("weight", weights, ~(np.isfinite(weights) & (weights >= 0))),
    ):
        if wrong.any():
            rows = np.flatnonzero(wrong)
            raise ValueError(
                f"X has {name}s that are negative or missing, for example {values[rows[0]]}, in "
                f"rows {first_few(rows)} of block {number}. Drop these edges."
            )
    return ends[0], ends[1], weights


def _extent(frame: Any, number: int) -> tuple[int, int]:
    """The largest number of an object, and the number of edges."""
    source, target, _ = _edges(frame, number)
    return int(max(source.max(initial=-1), target.max(initial=-1))), len(source)


def _split(frame: Any, number: int, bounds: tuple[int, ...]) -> list[tuple[Any, Any, Any]]:
    """The edges of a block in both directions, by the range of their first object."""
    source, target, weights = _edges(frame, number)
    linked = (source != target) & (weights > 0)
    source, target, weights = source[linked], target[linked], weights[linked]
    i, j = np.concatenate([source, target]), np.concatenate([target, source])
    return _by_range(i, j, np.concatenate([weights, weights]), bounds)


def _by_range(i: IntArray, j: IntArray, w: FloatArray, bounds: tuple[int, ...]) -> list[Any]:
    """Edges by the range of their first object."""
    owner = (np.searchsorted(bounds, i, side="right") - 1).astype(np.uint8)
    order = np.argsort(owner, kind="stable")
    cuts = np.cumsum(np.bincount(owner, minlength=len(bounds) - 1))[:-1]
    parts = (np.split(a[order].astype(t), cuts) for a, t in ((i, "i4"), (j, "i4"), (w, w.dtype)))
    return list(zip(*parts, strict=True))


def _collected(first: int, last: int, n: int, parts: list[Any]) -> EdgeRange:
    """The edges of one range from all blocks; those of the same pair are added up."""
    i, j, w = (np.concatenate([part[a] for part in parts]) for a in range(3))
    i -= np.int32(first)
    shape = (last - first, n)
    found = sp.csr_array(sp.coo_array((w, (i, j)), shape=shape))
    if found.nnz < len(w):
        # Sums of several weights: in the order of these, not of the blocks.
        order = np.lexsort((w, j, i))
        found = sp.csr_array(sp.coo_array((w[order], (i[order], j[order])), shape=shape))
    found.sort_indices()
    return EdgeRange(first, last, n, found.indptr, found.indices, found.data)


def _scaled(given: EdgeRange, unit: float) -> EdgeRange:
    data = given.data / given.data.dtype.type(unit)
    return EdgeRange(given.first, given.last, given.n, given.indptr, given.indices, data)


def _total(given: EdgeRange) -> tuple[float, Any]:
    """The sum of the weights, and their precision."""
    return float(given.data.sum(dtype=np.float64)), given.data.dtype


def _entropy(given: EdgeRange) -> float:
    return entropy_of_weights(given.data)


def _all_degrees(ranges: list[EdgeRange]) -> FloatArray:
    return np.concatenate([part.degrees() for part in ranges])


# --- the start ------------------------------------------------------------------------------------


def _strongest(given: EdgeRange) -> tuple[IntArray, IntArray, FloatArray]:
    """Some edges of each object, drawn by their weights; both ends draw the same numbers."""
    row = np.repeat(np.arange(given.last - given.first), np.diff(given.indptr))
    i, j = row + given.first, given.indices.astype(np.int64)
    pair = np.minimum(i, j) * given.n + np.maximum(i, j)
    uniform = (row_hash(pair, 0) >> np.uint64(11)).astype(np.float64) * 2.0**-53 + 2.0**-54
    rank = -np.log(uniform) / given.data
    order = np.lexsort((rank, row))
    kept = order[np.arange(len(row)) - given.indptr[row] < _KEPT]
    return i[kept].astype(np.int32), given.indices[kept], given.data[kept]


def _start_labels(n: int, n_clusters: int, parts: list[Any]) -> IntArray:
    """Labels from a partition of the graph of all objects with some of their edges."""
    from soffit.partition.candidates import informative_partition, partitions_of_linked

    i, j, w = (np.concatenate([part[a] for part in parts]) for a in range(3))
    A = sp.csr_array(sp.coo_array((w, (i, j)), shape=(n, n)))
    A = sp.csr_array(A.maximum(A.T))
    A.sort_indices()
    (labels,) = partitions_of_linked(
        A, n_clusters, lambda inner: [informative_partition(inner, n_clusters)]
    )
    return np.asarray(labels, dtype=np.int32)


@dataclass(frozen=True, eq=False)
class Order:
    """Objects in the order of their clusters."""

    position: IntArray  # (n,): the new number of each object.
    labels: IntArray  # (n,): the clusters, in the new order.


def _ordered(labels: IntArray) -> Order:
    order = np.argsort(labels, kind="stable")
    position = np.empty(len(order), dtype=np.int32)
    position[order] = np.arange(len(order), dtype=np.int32)
    return Order(position, labels[order])


def _renumbered(given: EdgeRange, order: Order, bounds: tuple[int, ...]) -> list[Any]:
    """The edges of a range between new numbers, by the range of their first object."""
    own = order.position[given.first : given.last]
    i = np.repeat(own, np.diff(given.indptr))
    return _by_range(i, order.position[given.indices], given.data, bounds)


def _start_rows(given: EdgeRange, order: Order, n_clusters: int) -> sp.csr_array:
    """The first rows of B of a range."""
    from soffit.partition.kernels import weights_to_labels

    labels = order.labels
    lengths, clusters, weights = weights_to_labels(
        *given.graph(), labels, n_clusters, given.first, given.last
    )
    places = np.concatenate([[0], np.cumsum(lengths)])
    shape = (given.last - given.first, n_clusters)
    rows = spread_rows(
        sp.csr_array((weights, clusters, places), shape=shape),
        labels[given.first : given.last],
        _SPREAD,
    )
    rows.data *= np.repeat(given.degrees(), np.diff(rows.indptr)).astype(rows.dtype)
    return rows


def _stacked(parts: list[sp.csr_array]) -> SupportState:
    return _state(sp.csr_array(sp.vstack(parts, format="csr")))


# --- iterations -----------------------------------------------------------------------------------


def _state(B: sp.csr_array) -> SupportState:
    """A point whose ratios are not known yet."""
    H, weights = column_shares(B)
    return SupportState(B, H, weights, np.empty(0, dtype=B.dtype), np.nan)


def _moved(state: SupportState, power: int) -> SupportState:
    return _state(moved_support(state, power))


def _range_ratios(given: EdgeRange, state: SupportState) -> tuple[FloatArray, float]:
    """Ratios of the rows of a range, and its part of the likelihood."""
    from soffit.factorize.divergence.kernels import support_ratios

    B, rows = state.B, given.rows
    ratios, terms = np.empty_like(B.data), np.empty(given.n)
    stored = (*given.graph(), B.indptr, B.indices, B.data, state.H.data, B.shape[1])
    support_ratios(*stored, rows.start, rows.stop, UNEXPLAINED, ratios, terms)
    own = ratios[B.indptr[rows.start] : B.indptr[rows.stop]].copy()
    return own, float(terms[rows.start : rows.stop].sum())


def _evaluated(
    state: SupportState, constant: float, parts: list[tuple[FloatArray, float]]
) -> SupportState:
    ratios = np.concatenate([part[0] for part in parts])
    likelihood = float(sum(part[1] for part in parts))
    divergence = constant - likelihood + float(state.weights.sum())
    return SupportState(state.B, state.H, state.weights, ratios, divergence)


def _summary(state: SupportState) -> tuple[FloatArray, float]:
    return state.weights, state.divergence


def _range_missing(given: EdgeRange, state: SupportState) -> tuple[IntArray, IntArray]:
    return missing(given.graph(), state, given.rows)


def _wider(state: SupportState, degrees: FloatArray, parts: list[Any]) -> SupportState | None:
    B = widened(state.B, degrees, parts)
    return None if B is None else _state(B)


def _exists(value: Any) -> bool:
    return value is not None


@dataclass(frozen=True, eq=False)
class RemoteState:
    """A point of the search: the rows are at the workers, its numbers are here."""

    state: Any
    weights: FloatArray
    divergence: float

    @property
    def H(self) -> Any:
        """What holds H."""
        return self.state


@dataclass(frozen=True, eq=False)
class RemoteRelations:
    """Relations at the workers; see `soffit.factorize.divergence.relations.Relations`."""

    engine: Engine
    ranges: list[Any]
    bounds: tuple[int, ...]  # Where the ranges begin and end.
    degrees: Any
    dtype: Any
    unit: float
    total: float
    entropy: float
    order: Any = None  # The numbers of the objects, once they are in the order of their clusters.

    def evaluate(self, state: Any) -> RemoteState:
        """The E step at a point whose ratios are not known yet."""
        parts = self.engine.keep(_range_ratios, [(part, state) for part in self.ranges])
        (found,) = self.engine.keep(_evaluated, [(state, self.entropy - self.total, parts)])
        ((weights, divergence),) = self.engine.results(_summary, [(found,)])
        return RemoteState(found, weights, divergence)

    def move(self, point: RemoteState, power: int) -> RemoteState:
        """The next point."""
        return self.evaluate(self.engine.keep(_moved, [(point.state, power)])[0])

    def widen(self, point: RemoteState) -> RemoteState | None:
        """The point with more clusters per row, if any promises a gain."""
        parts = self.engine.keep(_range_missing, [(part, point.state) for part in self.ranges])
        (state,) = self.engine.keep(_wider, [(point.state, self.degrees, parts)])
        (exists,) = self.engine.results(_exists, [(state,)])
        return self.evaluate(state) if exists else None

    def in_order(self, n_clusters: int) -> RemoteRelations:
        """The same with objects numbered by their clusters in the graph with some of its edges."""
        engine, n = self.engine, self.bounds[-1]
        strongest = engine.keep(_strongest, [(part,) for part in self.ranges])
        (labels,) = engine.keep(_start_labels, [(n, n_clusters, strongest)])
        (order,) = engine.keep(_ordered, [(labels,)])
        count = len(self.bounds) - 1
        split = engine.keep(
            _renumbered, [(part, order, self.bounds) for part in self.ranges], nout=count
        )
        ranges = _ranges(engine, split, self.bounds)
        (degrees,) = engine.keep(_all_degrees, [(ranges,)])
        return replace(self, ranges=ranges, degrees=degrees, order=order)

    def start(self, n_clusters: int) -> RemoteState:
        """The first point, from these clusters."""
        rows = self.engine.keep(
            _start_rows, [(part, self.order, n_clusters) for part in self.ranges]
        )
        return self.evaluate(self.engine.keep(_stacked, [(rows,)])[0])


# --- the fit --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class EdgesFit:
    """The result: a factorization whose factor is at the workers, and all public attributes."""

    found: Factorization
    attributes: dict[str, Any]


def fit_edges(
    X: Any, n_clusters: int | None, *, max_iter: int, tol: float, progress: Progress
) -> EdgesFit:
    """Factorize a graph that is given as a data frame of edges in blocks.

    `X`: columns "source" and "target", numbers of objects from 0 on, and "weight" if there is one.
    `max_iter`, `tol`: as of `RelationFactorization`.
    `progress`: shows phases, and says when to stop.
    """
    need_dask("A graph in blocks")
    blocks = _checked(X)
    if n_clusters is None:
        raise ValueError(
            Message(
                Parameter("n_clusters"),
                " must be given for a graph in blocks: its number of clusters cannot be selected "
                "there. Pass a number.",
            )
        )
    engine = Engine.current()
    progress.phase("edges")
    numbered = [(block, number) for number, block in enumerate(blocks)]
    extents = engine.results(_extent, numbered, progress)
    n, n_edges = max(top for top, _ in extents) + 1, sum(count for _, count in extents)
    needed = _check_size(engine, n, n_edges)
    relations = _relations(engine, numbered, n, progress)
    progress.phase("start")
    relations = relations.in_order(n_clusters)
    point = relations.start(n_clusters)
    progress.keep_result()
    progress.phase("iterations")
    found = descend(
        relations,
        point,
        relations.move,
        max_iter=max_iter,
        tol=tol,
        callback=progress.iteration,
        widen=Widening(relations.widen, tol),
    )
    progress.note_stop(found)
    return EdgesFit(found, {**_attributes(relations, found, n), "memory_per_worker_": int(needed)})


def _checked(X: Any) -> list[Any]:
    """The blocks of a data frame of edges."""
    wanted = ["source", "target"]
    columns = [str(name) for name in getattr(X, "columns", ())]
    if not hasattr(X, "to_delayed") or not set(wanted) <= set(columns):
        raise TypeError(
            "RelationFactorization takes a graph in blocks as a Dask data frame with the columns "
            "'source', 'target' and, if edges have weights, 'weight'"
            + (f"; X has {first_few(map(repr, columns))}" if columns else "")
            + ". Rename the columns, X.rename(columns={...}), or use SoftClustering for a table."
        )
    kinds = {str(name): dtype for name, dtype in zip(X.columns, X.dtypes, strict=True)}
    for name, allowed in (("source", "iu"), ("target", "iu"), ("weight", "biuf")):
        if name in kinds and kinds[name].kind not in allowed:
            raise TypeError(
                f"The column {name!r} of X has the dtype {kinds[name]}. "
                + (
                    "Weights must be numbers: convert them, X.astype({'weight': 'float32'})."
                    if name == "weight"
                    else "Objects must be numbers from 0 on: number them, for example with "
                    "categories known to Dask, X[name].astype('category').cat.as_known().cat.codes."
                )
            )
    return list(X[[name for name in (*wanted, "weight") if name in kinds]].to_delayed())


def _check_size(engine: Engine, n: int, n_edges: int) -> float:
    if n < 2:
        raise ValueError("X has no edges between different objects: there is nothing to cluster.")
    if n > _MOST_OBJECTS:
        raise ValueError(
            f"X names an object {n - 1:,}, but numbers must be below {_MOST_OBJECTS:,}. Number the "
            "objects from 0 on, without gaps."
        )
    # Both directions, twice while they are sorted.
    needed = _PER_OBJECT * n + 2 * 2 * 12 * n_edges / engine.n_workers
    engine.check_memory(
        needed,
        what=f"A graph of {n:,} objects and {n_edges:,} edges",
        remedy="Use more workers, give them more memory, or number the objects without gaps.",
    )
    return needed


def _relations(
    engine: Engine, numbered: list[tuple[Any, int]], n: int, progress: Progress
) -> RemoteRelations:
    """Sort the edges by ranges, and scale the weights to degrees of about one."""
    rows = max(_ROWS, -(-n // _MOST_RANGES))
    bounds = (*range(0, n, rows), n)
    split = engine.keep(_split, [(*block, bounds) for block in numbered], nout=len(bounds) - 1)
    ranges = _ranges(engine, split, bounds)
    del split
    totals = engine.results(_total, [(part,) for part in ranges], progress)
    total = sum(part[0] for part in totals)
    if total <= 0:
        raise ValueError("X has no edges between different objects: there is nothing to cluster.")
    unit = unit_of(total / n)
    ranges = engine.keep(_scaled, [(part, unit) for part in ranges])
    entropy = sum(engine.results(_entropy, [(part,) for part in ranges], progress))
    (degrees,) = engine.keep(_all_degrees, [(ranges,)])
    dtype = totals[0][1]
    return RemoteRelations(engine, ranges, bounds, degrees, dtype, unit, total / unit, entropy)


def _ranges(engine: Engine, split: list[Any], bounds: tuple[int, ...]) -> list[Any]:
    """Ranges of objects, from the edges of several parts by range."""
    given = [
        (first, last, bounds[-1], [part[number] for part in split])
        for number, (first, last) in enumerate(pairwise(bounds))
    ]
    return engine.keep(_collected, given)


def _attributes(relations: RemoteRelations, found: Factorization, n: int) -> dict[str, Any]:
    """Public attributes; what has a row per object is a Dask array."""
    weights = found.scale / relations.unit
    total = relations.total
    # The divergence of a stationary point tells the likelihood.
    likelihood = relations.entropy - total + float(weights.sum()) - found.objective / relations.unit
    rows = partial(_lazy_rows, relations, found.factor, n, len(weights))
    memberships = rows("memberships")
    return {
        "n_clusters_": len(weights),
        "memberships_": memberships,
        "labels_": labels_of(memberships),
        "entropy_": entropy_of(memberships),
        "factor_": rows("factor"),
        "bipartite_": rows("bipartite"),
        "lambda_": found.scale,
        "scale_": found.scale,
        "log_likelihood_": float(relations.unit * (likelihood - total * np.log(weights.sum()))),
        "objective_": found.objective,
        "objective_history_": found.history,
        "n_iter_": found.n_iter,
        "stop_reason_": found.stopped,
        "converged_": found.stopped == "converged",
        "n_features_in_": n,
    }


def _lazy_rows(relations: RemoteRelations, state: Any, n: int, k: int, what: str) -> Any:
    import dask.array as da
    from dask.delayed import delayed

    rows = max(_ROWS, -(-n // _MOST_RANGES))
    cut = delayed(_rows_of, pure=True, traverse=False)
    parts = [
        da.from_delayed(
            cut(state, relations.order, relations.unit, (first, last), what),
            (last - first, k),
            relations.dtype,
        )
        for first, last in pairwise((*range(0, n, rows), n))
    ]
    return da.concatenate(parts)


def _rows_of(
    state: SupportState, order: Order, unit: float, ends: tuple[int, int], what: str
) -> FloatArray:
    """Rows of the memberships, of H or of B, of some objects."""
    rows = order.position[slice(*ends)]
    if what == "factor":
        return np.asarray(state.H[rows].toarray())
    B = state.B[rows].toarray()
    return (
        B * B.dtype.type(unit)
        if what == "bipartite"
        else rows_or_prior(B, cluster_prior(state.weights))
    )
