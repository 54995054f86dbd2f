"""Sentences that several outputs share."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from soffit.results.sentences import choice_evidence


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
