"""Rows like texts: many columns, of which each row has few."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from soffit import SoftClustering
from soffit.affinity import NeighborGraph
from soffit.affinity.given_objects import is_like_text
from soffit.metrics import adjusted_rand


def texts(n=300, p=600, length=(15, 60), seed=0):
    """Counts of words of two topics, which share half of the words."""
    rng = np.random.default_rng(seed)
    topic = np.arange(n) % 2
    share = 1.0 / np.arange(1, p + 1)
    chances = [share * np.where(np.arange(p) % 3 == t, 6.0, 1.0) for t in (0, 1)]
    rows = [
        np.bincount(rng.choice(p, rng.integers(*length), p=c / c.sum()), minlength=p)
        for c in (chances[t] for t in topic)
    ]
    return np.array(rows, dtype=float), topic


def test_texts_are_recognised():
    counts, _ = texts()
    assert is_like_text(sp.csr_array(counts))
    assert not is_like_text(counts)
    assert not is_like_text(sp.csr_array(counts[:, :100]))
    assert not is_like_text(sp.csr_array(counts + 1))


def test_texts_get_a_graph_of_all_neighbours():
    counts, topic = texts()
    rows = sp.csr_array(normalize(counts))
    model = SoftClustering(2, random_state=0).fit(rows)
    assert model._fitted.placer.affinity.keep == "union"
    assert adjusted_rand(topic, model.labels_) > 0.7
    again = model.predict_proba(rows).argmax(axis=1)
    assert (again == model.labels_).mean() > 0.95
    few = SoftClustering(2, random_state=0).fit(rows[:, :100])
    assert few._fitted.placer.affinity.keep == "mutual"


def test_a_graph_that_the_user_made_stays():
    counts, _ = texts(100)
    model = SoftClustering(2, affinity=NeighborGraph(10, metric="cosine"), random_state=0)
    assert model.fit(sp.csr_array(counts))._fitted.placer.affinity.keep == "mutual"


def test_counts_are_warned_of_unless_the_metric_is_cosine():
    counts, _ = texts(200, length=(10, 150))
    with pytest.warns(UserWarning, match="metric='cosine'"):
        SoftClustering(2, random_state=0).fit(sp.csr_array(counts))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SoftClustering(2, metric="cosine", random_state=0).fit(sp.csr_array(counts))
        SoftClustering(2, random_state=0).fit(sp.csr_array(normalize(counts)))
