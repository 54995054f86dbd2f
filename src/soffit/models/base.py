"""The base of all estimators."""

from __future__ import annotations

import inspect
import warnings
from copy import copy
from dataclasses import dataclass
from functools import cache, partial
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
from threadpoolctl import ThreadpoolController, threadpool_limits

from soffit._threads import thread_limit
from soffit._typing import FloatArray, IntArray
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
from soffit.affinity import Settings
from soffit.affinity.objects import as_table, read_objects
from soffit.fitting.data import Constraints
from soffit.fitting.fitted import Fitted
from soffit.fitting.monitor import Progress, warn_unless_converged
from soffit.fitting.recipe import Data, Recipe
from soffit.fitting.run import run
from soffit.inputs import read_input

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


class SimilarityEstimator(NotebookSummary, PageWriter, BaseEstimator):
    """What clusterings and classifiers share: one way to fit, publish and place new objects.

    A model is a composition: its constructor assigns, `_recipe` says which steps a fit takes.
    `fit` runs the recipe into one frozen value and publishes it; nothing else writes to the model.
    """

    _rules: ClassVar[dict[str, Rule]] = {}
    # Which neighbours make an edge, and its weight.
    _keep: ClassVar[Literal["mutual", "union"]] = "mutual"
    _weights: ClassVar[Literal["overlap", "local", "binary"]] = "overlap"
    # Parameters, declared here for the type checker; every estimator's __init__ assigns them.
    affinity: Any
    metric: Any
    n_neighbors: int
    random_state: Any
    verbose: int | bool
    n_jobs: int | None
    _fitted: Fitted
    # Kinds and shapes of what a fit publishes; see `soffit.persistence.schema` for the words.
    _arrays: ClassVar[dict[str, str]] = {
        "n_features_in_": "size p",
        "feature_names_in_": "any? p",
        "object_names_": "any? n",
    }

    def _recipe(self) -> Recipe[Any]:
        raise TypeError("a model must define _recipe")

    # --- fit -----------------------------------------------------------------------------------

    def _fit(self, X: Any, constraints: Constraints | None = None, y: Any = None) -> Self:
        """What every `fit` does; models that take more than X pass it on."""
        check_parameters(type(self).__name__, self.get_params(deep=False), self._rules)
        progress = self._progress()
        warm = vars(self).get("_fitted") if getattr(self, "warm_start", False) else None
        # One thread for BLAS: the same bytes on any machine. Own loops use `n_jobs` threads.
        with progress, threadpool_limits(limits=1), thread_limit(self.n_jobs):
            data = self._read(X, constraints or Constraints(), y)
            seeds = check_random_state(self.random_state)
            fitted = run(self._recipe(), data, seeds, progress, warm=warm)
        self._publish(fitted)
        warn_unless_converged(self, fitted.stopped, fitted.n_iter, depth=3)
        return self

    def _publish(self, fitted: Fitted) -> None:
        """Replace everything that an earlier fit has left."""
        kept = {*self._get_param_names(), "_fitted"}
        for name in [name for name in vars(self) if name.endswith("_") and name not in kept]:
            delattr(self, name)
        self._fitted = fitted
        for name, value in fitted.attributes.items():
            setattr(self, name, value)

    def _progress(self) -> Progress:
        return Progress(
            type(self).__name__,
            int(self.verbose),
            max_iter=getattr(self, "max_iter", None),
            tol=getattr(self, "tol", 0.0),
            callback=getattr(self, "callback", None),
            max_time=getattr(self, "max_time", None),
        )

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

    def _read(self, X: Any, constraints: Constraints, y: Any) -> Data:
        """Read and check what was passed to `fit`, without a trace in the model."""
        # scikit-learn's check writes down the columns; it may do so in a copy only.
        scratch = copy(self)
        objects = read_objects(
            X,
            affinity=self.affinity,
            settings=self._settings(),
            check=partial(_validated, scratch, reset=True),
        )
        if not objects.is_matrix and _is_symmetric(objects.table):
            n = objects.n_objects
            warnings.warn(
                f"X is a symmetric {n} x {n} matrix, but affinity={self.affinity!r} reads its "
                "rows as features. Pass affinity='precomputed' if it holds similarities, "
                "metric='precomputed' if it holds distances.",
                UserWarning,
                stacklevel=4,
            )
        return Data(objects, constraints, columns=read_columns(scratch))

    # --- new objects ---------------------------------------------------------------------------

    def _place(self, X: Any) -> FloatArray:
        """Probabilities of new objects."""
        table = self._new_table(X)
        with blas_on_one_thread(), thread_limit(self.n_jobs):
            return self._fitted.place(table)

    def _new_table(self, X: Any) -> Any:
        return as_table(read_input(X).data, partial(_validated, self, reset=False))

    # --- scikit-learn --------------------------------------------------------------------------

    def _names(self, parameter: str, value: str) -> bool:
        """Whether a parameter, which may be any object, is this text."""
        given = getattr(self, parameter, None)
        return isinstance(given, str) and given == value

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._names("affinity", "precomputed") or self._names(
            "metric", "precomputed"
        )
        return tags


