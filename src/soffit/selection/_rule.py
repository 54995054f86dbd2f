"""One score for every number of clusters from the kinds of evidence."""

from __future__ import annotations

import numpy as np

from soffit._typing import FloatArray
from soffit.selection._evidence import AHEAD, DEEP, Evidence

# Beyond this a gap between eigenvalues is wide, and how wide says no more.
_WIDE_GAP = 1.0
# The pruning path is coarse: its numbers last by steps.
_LASTING_WEIGHT = 0.5
# What one cluster scores: the evidence that any larger number must bring.
_ONE = 1.7
# Difference of scores by which one number becomes e times as credible as another.
_TEMPERATURE = 0.4


def score_numbers(columns: Evidence) -> FloatArray:
    r"""The score of 1, 2, ..., `most` clusters; the last entries only tell what lies ahead.

    .. math:: \min(g_k, 1) \sqrt{1 - v_k} + \frac12 \sum_{m=1}^2
              \log\frac{v_{k+m} + 0.05}{v_k + 0.05} + s_k + \frac12 l_k

    with the gap g of relaxation times, the shallowest valley v, the stability s and the lasting
    l on the pruning path. A gap counts where there are valleys, too: a single round cluster has
    gaps of its own. One cluster scores 1.7.
    """
    valley = columns["valley"]
    n = len(valley) - AHEAD
    log_valley = np.log(valley + DEEP)
    ahead = np.mean([log_valley[m : m + n] for m in range(1, AHEAD + 1)], axis=0)
    scores = np.minimum(columns["gap"][:n], _WIDE_GAP) * np.sqrt(1.0 - valley[:n])
    scores += ahead - log_valley[:n]
    scores += columns["stability"][:n] + _LASTING_WEIGHT * columns["lasting"][:n]
    scores[0] = _ONE
    return np.asarray(scores)


def credibility(scores: FloatArray) -> FloatArray:
    """Shares that sum to one: how far each number's score stands out."""
    weight = np.exp((scores - scores.max()) / _TEMPERATURE)
    return np.asarray(weight / weight.sum())
