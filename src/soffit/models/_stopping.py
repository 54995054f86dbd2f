"""The warning of a fit that ended before it converged, with the remedy for each reason."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from soffit.factorize._problem import Stop


def warn_unless_converged(model: Any, stopped: Stop, n_iter: int, *, depth: int) -> None:
    """Say why the fit ended and what to do; `depth` counts the calls down to the user's."""
    if stopped == "converged":
        return
    after = f"{type(model).__name__} stopped after {n_iter} iterations"
    # Where a model cannot go on from its last fit, a new one must be given more.
    again = " Set warm_start=True and fit again to go on." if hasattr(model, "warm_start") else ""
    text = {
        "max_iter": f"{after} before it converged. Increase max_iter, or tol if this precision is "
        "enough.",
        "max_time": f"{after} because max_time={getattr(model, 'max_time', None)} s were over "
        f"before it converged. The best so far is kept. Increase max_time.{again}",
        "callback": f"{after} because the callback asked for it, before it converged. The best so "
        f"far is kept.{again}",
        "interrupted": f"{after} because it was interrupted, before it converged. The best so far "
        f"is kept.{again}",
    }[stopped]
    warnings.warn(text, ConvergenceWarning, stacklevel=depth + 1)
