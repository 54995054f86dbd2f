"""The same model fitted to parts of the objects."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from soffit._typing import FloatArray, IntArray
from soffit.affinity import SideInformation

# Leaving out 37 % is what a bootstrap sample does, without its copies.
SHARE_KEPT = 0.63
LEAST_PARTS = 2
_SEEDS = np.iinfo(np.int32).max


def fit_to_parts(
    model: Any,
    table: Any,
    side: SideInformation | None,
    random_state: np.random.RandomState,
    *,
    n_parts: int,
    is_matrix: bool,
    progress: Callable[[int], bool],
) -> list[FloatArray]:
    """Memberships of all objects from copies of `model`, each fitted to a part of them.

    The objects left out are placed like new ones. `table` holds features, or affinities or
    distances between all objects if `is_matrix`. When `progress` says, before a part, that the
    fit is to end, or on Ctrl-C, there are fewer parts, but at least two: one cannot be compared
    with any.
    """
    n = table.shape[0]
    found: list[FloatArray] = []
    for number in range(n_parts):
        is_last = progress(number)
        if is_last and len(found) >= LEAST_PARTS:
            break
        order = random_state.permutation(n)
        kept = np.sort(order[: _part_size(n, model.n_clusters)])
        copy = clone(model).set_params(
            random_state=int(random_state.randint(_SEEDS)),
            max_time=None,
            warm_start=False,
            callback=None,
        )
        memberships = _memberships(copy, table, kept, side, is_matrix)
        if copy.stopped_ == "interrupted":
            if len(found) < LEAST_PARTS:
                raise KeyboardInterrupt
            break
        found.append(memberships)
    return found


def _part_size(n: int, n_clusters: int) -> int:
    return min(max(round(SHARE_KEPT * n), n_clusters), n)


def _memberships(
    model: Any, table: Any, kept: IntArray, side: SideInformation | None, is_matrix: bool
) -> FloatArray:
    left = np.setdiff1d(np.arange(table.shape[0]), kept)
    inside, outside = table[kept], table[left]
    if is_matrix:
        inside, outside = inside[:, kept], outside[:, kept]
    pairs = {}
    if side is not None:
        among = side.among(kept)
        pairs = {"must_link": among.must, "cannot_link": among.cannot}
    with warnings.catch_warnings():
        # What there is to say about the data, the fit to all of them has said.
        warnings.simplefilter("ignore")
        model.fit(inside, **pairs)
        shape = (table.shape[0], model.n_clusters_)
        result = np.empty(shape, dtype=model.memberships_.dtype)
        result[kept] = model.memberships_
        if len(left):
            result[left] = model.predict_proba(outside)
    return result
