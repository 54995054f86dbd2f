"""One summary of a clustering: the numbers that every output shows, by one set of rules.

Terminal, notebook, report, figures and JSON all read a `Summary`, so that they agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from soffit._typing import FloatArray, IntArray, Matrix, is_sparse
from soffit._wording import plural
from soffit.affinity import NeighborGraph, Precomputed
from soffit.affinity.given_objects import Standardizer, takes_matrix
from soffit.affinity.mixed_table import MixedPreparation
from soffit.inputs import lazy_part, read_attributes, read_input
from soffit.memberships import entropy
from soffit.memberships.measures import column, dense_rows, largest, top_clusters
from soffit.mixed_columns import MixedTable, is_missing
from soffit.results.differences import MOST_COLUMNS, ColumnMeans, Difference, telling_columns
from soffit.results.fit_quality import EarlyStop
from soffit.results.per_object import (
    cluster_names_of,
    from_resamples,
    is_estimator,
    memberships_of,
    probabilities,
)
from soffit.results.pixel_grid import PixelGrid
from soffit.selection import choose_k_of_graph
from soffit.selection.density import Density

# An object is uncertain if its largest membership is below this.
UNCERTAIN_BELOW = 0.6
# An object clearly belongs to a cluster if its largest membership is at least this.
CLEAR_FROM = 0.8


@dataclass(frozen=True)
class Cluster:
    """One row of the table of clusters."""

    cluster: int  # Column of the memberships.
    name: str  # Its name, or its number as text.
    size: int  # Number of objects whose most probable cluster it is.
    expected_size: float  # Sum of all memberships in it.
    certainty: float  # Mean largest membership of these objects; NaN if there are none.
    n_uncertain: int  # How many of them are uncertain.
    # The columns that set it apart, the largest difference first; attributes of nodes.
    apart: tuple[Difference, ...] = ()
    weight: float | None = None  # Sum of the weights of these objects; None without weights.

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "cluster": self.cluster,
            "name": self.name,
            "size": self.size,
            "expected_size": self.expected_size,
            "certainty": self.certainty,
            "n_uncertain": self.n_uncertain,
            "apart": [difference.as_dict() for difference in self.apart],
        } | ({} if self.weight is None else {"weight": self.weight})


@dataclass(frozen=True)
class Score:
    """A score against labels: what it is called, and what it means."""

    short: str
    name: str
    meaning: str


SCORES = {
    "accuracy": Score(
        "accuracy", "Accuracy", "share of objects whose cluster matches their label; 1 is perfect"
    ),
    "adjusted_rand": Score(
        "ARI", "Adjusted Rand index", "agreement on pairs of objects; 1 is perfect, 0 is chance"
    ),
    "nmi": Score("NMI", "Normalized mutual information", "shared information; 1 is perfect"),
    "brier": Score("Brier", "Brier score", "squared error of the memberships; 0 is perfect"),
    "calibration_error": Score(
        "ECE", "Expected calibration error", "gap between certainty and accuracy; 0 is perfect"
    ),
}


@dataclass(frozen=True, eq=False)
class Summary:
    """Memberships with all that is known about their objects, columns and origin.

    Use `Summary.of` to create one. Derived values are computed on first use.

    Examples
    --------
    >>> from soffit.results.summary import Summary
    >>> summary = Summary.of([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]])
    >>> summary.sizes.tolist(), summary.n_uncertain
    ([2, 1], 1)
    """

    memberships: Any  # an array, or in CSR form if there are very many clusters
    model: Any = None  # the fitted estimator; None for a result or an array
    source: Any = None  # the io.Source; None if the data were not read by soffit
    kind: str | None = None  # "table", "graph", "distances", "similarities"; None if not known
    overlap: FloatArray | None = None
    instability: FloatArray | None = None
    noun: str = "cluster"  # what a column of the memberships is called
    names: tuple[str, ...] = ()  # the columns of the memberships
    ids: tuple[str, ...] | None = None
    id_name: str = "id"
    truth: NDArray[np.str_] | None = None  # empty where an object's label is not known
    weights: FloatArray | None = None  # of the objects; None if they count alike
    table: Matrix | None = None
    columns: tuple[str, ...] = ()
    all_sizes: tuple[int, ...] = ()  # of all objects, if those described are a sample of them
    mixed: MixedTable | None = None  # text and gaps as they were clustered; `table` describes them
    origin: Any = None  # the graph or the annotated cells, with what else is known of the objects

    @classmethod
    def of(
        cls,
        model: Any,
        table: Any = None,
        *,
        source: Any = None,
        columns: Any = None,
        ids: Any = None,
        truth: Any = None,
        all_sizes: Any = (),
    ) -> Summary:
        """Summarize a fitted model, a result or an array of memberships.

        Parameters
        ----------
        model : fitted model, soffit.io.Result or array of shape (n, k)
            What to summarize.
        table : table or graph, optional
            The data that were clustered. Taken from the source by default.
        source : soffit.io.Source, optional
            The data as they were read from a file, with their names and notes.
        columns, ids, truth : sequence, optional
            Names of the columns and of the objects, and known labels. They take precedence over
            those of the source and of the model.
        all_sizes : sequence of int
            Sizes of the clusters among all objects, if the model is about a sample of them.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the model is not fitted.
        ValueError
            If the number of rows, identifiers or labels is not the number of objects.
        """
        if hasattr(model, "sample_indices_"):
            # Fitted to a collection of blocks, which is not brought here to describe it.
            model = model._in_memory()
        memberships = probabilities(memberships_of(model))
        n, k = memberships.shape
        mixed = _mixed_table(model, source, table)
        origin = getattr(source, "origin", None) if table is None else table
        given = None if table is None or mixed is not None else read_input(table)
        if mixed is not None:
            features: Matrix | None
            found_columns: Sequence[str] | None
            features, found_columns = mixed.expanded()
        else:
            features, found_columns = _table(model, source, given, origin)
        if features is not None and features.shape[0] != n:
            raise ValueError(
                f"X has {features.shape[0]} rows, but there are memberships of {n} objects. Pass "
                "the table that was clustered."
            )
        found_ids = _first(
            ids,
            getattr(source, "ids", None),
            getattr(model, "ids", None),
            getattr(model, "object_names_", None),
            None if given is None else given.names,
            None if mixed is None else mixed.names,
        )
        found_truth = _first(truth, getattr(source, "truth", None), getattr(model, "truth", None))
        classes = getattr(model, "classes_", None)
        if classes is not None and len(classes) != k:
            classes = None
        named = cluster_names_of(model) if classes is None else tuple(map(str, classes))
        id_names = (getattr(source, "id_name", None), getattr(model, "id_name", None), "id")
        return cls(
            memberships=memberships,
            model=model if is_estimator(model) else None,
            source=source,
            kind=_kind(model, source, given, features),
            overlap=_one_per_object(from_resamples(model, "overlap"), n),
            instability=_one_per_object(from_resamples(model, "instability"), n),
            noun="cluster" if classes is None else "class",
            names=named if named is not None and len(named) == k else tuple(map(str, range(k))),
            ids=_ids(found_ids, n),
            id_name=str(_first(*id_names)),
            truth=_truth(found_truth, n),
            weights=_one_per_object(getattr(source, "sample_weight", None), n),
            table=features,
            columns=_column_names(None if mixed else columns, found_columns, features),
            mixed=mixed,
            origin=origin,
            all_sizes=tuple(int(size) for size in all_sizes),
        )

    # --- objects -------------------------------------------------------------------------------

    @property
    def n_objects(self) -> int:
        """Number of objects."""
        return int(self.memberships.shape[0])

    @cached_property
    def labels(self) -> IntArray:
        """The most probable cluster of each object."""
        return largest(self.memberships)[0]

    @cached_property
    def certainty(self) -> FloatArray:
        """The membership in that cluster."""
        return np.minimum(largest(self.memberships)[1], 1.0)

    @cached_property
    def entropy(self) -> FloatArray:
        """Uncertainty of each object, in nats."""
        return np.asarray(entropy(self.memberships), dtype=np.float64)

    @cached_property
    def is_uncertain(self) -> NDArray[np.bool_]:
        """Objects whose largest membership is below 0.6."""
        return np.asarray(self.certainty < UNCERTAIN_BELOW)

    @property
    def n_uncertain(self) -> int:
        """Number of uncertain objects."""
        return int(np.count_nonzero(self.is_uncertain))

    def rows(self, positions: Any) -> FloatArray:
        """The memberships of some objects, or of one, as an array."""
        return dense_rows(self.memberships, positions)

    def column(self, cluster: int) -> FloatArray:
        """The memberships of all objects in one cluster."""
        return column(self.memberships, cluster)

    def top(self, most: int, positions: IntArray | None = None) -> tuple[IntArray, FloatArray]:
        """The most probable clusters of all objects, or of some, and their memberships."""
        rows = self.memberships if positions is None else self.memberships[positions]
        return top_clusters(rows, most)

    def id_of(self, position: int) -> str:
        """What to call an object."""
        return str(position) if self.ids is None else self.ids[position]

    # --- clusters ------------------------------------------------------------------------------

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.memberships.shape[1])

    @property
    def plural(self) -> str:
        """What several columns of the memberships are called."""
        return plural(self.noun)

    def name_of(self, cluster: int) -> str:
        """What to call a cluster inside a sentence."""
        return f"{self.noun} {self.names[cluster]}"

    @cached_property
    def sizes(self) -> IntArray:
        """Number of objects whose most probable cluster is each one."""
        return np.bincount(self.labels, minlength=self.n_clusters)

    @cached_property
    def expected_sizes(self) -> FloatArray:
        """Sum of the memberships in each cluster."""
        return np.asarray(self.memberships.sum(axis=0))

    @cached_property
    def mean_certainty(self) -> FloatArray:
        """Mean certainty of the objects of each cluster; NaN where there are none."""
        sums = np.bincount(self.labels, weights=self.certainty, minlength=self.n_clusters)
        empty = np.full(self.n_clusters, np.nan)
        return np.divide(sums, self.sizes, out=empty, where=self.sizes > 0)

    @cached_property
    def means(self) -> ColumnMeans | None:
        """Means of the columns inside the clusters; None without a table."""
        if self.table is None:
            return None
        return ColumnMeans.of(self.table, self.memberships, self.weights)

    @cached_property
    def weighted_sizes(self) -> FloatArray | None:
        """Weight of the objects whose most probable cluster is each one; None without weights."""
        if self.weights is None:
            return None
        sums = np.bincount(self.labels, self.weights, minlength=self.n_clusters)
        return np.asarray(sums, dtype=np.float64)

    def measured_table(self) -> tuple[Matrix, ColumnMeans]:
        """The table and its means, for parts of a page that need one."""
        if self.table is None or self.means is None:
            raise ValueError("There is no table.")
        return self.table, self.means

    @cached_property
    def pixels(self) -> PixelGrid | None:
        """Which column is which pixel, if the columns are the pixels of small pictures."""
        if self.table is None or is_sparse(self.table) or self.mixed is not None:
            return None
        return PixelGrid.of(np.asarray(self.table), self.columns)

    def apart(self, cluster: int, most: int = MOST_COLUMNS) -> tuple[Difference, ...]:
        """The columns that set a cluster apart, the largest difference first."""
        means = self.means
        if means is None or self.n_clusters == 1:
            return ()
        # More than asked for: of a text column, what is rare says no more than what is common.
        found = means.notable(cluster, 4 * most)
        common = {
            self.columns[j].partition("=")[0]
            for j in found
            if means.is_binary[j] and means.difference[cluster, j] > 0 and "=" in self.columns[j]
        }
        told = [
            j
            for j in found
            if means.difference[cluster, j] > 0
            or not means.is_binary[j]
            or self.columns[j].partition("=")[0] not in common
        ]
        return tuple(
            Difference(
                self.columns[j],
                float(means.inside[cluster, j]),
                float(means.overall[j]),
                float(means.difference[cluster, j]),
                float(means.spread[j]),
                bool(means.is_binary[j]),
                None
                if means.presence is None
                else (float(means.presence[cluster, j]), float(means.presence[-1, j])),
            )
            for j in told[:most]
        )

    @cached_property
    def clusters(self) -> tuple[Cluster, ...]:
        """The table of clusters."""
        unsure = np.bincount(self.labels[self.is_uncertain], minlength=self.n_clusters)
        # Where there are no columns, what else is known describes the clusters.
        described = self.attributes if self.table is None and self.attributes else self
        weights = self.weighted_sizes
        return tuple(
            Cluster(
                c,
                self.names[c],
                int(self.sizes[c]),
                float(self.expected_sizes[c]),
                float(self.mean_certainty[c]),
                int(unsure[c]),
                described.apart(c),
                None if weights is None else float(weights[c]),
            )
            for c in range(self.n_clusters)
        )

    @cached_property
    def telling_columns(self) -> tuple[str, ...]:
        """One or two columns whose values determine the clusters; usually none do."""
        if self.mixed is not None:
            names = [column.name for column in self.mixed.columns]
            return telling_columns(self.mixed.values, names, self.labels)
        if self.table is None or is_sparse(self.table):
            return ()
        return telling_columns(self.table, self.columns, self.labels)

    @cached_property
    def attributes(self) -> Summary | None:
        """The same memberships beside what else is known of nodes or cells; None if nothing is.

        Attributes describe clusters. They take no part in finding them.
        """
        known = read_attributes(self.origin)
        truth = None if self.truth is None else self.truth.tolist()
        columns = {
            name: values
            for name, values in known.items()
            if len(values) == self.n_objects
            and any(value is not None for value in values)
            and ["" if is_missing(value) else str(value) for value in values] != truth
        }
        if not columns:
            return None
        table = MixedTable.of_columns(columns)
        features, names = table.expanded()
        return replace(
            self, table=features, columns=tuple(names), mixed=table, origin=None, truth=None
        )

    # --- the labels ----------------------------------------------------------------------------

    @cached_property
    def scores(self) -> dict[str, float] | None:
        """Scores over the objects with known labels, by the names of `SCORES`, or None."""
        if self.truth is None:
            return None
        from soffit import metrics

        known = self.truth != ""
        truth, labels, memberships = self.truth[known], self.labels[known], self.memberships[known]
        return {
            "accuracy": float(metrics.accuracy(truth, labels)),
            "adjusted_rand": float(metrics.adjusted_rand(truth, labels)),
            "nmi": float(metrics.nmi(truth, labels)),
            "brier": float(metrics.brier(truth, memberships)),
            "calibration_error": float(metrics.calibration_error(truth, memberships)),
        }

    # --- the fit -------------------------------------------------------------------------------

    @property
    def stop(self) -> EarlyStop | None:
        """How the fit ended if it did not converge."""
        return None if self.model is None else EarlyStop.of(self.model)

    @property
    def curation(self) -> tuple[str, ...]:
        """How clusters were merged, split, named or added after the fit, as Python calls."""
        return tuple(map(str, getattr(self.model, "curation_", ())))

    @property
    def is_edited(self) -> bool:
        """Whether the clusters are no longer those that were fitted."""
        return any(not step.startswith("rename(") for step in self.curation)

    @property
    def is_chosen(self) -> bool:
        """Whether the model chose its number of clusters itself."""
        if self.model is None or self.noun == "class" or self.is_edited:
            return False
        return not is_number_given(self.model)

    @property
    def choice(self) -> Any:
        """The evidence for the number of clusters, if the fit chose it."""
        return choice_of(self.model)

    @cached_property
    def suggestion(self) -> Any:
        """The evidence for every number of clusters where the number was given.

        None if it was not given, if distances are not known, or if there are many objects or
        clusters: the evidence takes as long as a fit, and tells less where a coarser graph
        represents them.
        """
        given = getattr(self.model, "n_clusters", None)
        if given is None or given != self.n_clusters or self.is_edited:
            return None
        placer = getattr(getattr(self.model, "_fitted", None), "placer", None)
        affinity = getattr(placer, "affinity", None)
        if not isinstance(affinity, NeighborGraph) or affinity.metric == "precomputed":
            return None
        n = affinity.matrix_.shape[0]
        is_quick = given <= min(n, _MOST_GIVEN) and n <= _MOST_WEIGHED
        density = Density.of(affinity) if is_quick else None
        if density is None:
            return None
        numbers = range(1, max(given, min(_NUMBERS, n // _EACH)) + 1)
        return choose_k_of_graph(affinity.matrix_, numbers, density=density)

    @property
    def agreement(self) -> float | None:
        """Share of objects on which two resamples agree; None without resamples."""
        found = None if self.model is None else from_resamples(self.model, "agreement")
        return None if found is None else float(found)

    @property
    def stability(self) -> FloatArray | None:
        """Stability of each cluster over resamples; None without resamples."""
        found = None if self.model is None else from_resamples(self.model, "cluster_stability")
        return None if found is None or len(found) != self.n_clusters else np.asarray(found)

    @property
    def is_standardized(self) -> bool | None:
        """Whether the columns were standardized; None for input that is not a table of numbers."""
        preparation = getattr(getattr(self.model, "_fitted", None), "preparation", None)
        if self.kind != "table" or not isinstance(preparation, Standardizer):
            return None
        return preparation.is_active

    @property
    def affinities(self) -> Matrix | None:
        """The similarities that were clustered, if the model keeps them."""
        A: Matrix | None = getattr(self.model, "affinity_matrix_", None)
        copies = getattr(self.model, "copies_", None)
        if A is not None and copies is not None and len(copies) == self.n_objects:
            A = _between_copies(A, copies)
        return A if A is not None and A.shape[0] == self.n_objects else None

    @property
    def has_given_links(self) -> bool:
        """Whether the similarities came with the data, rather than from distances."""
        return _is_fitted_to_links(self.model)

    # --- JSON ----------------------------------------------------------------------------------

    def as_dict(self) -> dict[str, Any]:
        """For JSON: all numbers that the other outputs show."""
        choice = self.choice
        return {
            "n_objects": self.n_objects,
            "n_clusters": self.n_clusters,
            "choice": None
            if choice is None
            else {
                "n_clusters": choice.n_clusters,
                "confidence": choice.confidence,
                "runner_up": choice.runner_up,
                "table": dict(choice.table),
            },
            "standardized": self.is_standardized,
            "clusters": [cluster.as_dict() for cluster in self.clusters],
            "mean_certainty": float(self.certainty.mean()),
            "n_uncertain": self.n_uncertain,
            "scores": self.scores,
            "telling_columns": list(self.telling_columns),
        }


# A given number of clusters is weighed against so many others, with as many objects each, if there
# are at most so many objects and it is at most so large.
_NUMBERS, _EACH, _MOST_WEIGHED, _MOST_GIVEN = 20, 4, 2500, 50
# Links between all objects that are written out, where equal ones were fitted as one.
_MOST_LINKS = 2**23


def _between_copies(A: Matrix, copies: IntArray) -> Matrix | None:
    """The same between all objects, if that is not much larger; copies share their links."""
    counts = np.bincount(copies).astype(np.float64)
    if is_sparse(A):
        links = sp.csr_array((np.ones(A.nnz), A.indices, A.indptr), shape=A.shape)
        n_links = float(counts @ (links @ counts))
    else:
        n_links = float(len(copies)) ** 2
    return A[copies][:, copies] if n_links <= _MOST_LINKS else None


def level_sizes(levels: Sequence[Any]) -> IntArray:
    """Sizes of the clusters of all levels of a hierarchy, in the order of its tree's nodes."""
    return np.concatenate([Summary.of(level.memberships).sizes for level in levels])