class SimilarityClustering(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, SimilarityEstimator
):
    """Base of all clusterings."""

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
    _arrays = SimilarityEstimator._arrays | {
        "memberships_": "finite n k",
        "n_clusters_": "size k",
        "labels_": "int n <k",
        "entropy_": "finite n",
        "factor_": "finite n k",
        "scale_": "finite k",
        "affinity_matrix_": "matrix n n",
        "neighbor_recall_": "float?",
        "side_information_": "part? n",
        "objective_": "float",
        "objective_history_": "float *",
        "n_iter_": "int",
        "converged_": "bool",
        "stopped_": "text?",
        "k_choice_": "part?",
        "_fitted": "part place() n p? k",
    }
    # Parameters, declared here for the type checker; every model's __init__ assigns them.
    n_clusters: Any
    max_iter: int
    tol: float
    max_time: float | None
    callback: Any
    warm_start: bool
    # Published by `fit`.
    memberships_: FloatArray
    labels_: IntArray
    n_clusters_: int

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the objects.

        If `max_time`, the `callback` or Ctrl-C stops the fit, the best solution so far is kept and
        a warning is issued; `converged_` is then False and `stopped_` names the reason. Before the
        first iteration of a solver there is nothing to keep: time and callback end the fit after
        that iteration, and Ctrl-C at once, with a KeyboardInterrupt. So does a second Ctrl-C at
        any time. A fit that fails leaves the model as it was.

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
        return np.asarray(self._place(X), dtype=self.memberships_.dtype)

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

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> FloatArray:
        """Cluster the objects and return their memberships, as `set_output` asks.

        Parameters
        ----------
        X : table, matrix or graph
            As for `fit`.
        y : None
            Not used.
        **fit_params
            What else the model's `fit` takes.

        Returns
        -------
        ndarray of shape (n, k)
            `memberships_`.
        """
        return self._with_names(self.fit(X, **fit_params).memberships_, X)

    def fit_predict_proba(self, X: Any, y: Any = None, **fit_params: Any) -> FloatArray:
        """Cluster the objects and return their memberships.

        Parameters
        ----------
        X : table, matrix or graph
            As for `fit`.
        y : None
            Not used.
        **fit_params
            What else the model's `fit` takes.

        Returns
        -------
        ndarray of shape (n, k)
            `memberships_`.
        """
        return self.fit(X, **fit_params).memberships_

    def score(self, X: Any, y: Any = None) -> float:
        r"""Share of the squared affinities of new objects that the fitted factor explains.

        With b the normalized affinities of a new object to the fitted ones, w its row in the factor
        and V the profiles of the clusters (the columns of the fitted factor, scaled), it is

        .. math:: \sum_i \frac{(b_i^\top V w_i)^2}{\|V w_i\|^2} \Big/ \sum_i \|b_i\|^2,

        between 0 and 1; larger is better. On held-out objects it serves model selection tools such
        as scikit-learn's `GridSearchCV`. It compares settings of one model that leave the
        affinities as they are; scores of different affinities are about different matrices.

        Parameters
        ----------
        X : table, or block of shape (m, n)
            As for `predict_proba`.
        y : None
            Not used.

        Returns
        -------
        float
            The share.
        """
        check_is_fitted(self, "memberships_")
        table = self._new_table(X)
        with blas_on_one_thread(), thread_limit(self.n_jobs):
            return self._fitted.explained(table)

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

    @property
    def _n_features_out(self) -> int:
        return self.n_clusters_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        # scikit-learn's checks read these of everything that has predict_proba.
        tags.classifier_tags = ClassifierTags(multi_class=True)
        return tags


def read_columns(checked: Any) -> dict[str, Any]:
    """What scikit-learn's check has written down about the columns."""
    names = ("n_features_in_", "feature_names_in_")
    return {name: getattr(checked, name) for name in names if name in vars(checked)}


@cache
def _blas() -> ThreadpoolController:
    """The loaded BLAS libraries: finding them takes longer than placing a few objects."""
    return ThreadpoolController()


def blas_on_one_thread() -> Any:
    """A context in which BLAS uses one thread, so that bytes are the same on any machine."""
    return _blas().limit(limits=1)


def _validated(estimator: Any, data: Any, *, reset: bool) -> Any:
    return validate_data(
        estimator, data, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32]
    )


def _is_symmetric(table: Any) -> bool:
    n, d = table.shape
    if n != d or n < 3:
        return False
    if isinstance(table, sp.csr_array):
        return bool(abs(table - table.T).max() == 0)
    return bool(np.array_equal(table, table.T))
