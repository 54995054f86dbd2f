"""Files in and out: tables, matrices and graphs to cluster, and what came of them."""

from __future__ import annotations

from soffit._parameters import from_io as __getattr__  # noqa: F401
from soffit.io.data_error import DataError, UnknownColumnError
from soffit.io.describe import ColumnSummary, Description, describe
from soffit.io.lazy_files import read_blocks
from soffit.io.link_files import read_pairs
from soffit.io.read import read
from soffit.io.result_files import read_result, write_result
from soffit.io.source import Source
from soffit.results.per_object import Result

__all__ = [
    "ColumnSummary",
    "DataError",
    "Description",
    "Result",
    "Source",
    "UnknownColumnError",
    "describe",
    "read",
    "read_blocks",
    "read_pairs",
    "read_result",
    "write_result",
]