# --- the number of clusters -----------------------------------------------------------------------


def is_number_given(model: Any) -> bool:
    """Whether the parameters fix the number of clusters, or of those of the top level."""
    return any(getattr(model, name, None) is not None for name in ("n_clusters", "levels"))


def choice_of(model: Any) -> Any:
    """A model's `k_choice_`, if it belongs to the last fit; else None."""
    choice = getattr(model, "k_choice_", None)
    if choice is None or is_number_given(model):
        return None
    return choice if choice.n_clusters == getattr(model, "n_clusters_", choice.n_clusters) else None


# --- what was clustered ---------------------------------------------------------------------------


def is_matrix_model(model: Any) -> bool:
    """Whether a model's parameters say that its input is a matrix of similarities or distances."""
    return takes_matrix(getattr(model, "affinity", None), getattr(model, "metric", None))


def _is_fitted_to_links(model: Any) -> bool:
    placer = getattr(getattr(model, "_fitted", None), "placer", None)
    return isinstance(getattr(placer, "affinity", None), Precomputed)


def _first(*candidates: Any) -> Any:
    return next((candidate for candidate in candidates if candidate is not None), None)


def _one_per_object(values: Any, n: int) -> FloatArray | None:
    found = None if values is None else np.asarray(values, dtype=np.float64)
    return found if found is not None and found.shape == (n,) else None


