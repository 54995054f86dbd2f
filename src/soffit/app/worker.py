"""Refits in the background, so that a person never waits to answer."""

from __future__ import annotations

from collections.abc import Callable
from threading import Condition, Thread
from typing import Any

from soffit.session.session import Session


class Worker:
    """A thread that fits the session's state whenever it is ahead of its result.

    `changed`: called without arguments, in the thread, when a result or the progress is new.
    """

    def __init__(self, session: Session, changed: Callable[[], None] | None = None) -> None:
        self.session = session
        self.phase = ""
        self.error = ""
        # Rises with every change that a page should show.
        self.sequence = 0
        self._changed = changed
        self._wake = Condition()
        self._stopped = False
        self._thread = Thread(target=self._run, name="soffit refit", daemon=True)

    def start(self) -> Worker:
        """Start the thread."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """End the thread after its current fit."""
        with self._wake:
            self._stopped = True
            self._wake.notify_all()

    def poke(self) -> None:
        """A step was recorded: fit if need be."""
        self.error = ""
        with self._wake:
            self._wake.notify_all()
        self._tell()

    @property
    def is_busy(self) -> bool:
        """Whether a fit is under way or due."""
        return self.session.is_stale

    def _run(self) -> None:
        while True:
            with self._wake:
                while not self._stopped and not self.session.is_stale:
                    self._wake.wait()
            if self._stopped:
                return
            self._fit()

    def _fit(self) -> None:
        self.phase = "fitting"
        self._tell()
        try:
            self.session.refit(self._progress)
        except Exception as error:
            # The last step cannot be fitted: it is taken back, and the page says why.
            self.error = f"The last step was taken back: {error}"
            if not self.session.undo():
                self._stopped = True
        self.phase = ""
        self._tell()

    def _progress(self, event: Any) -> None:
        if event.phase != self.phase:
            self.phase = str(event.phase)
            self._tell()

    def _tell(self) -> None:
        self.sequence += 1
        if self._changed is not None:
            self._changed()
