"""The benchmark sets: a data folder beside the checkout, else OpenML; fifty names for development.

Used by the benchmarks, the reproductions and the tests that need real data.
"""

from benchmarks.datasets.loading import data_home, list_datasets, load
from benchmarks.datasets.names import development_sets
from soffit.datasets import Dataset

__all__ = ["Dataset", "data_home", "development_sets", "list_datasets", "load"]
