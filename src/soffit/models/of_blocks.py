"""Estimators and collections of blocks (Dask): fit to a sample, placement, reports, pickles."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray
from sklearn.utils import check_random_state

from soffit._threads import without_warnings
from soffit._typing import FloatArray, IntArray
from soffit.fitting.data import Constraints
from soffit.fitting.fitted import Fitted, with_surroundings
from soffit.fitting.monitor import Tasks
from soffit.fitting.recipe import run
from soffit.inputs import check_columns, lazy_part

if TYPE_CHECKING:
    from typing_extensions import Self


# Attributes of a fit to a collection of blocks that do not depend on the clusters.
_OF_SAMPLE = ("sample_indices_", "leftover_share_", "memory_per_worker_")


class OfBlocks:
    """What an estimator does with collections of blocks; see `soffit.distributed`."""

    _fitted: Fitted
    n_features_in_: int
    # The collection that the model was fitted to, if it was one.
    _blocks: Any

    def _run_on_blocks(self, X: Any, constraints: Constraints, tasks: Tasks | None) -> Fitted:
        """Run the recipe on a sample of a collection, and publish what it finds."""
        model: Any = self
        if not hasattr(self, "sample_size"):
            raise TypeError(
                f"{type(self).__name__} is fitted in memory, and X is a collection of blocks. Fit "
                "it to a sample and pass X to predict_proba, or use SoftClustering."
            )
        from soffit.distributed.row_blocks import check_no_pairs
        from soffit.distributed.sampled_fit import InMemory, fit_blocks

        if model.__sklearn_tags__().input_tags.pairwise:
            raise TypeError(
                "X is a collection of blocks and cannot hold similarities or distances of all "
                "pairs. Pass the features of the objects."
            )
        if getattr(model, "metric", None) == "gower":
            raise TypeError(
                "metric='gower' cannot place collections of blocks. Encode the columns as numbers "
                "and pass metric='euclidean', or fit a sample in memory and predict the parts of "
                "the collection in turn."
            )
        check_no_pairs(constraints)
        seeds = check_random_state(model.random_state)
        with model._working(tasks) as progress:

            def fit(
                table: Any, columns: NDArray[Any] | None, weights: FloatArray | None = None
            ) -> Fitted:
                data = model._read(table, Constraints(sample_weight=weights), None)
                if columns is not None:
                    data = replace(data, columns={**data.columns, "feature_names_in_": columns})
                fitted = run(model._recipe(), data, seeds, progress)
                return progress.attempt(lambda: with_surroundings(fitted)) or fitted

            def geometry(table: Any) -> tuple[Any, Any]:
                return model._read(table, Constraints(), None).objects.preparation, model.metric

            further = getattr(model, "_recipe_of_further", lambda _: model._recipe())
            found = fit_blocks(
                X,
                InMemory(fit, geometry, further),
                sample_size=model.sample_size,
                refine=getattr(model, "refine", None),
                n_clusters=getattr(model, "n_clusters", None),
                seeds=seeds,
                progress=progress,
            )
        model._publish(found.fitted, found.attributes, found.blocks)
        return found.fitted

    def _of_all_blocks(self, fitted: Fitted) -> tuple[dict[str, Any], Any]:
        """Attributes of all objects with another fitted value, and the collection, if any."""
        blocks = vars(self).get("_blocks")
        if blocks is None:
            return {}, None
        from soffit.distributed.sampled_fit import memberships_of_all

        # What is known about the sample stays; the memberships of all objects follow anew.
        kept = {name: vars(self)[name] for name in _OF_SAMPLE}
        return kept | memberships_of_all(blocks, fitted), blocks

    def _place_blocks(self, X: Any, what: Any, **options: Any) -> Any:
        """Memberships, labels or novelty of a collection of blocks, as a Dask array."""
        from soffit.distributed.engine import Engine
        from soffit.distributed.placement import Placement, place_lazily
        from soffit.distributed.row_blocks import Blocks

        model: Any = self
        model._check_places()
        placement = Placement.of(self._fitted, vars(self).get("classes_"))
        blocks = Blocks.of(X)
        check_columns(self, blocks.columns)
        if blocks.n_columns != self.n_features_in_:
            raise ValueError(
                f"X has {blocks.n_columns} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        shared = Engine.current().share(placement, "model")
        return place_lazily(blocks, shared, placement, what, **options)

    def _shown_sample(
        self, X: Any, sizes: Any = None, numbers: IntArray | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """What a report shows of objects in blocks, and what it says about all of them.

        By default it shows some of the fitted ones.
        """
        from soffit.distributed.shown_sample import count_and_write, rows_to_show
        from soffit.results.per_object import Result, cluster_names_of

        model: Any = self
        if sizes is None:
            with model._working() as progress:
                progress.phase("counts of all objects")
                sizes = count_and_write(model.memberships_, None, progress).sizes
        more: dict[str, Any] = {"all_sizes": sizes}
        if lazy_part(X) is None:
            return self._in_memory(), more
        numbers = model.sample_indices_ if numbers is None else numbers
        more["X"], names, rows = rows_to_show(X, numbers)
        if names is not None:
            more["columns"] = [str(name) for name in names]
        # The columns are those of the fit, although the rows come without names.
        with without_warnings(UserWarning, "X does not have valid feature names"):
            shown = model.predict_proba(more["X"])
        return Result.from_memberships(shown, ids=rows, names=cluster_names_of(model)), more

    def _in_memory(self) -> Self:
        """The model itself, or that of the sample if it was fitted to a collection of blocks."""
        if "sample_indices_" not in vars(self):
            if lazy_part(vars(self).get("memberships_")) is not None:
                raise TypeError(
                    f"This {type(self).__name__} was fitted to a graph in blocks, and its results "
                    "stay with the workers. Store these, for example with "
                    "memberships_.to_zarr(...), instead of the model."
                )
            return self
        model: Any = copy(self)
        model._publish(self._fitted)
        return model

    def __getstate__(self) -> Any:
        # Dask collections belong to a cluster: a pickled model is that of the sample.
        model = self._in_memory()
        return super().__getstate__() if model is self else model.__getstate__()
