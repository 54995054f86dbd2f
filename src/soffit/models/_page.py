"""A model's report on itself."""

from __future__ import annotations

from typing import Any


class PageWriter:
    """Gives an estimator the method `report`."""

    def report(self, path: Any, X: Any = None, **options: Any) -> None:
        """Write one self-contained HTML page about the fitted model.

        The page describes the clusters in words and figures, warns where the result should not be
        trusted, lists all objects in a table that can be sorted and searched, and says how to get
        the same result again. It works without a network.

        Parameters
        ----------
        path : str or path
            Where to write the page.
        X : table or graph, optional
            The data that the model was fitted to. With a table, clusters are described by its
            columns and drawn in its plane or its principal components.
        **options
            `columns`, `ids`, `truth`, `title`, `command` and `source`, as for
            `soffit.report.write_report`.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the model is not fitted.
        ValueError
            If there is not one row, identifier or label for each object.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from soffit import SoftClustering
        >>> from soffit.datasets import make_moons
        >>> X, labels, posterior = make_moons(200, random_state=7)
        >>> model = SoftClustering(n_clusters=2, random_state=7).fit(X)
        >>> with TemporaryDirectory() as folder:
        ...     model.report(Path(folder) / "moons.html", X, truth=labels)
        ...     [file.name for file in Path(folder).iterdir()]
        ['moons.html']
        """
        from soffit.report import write_report

        write_report(path, self, X=X, **options)
