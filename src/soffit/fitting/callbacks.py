"""The callbacks of scikit-learn 1.9 and later, which see a fit as a tree of tasks."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any, TypeVar

Result = TypeVar("Result")


@cache
def has_callbacks() -> bool:
    """Whether the installed scikit-learn has callbacks."""
    return find_spec("sklearn.callback") is not None


class Tasks:
    """A fit as a task, its phases as subtasks, searches inside them, and their iterations.

    Parameters
    ----------
    estimator : estimator
        The model with its callbacks.
    root : CallbackContext
        The context of the fit.
    data : dict
        The arguments X and y of all hooks.
    """

    def __init__(self, estimator: Any, root: Any, data: dict[str, Any]) -> None:
        self._given = {"estimator": estimator, **data}
        self._most = getattr(estimator, "max_iter", None)
        self._root = root
        self._phase: Any = None
        self._search: Any = None
        self._last = 0

    def phase(self, name: str) -> bool:
        """Begin a phase; returns whether a callback wants to stop at the end of the last one."""
        stop = self.close()
        self._phase = self._begun(self._root, name, None)
        return stop

    def iteration(self, number: int) -> bool:
        """Report an iteration; returns whether a callback wants to stop."""
        if self._phase is None:
            self.phase("fit")
        if self._search is not None and number <= self._last:
            # Another search of the same phase.
            self._end("_search")
        if self._search is None:
            self._search = self._begun(self._phase, "iterations", self._most)
        self._last = number
        if self._most is not None and number > self._most:
            return False
        context = self._begun(self._search, "iteration", 0)
        return bool(context.call_on_fit_task_end(**self._given))

    def close(self) -> bool:
        """End the current phase; returns whether a callback wants to stop."""
        ended = self._end("_search")
        return self._end("_phase") or ended

    def _begun(self, parent: Any, name: str, most: int | None) -> Any:
        context = parent.subcontext(task_name=name, max_subtasks=most)
        context.call_on_fit_task_begin(**self._given)
        return context

    def _end(self, which: str) -> bool:
        context = getattr(self, which)
        setattr(self, which, None)
        return context is not None and bool(context.call_on_fit_task_end(**self._given))


def with_tasks(estimator: Any, X: Any, y: Any, work: Callable[[Tasks], Result]) -> Result:
    """The result of a fit, whose callbacks are told of it.

    Parameters
    ----------
    estimator : estimator
        With what `set_callbacks` has set, or a meta-estimator has propagated.
    X, y : object
        The arguments of `fit`.
    work : callable
        The fit, which is given the tasks to report to.
    """
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    data = {"X": X, "y": y}

    def fit(model: Any) -> Result:
        root = CallbackSupportMixin._init_callback_context(model, max_subtasks=None)
        root.call_on_fit_task_begin(estimator=model, **data)
        tasks = Tasks(model, root, data)
        result = work(tasks)
        tasks.close()
        root.call_on_fit_task_end(
            estimator=model,
            reconstruction_attributes=lambda: {
                "_fitted": model._fitted,
                **model._fitted.attributes,
            },
            **data,
        )
        return result

    managed: Callable[[Any], Result] = with_callbacks(fit)
    return managed(estimator)
