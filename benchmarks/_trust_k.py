"""The number of clusters: ours against BIC, silhouette and HDBSCAN (see trust.py).

Labels are used for evaluation only. On a set with several label vectors, any of their numbers
counts as correct.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks._prepared import prepared
from benchmarks._table import print_table, print_target
from benchmarks.datasets import development_sets, load
from benchmarks.fit_number import SEED as FIT_SEED
from benchmarks.fit_number import all_sets, cases_of, judge
from soffit import SoftClustering
from soffit.affinity.given_objects import Standardizer
from soffit.datasets import make_gaussians
from soffit.selection import choose_k

MOST = 20
SEED = 3
OURS = "soffit.selection.choose_k"


def sets_with_few_clusters() -> Iterator[tuple[str, Any, tuple[int, ...]]]:
    """Name, table and admissible numbers of every development set with at most 20 clusters."""
    for name in development_sets():
        few = {"n_samples": 3000, "random_state": 0} if name == "usps" else {}
        dataset = load(name, **few)
        if dataset.n_classes[0] <= MOST:
            X = prepared(np.asarray(dataset.X, dtype=float))
            yield name, X, dataset.n_classes


def ours(X: Any) -> int:
    return choose_k(X).n_clusters


def bic(X: Any) -> int:
    from sklearn.mixture import GaussianMixture

    ks = range(1, min(MOST, len(X)) + 1)
    return 1 + int(np.argmin([GaussianMixture(k, random_state=0).fit(X).bic(X) for k in ks]))


def silhouette(X: Any) -> int:
    from sklearn.cluster import KMeans
    from sklearn.metrics import silhouette_score

    sample = min(len(X), 3000)
    scores = [
        silhouette_score(
            X,
            KMeans(k, n_init=3, random_state=0).fit_predict(X),
            sample_size=sample,
            random_state=0,
        )
        for k in range(2, min(MOST, len(X) - 1) + 1)
    ]
    return 2 + int(np.argmax(scores))


def density(X: Any) -> int:
    from sklearn.cluster import HDBSCAN

    return max(int(HDBSCAN(copy=True).fit_predict(X).max()) + 1, 1)


METHODS: dict[str, Callable[[Any], int]] = {
    OURS: ours,
    "GaussianMixture, BIC": bic,
    "KMeans, silhouette": silhouette,
    "HDBSCAN": density,
}


def errors_of(
    choose: Callable[[Any], int], sets: Sequence[tuple[str, Any, tuple[int, ...]]]
) -> Any:
    """How far each set's choice is from the nearest admissible number."""
    errors = []
    for name, X, admissible in sets:
        # Rivals get the columns in the units that ours chooses for itself.
        table = X if choose is ours else Standardizer.of(X, "auto").apply(X)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            k = choose(table)
        errors.append(min(abs(k - number) for number in admissible))
        print("k", choose.__name__, name, k, admissible, file=sys.stderr, flush=True)
    return np.array(errors)


def number_of_clusters() -> None:
    sets = list(sets_with_few_clusters())
    rows, shares = [], {}
    for method, choose in METHODS.items():
        begin = perf_counter()
        errors = errors_of(choose, sets)
        exact, near = float(np.mean(errors == 0)), float(np.mean(errors <= 1))
        shares[method] = (exact, near)
        seconds = perf_counter() - begin
        rows.append(
            [method, f"{exact:.1%}", f"{near:.1%}", f"{errors.mean():.2f}", f"{seconds:.0f}"]
        )
    title = f"number of clusters, {len(sets)} development sets with at most {MOST}"
    print_table(["method", "exact", "within one", "mean error", "seconds"], rows, title=title)
    exact, near = shares[OURS]
    rivals = [share for method, share in shares.items() if method != OURS]
    print("\ntargets")
    print_target("exact", exact, 0.50, at_least=True)
    print_target("within one", near, 0.75, at_least=True)
    ahead = all(exact > rival[0] and near > rival[1] for rival in rivals)
    print(f"  better than every other rule: {'yes' if ahead else 'NO'}")
    judge(cases_of(all_sets(FIT_SEED, fresh=False)))
    time_of_a_choice()


def time_of_a_choice() -> None:
    """A fit that chooses the number of clusters against one that is given it, in turns."""
    for n in (10_000, 100_000):
        X = make_gaussians(n, n_clusters=10, n_features=16, separation=6.0, random_state=SEED).X
        seconds: dict[int | None, float] = {}
        # The first turn compiles.
        for k in (10, None) * 3:
            begin = perf_counter()
            SoftClustering(k, random_state=SEED).fit(X)
            seconds[k] = min(perf_counter() - begin, seconds.get(k, np.inf))
        given, chosen = seconds[10], seconds[None]
        print(f"  n = {n:,}: number given {given:.1f} s, chosen {chosen:.1f} s")
        print_target(
            f"a choice and a fit at n = {n:,}, in fits", chosen / given, 3.0, at_least=False
        )
