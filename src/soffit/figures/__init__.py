"""Figures: one function each, which returns a Plotly figure for notebooks, files and reports."""

from soffit.figures._calibration import calibration
from soffit.figures._cluster_sizes import cluster_sizes
from soffit.figures._confusion import confusion
from soffit.figures._embedding import embedding
from soffit.figures._entropy_map import entropy_map
from soffit.figures._hierarchy import hierarchy
from soffit.figures._k_selection import k_selection
from soffit.figures._membership_bars import membership_bars
from soffit.figures._membership_heatmap import membership_heatmap
from soffit.figures._objective import objective
from soffit.figures._reconstruction import reconstruction
from soffit.figures._scatter import scatter
from soffit.figures._segments import segments

__all__ = [
    "calibration",
    "cluster_sizes",
    "confusion",
    "embedding",
    "entropy_map",
    "hierarchy",
    "k_selection",
    "membership_bars",
    "membership_heatmap",
    "objective",
    "reconstruction",
    "scatter",
    "segments",
]