def _ids(ids: Any, n: int) -> tuple[str, ...] | None:
    if ids is None:
        return None
    if len(ids) != n:
        raise ValueError(f"ids has {len(ids)} entries for {n} objects. Pass one per object.")
    found = tuple(str(item) for item in ids)
    # Numbers that only count the objects are not names.
    return None if all(item == str(number) for number, item in enumerate(found)) else found


def _truth(truth: Any, n: int) -> NDArray[np.str_] | None:
    if truth is None:
        return None
    found = np.array(["" if is_missing(value) else str(value) for value in truth], dtype=np.str_)
    if len(found) != n:
        raise ValueError(f"truth has {len(found)} labels for {n} objects. Pass one per object.")
    return found if (found != "").any() else None


def _mixed_table(model: Any, source: Any, table: Any) -> MixedTable | None:
    """A table with text, yes/no or gaps, if that was clustered."""
    fitted = getattr(model, "_fitted", None)
    is_mixed = isinstance(getattr(fitted, "preparation", None), MixedPreparation)
    if table is not None:
        return MixedTable.of(table) if is_mixed else None
    if source is None or source.kind != "table":
        return None
    return MixedTable.of(source) if is_mixed or getattr(source, "is_mixed", False) else None


def _table(
    model: Any, source: Any, given: Any, origin: Any
) -> tuple[Matrix | None, Sequence[str] | None]:
    """The features, if there are any, and their names as far as they are known."""
    genes = _expression(origin)
    if genes is not None:
        return genes
    if given is not None:
        if given.kind != "table" or is_matrix_model(model):
            return None, None
        named = getattr(given.data, "columns", None)
        if named is None:
            named = getattr(model, "feature_names_in_", None)
        return _as_numbers(given.data), None if named is None else [str(item) for item in named]
    if getattr(source, "kind", None) == "table" and source.data is not None:
        return _as_numbers(source.data), source.columns
    return None, None


