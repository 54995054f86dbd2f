"""The base of all estimators."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils import ClassifierTags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from soffit._typing import FloatArray, IntArray, Matrix
from soffit._validation import (
    Function,
    Number,
    OneOf,
    OrNone,
    Rule,
    TextOrFunction,
    WholeNumber,
    check_parameters,
)
from soffit.affinity import Affinity, Precomputed, Settings, SideInformation, make_affinity
from soffit.factorize import Factorization, Problem
from soffit.factorize.problem import Stop
from soffit.fitting.data import Known
from soffit.fitting.monitor import Progress, warn_unless_converged
from soffit.inputs import read_input
from soffit.memberships import entropy, extension
from soffit.normalize import Normalized
from soffit.selection import choose_k_of_graph

if TYPE_CHECKING:
    from typing_extensions import Self


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
        # The report lies above the models. It is found by its name, here and nowhere else, so
        # that no import leads upwards.
        import_module("soffit.report").write_report(path, self, X=X, **options)


class NotebookSummary:
    """Gives an estimator the summary of `soffit.results` in place of scikit-learn's diagram.

    ``sklearn.set_config(display="text")`` turns it off as it does the diagram; inside a pipeline
    the model is drawn as a part of the pipeline's diagram.
    """

    def _html_repr(self) -> str:
        from soffit.results.notebook import summary_html

        return summary_html(self)

    # scikit-learn before 1.7 does not ask `_html_repr`.
    def _repr_html_inner(self) -> str:
        return self._html_repr()

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        bundle = {"text/plain": repr(self)}
        if get_config()["display"] == "diagram":
            bundle["text/html"] = self._html_repr()
        return bundle


class SimilarityDoor(NotebookSummary, PageWriter):
    """Tables, matrices and graphs in; the parameters say which affinity is made of them."""

    # Parameters, declared here for the type checker; every estimator's __init__ assigns them.
    affinity: Any
    metric: Any
    n_neighbors: int
    n_jobs: int | None
    # Set by `fit`.
    _affinity: Affinity
    # Which neighbours make an edge, and its weight.
    _keep: ClassVar[Literal["mutual", "union"]] = "mutual"
    _weights: ClassVar[Literal["overlap", "local", "binary"]] = "overlap"

    def _settings(self) -> Settings:
        """What the parameters say about affinities."""
        return Settings(
            metric=self.metric,
            n_neighbors=self.n_neighbors,
            relative_neighbor=self.n_neighbors,
            keep=self._keep,
            weights=self._weights,
            n_jobs=self.n_jobs,
        )

    def _make_affinity(self, kind: Literal["table", "graph"]) -> Affinity:
        if kind == "graph":
            return Precomputed()
        return make_affinity(self.affinity, self._settings())

    @property
    def neighbor_recall_(self) -> float:
        """Share of true nearest neighbours in the graph, measured on a sample of the objects.

        1 where the search was exact. Only models whose affinities are a neighbour graph have it.
        """
        recall = getattr(vars(self).get("_affinity"), "recall_", None)
        if recall is None:
            raise AttributeError(
                f"{type(self).__name__} has no neighbor_recall_: it is not fitted, or its "
                "affinities are no graph of nearest neighbours."
            )
        return float(recall)

    def _validated(self, data: Any, builder: Affinity, *, reset: bool, depth: int = 3) -> Any:
        """Checked features; `depth` counts the calls down to the user's, for warnings."""
        table = validate_data(
            self, data, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32]
        )
        table = sp.csr_array(table) if sp.issparse(table) else table
        if reset and not self._takes_matrix(builder) and _is_symmetric(table):
            warnings.warn(
                f"X is a symmetric {table.shape[0]} x {table.shape[0]} matrix, but "
                f"affinity={self.affinity!r} reads its rows as features. Pass "
                "affinity='precomputed' if it holds similarities, metric='precomputed' if it "
                "holds distances.",
                UserWarning,
                stacklevel=depth,
            )
        return table

    def _takes_matrix(self, builder: Affinity) -> bool:
        return isinstance(builder, Precomputed) or self._names("metric", "precomputed")

    def _names(self, parameter: str, value: str) -> bool:
        """Whether a parameter, which may be any object, is this text."""
        given = getattr(self, parameter)
        return isinstance(given, str) and given == value

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._names("affinity", "precomputed") or self._names(
            "metric", "precomputed"
        )
        return tags


def _is_symmetric(table: Any) -> bool:
    n, d = table.shape
    if n != d or n < 3:
        return False
    if isinstance(table, sp.csr_array):
        return bool(abs(table - table.T).max() == 0)
    return bool(np.array_equal(table, table.T))


# Entries of one dense block of affinities between new and fitted objects.
_BLOCK_ENTRIES = 2**23


