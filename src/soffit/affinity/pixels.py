"""Affinities between pixels of an image that are similar in value and near each other."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
import scipy.sparse as sp

from soffit._memory import check_allocation
from soffit._parameters import Number, check_parameter
from soffit._typing import FloatArray, IntArray

# The smallest affinity of neighbouring pixels: no image edge disconnects the graph.
_LEAST = 1e-30
_INT32_LIMIT = np.iinfo(np.int32).max


def image_affinity(
    image: Any,
    *,
    radius: float = 5.0,
    sigma_value: float | None = None,
    sigma_distance: float = 4.0,
) -> sp.csr_array:
    r"""Sparse affinities of all pairs of near pixels.

    .. math:: A_{ij} = \exp\Big(-\frac{\|I_i - I_j\|^2}{\sigma_I^2}\Big)
              \exp\Big(-\frac{\|x_i - x_j\|^2}{\sigma_X^2}\Big)
              \quad\text{for}\quad \|x_i - x_j\| < r,

    with I the brightness or colour of a pixel and x its position; 0 for pixels further apart.

    Parameters
    ----------
    image : array-like of shape (h, w) or (h, w, c)
        Brightness, or any number of channels. Integers of up to 16 bits are divided by their type's
        range, wider ones by the range they use; floats are used as they are.
    radius : float, default 5.0
        Distance in pixels from which pairs have no affinity. About 69 neighbours at 5.
    sigma_value : float, optional
        Difference in brightness or colour (Euclidean over channels, in the units above) at which
        affinity falls to 1/e. By default the mean difference of adjacent pixels, which adapts to
        noise and texture.
    sigma_distance : float, default 4.0
        Distance in pixels at which affinity falls to 1/e.

    Returns
    -------
    csr_array of shape (h * w, h * w), float32
        Symmetric, ones on the diagonal; pixels are numbered along the rows of the image. Smaller
        affinities are raised to 1e-30, so that neighbours are always connected.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.affinity import image_affinity
    >>> image = np.zeros((4, 6))
    >>> image[:, 3:] = 1.0
    >>> A = image_affinity(image, radius=2, sigma_value=0.5)
    >>> A.shape, bool(A[0, 1] > 0.9), bool(A[2, 3] < 0.02)
    ((24, 24), True, True)

    References
    ----------
    J. Shi, J. Malik (2000). Normalized cuts and image segmentation. IEEE Transactions on Pattern
    Analysis and Machine Intelligence 22(8).
    R. Zass, A. Shashua (2005). A unifying approach to hard and probabilistic clustering. ICCV.
    Section 4 segments images with these affinities.
    """
    from soffit.affinity.kernels import fill_pixel_rows

    check_parameter("radius", radius, Number(0.0, strict=True))
    check_parameter("sigma_distance", sigma_distance, Number(0.0, strict=True))
    values = pixel_values(image)
    if sigma_value is None:
        sigma_value = typical_difference(values)
    check_parameter("sigma_value", sigma_value, Number(0.0, strict=True))
    height, width, _ = values.shape
    n = height * width
    down, right = _neighbourhood(height, width, float(radius))
    entries = int(np.sum((height - np.abs(down)) * (width - np.abs(right))))
    index_type = np.int32 if max(entries, n) <= _INT32_LIMIT else np.int64
    check_allocation(
        (entries,),
        np.dtype([("data", np.float32), ("index", index_type)]),
        what="image_affinity",
        remedy="Use a smaller radius or a smaller image.",
    )
    indptr = np.empty(n + 1, dtype=index_type)
    indices = np.empty(entries, dtype=index_type)
    data = np.empty(entries, dtype=np.float32)
    nearness = np.exp(-(down**2 + right**2) / float(sigma_distance) ** 2)
    factor = 1.0 / float(sigma_value) ** 2
    fill_pixel_rows(values, down, right, nearness, factor, _LEAST, indptr, indices, data)
    return sp.csr_array((data, indices, indptr), shape=(n, n))


def pixel_values(image: Any) -> FloatArray:
    """The checked image as (height, width, channels) in floating point."""
    values = np.asarray(image)
    if values.ndim not in (2, 3):
        raise ValueError(
            "image must have shape (height, width) or (height, width, channels), got "
            f"{values.shape}."
        )
    if values.size == 0:
        raise ValueError(f"image is empty: its shape is {values.shape}.")
    if values.dtype.kind not in "buif":
        raise TypeError(
            f"image must hold real numbers, not dtype {values.dtype}. Convert it to float."
        )
    shares = _as_shares(values)
    strange = int(np.count_nonzero(~np.isfinite(shares)))
    if strange:
        raise ValueError(
            f"image has NaN or infinity in {strange} places. Replace them, for example with "
            "numpy.nan_to_num."
        )
    return np.ascontiguousarray(shares.reshape(*values.shape[:2], -1))


def typical_difference(values: FloatArray) -> float:
    """Mean difference of pixels that share a side; 1 for a constant image."""
    across = np.linalg.norm(np.diff(values, axis=0).astype(np.float64), axis=2)
    along = np.linalg.norm(np.diff(values, axis=1).astype(np.float64), axis=2)
    count = across.size + along.size
    mean = float(across.sum() + along.sum()) / count if count else 0.0
    return mean if mean > 0 else 1.0


def _as_shares(values: np.ndarray[Any, np.dtype[Any]]) -> FloatArray:
    """Integers of up to 16 bits as shares of their type's range, wider ones of the used range."""
    kind, size = values.dtype.kind, values.dtype.itemsize
    if kind == "f":
        return values.astype(np.float32 if values.dtype == np.float32 else np.float64)
    if kind == "b":
        return values.astype(np.float64)
    # Wide integers have no convention for the value of white.
    limits = np.iinfo(values.dtype)
    low, high = (limits.min, limits.max) if size <= 2 else (values.min(), values.max())
    span = max(float(high) - float(low), 1.0)
    return np.asarray((values.astype(np.float64) - float(low)) / span)


def _neighbourhood(height: int, width: int, radius: float) -> tuple[IntArray, IntArray]:
    """Offsets of the pixels nearer than the radius, in row-major order."""
    tall = int(min(ceil(radius) - 1, height - 1))
    wide = int(min(ceil(radius) - 1, width - 1))
    down, right = np.mgrid[-tall : tall + 1, -wide : wide + 1]
    near = down**2 + right**2 < radius**2
    return down[near], right[near]
