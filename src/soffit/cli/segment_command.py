"""`soffit segment`: soft segments of an image, read and written here."""

from __future__ import annotations

import math
import warnings
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from soffit._atomic import replaced
from soffit._memory import check_allocation, check_memory
from soffit._wording import count_of
from soffit.cli.console import Talk, existing
from soffit.cli.methods import Settings
from soffit.cli.options import (
    CLUSTERING,
    MODEL,
    RESULTS,
    Command,
    Only,
    Verbosity,
    at_least,
    option,
    with_option_groups,
)
from soffit.cli.steps import check_output, steps, with_remarks

if TYPE_CHECKING:
    from soffit._typing import FloatArray, IntArray


class Paint(str, Enum):
    """How segments are painted."""

    colours = "colours"
    overlay = "overlay"
    mean = "mean"
    labels = "labels"


_PICTURES = ("png", "jpg", "jpeg", "tif", "tiff", "webp", "bmp")

ImageFile = Annotated[
    Path,
    typer.Argument(metavar="IMAGE", help="The image: PNG, JPEG, TIFF, WebP or BMP."),
]
SegmentsOption = Annotated[
    int,
    option("-k --clusters K", MODEL, "The number of segments.", callback=at_least(1)),
]
ScribblesOption = Annotated[
    Path | None,
    option(
        "--scribbles PNG",
        MODEL,
        "An image of the same size with a few strokes. Strokes of one colour belong to one "
        "segment; black and transparent pixels are not marked.",
    ),
]
PixelsOption = Annotated[
    int,
    option(
        "--max-pixels N",
        MODEL,
        "Segment at most this many pixels: a larger image is downscaled, and its segments are "
        "drawn at full size. More pixels take longer.",
        callback=at_least(16),
    ),
]
OutputOption = Annotated[
    Path | None,
    option(
        "-o --output FILE",
        RESULTS,
        "An image of the segments; or .npz for memberships, labels and entropies as arrays; "
        "or .html for an interactive figure.",
    ),
]
PaintOption = Annotated[
    Paint,
    option(
        "--paint HOW",
        RESULTS,
        "How to paint: in colours that mix where segments overlap (colours), over the image "
        "(overlay), each segment in its mean colour (mean), or as label numbers (labels).",
    ),
]


@with_option_groups
def segment(
    file: ImageFile,
    *,
    clusters: SegmentsOption,
    scribbles: ScribblesOption = None,
    max_pixels: PixelsOption = 120_000,
    settings: Annotated[Settings, Only(("seed",))],
    output: OutputOption = None,
    paint: PaintOption = Paint.colours,
    verbosity: Verbosity,
) -> None:
    """Divide an image into soft segments.

    Each pixel gets a probability for every segment. Scribbles mark what belongs together where
    colour alone is not enough.
    """
    inputs = (file,) if scribbles is None else (file, scribbles)
    check_output(output, "--output", (*_PICTURES, "npz", "html"), inputs)
    talk = verbosity.talk()
    image = load_image(existing(file))
    small = shrunk(image, max_pixels)
    notes = []
    if small.size != image.size:
        notes.append(
            f"Segmented at {small.size[0]} x {small.size[1]} instead of "
            f"{image.size[0]} x {image.size[1]} pixels; --max-pixels sets the limit."
        )
    marks = None
    if scribbles is not None:
        whole, remarks = read_scribbles(existing(scribbles), image.size, clusters)
        notes += remarks
        marks = shrunk_marks(whole, (small.size[1], small.size[0]))
    for note in notes:
        talk.note(note)
    found, remarks = _segmented(talk, pixels(small), clusters, marks, settings.seed)
    for remark in remarks:
        talk.warn(remark)
    files = {}
    if output is not None:
        with talk.working(f"Writing {output}"), replaced(output) as temporary:
            _write(temporary, image, small, found, paint)
        files["segments"] = str(output)
    _show(talk, file, found, files, {"notes": notes, "warnings": remarks})


def _segmented(
    talk: Talk, values: Any, clusters: int, marks: Any, seed: int
) -> tuple[Any, list[str]]:
    import soffit

    height, width = values.shape[:2]
    if clusters > height * width:
        raise ValueError(f"-k {clusters} is larger than the number of pixels.")
    with talk.working(f"Dividing {width} x {height} pixels") as tell:
        found, remarks = with_remarks(
            lambda: soffit.segment(
                *(values, clusters, marks),
                random_state=seed,
                callback=lambda event: tell(steps(event)),
            )
        )
    if found.model.stop_reason_ == "interrupted":
        raise KeyboardInterrupt
    return found, remarks


