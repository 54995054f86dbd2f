"""Fits of one recipe to subsamples: memberships softened by their disagreement."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from soffit._threads import without_warnings
from soffit._typing import FloatArray, IntArray, Matrix
from soffit.affinity.given_objects import Affinities
from soffit.fitting.data import Constraints, Data
from soffit.fitting.fitted import Corrected
from soffit.fitting.monitor import Progress
from soffit.fitting.recipe import Count, Recipe, Smoothed, Stage, run
from soffit.graph import stacked
from soffit.memberships import combine
from soffit.memberships.measures import largest
from soffit.partition.candidates import size_aware_cut

# A bootstrap sample leaves out 37 % as well, but has duplicates.
SHARE_KEPT = 0.63
LEAST_PARTS = 2
_CLEAN_CUT = 0.01


def over_subsamples(
    recipe: Recipe[Affinities],
    stage: Stage[Affinities],
    single: Smoothed,
    n_resamples: int,
    graph: Matrix,
    *,
    labels: IntArray | None = None,
) -> Smoothed:
    """Memberships averaged over fits to subsamples, softened by their disagreement.

    A subsample may be too thin to show fine structure. What it found is therefore judged on the
    graph of all objects: if its partition cuts twice as much as that of the whole fit, or as the
    labels at which that started if they cut almost nothing, it counts half.
    """
    parts = fit_subsamples(recipe, stage, n_resamples)
    stopped = stage.progress.stopped or "interrupted" if len(parts) < n_resamples else None
    if len(parts) < LEAST_PARTS:
        return replace(single, stopped=stopped)
    k, sizes = stage.n_clusters, stage.relations.weights
    own, *theirs = (
        _cut(graph, largest(memberships)[0], k, sizes)
        for memberships in (single.memberships, *parts)
    )
    if labels is not None:
        # A few objects that the memberships moved add much to a cut of almost nothing.
        started = _cut(graph, labels, k, sizes)
        own = min(own, started) if started < _CLEAN_CUT else own
    weights = [min(1.0, own / cut) for cut in theirs]
    ensemble = combine(single.memberships, parts, weights=weights)
    attributes = {
        **single.attributes,
        "overlap_": ensemble.overlap,
        "instability_": ensemble.instability,
        "agreement_": ensemble.agreement,
        "cluster_stability_": ensemble.cluster_stability,
        "expected_accuracy_": float(largest(ensemble.memberships)[1].mean()),
    }
    before, correction = single.smoothing, ensemble.memberships - single.memberships
    if isinstance(before, Corrected):
        correction = before.correction + correction
        before = before.smoothing
    return Smoothed(ensemble.memberships, Corrected(before, correction), attributes, stopped)


def _cut(graph: Matrix, labels: IntArray, n_clusters: int, sizes: FloatArray | None) -> float:
    """The size-aware cut of a partition; see `soffit.partition.candidates`."""
    return float(np.exp(size_aware_cut(graph, labels, n_clusters, sizes=sizes)))


def fit_subsamples(
    recipe: Recipe[Affinities], stage: Stage[Affinities], n_resamples: int
) -> list[Any]:
    """Memberships of all objects from fits of the recipe to subsamples.

    Objects left out are placed like new ones. When the fit should stop, or on Ctrl-C, there are
    fewer subsamples; fewer than two have no agreement and are of no use.
    """
    n, random_state = stage.data.objects.n_objects, stage.random_state
    fixed = replace(recipe, n_clusters=stage.n_clusters, count=lambda _: Count(stage.n_clusters))
    found: list[Any] = []
    for number in range(n_resamples):
        if stage.progress.phase(resample_phase(number, n_resamples)):
            break
        order = random_state.permutation(n)
        kept = np.sort(order[: _part_size(n, stage.n_clusters)])
        seed = int(random_state.randint(np.iinfo(np.int32).max))
        memberships = stage.progress.attempt(partial(_memberships, fixed, stage, kept, seed))
        if memberships is None:
            break
        found.append(memberships)
    return found


def resample_phase(number: int, n_resamples: int) -> str:
    """The name of the phase of one of the fits."""
    return f"resample {number + 1} of {n_resamples}"


def _part_size(n: int, n_clusters: int) -> int:
    return min(max(round(SHARE_KEPT * n), n_clusters), n)


def _memberships(
    recipe: Recipe[Affinities], stage: Stage[Affinities], kept: IntArray, seed: int
) -> Any:
    """Memberships of all objects from a fit to a subsample; None if it was interrupted."""
    objects = stage.data.objects
    left = np.setdiff1d(np.arange(objects.n_objects), kept)
    side, weights = stage.relations.side, stage.data.weights
    among = None if side is None else side.among(kept)
    data = Data(
        objects.inside(kept),
        Constraints(sample_weight=None if weights is None else weights[kept]),
        side=None if among is None or among.n_pairs == 0 else among,
    )
    # Warnings about the data were already issued by the fit to all objects.
    with without_warnings():
        watch = Progress("resample", 0, max_time=stage.progress.time_left)
        fitted = run(recipe, data, np.random.RandomState(seed), watch)
        if fitted.stopped in ("interrupted", "max_time"):
            stage.progress.stopped = fitted.stopped
            return None
        parts = [fitted.attributes["memberships_"]]
        if len(left):
            parts.append(fitted.place(objects.outside(left, kept)).astype(parts[0].dtype))
    return stacked(parts)[np.argsort(np.concatenate([kept, left]))]
