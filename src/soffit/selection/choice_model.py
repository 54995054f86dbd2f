r"""From evidence to probabilities: a conditional logit model of the right number of clusters.

The probability of k is proportional to :math:`\exp(\sum_f w_f x_{fk})`, with features x of the
evidence for k. There are four kinds of evidence, each with its own weights: objects with
distances, whose density is known; networks, compared with a random graph of the same degrees; full
matrices of similarities; and other graphs. The weights were fitted by maximum likelihood to sets
with a known number of clusters (``python -m benchmarks.fit_number`` fits them again and prints how
well they do on kinds of data they were not fitted to).
"""

from __future__ import annotations

import numpy as np

from soffit._typing import FloatArray, IntArray
from soffit.selection.evidence import AHEAD, DEEP, Evidence

# Larger gaps between eigenvalues add no further evidence.
_WIDE_GAP = 1.0
# Valleys much shallower than this (as a logarithm of densities) are noise.
_SHALLOW = 0.3
# In a valley of this depth the density falls to a third: its mode is a cluster.
_CLEAR_DEPTH = 1.0
# Clusters much smaller than this share of an even one are splinters.
_SPLINTER = 0.02
# Below two dimensions a graph is easily cut anywhere.
_PLANE = 2.0
_TYPICAL_SIZE = 300.0
# Clusters are only about Gaussian: more objects than this tell about their shape, not their number.
_GAUSSIAN_UP_TO = 500.0
# Differences in log-likelihood that are counted, between all numbers, and for one cluster if there
# are few objects.
_IMPROBABLE = 100.0
_CLEAR_GAIN = 20.0
_FEW = 80.0
# Dips below the first ratio are equally clear; above the second there is none.
_CLEAR_DIP = 0.1
_NO_DIP = 1.2

WEIGHTS: dict[str, dict[str, float]] = {
    "table": {
        "log_k": -1.098,
        "ahead": 2.25,
        "gap": 2.176,
        "smallest": 3.043,
        "one_thin": 2.45,
        "depth": 0.487,
        "left_out": -2.299,
        "mixture": 0.25,
        "few_mixture": -0.495,
        "dip": 2.215,
        "next_dip": 2.618,
    },
    "network": {
        "one": 4.51,
        "log_k": -0.773,
        "short": 187.687,
        "one_above_chance": -153.377,
    },
    "full": {
        "one": 4.002,
        "log_k": 1.378,
        "ahead": 2.949,
        "gap": 3.446,
        "smallest": 4.208,
        "mixture": 0.07,
        "next_dip": 1.922,
    },
    "graph": {
        "one": 3.911,
        "log_k": -0.127,
        "ahead": 2.954,
        "gap": 2.256,
        "smallest": 0.987,
        "one_log_n": -0.233,
    },
}


def kind_of(evidence: Evidence) -> str:
    """Which weights apply."""
    if evidence.dimension is not None:
        return "table"
    if evidence.is_full:
        return "full"
    return "graph" if evidence.chance is None else "network"


def features(evidence: Evidence) -> dict[str, FloatArray]:
    """Features of 1, 2, ..., `most` clusters, by name.

    - ``one``: 1 for one cluster; ``one_...`` are context that makes it more or less likely;
    - ``log_k``: logarithm of the number;
    - ``ahead``: how much shallower the valleys become with one and two more clusters;
    - ``gap``: gap of relaxation times;
    - ``smallest``: logarithm of the smallest cluster's share of an even one;
    - ``depth``: logarithm of the depth of the valley around the k-th mode;
    - ``left_out``: the same, beyond a clear depth, of all modes that k clusters leave out: each of
      them is evidence against k, however deep the k-th one is;
    - ``mixture``: how much less probable the objects are than as the best number of Gaussian
      clusters; ``few_mixture``: for one cluster of few objects, how much more probable they are as
      several, which need not be those of the graph;
    - ``dip``: logarithm of the density between the two clusters that are least separate. If this is
      small, the clusters are far apart, and so are valley and gap large, whatever is inside them:
      its weight takes this back;
    - ``next_dip``: the same if there is one cluster more;
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
        found["depth"] = several * np.log(columns["depth"][:n] + _SHALLOW)
        found["left_out"] = _left_out(columns["depth"])[:n]
    if evidence.dimension is not None or evidence.is_full:
        found |= _of_mixture(evidence, n)
        log_dip = _log_dip(evidence)
        found["dip"] = several * log_dip[:n]
        found["next_dip"] = log_dip[1 : n + 1]
    if evidence.chance is not None:
        modularity = columns["modularity"][:n]
        found["short"] = several * (modularity - modularity.max())
        found["one_above_chance"] = (1.0 - several) * (modularity.max() - evidence.chance)
    return found


def _left_out(depth: FloatArray) -> FloatArray:
    """How deep the clear modes are that 1, 2, ... clusters leave out, all of them together."""
    clear = np.maximum(np.log((depth + _SHALLOW) / (_CLEAR_DEPTH + _SHALLOW)), 0.0)
    clear[0] = 0.0
    return np.asarray(clear.sum() - np.cumsum(clear))


def _of_mixture(evidence: Evidence, n: int) -> dict[str, FloatArray]:
    """How much less probable the objects are than as the best number of Gaussian clusters."""
    size = evidence.n_points
    if not size:
        return {"mixture": np.zeros(n), "few_mixture": np.zeros(n)}
    gain = evidence.columns["mixture"][:n] * size / (1 + size / _GAUSSIAN_UP_TO)
    short = np.minimum(gain.max() - gain, _IMPROBABLE)
    most = max(float(evidence.columns["mixture"][1:n].max()), evidence.several) if n > 1 else 0.0
    best = most * size / (1 + size / _GAUSSIAN_UP_TO)
    one = np.zeros(n)
    one[0] = np.clip(best, -_CLEAR_GAIN, _CLEAR_GAIN) / (1 + evidence.n_objects / _FEW)
    return {"mixture": -np.sqrt(short), "few_mixture": one}


def _log_dip(evidence: Evidence) -> FloatArray:
    """The dips as logarithms; nothing in one dimension, see `depth`."""
    dip = evidence.columns.get("dip")
    if dip is None:
        return np.zeros_like(evidence.columns["valley"])
    share = 1.0 if evidence.dimension is None else min(max(evidence.dimension - 1.0, 0.0), 1.0)
    return np.asarray(share * np.log(np.minimum(dip, _NO_DIP) + _CLEAR_DIP))


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
