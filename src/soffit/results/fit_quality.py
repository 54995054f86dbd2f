"""Facts about a fit: its settings, whether it converged, and whether its clusters are stable."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np

from soffit._wording import capitalized, count_of, percent

# Why a fit ended without converging: `{limit}` is the parameter's value, in the words of the
# interface.
_CAUSES = {
    "max_iter": "it reached {limit}",
    "max_time": "it reached {limit}",
    "callback": "the callback stopped it",
    "interrupted": "it was interrupted",
}
# Resamples that agree on fewer objects than this show that the clusters are unstable.
UNSTABLE_BELOW = 0.7


@dataclass(frozen=True)
class EarlyStop:
    """How a fit ended that did not converge."""

    # ``stop_reason_`` of the model: "max_iter", "max_time", "callback" or "interrupted".
    reason: str
    n_iter: int  # Iterations that were made.
    limit: float | None = None  # Value of the parameter of that name.
    can_continue: bool = False  # Whether the model can continue from its last fit.

    @classmethod
    def of(
        cls, model: Any, reason: str | None = None, n_iter: int | None = None
    ) -> EarlyStop | None:
        """How the model's fit ended; None if it converged or has no iterations.

        `reason` and `n_iter` are those of the fitted model by default.
        """
        if reason is None:
            if getattr(model, "converged_", True):
                return None
            reason = str(getattr(model, "stop_reason_", "max_iter"))
        if reason == "converged":
            return None
        return cls(
            reason,
            int(getattr(model, "n_iter_", 0)) if n_iter is None else n_iter,
            getattr(model, reason, None) if reason in ("max_iter", "max_time") else None,
            hasattr(model, "warm_start"),
        )

    def cause(self, *, parameters: bool = False) -> str:
        """``it reached the time limit of 2 s``; with `parameters`, ``it reached max_time=2 s``."""
        cause = _CAUSES.get(self.reason, _CAUSES["max_iter"])
        return cause.format(limit=self._named_limit() if parameters else self._plain_limit())

    def sentence(self, subject: str = "The fit", *, parameters: bool = False) -> str:
        """What happened, as a whole sentence."""
        cause = self.cause(parameters=parameters)
        if self.reason == "max_iter" and self.limit is not None and self.n_iter < self.limit:
            # `n_iter_` is that of the last search; an earlier one, of another level, say, ran out.
            return f"{subject} did not converge: in one of its searches {cause}."
        after = count_of(self.n_iter, "iteration")
        return f"{subject} stopped after {after} without converging: {cause}."

    @property
    def outlook(self) -> str:
        """What the result is worth."""
        if self.reason == "max_iter":
            return "The memberships may still change a little."
        return "The best solution so far is kept."

    @property
    def remedy(self) -> str:
        """What to do, in the words of Python."""
        if self.reason == "max_iter":
            return "Increase max_iter, or tol if this precision is enough."
        again = "set warm_start=True and fit again to continue" if self.can_continue else ""
        if self.reason == "max_time":
            return f"Increase max_time{', or ' + again if again else ''}."
        return f"{capitalized(again)}." if again else "Fit again without stopping."

    def _named_limit(self) -> str:
        unit = " s" if self.reason == "max_time" else ""
        return self.reason if self.limit is None else f"{self.reason}={self.limit:g}{unit}"

    def _plain_limit(self) -> str:
        if self.reason == "max_time":
            return "the time limit" + ("" if self.limit is None else f" of {self.limit:g} s")
        if self.limit is None:
            return "the iteration limit"
        return f"the limit of {count_of(int(self.limit), 'iteration')}"


def agreement_sentence(agreement: float) -> str:
    """How far resamples agree."""
    return f"Two fits on subsamples agree on {percent(float(agreement))} of the objects."


def unstable_message(model: str, agreement: float) -> str:
    """The warning about an unstable result, in the words of Python."""
    return (
        f"{model} is unstable. {agreement_sentence(agreement)} The memberships allow for it (see "
        "instability_ and cluster_stability_). Try another n_clusters or n_neighbors, or pass "
        "must_link or cannot_link."
    )


@dataclass(frozen=True)
class Setting:
    """One parameter."""

    name: str
    value: str
    default: str
    is_changed: bool


def settings(model: Any) -> list[Setting]:
    """All parameters in the order of the constructor."""
    given = model.get_params(deep=False)
    known = inspect.signature(type(model)).parameters
    return [
        Setting(
            name=name,
            value=written(given[name]),
            default=written(parameter.default),
            is_changed=not _same(given[name], parameter.default),
        )
        for name, parameter in known.items()
        if name in given
    ]


def written(value: Any) -> str:
    """A value as one would write it in Python; functions and random states by their names."""
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}" if value.size > 20 else repr(value.tolist())
    if isinstance(value, np.generic):
        return repr(value.item())
    if callable(value):
        return str(getattr(value, "__name__", type(value).__name__))
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return f"{type(value).__name__} object"
    return repr(value)


def _same(value: Any, default: Any) -> bool:
    if value is default:
        return True
    if type(value) is not type(default) and not _both_numbers(value, default):
        return False
    return bool(np.all(value == default))


def _both_numbers(a: Any, b: Any) -> bool:
    kinds = (int, float, np.integer, np.floating)
    return (
        isinstance(a, kinds) and isinstance(b, kinds) and isinstance(a, bool) == isinstance(b, bool)
    )
