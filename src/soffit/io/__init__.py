"""Files in and out: tables, matrices and graphs to cluster, what came of them, and models."""

from __future__ import annotations

from soffit.io._column_summary import ColumnSummary
from soffit.io._describe import Description, describe
from soffit.io._errors import DataError, UnknownColumnError
from soffit.io._model_error import ModelFileError
from soffit.io._model_file import load, save
from soffit.io._pairs import read_pairs
from soffit.io._read import read
from soffit.io._result import Result
from soffit.io._result_file import read_result, write_result
from soffit.io._source import Source

__all__ = [
    "ColumnSummary",
    "DataError",
    "Description",
    "ModelFileError",
    "Result",
    "Source",
    "UnknownColumnError",
    "describe",
    "load",
    "read",
    "read_pairs",
    "read_result",
    "save",
    "write_result",
]
