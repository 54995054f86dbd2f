"""Figures: one function each, which returns a Plotly figure for notebooks, files and reports."""

from soffit.figures.calibration_plot import calibration
from soffit.figures.cluster_sizes import cluster_sizes
from soffit.figures.confusion import confusion
from soffit.figures.entropy_map import entropy_map
from soffit.figures.hierarchy import hierarchy
from soffit.figures.k_selection import k_selection
from soffit.figures.layouts import embedding
from soffit.figures.membership_bars import membership_bars
from soffit.figures.membership_heatmap import membership_heatmap
from soffit.figures.objective import objective
from soffit.figures.reconstruction import reconstruction
from soffit.figures.scatter import scatter
from soffit.figures.segments import segments

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
