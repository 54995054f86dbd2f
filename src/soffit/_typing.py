"""Names for the arrays that travel through the library."""

from __future__ import annotations

from typing import Any, TypeAlias, TypeGuard

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.floating[Any]]
IntArray: TypeAlias = NDArray[np.integer[Any]]
# The two storages of a matrix of affinities; which one it is gets decided once, at the door.
Matrix: TypeAlias = FloatArray | sp.csr_array


def is_sparse(A: Any) -> TypeGuard[Any]:
    """SciPy's test in a form that type checkers follow."""
    return bool(sp.issparse(A))
