"""Type names of the arrays used throughout the library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeGuard

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.floating[Any]]
IntArray: TypeAlias = NDArray[np.integer[Any]]
# The two storages of an affinity matrix; the storage is chosen once, when data are read.
Matrix: TypeAlias = FloatArray | sp.csr_array
# SciPy's test in a form that type checkers understand.
is_sparse: Callable[[Any], TypeGuard[Any]] = sp.issparse
