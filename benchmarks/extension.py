"""New objects per second through `predict_proba`, at n = 10,000 fitted objects and k = 10.

Neighbour search, affinities, the simplex problem of every row, walk and mixture are included;
compilation is not: a few rows are predicted first. Times are by the clock, on all cores.
"""

from __future__ import annotations

from time import perf_counter

from benchmarks._table import print_table, print_target
from soffit import SoF, SoftClustering
from soffit.datasets import make_gaussians
from soffit.metrics import accuracy

N_FITTED, N_NEW, K = 10_000, 40_000, 10


def measure(model: SoftClustering | SoF, n_features: int, n_new: int) -> tuple[float, float]:
    """New objects per second, and their accuracy against the generating clusters."""
    options = {"n_clusters": K, "n_features": n_features, "separation": 5.0}
    fitted = make_gaussians(N_FITTED, random_state=5, **options)
    model.fit(fitted.X)
    new = make_gaussians(n_new, random_state=6, **options)
    model.predict_proba(new.X[:50])
    began = perf_counter()
    memberships = model.predict_proba(new.X)
    return n_new / (perf_counter() - began), accuracy(new.labels, memberships.argmax(axis=1))


def main() -> None:
    rows, slowest = [], float("inf")
    for n_features in (2, 16):
        speed, score = measure(SoftClustering(K, random_state=3), n_features, N_NEW)
        slowest = min(slowest, speed)
        rows.append(["SoftClustering", str(n_features), f"{speed:,.0f}", f"{score:.3f}"])
        speed, score = measure(SoF(K, scale="fit", random_state=3), n_features, N_NEW // 10)
        rows.append(["SoF(scale=fit), dense", str(n_features), f"{speed:,.0f}", f"{score:.3f}"])
    print_table(["model", "columns", "new objects a second", "accuracy"], rows)
    print("\ntargets")
    print_target(
        "SoftClustering: new objects a second, slowest case", slowest, 20_000, at_least=True
    )


if __name__ == "__main__":
    main()