def _expression(origin: Any) -> tuple[Matrix, Sequence[str]] | None:
    """The genes of annotated cells, which describe clusters better than what was clustered.

    Those of ``.raw`` if there are any, since ``.X`` is often scaled.
    """
    if not all(hasattr(origin, name) for name in ("obs_names", "var_names", "obsm")):
        return None
    cells = origin if getattr(origin, "raw", None) is None else origin.raw
    values = cells.X
    if values is None or 0 in values.shape or lazy_part(values) is not None:
        return None
    if not np.isfinite(values.data if is_sparse(values) else np.asarray(values)).all():
        return None
    return _as_numbers(values), [str(name) for name in cells.var_names]


def _kind(model: Any, source: Any, given: Any, table: Matrix | None) -> str | None:
    if source is not None:
        return str(source.kind)
    if table is not None and (given is None or given.kind == "table"):
        return "table"
    is_graph = _is_fitted_to_links(model) and not is_matrix_model(model)
    return "graph" if is_graph or (given is not None and given.kind == "graph") else None


def _as_numbers(data: Any) -> Matrix:
    if is_sparse(data):
        table = sp.csr_array(data)
    else:
        single = getattr(data, "dtype", None) == np.float32
        table = np.asarray(data, dtype=np.float32 if single else np.float64)
    if table.ndim != 2:
        raise ValueError(f"X must be a table with rows and columns, got shape {table.shape}.")
    values = table.data if is_sparse(table) else table
    if not np.isfinite(np.asarray(values)).all():
        raise ValueError("X has missing or infinite values. Pass the table that was clustered.")
    return table


def _column_names(given: Any, found: Sequence[str] | None, table: Matrix | None) -> tuple[str, ...]:
    if table is None:
        return ()
    width = table.shape[1]
    if given is not None:
        names = tuple(str(item) for item in given)
        if len(names) != width:
            raise ValueError(
                f"columns has {len(names)} names for {width} columns of X. Pass one per column."
            )
        return names
    if found is not None and len(found) == width:
        return tuple(found)
    return tuple(f"column {number}" for number in range(width))
