"""Writes the files of format version 1 in this folder. Only a release with that format can.

Run it with soffit 0.1.0 (the code before the fitted value) on the path::

    python tests/persistence/version1/make.py FOLDER
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import soffit
from soffit.affinity import NeighborGraph
from soffit.datasets import make_gaussians, make_lines

SEED = 7349
N = 36
X, LABELS, _ = make_gaussians(N, n_clusters=3, separation=6.0, random_state=SEED)
NEW = X[::4] + 0.05
WIDE = np.column_stack([1000 * X, np.random.default_rng(SEED).normal(size=(N, 4))])
SIMILARITIES = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
SPARSE = sp.csr_array(np.where(SIMILARITIES > 0.1, SIMILARITIES, 0))
PAIRS = {"must_link": [(0, 1), (1, 5)], "cannot_link": [(0, 30)]}
LINES = make_lines(30, n_lines=2, random_state=SEED).X


def fit(name: str, table: Any = X, given: Any = None, **parameters: Any) -> Any:
    """A model with three clusters and five neighbours, as far as it has these parameters."""
    cls = getattr(soffit, name)
    known = cls().get_params()
    defaults = {"n_clusters": 3, "n_neighbors": 5, "random_state": SEED}
    defaults = {key: value for key, value in defaults.items() if key in known}
    return cls(**{**defaults, **parameters}).fit(table, **(given or {}))


def fit_many(*args: Any, **parameters: Any) -> Any:
    """The same with the neighbour search for many objects."""
    from soffit.affinity import _search

    before, _search._MOST_COMPARED = _search._MOST_COMPARED, 20
    try:
        return fit(*args, **parameters)
    finally:
        _search._MOST_COMPARED = before


def some_labels(classes: list[Any]) -> Any:
    y = np.full(N, -1, dtype=object)
    for number, name in enumerate(classes):
        y[np.flatnonzero(number == LABELS)[:3]] = name
    return y


def image_model() -> Any:
    image = np.zeros((7, 6))
    image[2:5, 1:4] = 1.0
    return soffit.segment(image, 2).model


def tuples_model() -> Any:
    tuples = [[0, 1, 2], [3, 4, 5], [0, 1, 3], [2, 3, 4], [1, 2, 5], [0, 4, 5]]
    model = soffit.HigherOrder(n_clusters=2, random_state=SEED)
    return model.fit_tuples(tuples, [1, 1, 0, 0, 0, 0], 6)


# A model, and new objects for it (None where it places none).
CASES: dict[str, tuple[Callable[[], Any], Any]] = {
    "SoftClustering": (lambda: fit("SoftClustering"), NEW),
    "SoftClustering-pairs-resamples": (
        lambda: fit("SoftClustering", given=PAIRS, resamples=2),
        NEW,
    ),
    "SoftClustering-float32-standardized": (
        lambda: fit("SoftClustering", WIDE.astype("f4"), n_clusters=None),
        WIDE[:5].astype("f4"),
    ),
    "SoftClustering-sparse-precomputed": (
        lambda: fit("SoftClustering", SPARSE, affinity="precomputed"),
        SPARSE[:5].toarray(),
    ),
    "SoftClustering-own-affinity": (
        lambda: fit("SoftClustering", affinity=NeighborGraph(6, weights="binary")),
        NEW,
    ),
    "SoftClustering-approximate": (lambda: fit_many("SoftClustering", WIDE), WIDE[:5] + 0.01),
    "SoftClustering-approximate-sparse": (
        lambda: fit_many("SoftClustering", sp.csr_array(WIDE)),
        WIDE[:5],
    ),
    "SoF": (lambda: fit("SoF"), NEW),
    "SoF-random-state": (
        lambda: fit("SoF", random_state=np.random.RandomState(SEED), affinity="cosine"),
        NEW,
    ),
    "BaumEagon": (lambda: fit("BaumEagon", affinity="laplacian"), NEW),
    "CompletelyPositive": (lambda: fit("CompletelyPositive", given=PAIRS), NEW),
    "CompletelyPositive-additive": (
        lambda: fit("CompletelyPositive", affinity="rbf", normalization="additive"),
        NEW,
    ),
    "RelationFactorization": (lambda: fit("RelationFactorization", n_clusters=None), NEW),
    "SoftHierarchy": (lambda: fit("SoftHierarchy", n_clusters=None, levels=(6, 2)), NEW),
    "SoftHierarchy-coarse": (
        lambda: fit("SoftHierarchy", n_clusters=None, levels=(6, 2), refine=False),
        NEW,
    ),
    "SpectralClustering": (lambda: fit("SpectralClustering", variant="ncut"), NEW),
    "HigherOrder": (
        lambda: fit("HigherOrder", LINES, n_clusters=2, n_tuples=600),
        LINES[:6] + 0.01,
    ),
    "HigherOrder-tuples": (tuples_model, None),
    "RandomWalkClassifier": (
        lambda: fit("RandomWalkClassifier", given={"y": some_labels(["red", "green", "blue"])}),
        NEW,
    ),
    "RandomWalkClassifier-clusters": (
        lambda: fit(
            "RandomWalkClassifier", given={"y": some_labels([3, 5, 9])}, on="clusters", n_clusters=6
        ),
        NEW,
    ),
    "PixelClustering": (image_model, None),
}


def main(folder: Path) -> None:
    """One model file per case, and what each must say in one file of arrays."""
    expected: dict[str, Any] = {}
    for case, (make, new) in CASES.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = make()
        soffit.save(model, folder / f"{case}.soffit")
        rows = getattr(model, "memberships_", getattr(model, "label_distributions_", None))
        expected[f"{case}/memberships"] = rows
        if new is not None:
            expected[f"{case}/new"] = new
            expected[f"{case}/placed"] = model.predict_proba(new)
    np.savez_compressed(folder / "expected.npz", **expected)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
