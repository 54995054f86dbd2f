"""What the two models of Yu, Yu & Tresp share: their graph and their problem."""

from __future__ import annotations

from soffit._typing import Matrix
from soffit.factorize import Problem
from soffit.models._base import SimilarityClustering


class RelationModel(SimilarityClustering):
    """A model that factorizes a graph's weights as frequencies of transitions."""

    # Transitions need all listed neighbours: graphs of mutual ones serve this loss less well.
    _keep = "union"
    _weights = "local"


def relation_problem(
    A: Matrix, n_clusters: int, *, sparsity: float = 0.0, pruning: float = 0.0
) -> Problem:
    """The divergence of A from H Lambda H', with or without priors."""
    return Problem(
        A,
        n_clusters,
        scale="cluster",
        diagonal=True,
        loss="kl",
        constraint="columns",
        sparsity=sparsity,
        pruning=pruning,
    )
