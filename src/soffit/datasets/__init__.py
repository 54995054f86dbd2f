"""Generators with true memberships, and small labelled data sets."""

from __future__ import annotations

from soffit.datasets.curves import make_bridge, make_donut, make_lines, make_moons, make_rings
from soffit.datasets.loading import (
    Dataset,
    data_home,
    development_sets,
    list_datasets,
    load,
)
from soffit.datasets.mixtures import (
    make_block_stochastic,
    make_gaussians,
    make_skewed,
    make_student_t,
    make_unequal,
)
from soffit.datasets.sample import Sample, SimilaritySample

__all__ = [
    "Dataset",
    "Sample",
    "SimilaritySample",
    "data_home",
    "development_sets",
    "list_datasets",
    "load",
    "make_block_stochastic",
    "make_bridge",
    "make_donut",
    "make_gaussians",
    "make_lines",
    "make_moons",
    "make_rings",
    "make_skewed",
    "make_student_t",
    "make_unequal",
]
