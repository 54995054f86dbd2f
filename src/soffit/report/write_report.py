"""Writing a report."""

from __future__ import annotations

from typing import Any

from soffit._atomic import replaced
from soffit.report.page import page
from soffit.report.page_figures import pictures
from soffit.results.summary import Summary


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
