"""Lines of progress on standard error: rewritten in place on a terminal, few of them in a log."""

from __future__ import annotations

import sys
from shutil import get_terminal_size
from time import perf_counter

# Seconds between two states of a phase: on a terminal, and in a log.
TERMINAL_PACE = 0.2
LOG_PACE = 10.0


class Display:
    """What a fit says about itself.

    Parameters
    ----------
    name : str
        Stands at the beginning of every line.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._begin = perf_counter()
        # Programs without a console have no standard error.
        self._in_place = sys.stderr is not None and sys.stderr.isatty()
        self._pace = TERMINAL_PACE if self._in_place else LOG_PACE
        self._last = self._heading_begin = self._begin
        self._heading = self._open = ""

    def heading(self, text: str) -> None:
        """Begin a line; on a terminal it stays open for what `state` says."""
        self.close()
        self._heading = text
        self._last = self._heading_begin = perf_counter()
        self._write(text, open_=self._in_place)

    def is_due(self) -> bool:
        """Whether it is time for another state."""
        return perf_counter() - self._last >= self._pace

    def state(self, text: str) -> None:
        """Say how things stand, in place of the open line or below the last one."""
        self._last = perf_counter()
        self._write(text, open_=self._in_place)

    def line(self, text: str) -> None:
        """Write a whole line."""
        self.close()
        self._write(text, open_=False)

    def close(self) -> None:
        """End the open line, if there is one, with what it was about and how long that took."""
        if self._open:
            took = perf_counter() - self._heading_begin
            self._write(f"{self._heading}, {took:.2f} s", open_=True)
            sys.stderr.write("\n")
            sys.stderr.flush()
            self._open = ""

    def _write(self, text: str, *, open_: bool) -> None:
        line = f"[{self._name}] {perf_counter() - self._begin:8.2f} s  {text}"
        if open_:
            # A line that wraps could not be taken back.
            line = line[: get_terminal_size().columns - 1]
            sys.stderr.write("\r" + line.ljust(len(self._open)))
            self._open = line
        else:
            sys.stderr.write(line + "\n")
        sys.stderr.flush()


def bar(share: float, *, width: int = 20) -> str:
    """A bar that is filled to a share of its width."""
    filled = int(min(max(share, 0.0), 1.0) * width)
    return "[" + "#" * filled + "-" * (width - filled) + "]"
