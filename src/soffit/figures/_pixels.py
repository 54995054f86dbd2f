"""The matrix a model fits and its reconstruction, averaged over blocks of similar objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soffit._threads import row_blocks
from soffit._typing import FloatArray, IntArray, Matrix, is_sparse
from soffit.memberships._column_rows import ColumnRows
from soffit.memberships._extension import FittedRows

# Solvers that fit the diagonal, too; all others for squared errors leave it out.
_WITH_DIAGONAL = ("gradient", "growth", "penalty")
_SEED = 20050721


@dataclass(frozen=True, eq=False)
class Fitted:
    """A matrix and what the model makes of it: rows diag(scale) rows'.

    Pairs (i, i) count if `diagonal`.
    """

    matrix: Matrix
    rows: FloatArray
    scale: FloatArray
    diagonal: bool
    name: str
    formula: str


@dataclass(frozen=True, eq=False)
class Pixels:
    """Means of both over blocks of pairs, NaN where a block has no pair that counts.

    `place` is the block of each object, in ascending order of the objects' own numbers.
    """

    observed: FloatArray
    fitted: FloatArray
    place: IntArray


def fitted_of(model: Any) -> Fitted:
    """What the model's loss compares."""
    extension = getattr(model, "_extension", None)
    normalized = getattr(model, "_normalized", None)
    if extension is None or normalized is None:
        raise ValueError(
            f"{type(model).__name__} holds no factorization of pairwise affinities. Pass a fitted "
            "model, such as SoftClustering; results and memberships alone do not say what was "
            "factorized."
        )
    matrix: Matrix = normalized.matrix
    if isinstance(extension, FittedRows):
        diagonal = getattr(model, "solver", "rows") in _WITH_DIAGONAL
        corrected = extension.mean_degree is not None
        formula = "√(dᵢdⱼ) GSGᵀ" if corrected else "GSGᵀ"
        name = "affinities" if normalized.factors is None else "normalized affinities"
        return Fitted(matrix, extension.rows, extension.scale, diagonal, name, formula)
    if isinstance(extension, ColumnRows):
        # A hierarchy reports its top level, which need not be what was fitted last.
        return Fitted(matrix, model.factor_, model.scale_, True, "affinities", "HΛHᵀ")
    plain = getattr(model, "normalization", None) is None
    name = "affinities" if plain else "normalized affinities"
    ones = np.ones(model.factor_.shape[1])
    return Fitted(matrix, model.factor_, ones, False, name, "GGᵀ")


def blocks(labels: IntArray, certainty: FloatArray, most: int) -> IntArray:
    """Block of each object: objects sorted by cluster are cut into even parts.

    Single objects are sorted by certainty inside a cluster; those that share a block are not.
    Objects of equal certainty are often neighbours, and blocks of them would show their ties as a
    bright diagonal that no clusters explain.
    """
    n = len(labels)
    inside = -certainty if n <= most else np.random.default_rng(_SEED).permutation(n)
    order = np.lexsort((inside, labels))
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n) * min(most, n) // n
    return place


def average(fit: Fitted, place: IntArray) -> Pixels:
    """Means over the pairs of every two blocks."""
    p = int(place.max()) + 1
    sizes = np.bincount(place).astype(np.float64)
    pairs = np.outer(sizes, sizes)
    observed = _block_sums(fit.matrix, place, p)
    rows = np.asarray(fit.rows, dtype=np.float64)
    scale = np.asarray(fit.scale, dtype=np.float64)
    sums = np.column_stack([np.bincount(place, column, p) for column in rows.T])
    fitted = (sums * scale) @ sums.T
    if not fit.diagonal:
        own = np.arange(p)
        pairs[own, own] -= sizes
        itself = np.asarray(fit.matrix.diagonal(), dtype=np.float64)
        observed[own, own] -= np.bincount(place, itself, p)
        fitted[own, own] -= np.bincount(place, (rows**2) @ scale, p)
    known = pairs > 0
    blank = np.full((p, p), np.nan)
    return Pixels(
        observed=np.divide(observed, pairs, out=blank.copy(), where=known),
        fitted=np.divide(fitted, pairs, out=blank, where=known),
        place=place,
    )


def average_tuples(
    tuples: IntArray, values: FloatArray, fitted: FloatArray, place: IntArray
) -> Pixels:
    """Means over the tuples that hold an object of either block, in different places."""
    p = int(place.max()) + 1
    inside = place[tuples]
    first, second = np.nonzero(~np.eye(tuples.shape[1], dtype=bool))
    cells = (inside[:, first] * p + inside[:, second]).ravel()
    times = len(first)

    def total(weights: FloatArray) -> FloatArray:
        sums = np.bincount(cells, np.repeat(weights, times), p * p)
        return np.asarray(sums.reshape(p, p), dtype=np.float64)

    count = total(np.ones(len(tuples)))
    blank = np.full((p, p), np.nan)
    return Pixels(
        observed=np.divide(total(values), count, out=blank.copy(), where=count > 0),
        fitted=np.divide(total(fitted), count, out=blank, where=count > 0),
        place=place,
    )


def _block_sums(A: Matrix, place: IntArray, p: int) -> FloatArray:
    """Sums of the entries in every two blocks, a few rows of the matrix at a time."""
    total = np.zeros(p * p)
    if is_sparse(A):
        for rows in row_blocks((A.shape[0], 64)):
            piece = A[rows]
            own = np.repeat(place[rows], np.diff(piece.indptr))
            total += np.bincount(own * p + place[piece.indices], piece.data, p * p)
        return total.reshape(p, p)
    order = np.argsort(place, kind="stable")
    first = np.searchsorted(place[order], np.arange(p))
    table = total.reshape(p, p)
    for rows in row_blocks(A.shape):
        piece = np.asarray(A[rows], dtype=np.float64)[:, order]
        np.add.at(table, place[rows], np.add.reduceat(piece, first, axis=1))
    return table
