"""Coarser graphs: nodes are paired along strong ties, again and again."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from soffit._threads import each, pieces
from soffit._typing import FloatArray, IntArray

# Pairing goes on as long as it removes at least this share of the nodes.
_LEAST_REMOVED = 0.1
# Two pairings make one level: nodes become about a quarter.
_PAIRINGS = 2
# Groups whose rows one thread joins at a time: few pieces, each needs a mark for every group.
_MOST_PIECES = 32
_GROUPS = 2**12


def coarser_graphs(A: sp.csr_array, n_nodes: int) -> tuple[list[sp.csr_array], list[IntArray]]:
    """The graph and coarser ones; and for each but the last, the coarse node of every node."""
    levels, groups = [A], []
    while levels[-1].shape[0] > n_nodes:
        coarse = levels[-1]
        group: IntArray = np.arange(coarse.shape[0])
        for _ in range(_PAIRINGS):
            pairs, coarse = _paired(coarse)
            group = pairs[group]
        if coarse.shape[0] > (1 - _LEAST_REMOVED) * levels[-1].shape[0]:
            break
        levels.append(coarse)
        groups.append(group)
    return levels, groups


def coarse_graph(A: sp.csr_array, n_nodes: int) -> tuple[sp.csr_array, IntArray]:
    """A graph of about as many nodes at most, and the node that every object belongs to."""
    levels, groups = coarser_graphs(A, n_nodes)
    group: IntArray = np.arange(A.shape[0])
    for coarser in groups:
        group = coarser[group]
    return levels[-1], group


def _paired(A: sp.csr_array) -> tuple[IntArray, sp.csr_array]:
    """Pairs of nodes, and the graph of their total weights (inner weights on the diagonal)."""
    from soffit.factorize._coarse_kernels import join_rows, nodes_of_groups, pair_nodes

    inverse = 1.0 / np.sqrt(np.maximum(_degrees(A), np.finfo(np.float64).tiny))
    group, count = pair_nodes(A.indptr, A.indices, A.data, inverse)
    members, begins = nodes_of_groups(group, count)

    def join(part: range) -> tuple[IntArray, IntArray, FloatArray]:
        joined: tuple[IntArray, IntArray, FloatArray] = join_rows(
            A.indptr, A.indices, A.data, group, begins, members, part.start, part.stop, count
        )
        return joined

    parts = each(join, pieces(count, max(_GROUPS, -(-count // _MOST_PIECES))))
    lengths = np.concatenate([part[0] for part in parts])
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(A.indptr.dtype)
    columns = np.concatenate([part[1] for part in parts])
    weights = np.concatenate([part[2] for part in parts])
    return group, sp.csr_array((weights, columns, indptr), shape=(count, count))


def _degrees(A: sp.csr_array) -> FloatArray:
    return np.asarray(A.sum(axis=1), dtype=np.float64).ravel()
