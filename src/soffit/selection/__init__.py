"""The number of clusters: evidence for every number from one graph, and a choice."""

from __future__ import annotations

from soffit.selection.choose_k import KChoice, choose_k, choose_k_of_graph
from soffit.selection.suggest_pairs import suggest_pairs

__all__ = [
    "KChoice",
    "choose_k",
    "choose_k_of_graph",
    "suggest_pairs",
]
