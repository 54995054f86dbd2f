"""The base of all estimators."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from copy import copy
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils import ClassifierTags, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from soffit._parameters import (
    Function,
    Number,
    OneOf,
    OrNone,
    Rule,
    TextOrFunction,
    WholeNumber,
    check_parameters,
    current_names,
    warn_of_former_name,
)
from soffit._threads import OutOfTime, one_blas_thread, thread_limit, without_warnings
from soffit._typing import FloatArray, IntArray
from soffit._wording import Message, Parameter, first_few
from soffit.affinity import Settings
from soffit.affinity.given_objects import (
    GOWER,
    Objects,
    Standardize,
    as_table,
    column_names,
    is_matrix_affinity,
    read_objects,
)
from soffit.affinity.mixed_table import MixedPreparation
from soffit.exceptions import EmptyClusterWarning
from soffit.fitting.data import Constraints, Data, read_columns
from soffit.fitting.fitted import Fitted, with_surroundings
from soffit.fitting.monitor import FitEvent as FitEvent  # noqa: PLC0414 - public in soffit.models
from soffit.fitting.monitor import Progress, Tasks, has_callbacks, warn_unless_converged, with_tasks
from soffit.fitting.recipe import Recipe, run
from soffit.inputs import check_columns, lazy_part, read_input, read_new_objects, weights_of_source
from soffit.memberships.assignment import UNASSIGNED, assigned, check_share
from soffit.mixed_columns import MixedTable
from soffit.models.curated import Curated
from soffit.models.of_blocks import OfBlocks

if TYPE_CHECKING:
    from typing_extensions import Self


class SimilarityEstimator(OfBlocks, BaseEstimator):
    """Shared base of clusterings and classifiers: fit, publish, place new objects.

    A model is a composition: its constructor only assigns, and `_recipe` names the steps of a fit.
    `fit` runs the recipe into one frozen value and publishes it; nothing else writes to the model.
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "metric": TextOrFunction(),
        "n_neighbors": WholeNumber(1),
        "standardize": OneOf(("auto", True, False)),
        "max_time": OrNone(Number(0.0, strict=True)),
        "verbose": Number(0.0),
        "callback": OrNone(Function()),
        "n_jobs": OrNone(WholeNumber(-(2**15))),
    }
    # Which neighbours form an edge, and how it is weighted.
    _keep: ClassVar[Literal["mutual", "union"]] = "mutual"
    _weights: ClassVar[Literal["overlap", "local", "binary"]] = "overlap"
    # Parameters, declared here for the type checker; every estimator's __init__ assigns them.
    affinity: Any
    metric: Any
    n_neighbors: int
    standardize: Standardize
    random_state: Any
    verbose: int | bool
    n_jobs: int | None
    # Kinds and shapes of what a fit publishes; see `soffit.persistence.schema` for the words.
    _arrays: ClassVar[dict[str, str]] = {
        "n_features_in_": "size p",
        "feature_names_in_": "any? p",
        "object_names_": "any? n",
    }

    # Former names of parameters and attributes, which still work with a warning.
    _renamed: ClassVar[dict[str, str]] = {"stopped_": "stop_reason_"}

    def set_params(self, **params: Any) -> Self:
        """Set parameters of this estimator; see scikit-learn's `BaseEstimator.set_params`.

        Parameters
        ----------
        **params
            Parameters by name, those of a nested affinity as ``affinity__n_neighbors``.

        Returns
        -------
        self
            The estimator.
        """
        return super().set_params(**current_names(params, self._renamed, depth=2))

    def __getattr__(self, name: str) -> Any:
        renamed = type(self)._renamed
        if name not in renamed or renamed[name] not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        warn_of_former_name(name, renamed[name], depth=2)
        return vars(self)[renamed[name]]

    def _recipe(self) -> Recipe[Any]:
        raise TypeError("a model must define _recipe")

    # --- fit -----------------------------------------------------------------------------------

    def _fit(self, X: Any, constraints: Constraints | None = None, y: Any = None) -> Self:
        """The body of every `fit`; models that take more than X pass it on."""
        check_parameters(type(self).__name__, self.get_params(deep=False), self._rules)
        fit = partial(self._run, X, constraints or Constraints(), y)
        has_tasks = bool(getattr(self, "_skl_callbacks", None))
        fitted = with_tasks(self, X, y, fit) if has_tasks else fit(None)
        warn_unless_converged(self, fitted.stopped, fitted.n_iter, depth=3)
        warn_of_empty_clusters(self, fitted.attributes, depth=3)
        return self

    def _run(self, X: Any, constraints: Constraints, y: Any, tasks: Tasks | None) -> Fitted:
        """Run the recipe and publish what it finds."""
        if lazy_part(X) is not None:
            return self._run_on_blocks(X, constraints, tasks)
        warm = vars(self).get("_fitted") if getattr(self, "warm_start", False) else None
        if warm is not None and "factor_" not in warm.attributes:
            # Clusters that were merged or split by hand are no start: a fit starts afresh.
            warm = None
        with self._working(tasks) as progress:
            data = self._read(X, constraints, y)
            self._warn_of_matrix(data.objects)
            seeds = check_random_state(self.random_state)
            with thread_limit(self._n_jobs_for(data)):
                fitted = run(self._recipe(), data, seeds, progress, warm=warm)
                # They are computed when they are needed, if there is no time for them now.
                fitted = progress.attempt(lambda: with_surroundings(fitted)) or fitted
        self._publish(fitted)
        return fitted

    def _n_jobs_for(self, data: Data) -> int | None:
        """Number of threads for these objects."""
        return self.n_jobs

    def _warn_of_matrix(self, objects: Objects) -> None:
        """Point out a symmetric matrix that is read as a table."""
        if objects.builder is None or objects.is_matrix or not _is_symmetric(objects.table):
            return
        n = objects.n_objects
        warnings.warn(
            f"X is a symmetric {n} x {n} matrix, but affinity={self.affinity!r} reads its rows as "
            "features. Pass affinity='precomputed' if it holds similarities, metric='precomputed' "
            "if it holds distances.",
            UserWarning,
            stacklevel=5,
        )

    def _publish(
        self, fitted: Fitted, of_all: Mapping[str, Any] | None = None, blocks: Any = None
    ) -> None:
        """Replace all attributes of an earlier fit.

        `of_all` are those of all objects in some blocks, if only some of them were fitted.
        """
        self.__dict__.pop("_blocks", None)
        if blocks is not None:
            self._blocks = blocks
        kept = {*self._get_param_names(), "_fitted"}
        for name in [name for name in vars(self) if name.endswith("_") and name not in kept]:
            delattr(self, name)
        self._fitted = fitted
        for name, value in {**fitted.attributes, **(of_all or {})}.items():
            setattr(self, name, value)

    def __copy__(self) -> Self:
        model = type(self).__new__(type(self))
        model.__dict__.update(vars(self))
        return model

    @contextmanager
    def _working(self, tasks: Tasks | None = None) -> Iterator[Progress]:
        """The context of a fit: its progress, and the threads that it may use."""
        progress = Progress(
            type(self).__name__,
            int(self.verbose),
            callback=getattr(self, "callback", None),
            max_time=getattr(self, "max_time", None),
            tasks=tasks,
        )
        # One BLAS thread: the same bytes on any machine. Our own loops use `n_jobs` threads.
        with progress, one_blas_thread(), thread_limit(self.n_jobs):
            try:
                yield progress
            except OutOfTime:
                raise progress.out_of_time() from None

    @available_if(lambda self: has_callbacks())
    def set_callbacks(self, *callbacks: Any) -> Self:
        """Set callbacks of scikit-learn, such as `sklearn.callback.ProgressBar`.

        They are told of the fit as a whole, of its phases, and of the iterations of every search.
        If one of them returns True at the end of an iteration, the fit stops as if `callback` had
        returned True. Needs scikit-learn 1.9 or later.

        Parameters
        ----------
        *callbacks : callback
            Objects that follow the protocol `sklearn.callback.FitCallback`. Without any, those
            that were set before are removed.

        Returns
        -------
        self
            The estimator.
        """
        from sklearn.callback import CallbackSupportMixin

        model: Self = CallbackSupportMixin.set_callbacks(self, *callbacks)
        return model

    def _settings(self) -> Settings:
        """The parameters that concern affinities."""
        return Settings(
            metric=self.metric,
            n_neighbors=self.n_neighbors,
            relative_neighbor=self.n_neighbors,
            keep=self._keep,
            weights=self._weights,
            standardize=self.standardize,
            n_jobs=self.n_jobs,
        )

    def _read(self, X: Any, constraints: Constraints, y: Any) -> Data:
        """Read and check the arguments of `fit` without changing the model."""
        weights = weights_of_source(X)
        if weights is not None and constraints.sample_weight is None:
            if not has_fit_parameter(self, "sample_weight"):
                raise ValueError(
                    Message(
                        f"{type(self).__name__} does not support weights of objects. Leave out ",
                        *(Parameter("sample_weight"), ", or use SoftClustering."),
                    )
                )
            constraints = replace(constraints, sample_weight=weights)
        # scikit-learn's check records the columns on the estimator: let it do so on a copy.
        scratch = copy(self)
        objects = read_objects(
            X,
            affinity=self.affinity,
            settings=self._settings(),
            check=partial(_validated, scratch, reset=True),
        )
        return Data(objects, constraints, columns=read_columns(scratch, objects.columns))

    # --- new objects ---------------------------------------------------------------------------

    def novelty_score(self, X: Any = None) -> FloatArray:
        r"""How far outside everything seen objects lie.

        Memberships say to which cluster an object belongs, if it belongs to any. They are silent
        about an object that is like nothing seen before: it is placed in the nearest cluster, often
        with certainty. The novelty tells. It compares an object's distance to its 7th neighbour
        with the same distances of its neighbours, and is 1 minus the share of fitted objects that
        are at least as isolated, each compared with the others. Beyond the most isolated fitted
        object the share is continued by a power law.

        About 1 % of new objects that are like the fitted ones have a novelty of 0.99 or more.

        Parameters
        ----------
        X : table, or block of shape (m, n), optional
            New objects, as for `predict_proba`. By default the fitted objects.

        Returns
        -------
        ndarray of shape (m,)
            Between 0 and 1, in double precision; larger is farther outside.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the model is not fitted.
        ValueError
            If the model knows neither distances nor similarities of pairs, as `HigherOrder`.

        Examples
        --------
        >>> from soffit import SoftClustering
        >>> from soffit.datasets import make_gaussians
        >>> X, labels, posterior = make_gaussians(300, n_clusters=3, random_state=7)
        >>> model = SoftClustering(n_clusters=3, random_state=7).fit(X)
        >>> far = [[60.0, 0.0]]
        >>> bool(model.predict_proba(far).max() > 0.99), model.novelty_score(far).round(6)
        (True, array([1.]))
        >>> int((model.novelty_score() >= 0.99).sum())
        3
        """
        check_is_fitted(self)
        if not self._fitted.knows_novelty:
            raise ValueError(
                f"This {type(self).__name__} cannot tell how novel objects are: it knows no "
                "distances or similarities of pairs. Use a model of pairs, such as SoftClustering."
            )
        if lazy_part(X) is not None:
            return self._place_blocks(X, "novelty")
        table = None if X is None else self._new_table(X)
        with one_blas_thread(), thread_limit(self.n_jobs):
            return self._fitted.novelty(table)

    def _place(self, X: Any, dtype: Any) -> FloatArray:
        """Probabilities of new objects; of a collection of blocks as a Dask array."""
        if lazy_part(X) is not None:
            placed: FloatArray = self._place_blocks(X, "memberships")
            return placed
        table = self._new_table(X)
        with one_blas_thread(), thread_limit(self.n_jobs):
            placed = self._fitted.place(table).astype(dtype, copy=False)
            return placed

    def _check_places(self) -> None:
        if self._fitted.placer is None:
            raise TypeError(
                "This model was fitted to a graph in blocks and places no new objects. Fit the "
                "graph together with their edges."
            )

    def _new_table(self, X: Any) -> Any:
        self._check_places()
        preparation = self._fitted.preparation
        if isinstance(preparation, MixedPreparation):
            return self._new_mixed_table(X, preparation)
        affinity = getattr(self._fitted.placer, "affinity", None)
        takes_matrix = affinity is not None and is_matrix_affinity(affinity)
        given = read_new_objects(X, self.n_features_in_, takes_matrix=takes_matrix)
        check_columns(self, given.columns)
        # Names that come apart from the table have just been compared.
        compared = given.columns is not None
        known = without_warnings(UserWarning, "X does not have valid feature names")
        with known if compared else nullcontext():
            return as_table(given.data, partial(_validated, self, reset=False), new=True)

    def _new_mixed_table(self, X: Any, preparation: MixedPreparation) -> Any:
        """Numbers and codes of new objects; categories that were not fitted are new ones."""
        mixed = MixedTable.of(X)
        names = column_names(mixed)
        check_columns(self, names)
        with without_warnings(UserWarning, "X does not have valid feature names"):
            values = _validated(self, mixed.values, reset=False, gaps=True)
        return replace(mixed, values=values).coded_as(preparation.columns)

    def _further_table(self, X: Any) -> tuple[Any, NDArray[Any] | None]:
        """Objects to add, checked, and their names: of a matrix, rows that include their own."""
        placer: Any = self._fitted.placer
        if isinstance(self._fitted.preparation, MixedPreparation):
            return self._new_table(X), MixedTable.of(X).names
        names = read_input(X).names
        if not is_matrix_affinity(placer.affinity):
            return self._new_table(X), names
        scratch = copy(self)
        table = as_table(read_input(X).data, partial(_validated, scratch, reset=True), new=True)
        n, m = self.n_features_in_, table.shape[0]
        if table.shape[1] != n + m:
            raise ValueError(
                f"X must have n + m = {n} + {m} columns, one for each of the n known objects and "
                f"one for each of the m new ones, got {table.shape[1]}: similarities or distances "
                "between new objects tell whether they form clusters of their own."
            )
        return table, None if names is None or len(names) != m else names

    # --- description ---------------------------------------------------------------------------

    def report(self, path: Any, X: Any = None, **options: Any) -> None:
        """Write one self-contained HTML page about the fitted model.

        The page describes the clusters in words and figures, warns where the result is unreliable,
        lists all objects in a sortable and searchable table, and shows how to reproduce the result.
        It works offline.

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
            If rows, identifiers or labels do not match the number of objects.

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
        # `report` is a higher layer than `models`: import it by name, here and nowhere else, so
        # that no import statement points upwards.
        write = import_module("soffit.report").write_report
        if "sample_indices_" not in vars(self):
            write(path, self, X=X, **options)
            return
        found, more = self._shown_sample(X)
        write(path, found, **{**more, **options})

    # The summary of `soffit.results` takes the place of scikit-learn's diagram;
    # ``sklearn.set_config(display="text")`` turns it off, like the diagram. Inside a pipeline the
    # model is drawn as part of the pipeline's diagram.
    def _html_repr(self) -> str:
        from soffit.results.notebook import summary_html

        return summary_html(self)

    # scikit-learn before 1.7 does not use `_html_repr`.
    def _repr_html_inner(self) -> str:
        return self._html_repr()

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        bundle = {"text/plain": repr(self)}
        if get_config()["display"] == "diagram":
            bundle["text/html"] = self._html_repr()
        return bundle

    # --- scikit-learn --------------------------------------------------------------------------

    def _is_set_to(self, parameter: str, value: str) -> bool:
        """Whether a parameter, which may be any object, equals this string."""
        given = getattr(self, parameter, None)
        return isinstance(given, str) and given == value

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        is_mixed = self._is_set_to("metric", GOWER)
        tags.input_tags.sparse = not is_mixed
        tags.input_tags.allow_nan = is_mixed
        tags.input_tags.string = tags.input_tags.categorical = is_mixed
        tags.input_tags.pairwise = self._is_set_to("affinity", "precomputed") or self._is_set_to(
            "metric", "precomputed"
        )
        return tags


class SimilarityClustering(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, Curated, SimilarityEstimator
):
    """Base of all clusterings."""

    _rules = SimilarityEstimator._rules | {
        "n_clusters": OrNone(WholeNumber(1)),
        "max_clusters": OrNone(WholeNumber(1)),
        "max_iter": WholeNumber(1),
        "tol": Number(0.0),
        "warm_start": OneOf((True, False)),
    }
    _arrays = SimilarityEstimator._arrays | {
        "memberships_": "probabilities n k",
        "n_clusters_": "size k",
        "labels_": "int n <k",
        "entropy_": "finite n",
        # Those of the fit itself; a model whose clusters were merged or split has none.
        "copies_": "index? n <m",
        "factor_": "affinities? m k",
        "scale_": "finite? k",
        "affinity_matrix_": "affinities m m",
        "neighbor_recall_": "float?",
        "side_information_": "part? :SideInformation n",
        "objective_": "float",
        "objective_history_": "float *",
        "n_iter_": "natural",
        "converged_": "bool",
        "stop_reason_": "text?",
        "k_choice_": "part? :KChoice",
        "cluster_names_": "any? k",
        "curation_": "any? *",
        "_fitted": "part :Fitted n=m p? k",
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

        If `max_time`, the `callback` or Ctrl-C stops the fit, the best solution so far is kept, the
        remaining steps are shortened and a warning is issued; `converged_` is then False and
        `stop_reason_` gives the reason. Before the first partition there is nothing to keep: Ctrl-C
        raises KeyboardInterrupt, as a second Ctrl-C does at any time; and with more than some
        thousand objects, a fit that has no partition when `max_time` is over by a few tenths of a
        second and 5 % raises a ValueError. With fewer objects a time limit takes effect after the
        first iteration. The time for compiling kernels, once after an installation, does not count.
        A fit that fails leaves the model unchanged.

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

        Each new object solves the fitted problem for its own row, from its affinities to the fitted
        objects, with the fitted scales and degree correction.

        Parameters
        ----------
        X : table, or block of shape (m, n)
            New objects with the features of the fitted ones; for precomputed similarities or
            distances (and for graphs), the block between the new and the fitted objects.

        Returns
        -------
        ndarray or csr_array of shape (m, k)
            Rows sum to one. In the form of `memberships_`, see there.
        """
        check_is_fitted(self, "memberships_")
        return self._place(X, self.memberships_.dtype)

    def predict(
        self, X: Any, *, min_certainty: float | None = None, max_novelty: float | None = None
    ) -> IntArray:
        """The most probable cluster of each new object.

        Parameters
        ----------
        X : table, or block of shape (m, n)
            As for `predict_proba`.
        min_certainty : float, optional
            An object whose largest membership is below it is assigned to no cluster: -1.
        max_novelty : float, optional
            An object whose `novelty_score` is above it is assigned to no cluster: -1. A value of
            0.99 refuses about one in a hundred objects that are like the fitted ones.

        Returns
        -------
        ndarray of shape (m,)
            Cluster numbers, -1 for none.

        Examples
        --------
        >>> from soffit import SoftClustering
        >>> from soffit.datasets import make_moons
        >>> X, labels, posterior = make_moons(300, random_state=7)
        >>> model = SoftClustering(n_clusters=2, random_state=7).fit(X)
        >>> far = [[40.0, 0.0]]
        >>> bool(model.predict_proba(far).max() > 0.99), model.predict(far, max_novelty=0.99)
        (True, array([-1]))
        """
        # Checked first: memberships may take long.
        check_share("min_certainty", min_certainty)
        check_share("max_novelty", max_novelty)
        if lazy_part(X) is not None:
            check_is_fitted(self, "memberships_")
            options = {"min_certainty": min_certainty, "max_novelty": max_novelty}
            found: IntArray = self._place_blocks(X, "labels", **options)
            return found
        labels = assigned(self.predict_proba(X), min_certainty=min_certainty)
        if max_novelty is not None:
            labels[self.novelty_score(X) > max_novelty] = UNASSIGNED
        return labels

    def transform(self, X: Any) -> FloatArray:
        """Memberships as features, for pipelines; same as `predict_proba`.

        Sparse memberships, those of `SoftClustering` with more than 150 clusters, cannot be put
        into a data frame by `set_output`.

        Parameters
        ----------
        X : table, or block of shape (m, n)
            As for `predict_proba`.

        Returns
        -------
        ndarray or csr_array of shape (m, k)
            Rows sum to one. In the form of `memberships_`, see there.
        """
        return self._with_names(self.predict_proba(X), X)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> FloatArray:
        """Cluster the objects and return their memberships, in the container set by `set_output`.

        Parameters
        ----------
        X : table, matrix or graph
            As for `fit`.
        y : None
            Not used.
        **fit_params
            Further arguments of `fit`.

        Returns
        -------
        ndarray or csr_array of shape (n, k)
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
            Further arguments of `fit`.

        Returns
        -------
        ndarray or csr_array of shape (n, k)
            `memberships_`.
        """
        return self.fit(X, **fit_params).memberships_

    def score(self, X: Any, y: Any = None) -> float:
        r"""Share of the squared affinities of new objects that the fitted factor explains.

        With b the normalized affinities of a new object to the fitted ones, w its row in the factor
        and V the profiles of the clusters (the columns of the fitted factor, scaled), it is

        .. math:: \sum_i \frac{(b_i^\top V w_i)^2}{\|V w_i\|^2} \Big/ \sum_i \|b_i\|^2,

        between 0 and 1; larger is better. Evaluate it on held-out objects, for example in
        scikit-learn's `GridSearchCV`. Scores are comparable only between settings that leave the
        affinities unchanged.

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
        with one_blas_thread(), thread_limit(self.n_jobs):
            return self._fitted.explained(table)

    def _with_names(self, rows: FloatArray, X: Any) -> Any:
        """The rows, as a frame with the names of nodes or cells if frames are configured.

        scikit-learn would index the frame like the input frame; it leaves an existing frame
        unchanged.
        """
        of_this = getattr(self, "_sklearn_output_config", {})
        wanted = of_this.get("transform", get_config()["transform_output"])
        if wanted != "pandas" or hasattr(X, "iloc"):
            return rows
        is_mixed = isinstance(self._fitted.preparation, MixedPreparation)
        names = MixedTable.of(X).names if is_mixed else read_input(X).names
        if names is None:
            return rows
        import pandas as pd

        # Names may be tuples; keep them as plain names, not as levels of a MultiIndex.
        return pd.DataFrame(rows, index=pd.Index(names, tupleize_cols=False))

    @property
    def _n_features_out(self) -> int:
        return self.n_clusters_

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns of `transform`: class and number, or the names of clusters.

        Parameters
        ----------
        input_features : None
            Not used.

        Returns
        -------
        ndarray of str
            One name per cluster.
        """
        numbered = super().get_feature_names_out(input_features)
        names = vars(self).get("cluster_names_")
        if names is None:
            return numbered
        given = [str(name) for name in names]
        is_number = [name == str(number) for number, name in enumerate(given)]
        return np.asarray(np.where(is_number, numbered, given), dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        # scikit-learn's checks read these tags of every estimator with predict_proba.
        tags.classifier_tags = ClassifierTags(multi_class=True)
        return tags


class WeightedClustering(SimilarityClustering):
    """Base of clusterings whose objects may have weights."""

    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self:
        """Cluster the objects.

        If `max_time`, the `callback` or Ctrl-C stops the fit, the best solution so far is kept and
        a warning is issued; see `SoftClustering`. A fit that fails leaves the model unchanged.

        Parameters
        ----------
        X : table, matrix or graph
            Features (NumPy, pandas, polars, SciPy sparse), similarities with
            ``affinity="precomputed"``, distances with ``metric="precomputed"``, a networkx or
            igraph graph, or an AnnData object.
        y : None
            Not used.
        sample_weight : array of shape (n,), optional
            Positive weights of the objects: one of weight 3 counts like three equal ones. Only
            their ratios matter.

        Returns
        -------
        self
            The fitted model.
        """
        return self._fit(X, Constraints(sample_weight=sample_weight))


def warn_of_empty_clusters(model: Any, attributes: Mapping[str, Any], depth: int) -> None:
    """Say which clusters have no objects, if any."""
    labels = attributes.get("labels_")
    if labels is None:
        return
    k = int(attributes["n_clusters_"])
    empty = np.flatnonzero(np.bincount(labels, minlength=k) == 0)
    if len(empty) == 0:
        return
    which = f"{'number' if len(empty) == 1 else 'numbers'} {first_few(empty)}"
    used = k - len(empty)
    warnings.warn(
        EmptyClusterWarning(
            Message(
                f"{type(model).__name__} found {used} of {k} clusters; no object belongs mainly to "
                f"{which}. Pass ",
                Parameter("n_clusters", used),
                ", or another ",
                Parameter("random_state"),
                ".",
            )
        ),
        stacklevel=depth + 1,
    )


def _validated(estimator: Any, data: Any, *, reset: bool, gaps: bool = False) -> Any:
    return validate_data(
        estimator,
        data,
        reset=reset,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        ensure_all_finite="allow-nan" if gaps else True,
    )


def _is_symmetric(table: Any) -> bool:
    n, d = table.shape
    if n != d or n < 3:
        return False
    if isinstance(table, sp.csr_array):
        return bool(abs(table - table.T).max() == 0)
    return bool(np.array_equal(table, table.T))
