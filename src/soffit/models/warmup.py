"""Compile ahead what fits need, for containers and other installations without a first user."""

from __future__ import annotations

import time
import warnings
from typing import NamedTuple

import numpy as np

from soffit._compile import told_of_compiling
from soffit._parameters import WholeNumber, check_parameter
from soffit.models.soft_clustering import SoftClustering

# Tables of these sizes and numbers of columns take every way through a fit.
_TABLES = ((200, 4), (2_000, 10), (45_000, 10))
# Predictions of so many objects compare enough neighbour lists for a compiled loop.
_MANY = 2_000


class Compiled(NamedTuple):
    """What `warmup` did."""

    # Number of functions that were compiled; those already stored are only loaded.
    n_functions: int
    seconds: float  # Time taken.


def warmup(n_objects: int = 50_000) -> Compiled:
    """Compile what `SoftClustering` needs for its fits and predictions, and store it.

    The first fit after an installation compiles its inner loops, which takes some seconds, and
    stores them for later processes. This function does it ahead: run it once when an image of a
    container is built. The environment variable ``NUMBA_CACHE_DIR`` names the folder that holds the
    compiled code; it must be the same when the image is built and used.

    Parameters
    ----------
    n_objects : int, default 50_000
        Size of the tables that will be fitted. Small tables need few of the loops, tables of more
        than 40,000 objects all of them.

    Returns
    -------
    Compiled
        The number of functions that were compiled, and the seconds this took.

    Examples
    --------
    >>> from soffit import warmup
    >>> first = warmup(n_objects=100)
    >>> warmup(n_objects=100).n_functions
    0
    """
    check_parameter("n_objects", n_objects, WholeNumber(1), "warmup")
    begin = time.perf_counter()
    names: list[str] = []
    random = np.random.default_rng(0)
    with told_of_compiling(names.append), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for size, n_columns in _TABLES:
            place = 6.0 * random.normal(size=(3, n_columns))
            X = place[np.arange(size) % 3] + random.normal(size=(size, n_columns))
            model = SoftClustering(3, random_state=0, max_iter=2).fit(X)
            model.predict_proba(np.resize(X, (_MANY, n_columns)))
            # The first table that is at least as large takes all ways of the given size.
            if n_objects <= size:
                break
        _compile_rare(random, wide=n_objects > _TABLES[1][0])
    return Compiled(len(names), time.perf_counter() - begin)


def _compile_rare(random: np.random.Generator, *, wide: bool) -> None:
    """Compile the loops that only some tables need: many columns, new objects between clusters."""
    from soffit.factorize.simplex.kernels import solve_new_rows
    from soffit.neighbors.approximate import NeighborIndex

    solve_new_rows(np.eye(2), np.zeros((1, 2)), np.full((1, 2), 0.5))
    if wide:
        NeighborIndex.of(random.normal(size=(500, 64)), 15)
