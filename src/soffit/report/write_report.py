"""Writing a report: the HTML page with its data and its scripts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any

from soffit._atomic import replaced
from soffit._version import __version__
from soffit.figures.style import PALETTE
from soffit.report import sections
from soffit.report.html import data_block, packed_text, script_hash, text
from soffit.report.objects import objects_section
from soffit.report.page_figures import Picture, pictures
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


def write_report(  # noqa: PLR0913
    path: Any,
    model: Any,
    *,
    source: Any = None,
    X: Any = None,
    columns: Any = None,
    ids: Any = None,
    truth: Any = None,
    command: str | None = None,
    title: str | None = None,
    points: Any = None,
) -> None:
    """Write one self-contained HTML page about a clustering.

    The page contains a description of the clusters, warnings, figures, a sortable and searchable
    table of all objects, and the code that reproduces the result. It works offline and runs only
    its own scripts; names from the data are always shown as text.

    Parameters
    ----------
    path : str or path
        Where to write the page.
    model : fitted model or soffit.io.Result
        What to report on.
    source : soffit.io.Source, optional
        The data as they were read from a file, with their names and notes.
    X : table, optional
        The data that the model was fitted to, so that clusters can be described by columns. Taken
        from the source by default.
    columns : sequence of str, optional
        Names of the columns of the table.
    ids : sequence, optional
        Names of the objects; numbers from 0 by default.
    truth : sequence, optional
        Known labels, used for evaluation only; None, NaN or an empty string if unknown.
    command : str, optional
        The command line that made the result.
    title : str, optional
        Title of the page.
    points : array of shape (n, 2), optional
        Where to draw the objects on the map, such as a UMAP embedding. By default they are placed
        by their columns or links.

    Raises
    ------
    ValueError
        If the number of rows, identifiers or labels is not the number of objects.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from soffit import SoftClustering
    >>> from soffit.datasets import make_moons
    >>> from soffit.report import write_report
    >>> X, labels, posterior = make_moons(200, random_state=7)
    >>> model = SoftClustering(n_clusters=2, random_state=7).fit(X)
    >>> with TemporaryDirectory() as folder:
    ...     write_report(Path(folder) / "moons.html", model, X=X, columns=["east", "north"])
    ...     [file.name for file in Path(folder).iterdir()]
    ['moons.html']
    """
    summary = Summary.of(model, X, source=source, columns=columns, ids=ids, truth=truth)
    content = page(summary, pictures(summary, model, points), title=title, command=command)
    with replaced(path) as temporary:
        temporary.write_text(content, encoding="utf-8", newline="\n")
