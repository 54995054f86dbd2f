"""Segments over their image."""

from __future__ import annotations

import base64
import io
import sys

import numpy as np
import pytest

from soffit import segment
from soffit.figures import segments
from soffit.figures.segments import as_colours, data_address, shrink
from soffit.figures.style import colour


def decoded(source):
    pillow = pytest.importorskip("PIL.Image", reason="Pillow reads the PNG back")
    head, data = source.split(",", 1)
    assert head == "data:image/png;base64"
    return np.asarray(pillow.open(io.BytesIO(base64.b64decode(data))))


def square():
    image = np.zeros((12, 16))
    image[3:9, 4:11] = 1.0
    return image


@pytest.mark.parametrize("shape", [(1, 1), (7, 5)])
def test_pixels_are_kept_as_they_are(shape):
    pixels = np.random.default_rng(71).integers(256, size=(*shape, 3), dtype=np.uint8)
    np.testing.assert_array_equal(decoded(data_address(pixels)), pixels)


def test_images_need_no_pillow(monkeypatch):
    pixels = np.zeros((7, 5, 3), dtype=np.uint8)
    expected = data_address(pixels)
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    assert data_address(pixels) == expected


def test_certainty_and_segments_of_a_segmentation():
    image = square()
    found = segment(image, 2, random_state=73)
    figure = segments(image, found)
    heat = figure.data[2]
    np.testing.assert_allclose(heat.z, found.memberships.max(axis=2), rtol=1e-6)
    np.testing.assert_array_equal(heat.customdata, found.labels)
    assert [note.text for note in figure.layout.annotations[3:]] == ["<b>0</b>", "<b>1</b>"]
    # Each number stands inside its segment.
    for number, note in enumerate(figure.layout.annotations[3:]):
        assert found.labels[int(note.y), int(note.x)] == number


def test_borders_run_between_segments_only():
    image = np.full((10, 10), 0.5)
    shares = np.zeros((10, 10, 2))
    shares[:, :6, 0] = shares[:, 6:, 1] = 1.0
    pixels = decoded(segments(image, shares).data[0].source)
    times = pixels.shape[0] // 10
    changed = (np.abs(pixels.astype(int) - 128) > 2).any(axis=2)
    assert changed[:, 6 * times].all()
    assert not changed[:, : 6 * times - 1].any()
    assert not changed[:, 6 * times + 1 :].any()


def test_overlay_is_faint_where_uncertain():
    image = np.zeros((4, 4))
    shares = np.full((4, 4, 2), 0.5)
    shares[:, 2:] = [1.0, 0.0]
    pixels = decoded(segments(image, shares).data[1].source)
    assert not pixels[:, :2].any()
    tint = [int(colour(0)[i : i + 2], 16) for i in (1, 3, 5)]
    np.testing.assert_allclose(pixels[0, 3], 0.62 * np.array(tint), atol=1.0)


def test_large_images_are_shrunk_with_a_note():
    rng = np.random.default_rng(79)
    image = rng.random((900, 1500, 3))
    shares = rng.dirichlet([1.0, 1.0, 1.0], size=(900, 1500))
    figure = segments(image, shares)
    assert figure.layout.title.subtitle.text == (
        "3 segments, 900 by 1500 pixels · shown at 300 by 500"
    )
    assert max(figure.data[2].z.shape) <= 240
    # Noise is the hardest to compress.
    assert len(figure.to_json()) < 3_000_000


def test_shrinking_takes_means():
    values = np.arange(20.0).reshape(4, 5)
    np.testing.assert_array_equal(shrink(values, 2), [[3, 5, 6.5], [13, 15, 16.5]])


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        (np.array([[0, 255]], dtype=np.uint8), [[0, 0, 0], [1, 1, 1]]),
        (np.array([[0.25, 1.0]]), [[0.25, 0.25, 0.25], [1, 1, 1]]),
        (np.array([[-5.0, 5.0]]), [[0, 0, 0], [1, 1, 1]]),
        (np.array([[[0.1, 0.2, 0.3, 1.0]]]), [[0.1, 0.2, 0.3]]),
        (np.array([[[0.2, 0.6]]]), [[0.4, 0.4, 0.4]]),
    ],
)
def test_any_image_becomes_colours(image, expected):
    np.testing.assert_allclose(as_colours(image)[0], expected)


def test_other_shapes_are_refused():
    with pytest.raises(ValueError, match="segmentation must have memberships of shape"):
        segments(np.zeros((4, 5)), np.full((5, 4, 2), 0.5))
    with pytest.raises(ValueError, match="image must have shape"):
        segments(np.zeros(4), np.full((5, 4, 2), 0.5))
