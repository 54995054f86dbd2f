"""A command of the application, with its help and examples."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

# Headings under which `soffit --help` lists the commands.
CLUSTERING = "Find clusters"
AFTERWARDS = "Use results"
LEARNING = "Get started"


@dataclass(frozen=True)
class Command:
    """A command of the application.

    Attributes
    ----------
    name : str
        What the user types after `soffit`.
    run : callable
        Its parameters are the options; its docstring is the help.
    examples : tuple of str
        Examples, shown at the end of the help.
    panel : str
        The heading under which it is listed.
    """

    name: str
    run: Callable[..., Any]
    examples: tuple[str, ...]
    panel: str

    @property
    def help(self) -> str:
        """The docstring, one line per paragraph: the terminal wraps lines."""
        text = inspect.getdoc(self.run) or ""
        return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))

    @property
    def epilog(self) -> str:
        """The examples, one per line."""
        title = "Example:" if len(self.examples) == 1 else "Examples:"
        return "\n\n".join([title, *(f"  {example}" for example in self.examples)])
