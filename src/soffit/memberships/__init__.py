"""From a factor to memberships: uncertainty, matching of clusters, smoothing, new objects."""

from soffit.memberships._column_rows import ColumnRows
from soffit.memberships._ensemble import Ensemble, carried_over, combine, pair_agreement, soften
from soffit.memberships._entropy import entropy
from soffit.memberships._extension import FittedRows
from soffit.memberships._matching import align, match_clusters
from soffit.memberships._mixture import SeededMixture, fit_seeded_mixture
from soffit.memberships._nonnegative_rows import NonnegativeRows
from soffit.memberships._pairs import pair_log_likelihood, with_pairs
from soffit.memberships._registry import Extension, extension
from soffit.memberships._top import top_memberships
from soffit.memberships._tree import ClusterTree, Level
from soffit.memberships._walk import Walk, random_walk, sharpen, walk_length

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
    "top_memberships",
    "walk_length",
    "with_pairs",
]
