"""Where objects are drawn: principal components, graph layouts or memberships."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from soffit._threads import one_blas_thread
from soffit._typing import FloatArray, IntArray, Matrix, is_sparse
from soffit.affinity.mixed_table import MixedPreparation
from soffit.factorize import leading_eigenvectors
from soffit.fitting.data import of_distinct_objects
from soffit.graph import without_diagonal
from soffit.inputs import read_input
from soffit.mixed_columns import MixedTable
from soffit.normalize import degree
from soffit.results.differences import comparable
from soffit.results.summary import Summary, is_matrix_model

# With more columns than this, only products with vectors are computed, not covariances.
_FEW_COLUMNS = 400


@dataclass(frozen=True, eq=False)
class PrincipalAxes:
    """Two principal axes: `points` (n, 2), `loadings` (2, p), `shares` of the variance (2,)."""

    points: FloatArray
    loadings: FloatArray
    shares: FloatArray


def principal_components(table: Matrix) -> FloatArray:
    """Coordinates of the rows on the first two principal axes, (n, 2), centred.

    A table of lower rank has zeros in the second column. Signs are scikit-learn's.
    """
    return principal_axes(table).points


def principal_axes(table: Matrix) -> PrincipalAxes:
    """The first two principal axes; those without variance are zero."""
    from sklearn.decomposition import PCA

    n, p = table.shape
    points, loadings, shares = np.zeros((n, 2)), np.zeros((2, p)), np.zeros(2)
    if abs(table.max(axis=0) - table.min(axis=0)).sum() == 0:
        return PrincipalAxes(points, loadings, shares)
    # Correcting covariances of a sparse table for its means would lose digits.
    dense = not is_sparse(table)
    covariances = dense and p <= _FEW_COLUMNS
    centred = table - table.mean(axis=0) if dense else table
    solver = "covariance_eigh" if covariances else "arpack"
    most = min(n - 1, p if covariances else p - 1)
    with one_blas_thread():
        found = PCA(min(2, most), svd_solver=solver, tol=1e-4, random_state=0)
        points[:, : min(2, most)] = found.fit_transform(centred)
    loadings[: found.n_components_] = found.components_
    shares[: found.n_components_] = found.explained_variance_ratio_
    # A direction without variance, up to rounding, is set to zero.
    spread = np.abs(points).max(axis=0)
    flat = spread <= 1e-9 * spread.max()
    points[:, flat], loadings[flat], shares[flat] = 0.0, 0.0, 0.0
    return PrincipalAxes(points, loadings, shares)


# Radius of the disc over which objects with the same memberships are spread, in distances of
# neighbouring clusters.
_DISC = 0.28
_GOLDEN_ANGLE = np.pi * (3.0 - np.sqrt(5.0))


def membership_map(memberships: FloatArray) -> FloatArray:
    """Points of the objects, (n, 2): means of the cluster positions, weighted by memberships.

    Clusters that share objects are neighbours on the circle. Objects of one cluster would coincide;
    they are spread over a disc, like the seeds of a sunflower, with the most certain ones at its
    centre.
    """
    n, k = memberships.shape
    anchors, disc = cluster_places(memberships)
    labels, certainty = memberships.argmax(axis=1), memberships.max(axis=1)
    order = np.lexsort((-certainty, labels))
    sizes = np.bincount(labels, minlength=k)
    rank = np.empty(n)
    rank[order] = np.arange(n) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    radius = disc * np.sqrt((rank + 0.5) / sizes.max())
    turn = rank * _GOLDEN_ANGLE
    seeds = radius[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])
    return np.asarray(memberships @ anchors + seeds, dtype=np.float64)


def cluster_places(memberships: FloatArray) -> tuple[FloatArray, float]:
    """Positions of the clusters on the unit circle, (k, 2), and the radius of their discs."""
    k = memberships.shape[1]
    anchors = np.zeros((k, 2))
    if k == 1:
        return anchors, _DISC
    angles = 2 * np.pi * np.arange(k) / k + np.pi / 2
    anchors[_round_trip(memberships)] = np.column_stack([np.cos(angles), np.sin(angles)])
    return anchors, _DISC * 2 * np.sin(np.pi / k)


def _round_trip(memberships: FloatArray) -> IntArray:
    """Clusters in an order in which each is followed by the one it shares most with."""
    shared = np.asarray(memberships.T @ memberships, dtype=np.float64)
    np.fill_diagonal(shared, -1.0)
    trip = [int(shared.max(axis=1).argmax())]
    left = set(range(len(shared))) - set(trip)
    while left:
        following = max(sorted(left), key=lambda c: shared[trip[-1], c])
        trip.append(following)
        left.remove(following)
    return np.array(trip)


# Steps of small and of large graphs, which take longer.
_STEPS, _FEWER_STEPS, _LARGE = 200, 80, 4000
_SEED = 20150125
# Number of objects that repel each object in a step.
_OTHERS = 5
# Radius of the circle of initial cluster positions; the usual length of a link is one.
_RADIUS = 8.0
# The largest displacement of an object in a step.
_FARTHEST = 4.0
# Links per object that are used in a dense matrix.
_MOST_LINKS = 15
# Eigenvectors beyond the number of clusters, which describe the structure within clusters.
_INNER_VECTORS = 6


def graph_map(A: Matrix, memberships: FloatArray) -> FloatArray:
    """Points of the objects, (n, 2), from their links.

    Clusters start on a circle, and their objects at positions from eigenvectors of the graph. Then
    each object moves in small steps towards linked objects and away from a few random ones, with
    forces that decrease with the distance (those of L. McInnes et al., 2018, UMAP, with
    a = b = 1).
    """
    n = len(memberships)
    ties = graph_links(A)
    if n < 3 or ties.nnz == 0:
        return membership_map(memberships)
    points = _RADIUS * _start(ties, memberships)
    P = _shares(ties)
    rows = np.repeat(np.arange(n), np.diff(P.indptr))
    rng = np.random.default_rng(_SEED)
    n_steps = _STEPS if n <= _LARGE else _FEWER_STEPS
    for step in range(n_steps):
        apart = points[P.indices] - points[rows]
        weight = 2.0 * P.data / (1.0 + np.einsum("ij,ij->i", apart, apart))
        force = np.zeros((n, 2))
        for axis in (0, 1):
            force[:, axis] = np.bincount(rows, weight * apart[:, axis], n)
        for other in rng.integers(n, size=(_OTHERS, n)):
            force += _push(points - points[other])
        points += (1.0 - step / n_steps) * np.clip(force, -_FARTHEST, _FARTHEST)
    return np.asarray(points - points.mean(axis=0))


# Graphs up to this size are laid out by the distances between all pairs of nodes.
SMALL_GRAPH = 600
_STRESS_STEPS = 150


def stress_map(A: Matrix, start: FloatArray) -> FloatArray:
    """Points of the nodes of a small graph whose distances are those along the links.

    Minimizes the stress of E. Gansner, Y. Koren and S. North (2004), with weights of the inverse
    squared distance, by majorization. Parts without links between them are kept apart. The longer
    axis lies across.
    """
    from scipy.sparse.csgraph import shortest_path

    links = graph_links(A)
    distance = shortest_path(links, directed=False, unweighted=True)
    reached = np.isfinite(distance)
    distance[~reached] = distance[reached].max() * 1.3 + 1.0
    # Strong links are a little shorter than weak ones.
    strength = links.copy()
    strength.data = 1.0 - 0.3 * strength.data / strength.data.max()
    edges = strength.tocoo()
    distance[edges.row, edges.col] = edges.data
    np.fill_diagonal(distance, 1.0)
    weight = distance**-2
    np.fill_diagonal(weight, 0.0)
    points = np.array(start, dtype=np.float64)
    points *= np.sqrt((distance**2).mean() / max(2 * points.var(axis=0).sum(), 1e-12))
    total = weight.sum(axis=1, keepdims=True)
    for _ in range(_STRESS_STEPS):
        apart = points[:, np.newaxis] - points
        length = np.sqrt((apart**2).sum(axis=2))
        pull = weight * distance / np.where(length > 1e-9, length, 1.0)
        np.fill_diagonal(pull, 0.0)
        step = weight @ points + (pull[:, :, np.newaxis] * apart).sum(axis=1)
        points = step / np.where(total > 0, total, 1.0)
    return principal_components(points)


def _push(away: FloatArray) -> FloatArray:
    square = np.einsum("ij,ij->i", away, away)
    strength = 2.0 / ((0.01 + square) * (1.0 + square))
    return np.clip(strength[:, None] * away, -_FARTHEST, _FARTHEST)


def _start(ties: sp.csr_array, memberships: FloatArray) -> FloatArray:
    """Positions of the clusters and, around them, of their objects by graph eigenvectors."""
    n, k = memberships.shape
    with one_blas_thread():
        wanted = min(k + _INNER_VECTORS, n - 1)
        _, V = leading_eigenvectors(degree(ties).matrix, wanted)
    degrees = np.asarray(ties.sum(axis=1)).ravel()
    root = np.sqrt(np.where(degrees > 0, degrees, 1.0))
    walk = np.asarray(V, dtype=np.float64) / root[:, None]
    anchors, radius = cluster_places(memberships)
    labels = memberships.argmax(axis=1)
    points = np.asarray(memberships @ anchors, dtype=np.float64)
    for cluster in np.unique(labels):
        members = np.flatnonzero(labels == cluster)
        inside = principal_components(walk[members])
        # Ranks prevent a few outliers from compressing all others.
        for axis in range(2 if len(members) > 1 else 0):
            rank = np.argsort(np.argsort(inside[:, axis], kind="stable"), kind="stable")
            share = np.sqrt(len(members) * k / n)
            points[members, axis] += radius * share * (2.0 * rank / (len(members) - 1) - 1.0)
    return points


def graph_links(A: Matrix) -> sp.csr_array:
    """Strengths of links; for a dense matrix, the strongest ones per object."""
    ties = without_diagonal(A)
    if not sp.issparse(ties):
        ties = _strongest(ties)
    ties = sp.csr_array(abs(ties), dtype=np.float64)
    ties.eliminate_zeros()
    return ties


def _shares(ties: sp.csr_array) -> sp.csr_array:
    """Links divided by their sums per object."""
    sums = np.asarray(ties.sum(axis=1)).ravel()
    share = np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 0)
    return sp.csr_array(sp.diags_array(share) @ ties)


def _strongest(A: FloatArray) -> sp.csr_array:
    n = len(A)
    count = min(_MOST_LINKS, n)
    columns = np.argpartition(-A, count - 1, axis=1)[:, :count]
    values = np.maximum(np.take_along_axis(A, columns, axis=1), 0.0)
    rows = np.repeat(np.arange(n), count)
    half = sp.csr_array((values.ravel(), (rows, columns.ravel())), shape=(n, n))
    return sp.csr_array(half.maximum(half.T))


# A graph layout of more objects takes too long; memberships are used instead.
_LARGEST_GRAPH = 20_000


@dataclass(frozen=True, eq=False)
class Placement:
    """Points of the objects and the names of the two axes, None if these have no meaning."""

    points: FloatArray
    axes: tuple[str, str] | None
    note: str


def embedding(model: Any, X: Any = None) -> FloatArray:
    """Place the objects on a map of two dimensions.

    A table of two columns is used as it is. A table with more columns is projected onto its first
    two principal components, after the standardization of the model. Without a table, the positions
    are a layout of the graph of the model, in which linked objects are close to each other. Without
    a graph, as for stored results, or with more than 20,000 objects, they follow from memberships:
    clusters lie on a circle, and objects between the clusters they belong to.

    Parameters
    ----------
    model : fitted model, result or array of shape (n, k)
        Memberships of the objects.
    X : table of shape (n, p), optional
        Features of the objects. Not needed for graphs and precomputed matrices.

    Returns
    -------
    ndarray of shape (n, 2)
        Float64. The same for every call.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.figures import embedding
    >>> memberships = np.array([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]])
    >>> table = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [3.0, 6.0, 9.0]])
    >>> embedding(memberships, table).round(2).tolist()
    [[-3.74, 0.0], [0.0, 0.0], [3.74, 0.0]]
    """
    return place(model, X).points


def place(model: Any, X: Any = None) -> Placement:
    """Points, axes and a note on their origin."""
    shown = Summary.of(model)
    table, columns = _table_of(model, X)
    if table is not None:
        if table.shape[0] != shown.n_objects:
            raise ValueError(
                f"X has {table.shape[0]} rows but the model has {shown.n_objects} objects; pass "
                "the table that the model was fitted to."
            )
        return _place_table(model, table, columns)
    A = getattr(model, "affinity_matrix_", None)
    if A is not None and A.shape[0] <= _LARGEST_GRAPH:
        points = graph_map(A, of_distinct_objects(vars(model), shown.memberships))
        copies = getattr(model, "copies_", None)
        points = points if copies is None else points[copies]
        return Placement(points, None, "positions from a graph layout")
    return Placement(membership_map(shown.memberships), None, "positions from memberships")


def _table_of(model: Any, X: Any) -> tuple[Matrix | None, list[str] | None]:
    """The features in X, if X holds any, and the names of its columns, if these have any."""
    if X is None:
        return None, None
    fitted = getattr(model, "_fitted", None)
    if isinstance(getattr(fitted, "preparation", None), MixedPreparation):
        expanded, names = MixedTable.of(X).expanded()
        return comparable(expanded), names
    given = read_input(X)
    square = (
        len(getattr(given.data, "shape", ())) == 2 and given.data.shape[0] == given.data.shape[1]
    )
    if given.kind == "graph" or (is_matrix_model(model) and square):
        return None, None
    columns = getattr(X, "columns", None)
    table = given.data if is_sparse(given.data) else np.asarray(given.data)
    if table.ndim != 2:
        raise ValueError(f"X must be a table with one row per object, got shape {table.shape}.")
    if not is_sparse(table):
        table = np.asarray(table, dtype=np.float64)
    if not np.isfinite(table.data if is_sparse(table) else table).all():
        raise ValueError("X has missing or infinite values; impute them as for the fit.")
    return table, None if columns is None else [str(name) for name in columns]


def _place_table(model: Any, table: Matrix, columns: list[str] | None) -> Placement:
    width = table.shape[1]
    names = columns if columns is not None else [f"column {i}" for i in range(width)]
    if width == 2:
        dense = table.toarray() if is_sparse(table) else table
        return Placement(np.array(dense, dtype=np.float64), (names[0], names[1]), "")
    if width == 1:
        # Points on a line are spread evenly across it; the second axis has no meaning.
        dense = table.toarray() if is_sparse(table) else table
        spread = (np.arange(len(dense)) * 0.6180339887498949) % 1.0
        return Placement(np.column_stack([dense[:, 0], spread]), (names[0], "spread"), "")
    fitted: Any = getattr(model, "_fitted", None)
    is_mixed = fitted is not None and isinstance(fitted.preparation, MixedPreparation)
    center = None if fitted is None or is_mixed else fitted.preparation.center
    if center is not None and len(center) == width:
        table = fitted.preparation.apply(table)
    points = principal_components(table)
    axes = ("first principal component", "second principal component")
    return Placement(points, axes, f"principal components of {width:,} columns")
