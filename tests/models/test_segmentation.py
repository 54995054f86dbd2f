"""Soft segments of images whose segments are known."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.utils import check_random_state

from soffit import segment
from soffit.metrics import accuracy
from soffit.models.segmentation import Segmentation, scribble_pairs

Picture = tuple[np.ndarray[Any, np.dtype[np.float64]], np.ndarray[Any, np.dtype[np.int64]]]


def _discs(noise: float, height: int = 64, width: int = 88) -> Picture:
    """Two discs and a corner on a background, with noise."""
    y, x = np.mgrid[:height, :width]
    labels = np.zeros((height, width), dtype=np.int64)
    labels[(y - 20) ** 2 + (x - 24) ** 2 < 14**2] = 1
    labels[(y - 40) ** 2 + (x - 62) ** 2 < 17**2] = 2
    labels[(y > 46) & (x < 32)] = 3
    brightness = np.array([0.3, 0.7, 0.1, 0.9])[labels]
    noisy = brightness + noise * np.random.default_rng(6151).normal(size=labels.shape)
    return noisy, labels


def _person(height: int = 60, width: int = 80) -> Picture:
    """A foreground of two parts, one darker and one brighter than the background."""
    y, x = np.mgrid[:height, :width]
    head = (y - 0.3 * height) ** 2 + (x - 0.5 * width) ** 2 < (0.16 * height) ** 2
    body = (y > 0.45 * height) & (abs(x - 0.5 * width) < 0.2 * width)
    image = np.full((height, width), 0.5)
    image[body], image[head] = 0.15, 0.85
    image += 0.03 * np.random.default_rng(6163).normal(size=image.shape)
    return image, (head | body).astype(np.int64)


def _strokes(height: int = 60, width: int = 80) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Foreground strokes on head and body, background strokes on both sides."""
    scribbles = np.zeros((height, width), dtype=np.int64)
    scribbles[15:21, 40] = scribbles[36:48, 40] = 1
    scribbles[12:48, 8] = scribbles[12:48, 72] = 2
    return scribbles


def _check(result: Segmentation, shape: tuple[int, int], k: int) -> None:
    assert result.memberships.shape == (*shape, k)
    assert result.labels.shape == result.entropy.shape == shape
    assert np.isfinite(result.memberships).all()
    assert (result.memberships >= 0).all()
    np.testing.assert_allclose(result.memberships.sum(axis=2), 1.0, atol=1e-5)
    np.testing.assert_array_equal(result.labels, result.memberships.argmax(axis=2))
    np.testing.assert_array_equal(result.labels.ravel(), result.model.labels_)


@pytest.mark.parametrize(("noise", "least"), [(0.0, 1.0), (0.03, 0.995), (0.05, 0.99)])
def test_discs(noise: float, least: float) -> None:
    image, labels = _discs(noise)
    result = segment(image, 4, random_state=29)
    _check(result, labels.shape, 4)
    assert accuracy(labels.ravel(), result.labels.ravel()) >= least


def test_colours_of_equal_brightness() -> None:
    _, labels = _discs(0.0)
    colours = np.array([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6], [0.34, 0.33, 0.33]])
    image = np.rint(255 * colours[labels]).astype(np.uint8)
    result = segment(image, 4, random_state=29)
    assert accuracy(labels.ravel(), result.labels.ravel()) >= 0.995


def test_pixels_on_a_gradual_border_are_uncertain() -> None:
    ramp = np.clip((np.arange(60) - 20) / 20, 0.0, 1.0)
    image = np.tile(ramp, (24, 1))
    result = segment(image, 2, sigma_value=0.2, random_state=29)
    middle, ends = result.entropy[:, 27:33].mean(), result.entropy[:, [2, 57]].mean()
    assert middle > 5 * ends


def test_scribbles_join_the_parts_of_a_foreground() -> None:
    image, foreground = _person()
    plain = segment(image, 3, random_state=29)
    assert plain.labels[18, 40] != plain.labels[42, 40]
    scribbles = _strokes()
    result = segment(image, 3, scribbles, random_state=29)
    _check(result, image.shape, 3)
    own = result.labels[18, 40]
    np.testing.assert_array_equal(result.labels[scribbles == 1], own)
    assert (result.labels[scribbles == 2] != own).all()
    # Not only the marked pixels: head and body as a whole are one segment.
    assert np.mean((result.labels == own) == (foreground == 1)) >= 0.98


