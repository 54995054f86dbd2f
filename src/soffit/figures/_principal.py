"""The two directions in which a table varies most."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, eigsh
from threadpoolctl import threadpool_limits

from soffit._threads import row_blocks
from soffit._typing import FloatArray, Matrix, is_sparse

# Up to this many columns the covariances are computed; beyond, only products with vectors.
_FEW_COLUMNS = 400


def principal_components(table: Matrix) -> FloatArray:
    """Coordinates of the rows on the first two principal axes, (n, 2), centred.

    A table of lower rank has zeros in the second column. Signs are fixed: the first of a
    direction's large components is positive.
    """
    n, p = table.shape
    with threadpool_limits(limits=1):
        center = np.asarray(table.mean(axis=0), dtype=np.float64).ravel()
        axes = _with_sign(_axes(table, center) if min(n, p) > 1 else np.eye(p)[:, :2])
        points = np.zeros((n, 2))
        points[:, : axes.shape[1]] = np.asarray(table @ axes) - center @ axes
    # What rounding leaves of a direction without any variance is no direction.
    spread = np.abs(points).max(axis=0)
    points[:, spread <= 1e-9 * spread.max()] = 0.0
    return points


def _with_sign(axes: FloatArray) -> FloatArray:
    size = np.abs(axes)
    # Half of the largest: rounding decides among equal ones, but not about this.
    first = (size > 0.5 * size.max(axis=0)).argmax(axis=0)
    signs = np.sign(axes[first, np.arange(axes.shape[1])])
    return np.asarray(axes * np.where(signs == 0, 1.0, signs))


def _axes(table: Matrix, center: FloatArray) -> FloatArray:
    p = table.shape[1]
    if p <= _FEW_COLUMNS:
        vectors = eigh(_scatter(table, center), subset_by_index=[p - 2, p - 1])[1]
        return np.asarray(vectors[:, ::-1])

    def multiply(v: FloatArray) -> FloatArray:
        v = np.ravel(v)
        u = np.asarray(table @ v).ravel() - center @ v
        return np.asarray(table.T @ u).ravel() - center * u.sum()

    operator = LinearOperator((p, p), matvec=multiply, dtype=np.float64)
    start = np.random.default_rng(5).uniform(0.5, 1.0, p)
    values, vectors = eigsh(operator, 2, v0=start, which="LA", tol=1e-4)
    return np.asarray(vectors[:, np.argsort(-values)])


def _scatter(table: Matrix, center: FloatArray) -> FloatArray:
    """Sums of products of the centred columns, in blocks of rows."""
    p = table.shape[1]
    total = np.zeros((p, p))
    for rows in row_blocks(table.shape):
        piece = table[rows]
        block = (piece.toarray() if is_sparse(piece) else piece) - center
        total += block.T @ block
    return total
