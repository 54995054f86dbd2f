"""Sentences that several outputs share."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from soffit import SoftClustering
from soffit.results.sentences import choice_evidence, standardization
from soffit.results.summary import Summary


@pytest.mark.parametrize(
    ("depth", "said", "unsaid"),
    [
        (0.0, "hardly falls", "although"),
        (0.4, "falls to 67", "although"),
        (2.5, "although the density falls to 8", "by chance"),
    ],
)
def test_a_deep_valley_inside_one_cluster_is_not_called_chance(depth, said, unsaid):
    table = {"k": np.arange(1, 4), "depth": np.array([0.0, depth, 0.0])}
    choice = SimpleNamespace(n_clusters=1, runner_up=3, ks=np.arange(1, 4), table=table)
    text = choice_evidence(SimpleNamespace(choice=choice))
    assert said in text
    assert unsaid not in text


def test_nothing_is_said_about_the_spreads_of_words():
    rng = np.random.default_rng(23)
    topics = np.repeat(np.kron(np.eye(2), np.full((1, 150), 0.08)), 30, axis=0)
    words = sp.csr_array((rng.random((60, 300)) < topics).astype(float))
    model = SoftClustering(2, random_state=23).fit(words)
    assert standardization(Summary.of(model, words)) is None
    table = rng.normal(size=(60, 3)) + 9.0 * (np.arange(60) < 30)[:, None]
    model = SoftClustering(2, random_state=23).fit(table)
    assert "not standardized" in str(standardization(Summary.of(model, table)))
