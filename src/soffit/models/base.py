"""The base of all estimators."""

from __future__ import annotations

import inspect
import warnings
from dataclasses import dataclass
from html import escape
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
        from soffit.report import write_report

        write_report(path, self, X=X, **options)


# An object whose most probable cluster has less than this is between clusters.
UNCERTAIN_BELOW = 0.6
_MOST_ROWS = 20
_LONGEST_VALUE = 48
_LONGEST_NAME = 40

# Why a fit ended, where more iterations would not have helped.
_REASONS = {
    "max_time": ", when the time was over",
    "callback": ", when the callback asked to stop",
    "interrupted": ", when it was interrupted",
}

# Greys are shades of the page's own text, so that light and dark pages both work.
_STYLE = """<style>
.soffit-summary{display:inline-block;max-width:46em;padding:.6em .9em;font-size:13px;
line-height:1.5;border:1px solid rgba(128,128,128,.35);border-radius:6px;
color:inherit;background:transparent}
.soffit-summary code{font-size:12px;padding:0 .35em;border-radius:4px;color:inherit;
background:rgba(128,128,128,.15)}
.soffit-summary table{border-collapse:collapse;margin:.5em 0 0;border:0;color:inherit;
font-size:inherit}
.soffit-summary th,.soffit-summary td{padding:.1em .9em .1em 0;text-align:left;border:0;
background:transparent;color:inherit;font-variant-numeric:tabular-nums}
.soffit-summary th{font-weight:600;border-bottom:1px solid rgba(128,128,128,.35)}
.soffit-summary .bar{display:inline-block;width:7em;height:.7em;margin-right:.5em;
border-radius:2px;background:rgba(128,128,128,.18)}
.soffit-summary .bar span{display:block;height:100%;border-radius:2px;background:#2f83c5}
.soffit-summary .bar.sure span{background:#1f9e77}
.soffit-summary .bar.lasting span{background:#c77d0a}
.soffit-summary .quiet{opacity:.7}
</style>"""


class NotebookSummary:
    """Gives an estimator the summary in place of scikit-learn's diagram.

    ``sklearn.set_config(display="text")`` turns it off as it does the diagram; inside a pipeline
    the model is drawn as a part of the pipeline's diagram.
    """

    def _html_repr(self) -> str:
        return summary_html(self)

    # scikit-learn before 1.7 does not ask `_html_repr`.
    def _repr_html_inner(self) -> str:
        return self._html_repr()

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        bundle = {"text/plain": repr(self)}
        if get_config()["display"] == "diagram":
            bundle["text/html"] = self._html_repr()
        return bundle


def summary_html(model: Any) -> str:
    """A model as a small piece of HTML that needs nothing else.

    Parameters
    ----------
    model : estimator
        Any model of soffit, fitted or not.

    Returns
    -------
    str
        HTML below 20 kB. All names and values in it are escaped.

    Examples
    --------
    >>> from soffit import SoftClustering
    >>> from soffit.models.base import summary_html
    >>> "n_clusters=3" in summary_html(SoftClustering(3))
    True
    """
    found = _Clusters.of(model)
    name = f"<b>{escape(type(model).__name__)}</b>"
    if found is None:
        lines = [f'{name} <span class="quiet">not fitted</span>', _parameters(model)]
        return _page(lines)
    n, k = found.shares.shape
    head = f"{name} {n:,} {_plural('object', n)} in {k:,} {_plural(found.what, k)}"
    return _page([head, _parameters(model), *_findings(model, found)], _table(found))


@dataclass(frozen=True, eq=False)
class _Clusters:
    """Clusters, or the classes of a classifier, and the objects' shares in them."""

    what: str
    names: list[str]
    shares: FloatArray
    stability: FloatArray | None

    @classmethod
    def of(cls, model: Any) -> _Clusters | None:
        """What a fitted model found; None if it is not fitted."""
        fitted = vars(model)
        if "label_distributions_" in fitted:
            names = [_cut(str(name), _LONGEST_NAME) for name in fitted["classes_"]]
            return cls("class", names, fitted["label_distributions_"], None)
        if "memberships_" not in fitted:
            return None
        shares = fitted["memberships_"]
        stability = fitted.get("cluster_stability_") if getattr(model, "resamples", 0) else None
        return cls("cluster", [str(c) for c in range(shares.shape[1])], shares, stability)

    @property
    def top(self) -> FloatArray:
        """The largest share of each object."""
        return self.shares.max(axis=1)

    def mean_certainty(self) -> FloatArray:
        """Mean top share of the objects in each cluster; NaN for one that nobody is in."""
        k = self.shares.shape[1]
        labels: IntArray = self.shares.argmax(axis=1)
        counts = np.bincount(labels, minlength=k)
        sums = np.bincount(labels, weights=self.top, minlength=k)
        return np.divide(sums, counts, out=np.full(k, np.nan), where=counts > 0)


