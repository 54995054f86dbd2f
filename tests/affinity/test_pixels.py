"""Affinities of pixels, against a plain loop over all pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soffit.affinity import image_affinity
from soffit.affinity import pixels as _pixels
from soffit.affinity.pixels import typical_difference


def _plain(image: Any, radius: float, sigma_value: float, sigma_distance: float) -> Any:
    """The definition, pair by pair."""
    height, width = image.shape[:2]
    values = image.reshape(height * width, -1)
    A = np.zeros((height * width, height * width))
    for i in range(height * width):
        for j in range(height * width):
            place = (i // width - j // width) ** 2 + (i % width - j % width) ** 2
            if place < radius**2:
                value = np.sum((values[i] - values[j]) ** 2)
                A[i, j] = np.exp(-value / sigma_value**2) * np.exp(-place / sigma_distance**2)
    return A


@given(
    height=st.integers(1, 6),
    width=st.integers(1, 7),
    channels=st.sampled_from([None, 1, 3]),
    radius=st.sampled_from([0.5, 1.0, 1.5, 2.0, 5.0, 40.0]),
    seed=st.integers(1, 10**6),
)
def test_agrees_with_the_definition(
    height: int, width: int, channels: int | None, radius: float, seed: int
) -> None:
    shape = (height, width) if channels is None else (height, width, channels)
    image = np.random.default_rng(seed).random(shape)
    kept = image.copy()
    A = image_affinity(image, radius=radius, sigma_value=0.7, sigma_distance=3.0)
    np.testing.assert_array_equal(image, kept)
    np.testing.assert_allclose(A.toarray(), _plain(image, radius, 0.7, 3.0), atol=1e-6)
    assert A.has_canonical_format
    assert abs(A - A.T).max() == 0
    np.testing.assert_array_equal(A.diagonal(), 1.0)


def test_storage_is_small() -> None:
    A = image_affinity(np.zeros((20, 30)))
    assert A.dtype == np.float32
    assert A.indices.dtype == A.indptr.dtype == np.int32
    assert A.nnz <= 69 * 600


def test_constant_image_leaves_distance_alone() -> None:
    A = image_affinity(np.full((6, 6), 0.3), radius=2.0, sigma_distance=2.0)
    np.testing.assert_allclose(A[[7], [8]], np.exp(-0.25), rtol=1e-6)
    np.testing.assert_allclose(A[[7], [14]], np.exp(-0.5), rtol=1e-6)


@pytest.mark.parametrize(
    ("dtype", "white"),
    [(np.uint8, 255), (np.uint16, 65535), (np.int16, 32767), (bool, True), (np.int64, 255)],
)
def test_integers_are_shares_of_their_range(dtype: Any, white: Any) -> None:
    floats = np.zeros((5, 5))
    floats[:, 3:] = 1.0
    low = np.iinfo(dtype).min if dtype is np.int16 else 0
    image = np.where(floats > 0, white, low).astype(dtype)
    expected = image_affinity(floats, sigma_value=0.4)
    np.testing.assert_array_equal(image_affinity(image, sigma_value=0.4).data, expected.data)


def test_automatic_width_follows_the_image() -> None:
    image = np.random.default_rng(8191).random((12, 9))
    one = image_affinity(image)
    np.testing.assert_allclose(image_affinity(37.0 * image + 5.0).data, one.data, rtol=1e-4)
    down, along = np.abs(np.diff(image, axis=0)), np.abs(np.diff(image, axis=1))
    expected = np.concatenate([down.ravel(), along.ravel()]).mean()
    assert typical_difference(image[:, :, None]) == pytest.approx(expected)
    assert typical_difference(np.ones((4, 4, 3))) == 1.0
    assert image_affinity(np.array([[0.5]])).toarray().tolist() == [[1.0]]


def test_neighbours_stay_connected_across_the_sharpest_edge() -> None:
    A = image_affinity(np.array([[0.0, 1.0]]), sigma_value=1e-3)
    assert 0 < A[0, 1] < 1e-20


def test_single_precision_images() -> None:
    image = np.random.default_rng(8191).random((8, 8))
    double, single = image_affinity(image), image_affinity(image.astype(np.float32))
    np.testing.assert_allclose(double.data, single.data, atol=1e-5)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_missing_values_are_refused(bad: float) -> None:
    image = np.zeros((4, 4, 3))
    image[1, 2, 0] = bad
    with pytest.raises(ValueError, match=r"image has NaN or infinity in 1 place"):
        image_affinity(image)


@pytest.mark.parametrize("shape", [(5,), (2, 2, 2, 2), (), (0, 4), (4, 4, 0)])
def test_wrong_shapes_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="image"):
        image_affinity(np.zeros(shape))


def test_text_and_complex_numbers_are_refused() -> None:
    for image in (np.array([["a", "b"]]), np.ones((3, 3), dtype=complex)):
        with pytest.raises(TypeError, match="image must hold real numbers"):
            image_affinity(image)


@pytest.mark.parametrize("name", ["radius", "sigma_value", "sigma_distance"])
@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf, "wide", True])
def test_bad_parameters_are_named(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{name} must be a number above 0"):
        image_affinity(np.zeros((3, 3)), **{name: value})


def test_too_large_an_image_is_refused_before_it_is_worked_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(shape: Any, dtype: Any, **words: Any) -> None:
        raise MemoryError(f"{shape} {np.dtype(dtype).itemsize} {words['remedy']}")

    monkeypatch.setattr(_pixels, "check_allocation", refuse)
    # 40 x 50 pixels at radius 2: nine neighbours each, less at the border.
    with pytest.raises(MemoryError, match=r"\(17464,\) 8 Use a smaller radius"):
        image_affinity(np.zeros((40, 50)), radius=2.0)
