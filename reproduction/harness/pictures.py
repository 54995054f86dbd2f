"""Write figures as HTML, which share one plotly.js, and as PNG where a browser is there."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from reproduction.harness.report import Picture, PictureFile

PNG_HINT = "no PNG is written: it needs the package kaleido and Chrome or Chromium."
_SCRIPT = "plotly.min.js"
# Pages of the documentation should load at once.
MOST_BYTES = 100_000


@cache
def png_works() -> bool:
    """Whether kaleido and a browser for it are there."""
    if importlib.util.find_spec("kaleido") is None:
        return False
    try:
        from choreographer.browsers.chromium import Chromium  # what kaleido 1 drives

        found = Chromium.find_browser(skip_local=False)
    except Exception:  # Another kaleido: trying is the only way to know.
        return _one_pixel_works()
    return bool(found)


def _one_pixel_works() -> bool:
    import plotly.graph_objects as go

    try:
        go.Figure().to_image("png", width=10, height=10)
    except Exception:
        return False
    return True


def write_pictures(
    pictures: Sequence[Picture], folder: Path, *, png: bool
) -> tuple[PictureFile, ...]:
    """Write all figures of an experiment; returns their files, relative to the folder."""
    if not pictures:
        return ()
    folder.mkdir(parents=True, exist_ok=True)
    _share_script(folder.parent)
    for picture in pictures:
        picture.figure.update_layout(height=picture.height)
        picture.figure.write_html(
            folder / f"{picture.name}.html",
            include_plotlyjs=f"../{_SCRIPT}",
            full_html=True,
            default_height=f"{picture.height}px",
            config={"displaylogo": False, "responsive": True},
        )
    made = png and _write_png(pictures, folder)
    return tuple(
        PictureFile(p.caption, f"{p.name}.html", f"{p.name}.png" if made else None)
        for p in pictures
    )


def _share_script(folder: Path) -> None:
    """Plotly's script, once for all pages."""
    from plotly.offline import get_plotlyjs

    path = folder / _SCRIPT
    if not path.is_file():
        path.write_text(get_plotlyjs(), encoding="utf-8")


def _write_png(pictures: Sequence[Picture], folder: Path) -> bool:
    paths = [folder / f"{picture.name}.png" for picture in pictures]
    try:
        _render(pictures, paths)
    except Exception:
        return False  # A browser that is there but does not work is as good as none.
    for path in paths:
        _shrink(path)
    return True


def _render(pictures: Sequence[Picture], paths: Sequence[Path]) -> None:
    import plotly.io as pio

    if hasattr(pio, "write_images"):  # one browser for all of them
        pio.write_images(
            fig=[picture.figure for picture in pictures],
            file=[str(path) for path in paths],
            format="png",
            width=[picture.width for picture in pictures],
            height=[picture.height for picture in pictures],
        )
        return
    for picture, path in zip(pictures, paths, strict=True):
        picture.figure.write_image(path, width=picture.width, height=picture.height)


def _shrink(path: Path) -> None:
    """Fewer colours, then fewer pixels, until the file is small; needs Pillow."""
    if importlib.util.find_spec("PIL") is None:
        return
    from PIL import Image

    with Image.open(path) as opened:
        image: Any = opened.convert("RGB")
    colours = 256
    while True:
        image.quantize(colours).save(path, optimize=True)
        if path.stat().st_size <= MOST_BYTES or image.width < 400:
            return
        if colours > 64:
            colours //= 2
        else:
            image = image.resize((image.width * 5 // 6, image.height * 5 // 6))
