"""The few clusters that matter to each object, stored sparsely."""

from __future__ import annotations

from numbers import Integral

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from soffit._threads import each, pieces
from soffit._typing import FloatArray
from soffit.memberships._partition import check_memberships

_ENTRIES = 2**20


def top_memberships(memberships: ArrayLike, n_top: int = 5) -> sp.csr_array:
    """The largest memberships of each object as a sparse matrix, made to sum to one again.

    With hundreds of clusters an object belongs to a few of them; the others are zeros, or nearly,
    that need not be stored or handed on.

    Parameters
    ----------
    memberships : array of shape (n, k)
        Finite and nonnegative.
    n_top : int
        Clusters kept for each object. Of equal ones the first is kept; zeros never are.

    Returns
    -------
    csr_array of shape (n, k)
        Rows that sum to one; a row of zeros stays empty.

    Examples
    --------
    >>> from soffit.memberships import top_memberships
    >>> top_memberships([[0.6, 0.2, 0.1, 0.1], [0.0, 0.0, 1.0, 0.0]], n_top=2).toarray()
    array([[0.75, 0.25, 0.  , 0.  ],
           [0.  , 0.  , 1.  , 0.  ]])
    """
    if not isinstance(n_top, Integral) or n_top < 1:
        raise ValueError(f"n_top must be a whole number of at least 1, got {n_top!r}.")
    W = check_memberships(memberships)
    n, k = W.shape
    kept = min(int(n_top), k)

    def choose(rows: range) -> tuple[FloatArray, FloatArray]:
        part = W[rows.start : rows.stop]
        columns = np.sort(np.argsort(-part, axis=1, kind="stable")[:, :kept], axis=1)
        values = np.take_along_axis(part, columns, axis=1)
        sums = values.sum(axis=1, keepdims=True)
        return columns, np.divide(values, sums, out=np.zeros_like(values), where=sums > 0)

    parts = each(choose, pieces(n, max(_ENTRIES // k, 1)))
    columns = np.concatenate([part[0] for part in parts])
    values = np.concatenate([part[1] for part in parts])
    indptr = np.arange(n + 1) * kept
    result = sp.csr_array((values.ravel(), columns.ravel(), indptr), shape=(n, k))
    result.eliminate_zeros()
    return result
