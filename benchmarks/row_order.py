"""Which partitions another order of the rows, or another seed, changes: small tables that overlap.

    python -m benchmarks.row_order [--cases 45]

A case is a table of overlapping Gaussian clusters; each third is rounded to integers, which makes
ties and copies, and each third has clear clusters. A partition counts as changed if its adjusted
Rand index with the first one is below 0.98.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

import soffit

_SAME = 0.98
_MODELS: dict[str, dict[str, Any]] = {
    "SoftClustering": {},
    "SoftClustering, number chosen": {"n_clusters": None},
    "SoF": {"n_init": 5},
    "BaumEagon": {"n_init": 5},
    "CompletelyPositive": {},
    "RelationFactorization": {},
    "SoftHierarchy": {},
    "SpectralClustering": {},
}


def table(case: int) -> tuple[Any, int, str]:
    """A table, its number of clusters, and its kind."""
    rng = np.random.default_rng([135, case])
    n, p, k = int(rng.integers(40, 300)), int(rng.integers(2, 8)), int(rng.integers(2, 8))
    kind = ("overlapping", "rounded", "clear")[case % 3]
    spread = 8.0 if kind == "clear" else 1.5
    X = spread * rng.normal(size=(k, p))[rng.integers(k, size=n)] + rng.normal(size=(n, p))
    return (np.round(X) if kind == "rounded" else X), k, kind


def main() -> None:
    """Print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=45)
    parser.add_argument("--only", action="append", default=[], choices=list(_MODELS))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{given.cases} tables; partitions changed by another order of the rows, another seed")
    for name in given.only or _MODELS:
        moved = {kind: [0, 0] for kind in ("overlapping", "rounded", "clear")}
        for case in range(given.cases):
            X, k, kind = table(case)
            order = np.random.default_rng(case).permutation(len(X))
            first = _labels(name, X, k, 1)
            moved[kind][0] += _differs(first[order], _labels(name, X[order], k, 1))
            moved[kind][1] += _differs(first, _labels(name, X, k, 2))
        total = np.sum(list(moved.values()), axis=0)
        parts = ", ".join(f"{kind} {a} and {b}" for kind, (a, b) in moved.items())
        print(f"{name:30} {total[0]:3} {total[1]:3}   {parts}", flush=True)


def _labels(name: str, X: Any, k: int, seed: int) -> Any:
    model = getattr(soffit, name.partition(",")[0])
    settings = {"n_clusters": k, "random_state": seed, "n_jobs": 1} | _MODELS[name]
    return model(**settings).fit(X).labels_


def _differs(one: Any, other: Any) -> bool:
    return adjusted_rand_score(one, other) < _SAME


if __name__ == "__main__":
    main()
