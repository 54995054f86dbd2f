"""The flagship on graphs of pixels, where eigenvectors and walks need another pace."""

from __future__ import annotations

import numpy as np

from soffit._typing import FloatArray, IntArray, Matrix, is_sparse
from soffit.affinity import SideInformation
from soffit.factorize import Correction, best_partition, n_fine_vectors
from soffit.factorize._multilevel import multilevel_eigenvectors
from soffit.memberships import walk_length
from soffit.models._soft_clustering import SoftClustering

# Smaller graphs are decomposed at once.
_FEW = 1200
# Each step costs a product with the whole graph; sixty-four reach some twenty pixels.
_MOST_STEPS = 64


class PixelClustering(SoftClustering):
    """`SoftClustering` of a graph of pixels given as ``affinity="precomputed"``.

    Eigenvalues of such graphs crowd below 1. The start therefore uses multilevel eigenvectors, and
    the random walk that smooths memberships is cut off.
    """

    def _partition(
        self, A: Matrix, N: Matrix, degrees: FloatArray, side: SideInformation | None
    ) -> IntArray:
        if is_sparse(A) and A.shape[0] > _FEW and np.all(degrees > 0):
            labels = self._multilevel_partition(A, side)
        else:
            labels = super()._partition(A, N, degrees, side)
        self.n_steps_ = min(self.n_steps_, _MOST_STEPS)
        return labels

    def _multilevel_partition(self, A: Matrix, side: SideInformation | None) -> IntArray:
        k = self.n_clusters_
        n_vectors = max(n_fine_vectors(A.shape[0], k), k + 1)
        values, V = multilevel_eigenvectors(A, n_vectors)
        self.n_steps_ = walk_length(values[k])
        correct = None if side is None else Correction(A, side)
        return best_partition(A, V, k, random_state=0, correct=correct)
