"""Memberships: their uncertainty and the matching of clusters."""

from soffit.memberships._entropy import entropy
from soffit.memberships._matching import align, match_clusters

__all__ = ["align", "entropy", "match_clusters"]
