"""Type names of the arrays used throughout the library."""

from __future__ import annotations

from typing import Any, TypeAlias, TypeGuard

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.floating[Any]]
IntArray: TypeAlias = NDArray[np.integer[Any]]
# The two storages of an affinity matrix; the storage is chosen once, when data are read.
Matrix: TypeAlias = FloatArray | sp.csr_array


def is_sparse(A: Any) -> TypeGuard[Any]:
    """SciPy's test in a form that type checkers understand."""
    return bool(sp.issparse(A))
