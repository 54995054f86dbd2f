r"""From evidence to probabilities: a conditional logit model of the right number of clusters.

The probability of k is proportional to :math:`\exp(\sum_f w_f x_{fk})`, with features x of the
evidence for k. There are three kinds of evidence, each with its own weights: objects with
distances, whose density is known; networks, compared with a random graph of the same degrees; and
other graphs. The weights were fitted by maximum likelihood to sets with a known number of clusters
(``python -m benchmarks.fit_number`` fits them again and prints how well they do on kinds of data
they were not fitted to).
"""

from __future__ import annotations

import numpy as np

from soffit._typing import FloatArray, IntArray
from soffit.selection.evidence import AHEAD, DEEP, Evidence

# Larger gaps between eigenvalues add no further evidence.
_WIDE_GAP = 1.0
# Valleys much shallower than this (as a logarithm of densities) are noise.
_SHALLOW = 0.3
# Clusters much smaller than this share of an even one are splinters.
_SPLINTER = 0.02
# Below two dimensions a graph is easily cut anywhere.
_PLANE = 2.0
_TYPICAL_SIZE = 300.0

WEIGHTS: dict[str, dict[str, float]] = {
    "table": {
        "one": 1.743,
        "log_k": -0.967,
        "ahead": 1.825,
        "gap": 1.39,
        "smallest": 0.771,
        "one_log_n": -0.241,
        "one_thin": 4.129,
        "thin_ahead": 2.76,
        "depth": 1.496,
        "next_depth": -1.269,
        "link_depth": -0.221,
        "next_link_depth": -0.968,
    },
    "network": {
        "one": 4.496,
        "log_k": -0.804,
        "short": 180.122,
        "one_above_chance": -153.61,
    },
    "graph": {
        "one": 3.992,
        "log_k": -0.269,
        "ahead": 2.975,
        "gap": 2.209,
        "smallest": 0.68,
        "one_log_n": -0.363,
    },
}


def kind_of(evidence: Evidence) -> str:
    """Which weights apply."""
    if evidence.dimension is not None:
        return "table"
    return "graph" if evidence.chance is None else "network"


def features(evidence: Evidence) -> dict[str, FloatArray]:
    """Features of 1, 2, ..., `most` clusters, by name.

    - ``one``: 1 for one cluster; ``one_...`` are context that makes it more or less likely;
    - ``log_k``: logarithm of the number;
    - ``ahead``: how much shallower the valleys become with one and two more clusters;
    - ``gap``: gap of relaxation times;
    - ``smallest``: logarithm of the smallest cluster's share of an even one;
    - ``depth``, ``link_depth``: logarithm of the depth of the valley around the k-th mode, and
      (``next_...``) of the first mode that k clusters leave out;
    - ``short``: difference of the modularity to the largest one.
    """
    columns = evidence.columns
    n = len(columns["valley"]) - AHEAD
    k = np.arange(1, n + 1)
    several = (k > 1).astype(np.float64)
    log_valley = np.log(columns["valley"] + DEEP)
    ahead = np.mean([log_valley[m : m + n] for m in range(1, AHEAD + 1)], axis=0) - log_valley[:n]
    found = {
        "one": 1.0 - several,
        "log_k": np.log(k),
        "ahead": several * ahead,
        "gap": several * np.minimum(columns["gap"][:n], _WIDE_GAP),
        "smallest": several * np.log(columns["smallest"][:n] + _SPLINTER),
        "one_log_n": (1.0 - several) * np.log(max(evidence.n_objects, 1) / _TYPICAL_SIZE),
    }
    if evidence.dimension is not None:
        thin = max(_PLANE - evidence.dimension, 0.0)
        found["one_thin"] = (1.0 - several) * thin
        found["thin_ahead"] = thin * found["ahead"]
        for name in ("depth", "link_depth"):
            depth = np.log(columns[name] + _SHALLOW)
            found[name] = several * depth[:n]
            found[f"next_{name}"] = depth[1 : n + 1]
    if evidence.chance is not None:
        modularity = columns["modularity"][:n]
        found["short"] = several * (modularity - modularity.max())
        found["one_above_chance"] = (1.0 - several) * (modularity.max() - evidence.chance)
    return found


def score_numbers(evidence: Evidence, numbers: IntArray) -> FloatArray:
    """The log-odds of each of the numbers of clusters, up to a common constant."""
    weights = WEIGHTS[kind_of(evidence)]
    found = features(evidence)
    scores = np.sum([weight * found[name] for name, weight in weights.items()], axis=0)
    return np.asarray(scores[numbers - 1])


def credibility(scores: FloatArray) -> FloatArray:
    """Probabilities of the numbers, which sum to one."""
    odds = np.exp(scores - scores.max())
    return np.asarray(odds / odds.sum())
