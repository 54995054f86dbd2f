"""Memberships given pairs known to belong together or apart."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from soffit._typing import FloatArray
from soffit.affinity import SideInformation
from soffit.affinity.side_information import without_negative

# Upper limit on the certainty of any statement.
_LEAST = 0.01


def with_pairs(
    memberships: FloatArray, beliefs: FloatArray, side: SideInformation, *, weight: float = 1.0
) -> FloatArray:
    r"""Use pairs as evidence about the objects they touch.

    .. math:: p'_{ic} \propto p_{ic} \prod_{j \text{ with } i} q_{jc}^{\omega}
              \prod_{j \text{ apart from } i} (1 - q_{jc})^{\omega}

    Bayes' rule with the beliefs q about the partners, clipped one percent away from certainty.
    Objects without pairs keep their memberships.

    Parameters
    ----------
    memberships : array of shape (n, k)
        The probabilities p before the evidence.
    beliefs : array of shape (n, k)
        The probabilities q of the partners.
    side : SideInformation
        The pairs.
    weight : float, default 1.0
        The exponent omega in (0, 1]: how much the pairs are trusted.

    Returns
    -------
    ndarray of shape (n, k)
        Rows sum to one.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.affinity import SideInformation
    >>> from soffit.memberships import with_pairs
    >>> before = np.array([[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]])
    >>> with_pairs(before, before, SideInformation.of([(0, 1)], None, 3)).round(2)
    array([[0.9, 0.1],
           [0.9, 0.1],
           [0.2, 0.8]])
    """
    k = memberships.shape[1]
    if k == 1:
        return memberships
    q = _LEAST / k + (1.0 - _LEAST) * beliefs.astype(np.float64)
    relation = side.relation()
    together, apart = without_negative(relation), without_negative(sp.csr_array(-relation))
    evidence = weight * (together @ np.log(q) + apart @ np.log1p(-q))
    touched = np.diff(relation.indptr) > 0
    log_posterior = np.log(np.maximum(memberships[touched], 1e-12)) + evidence[touched]
    posterior = np.exp(log_posterior - log_posterior.max(axis=1, keepdims=True))
    result = memberships.copy()
    result[touched] = posterior / posterior.sum(axis=1, keepdims=True)
    return result


def pair_log_likelihood(memberships: FloatArray, side: SideInformation) -> FloatArray:
    r"""Log-likelihood of pairs given memberships.

    .. math:: \log \Pr(i \text{ with } j) = \log \sum_c p_{ic} p_{jc}

    for must-link pairs, and the log of one minus this sum for cannot-link pairs. Probabilities are
    clipped one percent away from certainty, so that no single pair dominates.

    Parameters
    ----------
    memberships : array of shape (n, k)
        The probabilities p.
    side : SideInformation
        The pairs.

    Returns
    -------
    ndarray of shape (n_pairs,)
        One value per pair, must-links first.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.affinity import SideInformation
    >>> from soffit.memberships import pair_log_likelihood
    >>> P = np.array([[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]])
    >>> np.exp(pair_log_likelihood(P, SideInformation.of([(0, 1)], [(1, 2)], 3))).round(3)
    array([0.505, 0.743])
    """
    pairs = np.concatenate([side.must, side.cannot])
    P = memberships.astype(np.float64)
    chance = np.clip(np.einsum("pc,pc->p", P[pairs[:, 0]], P[pairs[:, 1]]), 0.0, 1.0)
    chance[len(side.must) :] = 1.0 - chance[len(side.must) :]
    return np.asarray(np.log(_LEAST + (1.0 - _LEAST) * chance))
