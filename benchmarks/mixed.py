"""Tables with text and gaps: metric="gower" beside 0/1 columns and beside a plain Gower distance.

    python -m benchmarks.mixed

Every set is a table of numbers with known classes from scikit-learn. Two columns of random text are
added ("noise"), or half of the columns are cut into three words ("words"), or both, with 8 % of the
entries missing ("words, noise, gaps"). The penguins (package palmerpenguins) are as they
come. The other methods are: numbers standardized and text as 0/1 columns, gaps filled with the
median; and the mean over the columns of |difference| / range, or 0 and 1 for text, as Gower (1971)
proposed. All are clustered by SoftClustering with the number of classes; labels are for scoring.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from benchmarks._table import print_table
from soffit import SoftClustering
from soffit.metrics import adjusted_rand
from soffit.mixed_columns import MixedTable

SEED = 0
GAPS = 0.08
BASES: dict[str, Callable[..., Any]] = {
    "iris": load_iris,
    "wine": load_wine,
    "breast cancer": load_breast_cancer,
}


def tables() -> Iterator[tuple[str, Any, Any]]:
    """Names, rows and labels."""
    if find_spec("palmerpenguins"):
        import palmerpenguins

        frame = palmerpenguins.load_penguins()
        labels = frame.pop("species").to_numpy()
        yield "penguins", frame.to_numpy(dtype=object), labels
    for name, base in BASES.items():
        X, labels = base(return_X_y=True)
        rng = np.random.default_rng(SEED)
        noise = np.column_stack([rng.choice(["m", "f"], len(X)), rng.choice(["u", "v"], len(X))])
        words = X.astype(object)
        for column in rng.permutation(X.shape[1])[: X.shape[1] // 2]:
            thirds = np.searchsorted(np.quantile(X[:, column], [1 / 3, 2 / 3]), X[:, column])
            words[:, column] = np.array(["low", "middle", "high"], dtype=object)[thirds]
        both = np.column_stack([words, noise.astype(object)])
        both[rng.random(both.shape) < GAPS] = None
        yield f"{name}, noise", np.column_stack([X.astype(object), noise.astype(object)]), labels
        yield f"{name}, words", words, labels
        yield f"{name}, words, noise, gaps", both, labels


def by_gower(rows: Any, k: int) -> Any:
    return SoftClustering(k, random_state=SEED, metric="gower").fit_predict(rows)


def by_columns(rows: Any, k: int) -> Any:
    table = MixedTable.of(rows)
    X, _ = table.expanded()
    numbers = {column.name for column in table.columns}
    is_text = np.array([name not in numbers for name in table.expanded()[1]])
    X = np.where(np.isnan(X), np.where(is_text, 0.0, np.nanmedian(X, axis=0)), X)
    spread = np.where(is_text | (X.std(axis=0) == 0), 1.0, X.std(axis=0))
    center = np.where(is_text, 0.0, X.mean(axis=0))
    model = SoftClustering(k, random_state=SEED, standardize=False)
    return model.fit_predict((X - center) / spread)


def by_plain_gower(rows: Any, k: int) -> Any:
    table = MixedTable.of(rows)
    total, shared = 0.0, 0.0
    for values, column in zip(table.values.T, table.columns, strict=True):
        gap = np.abs(values[:, None] - values)
        gap = (gap > 0) * 1.0 if column.values else gap / max(np.nanmax(gap), 1e-300)
        known = ~np.isnan(values)
        both = known[:, None] & known
        total, shared = total + np.where(both, gap, 0.0), shared + both
    distances = np.asarray(total) / np.maximum(shared, 1)
    np.fill_diagonal(distances, 0.0)
    return SoftClustering(k, random_state=SEED, metric="precomputed").fit_predict(distances)


METHODS = {'metric="gower"': by_gower, "0/1 columns": by_columns, "plain Gower": by_plain_gower}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the adjusted Rand index of every method on every table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.parse_args(arguments)
    rows, scores = [], []
    for name, table, labels in tables():
        k = len(np.unique(labels))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = [adjusted_rand(labels, run(table, k)) for run in METHODS.values()]
        scores.append(found)
        rows.append([name, *(f"{score:.3f}" for score in found)])
    rows.append(["mean", *(f"{score:.3f}" for score in np.mean(scores, axis=0))])
    print_table(["table", *METHODS], rows)


if __name__ == "__main__":
    main()
