"""One score for every number of clusters from the kinds of evidence."""

from __future__ import annotations

import numpy as np

from soffit._typing import FloatArray, IntArray
from soffit.selection._evidence import AHEAD, DEEP, Evidence

# Beyond this a gap between eigenvalues is wide, and how wide says no more.
_WIDE_GAP = 1.0
# The pruning path is coarse: its numbers last by steps.
_LASTING_WEIGHT = 0.5
# What a single cluster may score for k clusters by chance: _CHANCE + _CHANCE_OF_FEW / k.
_CHANCE = 1.4
_CHANCE_OF_FEW = 1.5
# Difference of scores by which one number becomes e times as credible as another.
_TEMPERATURE = 0.4


def score_numbers(columns: Evidence, numbers: IntArray) -> FloatArray:
    r"""The score of each of the numbers of clusters, ascending, from the columns for 1, 2, ...

    .. math:: \min(g_k, 1) \sqrt{1 - v_k} + \frac12 \sum_{m=1}^2
              \log\frac{v_{k+m} + 0.05}{v_k + 0.05} + s_k + \frac12 l_k

    with the gap g of relaxation times, the shallowest valley v, the stability s and the lasting
    l on the pruning path. A gap counts where there are valleys, too: a single round cluster has
    gaps of its own. One cluster scores what it might reach by chance, 1.4 + 1.5 / k, for the best
    of the other numbers: a single cluster falls into few parts more easily than into many.
    """
    valley = columns["valley"]
    n = len(valley) - AHEAD
    log_valley = np.log(valley + DEEP)
    ahead = np.mean([log_valley[m : m + n] for m in range(1, AHEAD + 1)], axis=0)
    scores = np.minimum(columns["gap"][:n], _WIDE_GAP) * np.sqrt(1.0 - valley[:n])
    scores += ahead - log_valley[:n]
    scores += columns["stability"][:n] + _LASTING_WEIGHT * columns["lasting"][:n]
    scores = scores[numbers - 1]
    if numbers[0] == 1:
        rival = numbers[1:][scores[1:].argmax()] if len(numbers) > 1 else np.inf
        scores[0] = _CHANCE + _CHANCE_OF_FEW / rival
    return np.asarray(scores)


def credibility(scores: FloatArray) -> FloatArray:
    """Shares that sum to one: how far each number's score stands out."""
    weight = np.exp((scores - scores.max()) / _TEMPERATURE)
    return np.asarray(weight / weight.sum())
