"""`soffit segment`: soft segments of an image."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from soffit._atomic import replaced
from soffit.cli.console import Talk
from soffit.cli.error_messages import existing
from soffit.cli.options import (
    CLUSTERING,
    MODEL,
    RESULTS,
    Command,
    SeedOption,
    Verbosity,
    at_least,
    with_option_groups,
)
from soffit.cli.pictures import (
    Paint,
    enlarged,
    load_image,
    painted,
    pixels,
    read_scribbles,
    shrunk,
    shrunk_marks,
)
from soffit.cli.steps import check_output, steps, with_remarks

_PICTURES = ("png", "jpg", "jpeg", "tif", "tiff", "webp", "bmp")

ImageFile = Annotated[
    Path,
    typer.Argument(
        metavar="IMAGE", show_default=False, help="The image: PNG, JPEG, TIFF, WebP or BMP."
    ),
]
SegmentsOption = Annotated[
    int,
    typer.Option(
        "-k",
        "--clusters",
        metavar="K",
        callback=at_least(1),
        show_default=False,
        rich_help_panel=MODEL,
        help="The number of segments.",
    ),
]
ScribblesOption = Annotated[
    Path | None,
    typer.Option(
        "--scribbles",
        metavar="PNG",
        show_default=False,
        rich_help_panel=MODEL,
        help="An image of the same size with a few strokes. Strokes of one colour belong to one "
        "segment; black and transparent pixels are not marked.",
    ),
]
PixelsOption = Annotated[
    int,
    typer.Option(
        "--max-pixels",
        metavar="N",
        callback=at_least(16),
        rich_help_panel=MODEL,
        help="Segment at most this many pixels: a larger image is downscaled, and its segments are "
        "drawn at full size. More pixels take longer.",
    ),
]
OutputOption = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        show_default=False,
        rich_help_panel=RESULTS,
        help="An image of the segments; or .npz for memberships, labels and entropies as arrays; "
        "or .html for an interactive figure.",
    ),
]
PaintOption = Annotated[
    Paint,
    typer.Option(
        "--paint",
        metavar="HOW",
        rich_help_panel=RESULTS,
        help="How to paint: in colours that mix where segments overlap (colours), over the image "
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
    seed: SeedOption = 0,
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
    found, remarks = _segmented(talk, pixels(small), clusters, marks, seed)
    for remark in remarks:
        talk.warn(remark)
    files = {}
    if output is not None:
        with talk.working(f"Writing {output}"):
            _write(output, image, small, found, paint)
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
    with replaced(output) as temporary:
        _write_segments(temporary, image, small, found, paint)


def _write_segments(output: Path, image: Any, small: Any, found: Any, paint: Paint) -> None:
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
    from soffit.results.words import count_of

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
