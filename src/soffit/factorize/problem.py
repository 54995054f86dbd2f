"""The problem that a solver receives, its loss, the result, and which solver takes which.

With U = theta * W and pairs (i, j), i != j unless the diagonal counts, squared loss is quadratic in
the scales s: ||A||^2 - 2 s'b + s'Hs with b_c = u_c'A u_c and H = (U'U)^2 elementwise (minus the
diagonal's part). Without the diagonal a scale can diverge: a cluster of one whole object and traces
of others fits their similarities ever better as its scale grows and the traces shrink, until only
rounding is left. Scales are therefore bounded by a limit far above that of any cluster of several
objects.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike
from scipy.optimize import nnls

from soffit._threads import each, pieces
from soffit._typing import FloatArray, Matrix
from soffit.graph import Graph, Locality, reciprocal

Scale = Literal["none", "single", "cluster", "held"]
SCALES: tuple[Scale, ...] = ("none", "single", "cluster", "held")
# Why a search ended; the last three mean that it was stopped from outside.
Stop = Literal["converged", "max_iter", "max_time", "callback", "interrupted"]
# Valid pairs of loss and constraint on the factor: one model family per pair.
FAMILIES = (("l2", "simplex"), ("l2", "nonnegative"), ("kl", "columns"))


@dataclass(frozen=True, eq=False)
class Problem:
    r"""Fit a symmetric matrix by a nonnegative factor, :math:`A \approx G S G^\top`.

    With squared error,

    .. math:: \min_{G, s} \sum_{ij} m_{ij} \big(A_{ij} - \theta_i\theta_j \sum_c s_c G_{ic} G_{jc}
              \big)^2, \qquad G \ge 0,

    where the rows of G lie on the probability simplex or are free; or with the divergence

    .. math:: \min_{G, s} \sum_{ij} A_{ij} \log \frac{A_{ij}}{(G S G^\top)_{ij}} - A_{ij}
              + (G S G^\top)_{ij}, \qquad G \ge 0,\; G^\top 1 = 1.

    Parameters
    ----------
    matrix : array or CSR of shape (n, n)
        The symmetric, nonnegative A, after normalization.
    n_clusters : int
        Number of columns of G.
    scale : {"none", "single", "cluster", "held"}
        s fixed at 1; one common value; one value per cluster; or one value per cluster that is
        fitted to the start and then held fixed. With fitted values per cluster, a column of G can
        shrink while its scale grows, so that its entries become less informative about membership;
        held values prevent this.
    degrees : array of shape (n,), optional
        Degree correction: theta is the square root of degrees over their mean. None means 1.
    pair_weight : array or CSR of shape (n, n), optional
        The weights m; zero marks an unknown pair. None means 1.
    side : CSR of shape (n, n), optional
        Symmetric S that adds :math:`\sum_{ij} \max(S_{ij}, 0) - S_{ij} \sum_c G_{ic} G_{jc}` to
        the loss: positive entries favour pairs in the same cluster, negative ones pairs in
        different clusters. Entries do not count as similarities.
    diagonal : bool
        Whether the pairs (i, i) count.
    loss : {"l2", "kl"}
        Squared error or Kullback-Leibler divergence.
    constraint : {"simplex", "nonnegative", "columns"}
        Rows of the factor on the simplex; nonnegative; or columns on the simplex (with "kl").
    sparsity : float
        Prior on memberships, with "kl": every step subtracts this fraction of the object's degree
        from each share, and small shares vanish. 0 means no prior.
    pruning : float
        Prior on cluster weights, with "kl": every step subtracts this fraction of the total weight
        from each cluster, and small clusters vanish. 0 means no prior.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.factorize import Problem
    >>> Problem(np.kron(np.eye(2), np.ones((3, 3))), 2, scale="single").n_clusters
    2
    """

    matrix: Matrix
    n_clusters: int
    scale: Scale = "none"
    degrees: FloatArray | None = None
    pair_weight: Matrix | None = None
    side: sp.csr_array | None = None
    diagonal: bool = False
    loss: Literal["l2", "kl"] = "l2"
    constraint: Literal["simplex", "nonnegative", "columns"] = "simplex"
    sparsity: float = 0.0
    pruning: float = 0.0

    def __post_init__(self) -> None:
        if self.scale not in SCALES:
            raise ValueError(f"scale must be one of {list(SCALES)}, got {self.scale!r}.")
        if self.family not in FAMILIES:
            raise ValueError(
                f"loss and constraint must be one of the pairs {list(FAMILIES)}, got {self.family}."
            )
        n = self.matrix.shape[0]
        if self.matrix.shape != (n, n):
            raise ValueError(f"matrix must be square, got shape {self.matrix.shape}.")
        weight = self.pair_weight
        if weight is not None and weight.shape != (n, n):
            raise ValueError(f"pair_weight must have shape {(n, n)}, got {weight.shape}.")

    @property
    def family(self) -> tuple[str, str]:
        """Loss and constraint."""
        return self.loss, self.constraint

    @property
    def n_objects(self) -> int:
        """Number of rows of the matrix and of the factor."""
        return int(self.matrix.shape[0])

    @property
    def graph(self) -> Graph:
        """A as a ``Graph``, with the same operations for both storages."""
        return Graph.of(self.matrix)

    @property
    def is_sparse(self) -> bool:
        """Whether A is stored in CSR form."""
        return self.graph.is_sparse

    def as_type(self, dtype: DTypeLike) -> Problem:
        """The same problem in another precision."""
        side = None if self.side is None else self.side.astype(dtype)
        return replace(self, matrix=self.matrix.astype(dtype), side=side)

    def reordered(self, order: Locality | None) -> Problem:
        """The same problem with its objects in another order; None keeps the order."""
        if order is None:
            return self
        return replace(
            self,
            matrix=order.matrix(self.matrix),
            degrees=None if self.degrees is None else order.rows(self.degrees),
            pair_weight=None if self.pair_weight is None else order.matrix(self.pair_weight),
            side=None if self.side is None else order.matrix(self.side),
        )

    def row_factors(self) -> FloatArray:
        """Theta, the factor of each object's row; 1 without degree correction."""
        dtype = self.matrix.dtype
        if self.degrees is None:
            return np.ones(self.n_objects, dtype=dtype)
        mean = float(np.mean(self.degrees))
        relative = self.degrees / mean if mean > 0 else np.zeros(self.n_objects)
        return np.sqrt(relative).astype(dtype)


