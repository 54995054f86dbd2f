"""False alarms and detections of `novelty_score`, beside novelty detectors of scikit-learn.

    python -m benchmarks.novelty

Of each data set one class at a time is left out. Half of the other objects are fitted; the other
half are ordinary new objects, and the class left out is new. All methods see the same standardized
table. "Alarms" is the share of ordinary new objects with a novelty of at least 0.95 and 0.99, which
should be 5 % and 1 %. "AUC" is the probability that an object of the new class scores higher than
an ordinary one.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import LocalOutlierFactor
from sklearn.preprocessing import StandardScaler

from benchmarks._table import print_table
from soffit import SoftClustering

SEED = 0
SETS: dict[str, Callable[..., Any]] = {
    "iris": load_iris,
    "wine": load_wine,
    "breast cancer": load_breast_cancer,
    "digits": load_digits,
}


def soffit_novelty(X: Any, new: Any) -> Any:
    return SoftClustering(3, random_state=SEED).fit(X).novelty_score(new)


def outlier_factor(X: Any, new: Any) -> Any:
    return -LocalOutlierFactor(n_neighbors=15, novelty=True).fit(X).score_samples(new)


def isolation_forest(X: Any, new: Any) -> Any:
    return -IsolationForest(random_state=SEED).fit(X).score_samples(new)


METHODS = {
    "novelty_score": soffit_novelty,
    "LocalOutlierFactor": outlier_factor,
    "IsolationForest": isolation_forest,
}


def cases(load: Callable[..., Any]) -> Any:
    """Fitted, ordinary and new objects, one case per class."""
    X, y = load(return_X_y=True)
    generator = np.random.default_rng(SEED)
    for left_out in np.unique(y):
        order = generator.permutation(np.flatnonzero(y != left_out))
        fitted, ordinary = np.array_split(order, 2)
        scaler = StandardScaler().fit(X[fitted])
        yield tuple(scaler.transform(X[rows]) for rows in (fitted, ordinary, y == left_out))


def main() -> None:
    argparse.ArgumentParser(description="False alarms and detections of novelty.").parse_args()
    means = {}
    for name, load in SETS.items():
        rows = []
        for fitted, ordinary, new in cases(load):
            is_new = np.repeat([0, 1], [len(ordinary), len(new)])
            both = np.concatenate([ordinary, new])
            scores = {method: score(fitted, both) for method, score in METHODS.items()}
            own = scores["novelty_score"][: len(ordinary)]
            alarms = [np.mean(own >= 0.95), np.mean(own >= 0.99)]
            rows.append([*alarms, *(roc_auc_score(is_new, score) for score in scores.values())])
        means[name] = np.mean(rows, axis=0)
    means["mean"] = np.mean(list(means.values()), axis=0)
    header = ["", "alarms at 0.95", "alarms at 0.99", *(f"AUC {method}" for method in METHODS)]
    print_table(header, [[name, *_shown(values)] for name, values in means.items()])


def _shown(values: Any) -> list[str]:
    return [f"{value:.1%}" for value in values[:2]] + [f"{value:.3f}" for value in values[2:]]


if __name__ == "__main__":
    main()