# --- parts of the page ----------------------------------------------------------------------------


def _page(lines: list[str], table: str = "") -> str:
    body = "".join(f"<div>{line}</div>" for line in lines if line)
    return f'{_STYLE}<div class="soffit-summary">{body}{table}</div>'


def _parameters(model: Any) -> str:
    """The parameters that differ from their defaults."""
    signature = inspect.signature(type(model)).parameters
    shown = [
        f"<code>{escape(name)}={escape(_shown(value))}</code>"
        for name, value in model.get_params(deep=False).items()
        if name not in signature or _shown(value) != _shown(signature[name].default)
    ]
    return " ".join(shown) or '<span class="quiet">all parameters at their defaults</span>'


def _findings(model: Any, found: _Clusters) -> list[str]:
    """Sentences about the fit as a whole."""
    uncertain = float(np.mean(found.top < UNCERTAIN_BELOW))
    sentences = [
        _progress(model),
        f"{uncertain:.1%} of the objects are uncertain (largest membership below "
        f"{UNCERTAIN_BELOW:g}).",
    ]
    if found.stability is not None:
        sentences.append(f"Resamples agree on {model.agreement_:.1%} of the objects.")
    choice = vars(model).get("k_choice_")
    if choice is not None and model.n_clusters is None:
        sentences.append(
            f"The number of clusters was chosen, with confidence {choice.confidence:.2f}."
        )
    return [" ".join(sentence for sentence in sentences if sentence)]


def _progress(model: Any) -> str:
    converged = vars(model).get("converged_")
    if converged is None:
        return ""
    n_iter = model.n_iter_
    after = f"{n_iter:,} {_plural('iteration', n_iter)}"
    if converged:
        return f"Converged after {after}."
    reason = _REASONS.get(vars(model).get("stopped_", ""), "")
    return f"<b>Not converged</b> after {after}{reason}."


def _table(found: _Clusters) -> str:
    sizes = found.shares.sum(axis=0, dtype=np.float64)
    certainty = found.mean_certainty()
    k = len(sizes)
    # All in their order, or the largest ones by size.
    rows = np.arange(k) if k <= _MOST_ROWS else np.argsort(-sizes, kind="stable")[:_MOST_ROWS]
    titles = [found.what, "size", "certainty"] + ([] if found.stability is None else ["stability"])
    head = "".join(f"<th>{title}</th>" for title in titles)
    body = "".join(_row(found, int(row), sizes, certainty) for row in rows)
    more = ""
    if k > _MOST_ROWS:
        left = k - _MOST_ROWS
        rest = sizes.sum() - sizes[rows].sum()
        more = (
            f'<div class="quiet">The {_MOST_ROWS} largest. {left:,} more '
            f"{_plural(found.what, left)} hold {rest:,.1f} objects.</div>"
        )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _row(found: _Clusters, row: int, sizes: FloatArray, certainty: FloatArray) -> str:
    largest = max(float(sizes.max()), np.finfo(np.float64).tiny)
    cells = [
        escape(found.names[row]),
        _bar(sizes[row] / largest, f"{sizes[row]:,.1f}", "bar"),
        _bar(certainty[row], f"{certainty[row]:.2f}", "bar sure"),
    ]
    if found.stability is not None:
        cells.append(_bar(found.stability[row], f"{found.stability[row]:.2f}", "bar lasting"))
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _bar(share: float, text: str, kind: str) -> str:
    if not np.isfinite(share):
        return '<span class="quiet">nobody</span>'
    width = 100 * min(max(float(share), 0.0), 1.0)
    return f'<span class="{kind}"><span style="width:{width:.0f}%"></span></span>{text}'


def _plural(word: str, count: int) -> str:
    if count == 1:
        return word
    return f"{word}es" if word.endswith("s") else f"{word}s"


def _shown(value: Any) -> str:
    return _cut(" ".join(repr(value).split()), _LONGEST_VALUE)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


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