@dataclass(frozen=True, eq=False)
class Factorization:
    """The result of a solver: the factor, its scale, and the course of the search.

    Parameters
    ----------
    factor : array of shape (n, k)
        G, with rows or columns on the simplex, or nonnegative, as the constraint demands; in CSR
        form if the start was.
    scale : array of shape (k,)
        s, one value per cluster (all equal for a single scale).
    objective : float
        Loss at the returned factor.
    history : array of shape (n_iter + 1,) or shorter
        Loss at the start and after every iteration. With priors that remove clusters or shares it
        starts after the last removal, because the loss changes there.
    n_iter : int
        Number of iterations.
    stopped : {"converged", "max_iter", "max_time", "callback", "interrupted"}
        Why the search ended. An interrupted search returns the last complete factor; a partial
        iteration counts if it left one.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.factorize import Problem, solve_rows
    >>> blocks = np.kron(np.eye(2), np.ones((3, 3)))
    >>> problem = Problem(blocks, 2)
    >>> found = solve_rows(problem, np.kron(np.eye(2), np.ones((3, 1))))
    >>> found.factor.shape, found.stopped
    ((6, 2), 'converged')
    """

    factor: FloatArray
    scale: FloatArray
    objective: float
    history: FloatArray
    n_iter: int
    stopped: Stop

    @property
    def converged(self) -> bool:
        """Whether the convergence criterion was met."""
        return self.stopped == "converged"

    @property
    def cut_short(self) -> bool:
        """Whether a time limit, a callback or a keyboard interrupt stopped the search."""
        return self.stopped not in ("converged", "max_iter")


@dataclass(frozen=True)
class Support:
    """The values of a problem's fields that a solver handles; it handles both storages."""

    scales: tuple[Scale, ...]
    diagonal: tuple[bool, ...]
    family: tuple[str, str] = ("l2", "simplex")
    degrees: bool = False
    pair_weight: bool = False
    side: bool = False
    # Degrees or side information combined with pair weights.
    weighted_degrees: bool = False
    weighted_side: bool = False


