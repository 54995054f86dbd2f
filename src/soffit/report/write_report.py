"""Writing a report: the HTML page with its data and its scripts."""

from __future__ import annotations

from importlib.resources import files
from string import Template
from typing import Any

from soffit._atomic import replaced
from soffit._version import __version__
from soffit._wording import in_words_of_the_command
from soffit.figures.style import colour, on_dark, readable_on
from soffit.report import overview
from soffit.report.column_figures import columns_section
from soffit.report.details import details_section, labels_section
from soffit.report.html import script_hash, text
from soffit.report.method import account_section, recipe_section
from soffit.report.object_map import map_section
from soffit.report.objects import objects_section
from soffit.results.summary import Summary

_SCRIPTS = ("unpack.js", "table.js", "map.js")
# Colours of the values of a text column, apart from those of the clusters.
_SHADES = (
    "#4878a8",
    "#d98a3d",
    "#6aa36f",
    "#b565a0",
    "#8c7b6b",
    "#c9b23e",
    "#5fb0b7",
    "#9aa0a6",
    "#7d6bb0",
    "#c4635b",
    "#7f9c3b",
    "#39688c",
)


def page(summary: Summary, *, title: str | None, command: str | None, points: Any = None) -> str:
    """The whole document."""
    colours = [colour(cluster) for cluster in range(summary.n_clusters)]
    # Whoever typed a command reads of options.
    say = str if command is None else in_words_of_the_command
    script = "\n".join(_file(name) for name in _SCRIPTS)
    parts = {
        "columns": columns_section(summary),
        "between": overview.between_section(summary),
        "labels": labels_section(summary),
        "warnings": overview.warnings_list(summary, say),
    }
    return Template(_file("page.html")).substitute(
        parts,
        policy=text(_policy(script)),
        title=text(title or overview.default_title(summary)),
        style=_file("style.css") + _colour_rules(colours),
        navigation=_navigation(parts, summary),
        lead=overview.lead(summary, say),
        facts=overview.facts(summary),
        clusters=overview.cluster_cards(summary),
        map=map_section(summary, points),
        objects=objects_section(summary, list(_SHADES)),
        checks=overview.checks_section(summary, say),
        account=account_section(summary, say),
        details=details_section(summary),
        recipe=recipe_section(summary, command),
        version=text(__version__),
        script=script,
    )


def _navigation(parts: dict[str, str], summary: Summary) -> str:
    links = {
        "summary": "Result",
        "clusters": summary.plural.capitalize(),
        "columns": "Columns",
        "map": "Map",
        "between": "In between",
        "objects": "Objects",
        "labels": "Labels",
        "account": "Method",
        "recipe": "Reproduce",
    }
    return "".join(
        f'<a href="#{key}">{words}</a>' for key, words in links.items() if parts.get(key, "there")
    )


def _file(name: str) -> str:
    return files("soffit.report").joinpath(name).read_text(encoding="utf-8")


def _policy(script: str) -> str:
    """The page loads nothing, and only its own script runs."""
    return (
        f"default-src 'none'; script-src {script_hash(script)}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _colour_rules(colours: list[str]) -> str:
    light = "".join(f"--c{number}:{shade};" for number, shade in enumerate(colours))
    dark = "".join(f"--c{number}:{on_dark(shade)};" for number, shade in enumerate(colours))
    rules = [
        f":root{{{light}}}@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}",
        *(
            f".c{number}{{background:var(--c{number})}}.k{number}{{color:var(--c{number})}}"
            for number in range(len(colours))
        ),
    ]
    for number, shade in enumerate(_SHADES[:8]):
        rules.append(f".s{number}{{fill:{shade}}}.on{number}{{fill:{readable_on(shade)}}}")
    return "".join(rules)


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
    all_sizes: Any = (),
) -> None:
    """Write one self-contained HTML page about a clustering.

    The page says what sets the clusters apart, shows the columns inside each cluster, a map and a
    sortable, searchable table of all objects, why objects lie between clusters, warnings, and the
    code that reproduces the result. It works offline, runs only its own script, and follows the
    light or dark theme of the reader; names from the data are always shown as text.

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
    all_sizes : sequence of int
        Sizes of the clusters among all objects, if the model is about a sample of them.

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
    summary = Summary.of(
        model, X, source=source, columns=columns, ids=ids, truth=truth, all_sizes=all_sizes
    )
    content = page(summary, title=title, command=command, points=points)
    with replaced(path) as temporary:
        temporary.write_text(content, encoding="utf-8", newline="\n")
