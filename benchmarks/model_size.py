"""Size of a fitted model, saved and pickled.

Beside them stands the size of what a model cannot do without: the points and the affinities, each
once. A model file is little more than that.
"""

from __future__ import annotations

import argparse
import pickle
import tempfile
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

import soffit
from benchmarks._table import print_table

SEED = 7
SUBSET = 2000


class Size(NamedTuple):
    """Bytes of one fitted model."""

    model: str
    n: int
    needed: int
    file: int
    pickle: int


def points(name: str) -> NDArray[np.float64]:
    """The table of a real data set."""
    from benchmarks.datasets import load

    return np.asarray(load(name).X)


def measure(model: Any, X: NDArray[np.float64]) -> Size:
    """Fit, save and pickle a model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.soffit"
        soffit.save(model, path)
        saved = path.stat().st_size
    A = model.affinity_matrix_
    affinities = sum(
        part.nbytes for part in ((A.data, A.indices, A.indptr) if issparse(A) else (A,))
    )
    return Size(
        type(model).__name__, len(X), X.nbytes + affinities, saved, len(pickle.dumps(model))
    )


def main() -> None:
    """Print the sizes for one data set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="pendigits", help="name of a real data set")
    X = points(parser.parse_args().data)
    some = X[np.sort(np.random.default_rng(SEED).permutation(len(X))[:SUBSET])]
    sizes = [
        measure(soffit.SoftClustering(10, random_state=SEED), X),
        measure(soffit.CompletelyPositive(10, random_state=SEED, n_init=1), some),
        measure(soffit.SoF(10, random_state=SEED, max_iter=20), some),
    ]
    rows = [
        [
            size.model,
            f"{size.n:,}",
            *(f"{n / 1e6:.2f}" for n in (size.needed, size.file, size.pickle)),
        ]
        for size in sizes
    ]
    print_table(["model", "objects", "points and affinities", "file", "pickle"], rows, title="MB")


if __name__ == "__main__":
    main()
