"""Soft segments of an image, with or without scribbles."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from soffit._parameters import WholeNumber, check_parameter, renamed_parameters
from soffit._typing import FloatArray, IntArray, Matrix, is_sparse
from soffit._wording import Message, Parameter
from soffit.affinity import SideInformation
from soffit.affinity.given_objects import Affinities
from soffit.affinity.pixels import image_affinity
from soffit.factorize import Correction, best_partition, n_fine_vectors
from soffit.fitting.recipe import Recipe
from soffit.graph import Graph, as_array
from soffit.memberships import walk_length
from soffit.models.soft_clustering import SoftClustering, Start, find_start
from soffit.partition.multilevel import multilevel_eigenvectors

# Smaller graphs are decomposed directly.
_FEW = 1200
# Each step costs a product with the whole graph; 64 steps reach about 20 pixels far.
_MOST_STEPS = 64


class PixelClustering(SoftClustering):
    """`SoftClustering` of a pixel graph given as ``affinity="precomputed"``.

    Eigenvalues of pixel graphs crowd just below 1. The start therefore uses multilevel
    eigenvectors, and the random walk that smooths memberships is limited.
    """

    def _recipe(self) -> Recipe[Affinities]:
        return self._recipe_with(find_pixel_start, obeys=True)


def find_pixel_start(
    A: Matrix,
    N: Matrix,
    k: int,
    side: SideInformation | None,
    *,
    weights: FloatArray | None = None,
    table: FloatArray | None = None,
) -> Start:
    """A partition by multilevel eigenvectors, and a limited number of walk steps."""
    if is_sparse(A) and A.shape[0] > _FEW and len(Graph.of(A).linked()) == A.shape[0]:
        values, V = multilevel_eigenvectors(A, max(n_fine_vectors(A.shape[0], k), k + 1))
        correct = None if side is None else Correction(A, side)
        labels = best_partition(A, V, k, random_state=0, correct=correct, sizes=weights)
        start = Start(labels, walk_length(values[k]))
    else:
        start = find_start(A, N, k, side, weights=weights, table=table)
    return replace(start, n_steps=min(start.n_steps, _MOST_STEPS))


# Each marked pixel is linked to this many others of its stroke, twice as many after symmetry,
# and separated from this many of every other stroke.
_TOGETHER = 3
_APART = 2


@dataclass(frozen=True, eq=False)
class Segmentation:
    """Soft segments of an image.

    Parameters
    ----------
    memberships : ndarray of shape (h, w, k)
        Probability of each segment for every pixel; sums to one per pixel.
    labels : ndarray of shape (h, w)
        The most probable segment.
    entropy : ndarray of shape (h, w)
        Uncertainty of each pixel in nats.
    model : SoftClustering
        The fitted model; its objects are the pixels, counted along the rows of the image.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit import segment
    >>> image = np.full((12, 16), 0.2)
    >>> image[:, 8:] = 0.8
    >>> segment(image, 2, random_state=0).memberships.shape
    (12, 16, 2)
    """

    memberships: FloatArray
    labels: IntArray
    entropy: FloatArray
    model: SoftClustering


@renamed_parameters(side_weight="constraint_weight")
def segment(
    image: Any,
    n_clusters: int,
    scribbles: Any = None,
    *,
    radius: float = 5.0,
    sigma_value: float | None = None,
    sigma_distance: float = 4.0,
    constraint_weight: float = 1.0,
    random_state: Any = None,
    max_time: float | None = None,
    verbose: int | bool = 0,
    callback: Any = None,
) -> Segmentation:
    r"""Divide an image into soft segments.

    The pixels are the objects of a `SoftClustering`,

    .. math:: \min_{W, s} \sum_{i \ne j} \Big(N_{ij} - \sqrt{d_i d_j} \sum_c s_c W_{ic} W_{jc}
              \Big)^2, \quad W \ge 0,\; W 1 = 1,

    with N the affinities of `soffit.affinity.image_affinity`, normalized by degrees. Scribbles
    become side information: pixels marked with the same number belong together, pixels marked
    with different numbers do not.

    Parameters
    ----------
    image : array-like of shape (h, w) or (h, w, c)
        Brightness or colour.
    n_clusters : int
        Number of segments.
    scribbles : array-like of int, shape (h, w), optional
        0 where unmarked; 1, 2, ... for the strokes of different segments. There may be fewer
        strokes than segments.
    radius, sigma_value, sigma_distance
        As for `soffit.affinity.image_affinity`.
    constraint_weight : float, default 1.0
        How much scribbles are trusted, in (0, 1].
    random_state : int, RandomState or None, default None
        Seed of the sampled pairs of marked pixels.
    max_time : float or None, default None
        Time limit in seconds; the best solution so far is kept. None means no limit.
    verbose : int, default 0
        1 shows phases and elapsed time, 2 also iterations.
    callback : callable or None, default None
        Called with a `FitEvent` after every iteration; if it returns True, the fit stops.

    Returns
    -------
    Segmentation
        Memberships, labels, entropy and the fitted model.

    Notes
    -----
    Eigenvectors of the pixel graph are computed on coarser graphs first; the random walk that
    smooths memberships has at most 64 steps.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit import segment
    >>> image = np.zeros((20, 30))
    >>> image[5:15, 8:20] = 1.0
    >>> result = segment(image, 2)
    >>> result.memberships.shape
    (20, 30, 2)
    >>> bool((result.labels[5:15, 8:20] != result.labels[0, 0]).all())
    True

    References
    ----------
    R. Zass, A. Shashua (2005). A unifying approach to hard and probabilistic clustering. ICCV.
    Figures 3 and 4.
    J. Shi, J. Malik (2000). Normalized cuts and image segmentation. IEEE Transactions on Pattern
    Analysis and Machine Intelligence 22(8).
    """
    check_parameter("n_clusters", n_clusters, WholeNumber(1), "segment")
    A = image_affinity(image, radius=radius, sigma_value=sigma_value, sigma_distance=sigma_distance)
    height, width = np.shape(image)[:2]
    must_link = cannot_link = None
    if scribbles is not None:
        marks = _checked_scribbles(scribbles, (height, width), n_clusters)
        must_link, cannot_link = scribble_pairs(marks, check_random_state(random_state))
    model = PixelClustering(
        n_clusters,
        affinity="precomputed",
        constraint_weight=constraint_weight,
        tol=1e-6,
        random_state=random_state,
        max_time=max_time,
        verbose=verbose,
        callback=callback,
    )
    model.fit(A, must_link=must_link, cannot_link=cannot_link)
    return Segmentation(
        memberships=as_array(model.memberships_).reshape(height, width, -1),
        labels=model.labels_.reshape(height, width),
        entropy=model.entropy_.reshape(height, width),
        model=model,
    )


def scribble_pairs(
    marks: IntArray, random_state: np.random.RandomState
) -> tuple[IntArray, IntArray]:
    """Must-link and cannot-link pairs of marked pixels, a fixed number per pixel.

    All pairs of a stroke would be too many. A few random rings through its pixels connect it as
    well, wherever they lie in the image.
    """
    flat = marks.ravel()
    strokes = [np.flatnonzero(flat == mark) for mark in np.unique(flat[flat > 0])]
    together = [_ring(random_state.permutation(s)) for s in strokes for _ in range(_TOGETHER)]
    apart = [
        _matched(random_state.permutation(a), random_state.permutation(b))
        for number, a in enumerate(strokes)
        for b in strokes[:number]
        for _ in range(_APART)
    ]
    return _stacked(together), _stacked(apart)


def _ring(pixels: IntArray) -> IntArray:
    """Each pixel with the next, the last with the first."""
    if len(pixels) < 2:
        return np.empty((0, 2), dtype=np.int64)
    return np.column_stack([pixels, np.roll(pixels, 1)])


def _matched(a: IntArray, b: IntArray) -> IntArray:
    """Each pixel of the longer stroke with one of the shorter."""
    count = max(len(a), len(b))
    return np.column_stack([np.resize(a, count), np.resize(b, count)])


def _stacked(pairs: list[IntArray]) -> IntArray:
    return np.concatenate([np.empty((0, 2), dtype=np.int64), *pairs])


def _checked_scribbles(scribbles: Any, shape: tuple[int, int], n_clusters: int) -> IntArray:
    marks = np.asarray(scribbles)
    if marks.dtype.kind not in "iu":
        raise TypeError(f"scribbles must hold integers (0 where unmarked), not {marks.dtype}.")
    if marks.shape != shape:
        raise ValueError(
            Message(
                Parameter("scribbles"),
                f" must have the shape of the image, {shape}, got {marks.shape}.",
            )
        )
    if marks.min() < 0:
        raise ValueError(
            Message(
                Parameter("scribbles"),
                f" must not be negative, got {marks.min()}: 0 means unmarked, strokes are numbered "
                "from 1.",
            )
        )
    count = len(np.unique(marks[marks > 0]))
    if count > n_clusters:
        raise ValueError(
            Message(
                Parameter("scribbles"),
                f" has {count} different strokes, but ",
                Parameter("n_clusters", n_clusters),
                ". Choose ",
                Parameter("n_clusters"),
                f" of at least {count}.",
            )
        )
    return np.asarray(marks, dtype=np.int64)