@dataclass(frozen=True, eq=False)
class Task:
    """What a model's own steps receive from the template."""

    table: Any
    is_matrix: bool
    A: Matrix
    random_state: np.random.RandomState
    progress: Progress
    side: SideInformation | None = None
    pair_weight: Matrix | None = None


@dataclass(frozen=True, eq=False)
class Solution:
    """What a model's factorization step hands back to the template."""

    problem: Problem
    normalized: Normalized
    found: Factorization


class SimilarityClustering(
    SimilarityDoor, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
):
    """Base of all models.

    A model says which problem it solves (`_solve`) and, where memberships are more than the
    factor, how they are reported (`_report`, `_report_new`).
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "n_clusters": OrNone(WholeNumber(1)),
        "metric": TextOrFunction(),
        "n_neighbors": WholeNumber(1),
        "max_iter": WholeNumber(1),
        "tol": Number(0.0),
        "max_time": OrNone(Number(0.0, strict=True)),
        "warm_start": OneOf((True, False)),
        "verbose": Number(0.0),
        "callback": OrNone(Function()),
        "n_jobs": OrNone(WholeNumber(-(2**15))),
    }
    # Parameters, declared here for the type checker; every model's __init__ assigns them.
    n_clusters: Any
    max_iter: int
    tol: float
    max_time: float | None
    random_state: Any
    verbose: int | bool
    callback: Any
    warm_start: bool

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the objects.

        A fit that `max_time`, the `callback` or Ctrl-C ends keeps the best so far: it warns,
        `converged_` is False and `stopped_` names the reason. Before the first iteration of a
        solver there is nothing to keep: time and callback end the fit after that iteration, and
        Ctrl-C at once, with a KeyboardInterrupt. So does a second Ctrl-C at any time.

        Parameters
        ----------
        X : table, matrix or graph
            Features (NumPy, pandas, polars, SciPy sparse), similarities with
            ``affinity="precomputed"``, distances with ``metric="precomputed"``, a networkx or
            igraph graph, or an AnnData object.
        y : None
            Not used.

        Returns
        -------
        self
            The fitted model.
        """
        return self._fit(X)

    def _fit(self, X: Any, known: Known | None = None) -> Self:
        """What every `fit` does; models that take more than X pass it on as `known`."""
        check_parameters(type(self).__name__, self.get_params(deep=False), self._rules)
        progress = Progress(
            type(self).__name__,
            int(self.verbose),
            max_iter=self.max_iter,
            tol=self.tol,
            callback=self.callback,
            max_time=self.max_time,
        )
        # One thread for BLAS: the same bytes on any machine. Own loops use `n_jobs` threads.
        with progress, threadpool_limits(limits=1):
            self._run(X, known or Known(), progress)
        warn_unless_converged(self, self.stopped_, self.n_iter_, depth=3)
        return self

    def _run(self, X: Any, known: Known, progress: Progress) -> None:
        given = read_input(X)
        builder = self._make_affinity(given.kind)
        table = self._validated(given.data, builder, reset=True, depth=5)
        n = table.shape[0]
        if self.n_clusters is not None and n < self.n_clusters:
            raise ValueError(
                f"n_clusters={self.n_clusters} is larger than the number of objects, "
                f"n_samples={n}. Choose n_clusters of at most {n}."
            )
        progress.phase("affinities")
        self._affinity = builder.fit(self._prepare(table, builder))
        A = self._affinity.matrix_
        task = Task(
            table,
            self._takes_matrix(builder),
            A,
            check_random_state(self.random_state),
            progress,
            side=known.side_information(n, given.names),
            pair_weight=known.checked_pair_weight(n, A.dtype),
        )
        self.n_clusters_ = self._count(task)
        progress.phase("factorization")
        solution = self._solve(task)
        self._extension = extension(solution.problem, solution.found)
        self._normalized = solution.normalized
        progress.phase("memberships")
        self.affinity_matrix_ = A
        self.factor_ = solution.found.factor
        self.scale_ = solution.found.scale
        self.objective_ = solution.found.objective
        self.objective_history_ = solution.found.history
        self.n_iter_ = solution.found.n_iter
        self._set_stopped(solution.found.stopped)
        self.n_clusters_ = self.factor_.shape[1]
        self.object_names_ = given.names
        self.side_information_ = task.side
        self.memberships_ = self._report(self._extension.fitted(), task)
        self.labels_ = self.memberships_.argmax(axis=1)
        self.entropy_ = entropy(self.memberships_)
        progress.finish(f"{self.n_iter_} iterations, objective {self.objective_:.6g}")

    def _set_stopped(self, stopped: Stop) -> None:
        self.stopped_ = stopped
        self.converged_ = stopped == "converged"

    def _warm_factor(self, n: int, k: int) -> FloatArray | None:
        """The last fit's factor, if this one is to begin there and the shape is still the same."""
        factor = getattr(self, "factor_", None)
        if factor is None or not self.warm_start or factor.shape != (n, k):
            return None
        return np.asarray(factor)

    # --- what models define --------------------------------------------------------------------

    def _count(self, task: Task) -> int:
        """The number of clusters: as given, or chosen where it is None."""
        if self.n_clusters is not None:
            return int(self.n_clusters)
        task.progress.phase("number of clusters")
        self.k_choice_ = choose_k_of_graph(task.A)
        return self.k_choice_.n_clusters

    def _solve(self, task: Task) -> Solution:
        raise TypeError("a model must define _solve")

    def _prepare(self, table: Any, builder: Affinity) -> Any:
        """Change a validated table before affinities are computed; the base leaves it."""
        return table

    def _prepare_new(self, table: Any) -> Any:
        """The same change for new objects."""
        return table

    def _report(self, rows: FloatArray, task: Task) -> FloatArray:
        """Memberships from the factor's rows as probabilities; the base leaves those."""
        return rows

    def _report_new(self, rows: FloatArray, table: Any, block: Matrix) -> FloatArray:
        """The same for new objects."""
        return rows

    # --- results -------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> FloatArray:
        """Memberships of new objects.

        Each new object solves the fitted problem for its own row, with the affinities to the
        fitted objects, the same scale and the same degree correction.

        Parameters
        ----------
        X : table, or block of shape (m, n)
            New objects with the features of the fitted ones; for precomputed similarities or
            distances (and for graphs), the block between the new and the fitted objects.

        Returns
        -------
        ndarray of shape (m, k)
            Rows sum to one.
        """
        check_is_fitted(self, "memberships_")
        table = self._validated(read_input(X).data, self._affinity, reset=False)
        prepared = self._prepare_new(table)
        m, n = prepared.shape[0], len(self.memberships_)
        step = m if sp.issparse(self.affinity_matrix_) else max(_BLOCK_ENTRIES // n, 1)
        result = np.empty((m, self.n_clusters_), dtype=self.memberships_.dtype)
        with threadpool_limits(limits=1):
            for first in range(0, m, max(step, 1)):
                rows = slice(first, first + step)
                result[rows] = self._place(prepared[rows])
        return result

    def _place(self, table: Any) -> FloatArray:
        block = self._affinity.cross(table)
        degrees = np.asarray(block.sum(axis=1), dtype=np.float64).ravel()
        placed = self._extension.place(self._normalized.cross(block), degrees)
        return self._report_new(placed, table, block)

    def predict(self, X: Any) -> IntArray:
        """The most probable cluster of each new object.

        Parameters
        ----------
        X : table, or block of shape (m, n)
            As for `predict_proba`.

        Returns
        -------
        ndarray of shape (m,)
            Cluster numbers.
        """
        return self.predict_proba(X).argmax(axis=1)

    def transform(self, X: Any) -> FloatArray:
        """Memberships as features, for pipelines; the same as `predict_proba`.

        Parameters
        ----------
        X : table, or block of shape (m, n)
            As for `predict_proba`.

        Returns
        -------
        ndarray of shape (m, k)
            Rows sum to one.
        """
        return self._with_names(self.predict_proba(X), X)

    def _with_names(self, rows: FloatArray, X: Any) -> Any:
        """The rows; as a frame with the names of nodes or cells, if frames are wanted.

        scikit-learn gives a frame the index of the frame that came in, and leaves a frame that is
        one already.
        """
        of_this = getattr(self, "_sklearn_output_config", {})
        wanted = of_this.get("transform", get_config()["transform_output"])
        if wanted != "pandas" or hasattr(X, "iloc"):
            return rows
        names = read_input(X).names
        if names is None:
            return rows
        import pandas as pd

        # Names may be tuples; they are names all the same, not levels of an index.
        return pd.DataFrame(rows, index=pd.Index(names, tupleize_cols=False))

    def fit_predict_proba(self, X: Any, y: Any = None, **known: Any) -> FloatArray:
        """Cluster the objects and return their memberships.

        Parameters
        ----------
        X : table, matrix or graph
            As for `fit`.
        y : None
            Not used.
        **known
            What else the model's `fit` takes.

        Returns
        -------
        ndarray of shape (n, k)
            `memberships_`.
        """
        return self.fit(X, **known).memberships_

    @property
    def _n_features_out(self) -> int:
        return self.n_clusters_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        # scikit-learn's checks read these of everything that has predict_proba.
        tags.classifier_tags = ClassifierTags(multi_class=True)
        return tags