_NONNEGATIVE = Support(
    scales=("none",), diagonal=(False,), family=("l2", "nonnegative"), pair_weight=True
)
SUPPORT: dict[str, Support] = {
    "rows": Support(scales=SCALES, diagonal=(False,), degrees=True, pair_weight=True, side=True),
    "gradient": Support(scales=SCALES, diagonal=(False, True), degrees=True),
    "penalty": Support(scales=("none",), diagonal=(True,)),
    "growth": Support(scales=("none", "single"), diagonal=(True,)),
    "multiplicative": _NONNEGATIVE,
    "parallel": _NONNEGATIVE,
    "coordinate": _NONNEGATIVE,
    "em": Support(scales=("cluster",), diagonal=(True,), family=("kl", "columns")),
}


def refused_fields(solver: str, problem: Problem) -> list[str]:
    """The fields of the problem that the solver does not handle, as in a call."""
    support = SUPPORT[solver]
    refused = []
    if problem.family != support.family:
        refused.append(f"loss={problem.loss!r} with constraint={problem.constraint!r}")
    if problem.scale not in support.scales:
        refused.append(f"scale={problem.scale!r}")
    if problem.diagonal not in support.diagonal:
        refused.append(f"diagonal={problem.diagonal}")
    if problem.degrees is not None and not support.degrees:
        refused.append("degrees")
    if problem.pair_weight is not None and not support.pair_weight:
        refused.append("pair_weight")
    if problem.side is not None and not support.side:
        refused.append("side")
    if problem.pair_weight is not None and not refused:
        if problem.degrees is not None and not support.weighted_degrees:
            refused.append("degrees together with pair_weight")
        if problem.side is not None and not support.weighted_side:
            refused.append("side together with pair_weight")
    return refused


def check_support(solver: str, problem: Problem) -> None:
    """Raise unless the solver handles every field of the problem."""
    refused = refused_fields(solver, problem)
    if not refused:
        return
    able = [repr(name) for name in SUPPORT if not refused_fields(name, problem)]
    remedy = (
        f"Use solver {' or '.join(able)}."
        if able
        else "No solver does: change one of these fields."
    )
    raise ValueError(f"Solver {solver!r} does not support {', '.join(refused)}. {remedy}")


def copy_start(problem: Problem, start: FloatArray) -> FloatArray:
    """A checked copy of the start in the precision of the problem."""
    expected = (problem.n_objects, problem.n_clusters)
    if np.shape(start) != expected:
        raise ValueError(f"start must have shape {expected}, got {np.shape(start)}.")
    G = np.array(start, dtype=problem.matrix.dtype, order="C")
    if not (G.min(initial=0.0) >= 0.0 and np.isfinite(G).all()):
        raise ValueError("start must be nonnegative and finite.")
    if problem.constraint == "nonnegative":
        return G
    if not np.all(np.abs(G.sum(axis=1) - 1.0) <= 1e-3):
        raise ValueError(
            "The rows of start must be nonnegative and sum to one: divide each by its sum."
        )
    return G


# Largest scale in units of k times the largest similarity; uniform rows reach 1.
_LARGEST_SCALE = 100.0
# Maximum number of passes over the scales when some are at the limit.
_MAX_PASSES = 100
# Entries of the rows whose products are summed at once.
_ENTRIES = 2**20
# With more clusters than this, products are summed in this number of parts and, if fewer than this
# share of the memberships is nonzero, over the nonzero ones only.
_FEW_CLUSTERS = 64
_PARTS = 8
_SPARSE = 0.2


def squared_norm(A: Matrix, *, diagonal: bool) -> float:
    """Sum of squared entries, with or without the diagonal."""
    return Graph.of(A).squared_norm(diagonal=diagonal)


def scale_limit(problem: Problem) -> float:
    """The largest scale allowed: a multiple of the largest A_ij / (theta_i theta_j)."""
    if problem.scale == "none":
        return np.inf
    inverse = reciprocal(problem.row_factors())
    ratios = problem.graph.over_pairs(
        lambda values, factors: float(np.max(values * factors, initial=0.0)), inverse, inverse
    )
    largest = max(ratios)
    return _LARGEST_SCALE * problem.n_clusters * largest if largest > 0 else np.inf


