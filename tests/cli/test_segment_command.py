"""`soffit segment`: pictures in, pictures out."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

image_library = pytest.importorskip("PIL.Image", reason="pictures need Pillow")


@pytest.fixture
def photo(tmp_path):
    values = np.full((30, 40, 3), 40, dtype=np.uint8)
    values[8:22, 10:28] = (220, 180, 60)
    path = tmp_path / "photo.png"
    image_library.fromarray(values).save(path)
    return path


def strokes(path, colours, size=(40, 30)):
    layer = np.zeros((size[1], size[0], 4), dtype=np.uint8)
    for number, colour in enumerate(colours):
        layer[2 + 9 * number, 3 : size[0] - 3] = (*colour, 255)
    image_library.fromarray(layer).save(path)
    return path


def test_a_square_is_told_from_its_ground(soffit, photo, tmp_path):
    out = tmp_path / "segments.png"
    text = soffit("segment", photo, "-k", 2, "--paint", "labels", "-o", out).stdout
    assert "2 segments" in text
    labels = np.asarray(image_library.open(out))
    assert labels.shape == (30, 40)
    assert (labels[8:22, 10:28] == labels[15, 15]).all()
    assert labels[0, 0] != labels[15, 15]


@pytest.mark.parametrize("paint", ["colours", "overlay", "mean"])
def test_every_way_to_paint(soffit, photo, tmp_path, paint):
    out = tmp_path / "segments.png"
    soffit("segment", photo, "-k", 2, "--paint", paint, "-o", out)
    assert np.asarray(image_library.open(out)).shape == (30, 40, 3)


def test_a_large_picture_is_shrunk_and_painted_in_full(answer, photo, tmp_path):
    out = tmp_path / "segments.npz"
    found = answer("segment", photo, "-k", 2, "--max-pixels", 400, "-o", out)
    assert "--max-pixels" in found["notes"][0]
    assert sum(part["share"] for part in found["segments"]) == pytest.approx(1)
    with np.load(out) as arrays:
        assert arrays["memberships"].shape == (30, 40, 2)
        np.testing.assert_allclose(arrays["memberships"].sum(axis=2), 1, atol=1e-5)


def test_scribbles_are_followed(soffit, photo, tmp_path):
    marks = strokes(tmp_path / "marks.png", [(255, 0, 0), (0, 255, 0)])
    labels = {}
    for name, options in {"free": (), "marked": ("--scribbles", marks)}.items():
        out = tmp_path / f"{name}.png"
        soffit("segment", photo, "-k", 2, *options, "--paint", "labels", "-o", out)
        labels[name] = np.asarray(image_library.open(out))
    # The second stroke runs over the ground and the square, which are told apart without it.
    assert len(np.unique(labels["free"][11, 3:37])) == 2
    assert len(np.unique(labels["marked"][11, 3:37])) == 1
    assert len(np.unique(labels["marked"][2, 3:37])) == 1
    assert labels["marked"][2, 3] != labels["marked"][11, 3]


def test_scribbles_of_another_size_or_with_too_many_colours(soffit, photo, tmp_path):
    small = strokes(tmp_path / "small.png", [(255, 0, 0)], size=(20, 15))
    assert "20 x 15" in soffit("segment", photo, "-k", 2, "--scribbles", small, code=1).output
    many = strokes(tmp_path / "many.png", [(255, 0, 0), (0, 255, 0), (0, 0, 255)])
    assert "3 colours" in soffit("segment", photo, "-k", 2, "--scribbles", many, code=1).output
    none = strokes(tmp_path / "none.png", [])
    assert "no marks" in soffit("segment", photo, "-k", 2, "--scribbles", none, code=1).output


def test_what_is_no_picture(soffit, flowers, photo, tmp_path):
    assert (
        "flowers.csv cannot be read as an image"
        in soffit("segment", flowers, "-k", 2, code=1).stderr
    )
    cut = tmp_path / "cut.png"
    cut.write_bytes(photo.read_bytes()[:60])
    assert "cut.png is damaged or not an image" in soffit("segment", cut, "-k", 2, code=1).stderr
    odd = tmp_path / "odd.png"
    odd.write_bytes(photo.read_bytes())
    with mock.patch("PIL.ImageFile.ImageFile.load", side_effect=TypeError("not an integer")):
        assert "odd.png is damaged" in soffit("segment", odd, "-k", 2, code=1).stderr
    many = soffit("segment", photo, "-k", 2000, code=1).stderr
    assert "-k 2000 is larger than the number of pixels" in many
    assert "Missing option" in soffit("segment", photo, code=2).stderr


def test_a_grey_picture_with_sixteen_bits(soffit, tmp_path):
    values = np.zeros((12, 16), dtype=np.uint16)
    values[4:9, 5:12] = 40_000
    path, out = tmp_path / "deep.png", tmp_path / "segments.png"
    image_library.fromarray(values).save(path)
    soffit("segment", path, "-k", 2, "--paint", "labels", "-o", out)
    labels = np.asarray(image_library.open(out))
    assert (labels[4:9, 5:12] == labels[6, 8]).all()
    assert (labels == labels[6, 8]).sum() == 5 * 7


def test_only_the_promised_formats_are_opened(soffit, photo, tmp_path):
    """Pillow runs Ghostscript for PostScript, whatever the file is called."""
    script = tmp_path / "photo.png"
    image_library.open(photo).convert("RGB").save(script, format="EPS")
    assert script.read_bytes().startswith(b"%!PS")
    said = soffit("segment", script, "-k", 2, code=1).stderr
    assert "cannot be read as an image. Save it as PNG, JPEG, TIFF, WebP or BMP" in said


def test_a_large_image_in_a_small_file_is_refused(soffit, tmp_path, monkeypatch):
    monkeypatch.setenv("SOFFIT_MEMORY", "100MB")
    path = tmp_path / "black.png"
    image_library.new("RGB", (4000, 3000)).save(path)
    said = soffit("segment", path, "-k", 2, code=1).stderr
    assert "4,000 x 3,000 pixels, needs about 192 MB, but only 100 MB" in said


@pytest.mark.parametrize("ending", ["png", "npz", "html"])
def test_a_failure_keeps_the_old_file(soffit, photo, tmp_path, monkeypatch, ending):
    old = tmp_path / f"old.{ending}"
    old.write_text("precious")

    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    said = soffit("segment", photo, "-k", 2, "-o", old, code=1).stderr
    assert f"old.{ending}: No space left on device" in said
    assert old.read_text() == "precious"
    assert {path.name for path in tmp_path.iterdir()} == {old.name, photo.name}
