"""Texts: the neighbour graph of the default beside other ways to cluster sparse rows.

    python -m benchmarks.texts

Rows are TF-IDF weights of the words of a text, as scikit-learn's TfidfTransformer makes them. The
docstrings of SciPy and scikit-learn (labels: the subpackage) and the newsgroups were in view when
the rule was chosen; those of networkx are only measured. Labels are used for scoring only. "mutual
neighbours" is the graph that tables of few columns have.
"""

from __future__ import annotations

import argparse
import inspect
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from benchmarks._table import print_table
from benchmarks.datasets import list_datasets, load
from soffit import SoftClustering
from soffit.affinity import NeighborGraph
from soffit.metrics import adjusted_rand

SEED = 0
SHORTEST = 300
SCIPY = ("signal", "sparse", "stats", "optimize", "special", "ndimage", "linalg")
SKLEARN = (
    *("cluster", "metrics", "ensemble", "preprocessing", "datasets", "feature_selection"),
    "linear_model",
)
NETWORKX = (
    *("centrality", "community", "bipartite", "flow", "connectivity", "approximation"),
    "shortest_paths",
)
DOCSTRINGS = {
    "SciPy": ("scipy", SCIPY),
    "scikit-learn": ("sklearn", SKLEARN),
    "networkx": ("networkx.algorithms", NETWORKX),
}
NEWS = ("news4_stemmed", "news4")


def docstrings(package: str, parts: Sequence[str]) -> tuple[Any, Any]:
    """Counts of words in the docstrings of public functions and classes, and their subpackages."""
    texts: dict[str, int] = {}
    for label, part in enumerate(parts):
        module = import_module(f"{package}.{part}")
        for name in sorted(dir(module)):
            thing = getattr(module, name)
            home = str(getattr(thing, "__module__", ""))
            if name.startswith("_") or not callable(thing) or not home.startswith(module.__name__):
                continue
            text = inspect.getdoc(thing) or ""
            if len(text) > SHORTEST:
                texts.setdefault(text, label)
    words = CountVectorizer(stop_words="english", min_df=2, token_pattern=r"[a-z]{2,}")
    return words.fit_transform(list(texts)), np.array(list(texts.values()))


def read(name: str) -> tuple[Any, Any]:
    """Counts and labels of a set."""
    if name in NEWS:
        data = load(name)
        return data.X, data.labels[0]
    return docstrings(*DOCSTRINGS[name])


def soft(**parameters: Any) -> Callable[[Any, Any, int], Any]:
    def labels(tfidf: Any, counts: Any, k: int) -> Any:
        return SoftClustering(k, random_state=SEED, **parameters).fit(tfidf).labels_

    return labels


def of_counts(tfidf: Any, counts: Any, k: int) -> Any:
    return SoftClustering(k, random_state=SEED, metric="cosine").fit(counts).labels_


def k_means(tfidf: Any, counts: Any, k: int) -> Any:
    return KMeans(k, n_init=10, random_state=SEED).fit_predict(tfidf)


METHODS: dict[str, Callable[[Any, Any, int], Any]] = {
    "default": soft(),
    'metric="cosine"': soft(metric="cosine"),
    'affinity="cosine"': soft(affinity="cosine"),
    "mutual neighbours": soft(affinity=NeighborGraph(15, metric="cosine")),
    'counts, metric="cosine"': of_counts,
    "k-means": k_means,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the adjusted Rand index of every method on every set."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="*", help="only these sets")
    known = [name for name in NEWS if name in list_datasets()]
    chosen = parser.parse_args(arguments).sets or ["SciPy", "scikit-learn", *known, "networkx"]
    rows = []
    for name in chosen:
        counts, labels = read(name)
        counts = sp.csr_array(counts, dtype=np.float64)
        tfidf = sp.csr_array(TfidfTransformer().fit_transform(counts))
        k = len(np.unique(labels))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scores = [adjusted_rand(labels, run(tfidf, counts, k)) for run in METHODS.values()]
        rows.append([name, f"{len(labels):,}", str(k), *(f"{score:.3f}" for score in scores)])
    print_table(["set", "texts", "k", *METHODS], rows)


if __name__ == "__main__":
    main()
