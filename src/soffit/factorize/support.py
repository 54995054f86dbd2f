"""Which solver handles which problem: one table, and the check before a solver runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soffit._typing import FloatArray
from soffit.factorize.problem import SCALES, Problem, Scale


@dataclass(frozen=True)
class Support:
    """The values of a problem's fields that a solver handles; it handles both storages."""

    scales: tuple[Scale, ...]
    diagonal: tuple[bool, ...]
    family: tuple[str, str] = ("l2", "simplex")
    degrees: bool = False
    pair_weight: bool = False
    side: bool = False
    # Degrees or side information combined with pair weights.
    weighted_degrees: bool = False
    weighted_side: bool = False


_NONNEGATIVE = Support(
    scales=("none",), diagonal=(False,), family=("l2", "nonnegative"), pair_weight=True
)
SUPPORT: dict[str, Support] = {
    "rows": Support(scales=SCALES, diagonal=(False,), degrees=True, pair_weight=True, side=True),
    "gradient": Support(scales=SCALES, diagonal=(False, True), degrees=True),
    "penalty": Support(scales=("none",), diagonal=(True,)),
    "growth": Support(scales=("none", "single"), diagonal=(True,)),
    "multiplicative": _NONNEGATIVE,
    "parallel": _NONNEGATIVE,
    "coordinate": _NONNEGATIVE,
    "em": Support(scales=("cluster",), diagonal=(True,), family=("kl", "columns")),
}


def refused_fields(solver: str, problem: Problem) -> list[str]:
    """The fields of the problem that the solver does not handle, as in a call."""
    support = SUPPORT[solver]
    refused = []
    if problem.family != support.family:
        refused.append(f"loss={problem.loss!r} with constraint={problem.constraint!r}")
    if problem.scale not in support.scales:
        refused.append(f"scale={problem.scale!r}")
    if problem.diagonal not in support.diagonal:
        refused.append(f"diagonal={problem.diagonal}")
    if problem.degrees is not None and not support.degrees:
        refused.append("degrees")
    if problem.pair_weight is not None and not support.pair_weight:
        refused.append("pair_weight")
    if problem.side is not None and not support.side:
        refused.append("side")
    if problem.pair_weight is not None and not refused:
        if problem.degrees is not None and not support.weighted_degrees:
            refused.append("degrees together with pair_weight")
        if problem.side is not None and not support.weighted_side:
            refused.append("side together with pair_weight")
    return refused


def check_support(solver: str, problem: Problem) -> None:
    """Raise unless the solver handles every field of the problem."""
    refused = refused_fields(solver, problem)
    if not refused:
        return
    able = [repr(name) for name in SUPPORT if not refused_fields(name, problem)]
    remedy = (
        f"Use solver {' or '.join(able)}."
        if able
        else "No solver does: change one of these fields."
    )
    raise ValueError(f"Solver {solver!r} does not support {', '.join(refused)}. {remedy}")


def copy_start(problem: Problem, start: FloatArray) -> FloatArray:
    """A checked copy of the start in the precision of the problem."""
    expected = (problem.n_objects, problem.n_clusters)
    if np.shape(start) != expected:
        raise ValueError(f"start must have shape {expected}, got {np.shape(start)}.")
    G = np.array(start, dtype=problem.matrix.dtype, order="C")
    if not (G.min(initial=0.0) >= 0.0 and np.isfinite(G).all()):
        raise ValueError("start must be nonnegative and finite.")
    if problem.constraint == "nonnegative":
        return G
    if not np.all(np.abs(G.sum(axis=1) - 1.0) <= 1e-3):
        raise ValueError(
            "The rows of start must be nonnegative and sum to one: divide each by its sum."
        )
    return G
