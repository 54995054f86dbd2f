"""From a factor to memberships: uncertainty, matching of clusters, smoothing, new objects."""

from soffit.factorize.divergence.placement import ColumnRows
from soffit.factorize.nonnegative.placement import NonnegativeRows
from soffit.factorize.simplex.placement import FittedRows
from soffit.factorize.solvers import Extension, extension
from soffit.memberships.assignment import as_sets, to_igraph, to_networkx
from soffit.memberships.calibration import (
    Walk,
    pair_log_likelihood,
    random_walk,
    sharpen,
    walk_length,
    with_pairs,
)
from soffit.memberships.ensemble import Ensemble, carried_over, combine, pair_agreement
from soffit.memberships.matching import align, match_clusters
from soffit.memberships.measures import entropy, soften, top_memberships
from soffit.memberships.mixture import SeededMixture, fit_seeded_mixture
from soffit.memberships.tree import ClusterTree, Level

__all__ = [
    "ClusterTree",
    "ColumnRows",
    "Ensemble",
    "Extension",
    "FittedRows",
    "Level",
    "NonnegativeRows",
    "SeededMixture",
    "Walk",
    "align",
    "as_sets",
    "carried_over",
    "combine",
    "entropy",
    "extension",
    "fit_seeded_mixture",
    "match_clusters",
    "pair_agreement",
    "pair_log_likelihood",
    "random_walk",
    "sharpen",
    "soften",
    "to_igraph",
    "to_networkx",
    "top_memberships",
    "walk_length",
    "with_pairs",
]