def _write(output: Path, image: Any, small: Any, found: Any, paint: Paint) -> None:
    ending = output.suffix.lower()
    if ending == ".html":
        from soffit import figures

        figures.segments(pixels(small), found).write_html(str(output), include_plotlyjs=True)
        return
    memberships = enlarged(found.memberships, image.size)
    if ending == ".npz":
        from soffit.memberships import entropy

        flat = memberships.reshape(-1, memberships.shape[2])
        np.savez_compressed(
            output,
            memberships=memberships,
            labels=memberships.argmax(axis=2),
            entropy=entropy(flat).reshape(memberships.shape[:2]),
        )
        return
    painted(image, memberships, paint).save(output)


def _show(
    talk: Talk, file: Path, found: Any, files: dict[str, str], remarks: dict[str, Any]
) -> None:
    from soffit.results.summary import Summary

    summary = Summary.of(found)
    k, shares = summary.n_clusters, summary.sizes / summary.n_objects
    certainty = [None if math.isnan(c) else c for c in summary.mean_certainty.tolist()]
    talk.say(f"{file}: {count_of(k, 'segment')}.", style="bold")
    talk.say()
    talk.table(
        ("segment", "share", "certainty"),
        [
            (str(c), f"{shares[c]:.1%}", "-" if mean is None else f"{mean:.2f}")
            for c, mean in enumerate(certainty)
        ],
        words=0,
    )
    talk.say()
    for path in files.values():
        talk.say(f"Segments: {path}", style="green")
    if not files:
        talk.say("Next: add -o segments.png to view them.", style="dim")
    segments = [
        {"segment": c, "share": float(shares[c]), "certainty": certainty[c]} for c in range(k)
    ]
    answer = {"command": "segment", "input": str(file), "n_clusters": k, "segments": segments}
    talk.emit(answer | remarks | {"files": files})


SEGMENT = Command(
    "segment",
    segment,
    (
        "soffit segment photo.jpg -k 5 -o segments.png",
        "soffit segment photo.jpg -k 2 --scribbles strokes.png -o segments.png",
    ),
    CLUSTERING,
)


# The formats that the help promises. Others are not tried: Pillow runs Ghostscript for PostScript.
_FORMATS = ("PNG", "JPEG", "TIFF", "WEBP", "BMP")
# Colours, transparency, and the marks of scribbles.
_BYTES_PER_PIXEL = 16
# Of the memberships of all pixels: interpolated, normalized, and mixed to colours.
_COPIES = 4
# A colour with a smaller share of the marked pixels comes from the soft edge of a brush.
_LEAST_SHARE = 0.02


def load_image(path: Path) -> Any:
    """The image as a Pillow object, upright."""
    image_library, tools = _pillow()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            with image_library.open(path, formats=_FORMATS) as opened:
                _check_pixels(path, opened)
                opened.load()
                return tools.exif_transpose(opened)
        except MemoryError:
            raise
        except image_library.UnidentifiedImageError:
            raise ValueError(
                f"{path} cannot be read as an image. Save it as PNG, JPEG, TIFF, WebP or BMP."
            ) from None
        except (image_library.DecompressionBombError, image_library.DecompressionBombWarning):
            raise ValueError(f"{path} has too many pixels. Resize it first.") from None
        except (OSError, ValueError, TypeError, SyntaxError, EOFError, Warning) as error:
            raise ValueError(f"{path} is damaged or not an image: {error}.") from None


def _check_pixels(path: Path, image: Any) -> None:
    """An image of one colour is a small file, whatever its size."""
    width, height = image.size
    check_memory(
        _BYTES_PER_PIXEL * width * height,
        what=f"{path}, an image of {width:,} x {height:,} pixels,",
        remedy="Resize it first.",
    )


def shrunk(image: Any, most_pixels: int) -> Any:
    """The image with at most this many pixels and the same aspect ratio."""
    width, height = image.size
    if width * height <= most_pixels:
        return image
    factor = (most_pixels / (width * height)) ** 0.5
    size = (max(int(width * factor), 1), max(int(height * factor), 1))
    return image.resize(size, _pillow()[0].Resampling.BOX)


def pixels(image: Any) -> FloatArray:
    """Brightness (h, w) or colour (h, w, 3) from 0 to 1."""
    if image.mode in ("I", "F", "I;16", "I;16B", "I;16L"):
        values = np.asarray(image, dtype=np.float64)
        return np.asarray(values / max(float(np.abs(values).max()), 1e-300))
    grey = image.mode in ("1", "L", "LA")
    return np.asarray(image.convert("L" if grey else "RGB"), dtype=np.float64) / 255.0


