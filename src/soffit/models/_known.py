"""What a user knows beyond the data: pairs that belong together or apart, weights of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from soffit._typing import Matrix
from soffit.affinity import SideInformation


@dataclass(frozen=True, eq=False)
class Known:
    """The arguments of a `fit` that takes more than the objects, as given."""

    must_link: Any = None
    cannot_link: Any = None
    pair_weight: Any = None
    transitive: bool = False

    def side_information(self, n: int, names: NDArray[Any] | None) -> SideInformation | None:
        """The pairs, checked; None if there are none."""
        side = SideInformation.of(
            self.must_link, self.cannot_link, n, transitive=self.transitive, names=names
        )
        return side if side.n_pairs else None

    def checked_pair_weight(self, n: int, dtype: np.dtype[np.floating]) -> Matrix | None:
        """The weights as array or CSR in the given precision; None if there are none."""
        if self.pair_weight is None:
            return None
        if sp.issparse(self.pair_weight):
            weight: Any = sp.csr_array(self.pair_weight, dtype=dtype)
            values = weight.data
        else:
            weight = values = np.asarray(self.pair_weight, dtype=dtype)
        if weight.shape != (n, n):
            raise ValueError(
                f"pair_weight must have shape ({n}, {n}), one weight a pair, got {weight.shape}."
            )
        # Written so that NaN fails too.
        wrong = ~((values >= 0) & (values < np.inf))
        if wrong.any():
            raise ValueError(
                f"pair_weight must be finite and nonnegative, got {values[wrong][0]}. Use zero "
                "for unknown pairs."
            )
        gap = abs(weight - weight.T).max()
        if gap > 0:
            raise ValueError(
                "pair_weight must be symmetric: pairs have no direction. Pass "
                "(pair_weight + pair_weight.T) / 2."
            )
        return weight
