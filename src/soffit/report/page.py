"""The HTML page, its data and its scripts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Template

from soffit._version import __version__
from soffit.figures.style import PALETTE
from soffit.report import sections
from soffit.report.embed import data_block, packed_text, script_hash
from soffit.report.html import text
from soffit.report.objects import objects_section
from soffit.report.page_figures import Picture
from soffit.results.sentences import headline
from soffit.results.summary import Summary

_SCRIPTS = ("unpack.js", "table.js", "figures.js")


def page(
    summary: Summary, pictures: list[Picture], *, title: str | None, command: str | None
) -> str:
    """The whole document."""
    colours = list(PALETTE)
    is_drawn = any(not picture.failure for picture in pictures)
    library = _library() if is_drawn else None
    script = "\n".join(_file(name) for name in _SCRIPTS)
    uses_webgl = any(picture.needs_webgl for picture in pictures)
    return Template(_file("page.html")).substitute(
        policy=text(_policy(script, library, uses_webgl)),
        title=text(title or sections.default_title(summary)),
        style=_file("style.css") + _colour_rules(colours),
        sentence=text(headline(summary)),
        tiles=sections.tiles(summary),
        warnings=sections.warnings_section(summary, pictures),
        clusters=sections.clusters_section(summary, colours),
        figures=sections.figures_section([p for p in pictures if not p.is_about_truth]),
        truth=sections.truth_section(summary, [p for p in pictures if p.is_about_truth]),
        objects=objects_section(summary, colours),
        account=sections.account_section(summary),
        recipe=sections.recipe_section(summary, command),
        version=text(__version__),
        library="" if library is None else data_block("plotly", library.packed),
        script=script,
    )


def _file(name: str) -> str:
    return files("soffit.report").joinpath(name).read_text(encoding="utf-8")


@dataclass(frozen=True)
class _Library:
    packed: str
    hash: str


@cache
def _library() -> _Library:
    """The library that draws the figures; packing it takes longer than all the rest."""
    from plotly.offline import get_plotlyjs

    code = str(get_plotlyjs())
    return _Library(packed_text(code), script_hash(code))


def _policy(script: str, library: _Library | None, uses_webgl: bool) -> str:
    """The page loads nothing, and only its own two scripts run.

    Plotly compiles its drawing code for WebGL in the browser, which has to be allowed. Plotly
    also sets styles inside the page.
    """
    allowed = [script_hash(script)]
    if library is not None:
        allowed.append(library.hash)
    if uses_webgl:
        allowed.append("'unsafe-eval'")
    return (
        f"default-src 'none'; script-src {' '.join(allowed)}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _colour_rules(colours: list[str]) -> str:
    return "".join(f".c{number}{{background:{colour}}}" for number, colour in enumerate(colours))