def read_scribbles(path: Path, size: tuple[int, int], most: int) -> tuple[IntArray, list[str]]:
    """Marks of the pixels, 0 for none, and remarks; each colour is a segment.

    Pixels are marked if they are not transparent or, without transparency, not black.
    """
    image = load_image(path)
    if image.size != size:
        raise ValueError(
            f"{path} is {image.size[0]} x {image.size[1]} pixels, but the image is {size[0]} x "
            f"{size[1]}. Draw on a layer of the same size."
        )
    rgba = np.asarray(image.convert("RGBA"), dtype=np.int64)
    transparent = bool((rgba[..., 3] < 255).any())
    marked = rgba[..., 3] >= 128 if transparent else rgba[..., :3].any(axis=2)
    if not marked.any():
        raise ValueError(f"{path} has no marks: every pixel is black or transparent.")
    code = (rgba[..., 0] << 16) + (rgba[..., 1] << 8) + rgba[..., 2] + 1
    code[~marked] = 0
    colours, counts = np.unique(code[marked], return_counts=True)
    kept = colours[counts >= _LEAST_SHARE * counts.sum()]
    remarks = []
    if len(kept) < len(colours):
        remarks.append(
            f"{len(colours) - len(kept)} rare colours of the scribbles were ignored, probably from "
            "soft brush edges."
        )
    if len(kept) > most:
        raise ValueError(
            f"{path} has {len(kept)} colours, but -k is {most}. Each colour is a segment: increase "
            "-k, or use fewer colours and a hard brush."
        )
    marks = np.zeros(code.shape, dtype=np.int64)
    for number, colour in enumerate(kept.tolist(), start=1):
        marks[code == colour] = number
    return marks, remarks


def shrunk_marks(marks: IntArray, shape: tuple[int, int]) -> IntArray:
    """The marks at a smaller size; thin strokes are kept."""
    if marks.shape == shape:
        return marks
    small = np.zeros(shape, dtype=np.int64)
    rows, columns = np.nonzero(marks)
    target = (rows * shape[0] // marks.shape[0], columns * shape[1] // marks.shape[1])
    small[target] = marks[rows, columns]
    return small


def enlarged(memberships: FloatArray, size: tuple[int, int]) -> FloatArray:
    """Memberships interpolated to a larger size; they still sum to one."""
    height, width, k = memberships.shape
    if (width, height) == size:
        return memberships
    library, _ = _pillow()
    check_allocation(
        (size[1], size[0], k),
        np.float32,
        what="the segments of every pixel",
        remedy="Resize the image first.",
        copies=_COPIES,
    )
    result = np.empty((size[1], size[0], k), dtype=np.float32)
    for number in range(k):
        layer = library.fromarray(memberships[..., number].astype(np.float32))
        result[..., number] = np.asarray(layer.resize(size, library.Resampling.BILINEAR))
    result = np.maximum(result, 0.0)
    return np.asarray(result / result.sum(axis=2, keepdims=True))


def painted(image: Any, memberships: FloatArray, paint: Paint) -> Any:
    """An image of the segments."""
    library, _ = _pillow()
    k = memberships.shape[2]
    labels = memberships.argmax(axis=2)
    if paint is Paint.labels:
        if k > 256:
            raise ValueError("An image of labels holds at most 256 segments; write .npz instead.")
        return library.fromarray(labels.astype(np.uint8))
    original = np.asarray(image.convert("RGB"), dtype=np.float64) / 255.0
    if paint is Paint.mean:
        flat, weights = original.reshape(-1, 3), memberships.reshape(-1, k)
        colours = (weights.T @ flat) / np.maximum(weights.sum(axis=0), 1e-12)[:, None]
        mixed = colours[labels]
    else:
        from soffit.figures.style import colours as palette

        # Colours mix where two segments are both likely.
        mixed = memberships @ palette(k)
    if paint is Paint.overlay:
        mixed = 0.5 * mixed + 0.5 * original
    return library.fromarray(np.round(255 * np.clip(mixed, 0, 1)).astype(np.uint8))


def _pillow() -> tuple[Any, Any]:
    from soffit.io.data_error import need

    what = "Reading images with Pillow"
    return need("PIL.Image", "image", what), need("PIL.ImageOps", "image", what)
