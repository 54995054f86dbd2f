"""What the table of commands knows about each of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

# Headings under which `soffit --help` lists the commands.
CLUSTERING = "Find clusters"
AFTERWARDS = "Use results"
LEARNING = "Look around"


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
        Command lines to copy, shown at the end of the help.
    panel : str
        The heading under which it is listed.
    """

    name: str
    run: Callable[..., Any]
    examples: tuple[str, ...]
    panel: str

    @property
    def help(self) -> str:
        """The docstring, one line a paragraph, so that the terminal decides where lines end."""
        text = inspect.getdoc(self.run) or ""
        return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))

    @property
    def epilog(self) -> str:
        """The examples, each on a line of its own."""
        title = "Example:" if len(self.examples) == 1 else "Examples:"
        return "\n\n".join([title, *(f"  {example}" for example in self.examples)])