def test_scribbles_tell_apart_what_looks_alike() -> None:
    image = np.full((30, 60), 0.5)
    scribbles = np.zeros((30, 60), dtype=int)
    scribbles[4:26, 10] = 1
    scribbles[4:26, 40] = 7
    result = segment(image, 2, scribbles, random_state=29)
    left, right = result.labels[15, 10], result.labels[15, 40]
    assert left != right
    np.testing.assert_array_equal(result.labels[scribbles == 1], left)
    np.testing.assert_array_equal(result.labels[scribbles == 7], right)


def test_pairs_of_scribbles_are_few_and_right() -> None:
    marks = np.zeros((40, 50), dtype=np.int64)
    marks[3:9, 3:40], marks[20, 5:45], marks[30, 30] = 2, 5, 9
    must, cannot = scribble_pairs(marks, check_random_state(29))
    n_marked = np.count_nonzero(marks)
    assert len(must) <= 3 * n_marked
    assert len(cannot) <= 2 * 3 * n_marked
    flat = marks.ravel()
    np.testing.assert_array_equal(flat[must[:, 0]], flat[must[:, 1]])
    assert (flat[cannot[:, 0]] != flat[cannot[:, 1]]).all()
    assert (must[:, 0] != must[:, 1]).all()
    # Every marked pixel is told apart; all pixels of a stroke hang together through must-links.
    assert set(cannot.ravel().tolist()) == set(np.flatnonzero(flat).tolist())
    assert set(must.ravel().tolist()) == set(np.flatnonzero((flat == 2) | (flat == 5)).tolist())


def test_no_mark_is_no_information() -> None:
    image, _ = _discs(0.03, height=30, width=40)
    plain = segment(image, 3, random_state=29)
    empty = segment(image, 3, np.zeros((30, 40), dtype=int), random_state=29)
    np.testing.assert_array_equal(plain.labels, empty.labels)


def test_same_seed_same_bytes_and_inputs_are_left_alone() -> None:
    image, _ = _person()
    scribbles = _strokes()
    kept = image.copy(), scribbles.copy()
    first = segment(image, 2, scribbles, random_state=29)
    second = segment(image, 2, scribbles, random_state=29)
    assert first.memberships.tobytes() == second.memberships.tobytes()
    np.testing.assert_array_equal(image, kept[0])
    np.testing.assert_array_equal(scribbles, kept[1])


def test_result_can_be_pickled() -> None:
    result = segment(np.eye(8), 2, random_state=29)
    again = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(again.memberships, result.memberships)


@pytest.mark.parametrize("image", [np.zeros((6, 7)), np.zeros((1, 9)), np.ones((12, 1, 3))])
def test_constant_and_narrow_images(image: Any) -> None:
    result = segment(image, 2, random_state=29)
    _check(result, image.shape[:2], 2)
    assert len(np.unique(result.labels)) == 2


def test_one_pixel_and_one_segment() -> None:
    _check(segment([[0.5]], 1), (1, 1), 1)
    result = segment(_discs(0.03, height=20, width=20)[0], 1)
    np.testing.assert_allclose(result.memberships, 1.0)


def test_bad_scribbles_are_refused() -> None:
    image = np.zeros((6, 8))
    with pytest.raises(ValueError, match=r"shape of the image, \(6, 8\), got \(8, 6\)"):
        segment(image, 2, np.zeros((8, 6), dtype=int))
    with pytest.raises(TypeError, match="scribbles must hold integers"):
        segment(image, 2, np.zeros((6, 8)))
    with pytest.raises(ValueError, match="must not be negative, got -1"):
        segment(image, 2, np.full((6, 8), -1))
    marks = np.zeros((6, 8), dtype=int)
    marks[0, :3] = 1, 2, 3
    with pytest.raises(ValueError, match="3 different strokes, but n_clusters=2"):
        segment(image, 2, marks)


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="n_clusters must be an integer of at least 1"):
        segment(np.zeros((4, 4)), 0)
    with pytest.raises(ValueError, match=r"n_clusters=20 .* 16"):
        segment(np.zeros((4, 4)), 20)
    with pytest.raises(ValueError, match="constraint_weight"):
        segment(np.zeros((4, 4)), 2, constraint_weight=2.0)
    with pytest.raises(ValueError, match="NaN"):
        segment(np.full((4, 4), np.nan), 2)
