"""How far the points of a tuple are from one point, one line, one plane or one circle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from soffit._typing import FloatArray

# Newton's steps on the polynomial of a circle; they come from one side and double their digits.
_NEWTON_STEPS = 40
_NEWTON_PRECISION = 1e-12


@dataclass(frozen=True)
class Deviation:
    """A deviation, and the tuples and points for which it can differ from zero."""

    of: Callable[[FloatArray], FloatArray]
    least_order: int
    least_features: int


def point_deviation(points: FloatArray) -> FloatArray:
    """Root mean square distance of each tuple's points to their mean.

    Parameters
    ----------
    points : array of shape (t, order, d)
        The points of t tuples, in any dimension.
    """
    centered = _centered(points)
    return np.asarray(np.sqrt(np.einsum("tod,tod->t", centered, centered) / points.shape[1]))


def line_deviation(points: FloatArray) -> FloatArray:
    """Root mean square distance of each tuple's points to their best line.

    Parameters
    ----------
    points : array of shape (t, order, d)
        The points of t tuples, in any dimension.
    """
    if points.shape[1] == 3:
        return _triangle_deviation(points)
    return _flat_deviation(points, 1)


def plane_deviation(points: FloatArray) -> FloatArray:
    """Root mean square distance of each tuple's points to their best plane.

    Parameters
    ----------
    points : array of shape (t, order, d)
        The points of t tuples, in any dimension.
    """
    return _flat_deviation(points, 2)


def circle_deviation(points: FloatArray) -> FloatArray:
    r"""Root mean square distance of each tuple's points to their best circle.

    In the plane this is Pratt's fit: with :math:`F(x) = a|x|^2 + b \cdot x + c` and
    :math:`b \cdot b - 4ac = 1`, :math:`F` is the distance to the circle to first order (exactly,
    if the circle is a straight line), and the least mean square of F is a root of a polynomial of
    degree four. In space the circle lies in the best plane, to which distances are added.

    Parameters
    ----------
    points : array of shape (t, order, d)
        The points of t tuples, in any dimension.
    """
    centered = _centered(points)
    if points.shape[2] == 2:
        return np.sqrt(_circle_square(centered))
    in_plane, outside = _best_plane(centered)
    return np.sqrt(_circle_square(in_plane) + outside)


DEVIATIONS: dict[str, Deviation] = {
    "point": Deviation(point_deviation, least_order=2, least_features=1),
    "line": Deviation(line_deviation, least_order=3, least_features=2),
    "plane": Deviation(plane_deviation, least_order=4, least_features=3),
    "circle": Deviation(circle_deviation, least_order=4, least_features=2),
}


# --- lines and planes -----------------------------------------------------------------------------


def _centered(points: FloatArray) -> FloatArray:
    return points - points.mean(axis=1, keepdims=True)


def _triangle_deviation(points: FloatArray) -> FloatArray:
    """Three points spread in two directions: both variances follow from sides and area."""
    first = points[:, 1] - points[:, 0]
    second = points[:, 2] - points[:, 0]
    a = np.einsum("td,td->t", first, first)
    b = np.einsum("td,td->t", second, second)
    ab = np.einsum("td,td->t", first, second)
    total = 2.0 * (a + b - ab) / 3.0
    if points.shape[2] == 2:
        area = (first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0]) ** 2
    else:
        area = np.maximum(a * b - ab * ab, 0.0)
    product = area / 3.0
    # The smaller root of x^2 - total x + product, in the form that does not cancel.
    larger = 0.5 * (total + np.sqrt(np.maximum(total * total - 4.0 * product, 0.0)))
    smaller = np.divide(product, larger, out=np.zeros_like(product), where=larger > 0)
    return np.asarray(np.sqrt(smaller / 3.0))


def _flat_deviation(points: FloatArray, dimension: int) -> FloatArray:
    """Root mean square distance to the best flat of the given dimension."""
    centered = _centered(points)
    order, d = points.shape[1:]
    gram = _gram(centered) if order <= d else np.einsum("tod,toe->tde", centered, centered)
    squares = np.linalg.eigvalsh(gram)[:, : max(gram.shape[1] - dimension, 0)].sum(axis=1)
    return np.asarray(np.sqrt(np.maximum(squares, 0.0) / order))


def _gram(centered: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("tod,tpd->top", centered, centered))


def _best_plane(centered: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Coordinates in each tuple's best plane, and the mean square distance to it."""
    values, vectors = np.linalg.eigh(_gram(centered))
    values = np.maximum(values, 0.0)
    coordinates = vectors[:, :, -2:] * np.sqrt(values[:, None, -2:])
    return coordinates, values[:, :-2].sum(axis=1) / centered.shape[1]


# --- circles --------------------------------------------------------------------------------------


def _circle_square(centered: FloatArray) -> FloatArray:
    """Least mean square of Pratt's F for centred points in the plane.

    With moments M of (z, x, y, 1), z = x^2 + y^2, and the constraint a'Ba = 1, it is the smallest
    root at or above zero of det(M - eta B). In units where the mean of z is 1 this polynomial is
    c0 + c1 eta + c2 eta^2 - 4 eta^4. Its roots are real, add up to zero, and one is negative;
    hence it falls and is convex from 0 up to the wanted root, and Newton's steps from 0 climb to
    the root without passing it.
    """
    size = np.einsum("toc,toc->t", centered, centered) / centered.shape[1]
    unit = np.sqrt(np.where(size > 0, size, 1.0))
    x, y = np.moveaxis(centered / unit[:, None, None], 2, 0)
    c0, c1, c2 = _circle_polynomial(x, y)
    eta = np.zeros(len(centered))
    for _ in range(_NEWTON_STEPS):
        value = c0 + eta * (c1 + eta * (c2 - 4.0 * eta * eta))
        slope = c1 + eta * (2.0 * c2 - 16.0 * eta * eta)
        step = np.divide(-value, slope, out=np.zeros_like(eta), where=slope < 0)
        step = np.maximum(step, 0.0)
        eta += step
        if np.all(step <= _NEWTON_PRECISION):
            break
    return np.asarray(eta * size)


def _circle_polynomial(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Coefficients of det(M - eta B) for points whose mean square distance from 0 is 1."""
    z = x * x + y * y
    xx, xy, yy = (x * x).mean(axis=1), (x * y).mean(axis=1), (y * y).mean(axis=1)
    xz, yz, zz = (x * z).mean(axis=1), (y * z).mean(axis=1), (z * z).mean(axis=1)
    covariance = xx * yy - xy * xy
    c0 = (zz - 1.0) * covariance - xz * xz * yy - yz * yz * xx + 2.0 * xz * yz * xy
    c1 = xz * xz + yz * yz - (zz - 1.0) - 4.0 * covariance
    c2 = zz + 3.0 - 4.0 * covariance
    return np.maximum(c0, 0.0), c1, c2
