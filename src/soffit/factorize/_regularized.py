"""Eigenvectors in which small groups with few ties have no part.

A graph of neighbours of very many objects has hundreds of small groups out in the sparse regions
that hardly anything ties to the rest. Their eigenvalues lie nearer to 1 than those of clusters that
overlap. Degrees raised by the mean degree (K. Chaudhuri, F. Chung & A. Tsiatas, 2012; T. Qin &
K. Rohe, 2013) let a random walk leave whoever has few ties, and the eigenvectors of these groups
fall behind. Weights inside the nodes of a coarse graph are left out, because they slow all walks
down alike.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from soffit._typing import FloatArray

_TOL = 1e-4
_MOST_RESTARTS = 100


def regularized_eigenvectors(
    A: sp.csr_array, sizes: FloatArray, n_vectors: int, *, random_state: int = 0
) -> FloatArray | None:
    """Leading eigenvectors of the graph with raised degrees; None if they are not found soon.

    Parameters
    ----------
    A : csr_array of shape (n, n)
        A coarse graph; its diagonal is left out.
    sizes : array of shape (n,)
        How many objects each node stands for: every object's degree is raised alike.
    n_vectors : int
        Eigenvectors.
    random_state : int
        Seed of the start.
    """
    n = A.shape[0]
    degrees = np.asarray(A.sum(axis=1), dtype=np.float64).ravel() - A.diagonal()
    raised = degrees + degrees.sum() / sizes.sum() * sizes
    root = 1.0 / np.sqrt(np.maximum(raised, np.finfo(np.float64).tiny))
    rows = np.repeat(np.arange(n), np.diff(A.indptr))
    weights = np.where(rows == A.indices, 0.0, A.data * root[rows] * root[A.indices])
    N = sp.csr_array((weights.astype(A.dtype), A.indices, A.indptr), shape=A.shape)
    start = np.random.default_rng(random_state).uniform(0.5, 1.0, n).astype(A.dtype)
    width = min(2 * n_vectors + 20, n)
    try:
        values, V = eigsh(
            N, n_vectors, which="LA", v0=start, ncv=width, tol=_TOL, maxiter=_MOST_RESTARTS
        )
    except ArpackNoConvergence:
        return None
    return np.asarray(V[:, np.argsort(-values, kind="stable")])