def exact_gram(U: FloatArray) -> FloatArray:
    """U'U in double precision: H may be a difference of two almost equal matrices."""
    return _sum_of_products(U, squared=False)


def _sum_of_products(U: FloatArray, *, squared: bool) -> FloatArray:
    """F'F in double precision, where F is U or, entry by entry, its square."""
    n, k = U.shape
    many = k > _FEW_CLUSTERS
    parts = pieces(n, -(-n // _PARTS) if many else max(_ENTRIES // k, 1))
    if many and np.count_nonzero(U) < _SPARSE * U.size:
        from soffit.factorize.kernels import sum_of_products

        return _total(each(lambda part: sum_of_products(U, part.start, part.stop, squared), parts))

    def multiply(part: range) -> FloatArray:
        F = np.asarray(U[part.start : part.stop], dtype=np.float64)
        F = F**2 if squared else F
        return np.asarray(F.T @ F)

    return _total(each(multiply, parts))


def _total(parts: list[FloatArray]) -> FloatArray:
    """Their sum, in order."""
    total = parts[0]
    for part in parts[1:]:
        total += part
    return total


def pair_gram(U: FloatArray, gram: FloatArray, *, diagonal: bool) -> FloatArray:
    """H, the quadratic form of the loss in the scales."""
    H = np.asarray(gram, dtype=np.float64) ** 2
    if not diagonal:
        H -= _sum_of_products(U, squared=True)
    return H


def best_scale(
    problem: Problem,
    b: FloatArray,
    H: FloatArray,
    *,
    limit: float = np.inf,
    previous: FloatArray | None = None,
) -> FloatArray:
    """The scales that minimise the loss under the problem's rule (eq. 8 of Rota Bulo & Pelillo).

    They are never worse than the previous ones, even if H is singular.
    """
    k = problem.n_clusters
    if problem.scale == "none":
        return np.ones(k)
    if problem.scale == "single":
        denominator = float(H.sum())
        alpha = float(b.sum()) / denominator if denominator > 0 else 1.0
        return np.full(k, min(max(alpha, 0.0), limit))
    if problem.scale == "held" and previous is not None:
        return previous
    s = _nonnegative_minimum(H, b)
    if s.max() > limit:
        s = _descend_to_minimum(H, b, np.minimum(s, limit), limit)
    if previous is not None and misfit(0.0, b, H, previous) < misfit(0.0, b, H, s):
        s = _descend_to_minimum(H, b, previous, limit)
    return s


def loss(norm: float, b: FloatArray, H: FloatArray, s: FloatArray) -> float:
    """Sum of squared residuals from the sufficient statistics."""
    return max(misfit(norm, b, H, s), 0.0)


def misfit(norm: float, b: FloatArray, H: FloatArray, s: FloatArray) -> float:
    """The loss before clipping at zero."""
    return float(norm - 2.0 * s @ b + s @ H @ s)


def _nonnegative_minimum(H: FloatArray, b: FloatArray) -> FloatArray:
    """Minimise s'Hs - 2s'b over s >= 0 for a positive semidefinite H."""
    size = np.sqrt(np.maximum(np.diag(H), 0.0))
    used = size > 0
    s = np.zeros(len(b))
    if not used.any():
        return s
    scaled = H[np.ix_(used, used)] / np.outer(size[used], size[used])
    values, vectors = np.linalg.eigh(scaled)
    # A tiny floor keeps identical columns (singular H) solvable.
    roots = np.sqrt(np.maximum(values, 1e-12 * max(values[-1], 1e-300)))
    root = (vectors * roots).T
    target = (vectors / roots).T @ (b[used] / size[used])
    solution, _ = nnls(root, target)
    s[used] = solution / size[used]
    return s


def _descend_to_minimum(
    H: FloatArray, b: FloatArray, start: FloatArray, limit: float
) -> FloatArray:
    """Minimise s'Hs - 2s'b over 0 <= s <= limit by coordinate descent from the start."""
    s = np.array(start, dtype=np.float64)
    for _ in range(_MAX_PASSES):
        before = s.copy()
        for c in np.flatnonzero(np.diag(H) > 0):
            s[c] = min(max(s[c] + (b[c] - H[c] @ s) / H[c, c], 0.0), limit)
        if np.allclose(s, before, rtol=1e-10, atol=0.0):
            break
    return s
