"""What the documentation shows of the command line: commands, and what they print.

``python -m tests.cli.documented`` writes the pages anew with what is printed now.
"""

from __future__ import annotations

import os
import re
import shlex
import tempfile
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("docs/command_line.md", "docs/start.md", "docs/texts.md", "docs/graphs.md", "README.md")
WIDTH = 100
# A block of the shell, or a block without a language, whose lines begin with the command.
_BLOCK = re.compile(r"^```(?:console)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^(?:\$ )?(soffit .*)\n", re.MULTILINE)
# Times in a comparison of methods.
_SECONDS = re.compile(r" \d+\.\d\d(?=   (?:soffit|scikit))")


@dataclass(frozen=True)
class Shown:
    """A command of a page, and what the page shows of its output."""

    command: str
    output: str
    place: tuple[int, int]  # of the output in the page

    @property
    def arguments(self) -> list[str]:
        """What follows `soffit`; what follows a pipe is not ours."""
        return shlex.split(self.command.partition("|")[0])[1:]

    @property
    def is_whole(self) -> bool:
        """Whether the page shows the output as it is printed."""
        return bool(self.output.strip()) and "|" not in self.command


def shown_commands(text: str) -> list[Shown]:
    """All commands of a page, in their order."""
    found = []
    for block in _BLOCK.finditer(text):
        begins = list(_COMMAND.finditer(block[1]))
        if not begins:
            continue
        ends = [one.start() for one in begins[1:]] + [len(block[1])]
        for one, end in zip(begins, ends, strict=True):
            place = (block.start(1) + one.end(), block.start(1) + end)
            found.append(Shown(one[1], text[place[0] : place[1]], place))
    return found


def as_shown(output: str) -> str:
    """What a page shows of an output: lines of its width, without spaces at their ends."""
    wrapper = textwrap.TextWrapper(WIDTH, break_long_words=False)
    lines = [line.rstrip() for line in output.rstrip().splitlines()]
    parts = [wrapper.wrap(line) if len(line) > WIDTH else [line] for line in lines]
    return "\n".join(part for found in parts for part in found) + "\n"


def without_times(output: str) -> str:
    """An output whose times are masked."""
    return _SECONDS.sub("_", output)


def shows(page: str, printed: str) -> bool:
    """Whether a page shows what is printed; a line `…` stands for lines left out."""
    wanted = re.sub(r"(?m)^…\\\n", r"(?:.*\\n)*?", re.escape(without_times(page)))
    return re.fullmatch(wanted, without_times(printed)) is not None


def rewritten(text: str, run: Callable[[list[str]], str]) -> str:
    """A page with what its commands print."""
    for one, output in reversed([(one, run(one.arguments)) for one in shown_commands(text)]):
        if one.is_whole and not shows(one.output, as_shown(output)):
            text = text[: one.place[0]] + as_shown(output) + text[one.place[1] :]
    return text


def main() -> None:
    from typer.testing import CliRunner

    from soffit.cli.app import make_app

    def run(arguments: list[str]) -> str:
        return CliRunner().invoke(make_app(), arguments).output

    for page in PAGES:
        path = ROOT / page
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            run(["demo", "--files"])
            path.write_text(rewritten(path.read_text(encoding="utf-8"), run), encoding="utf-8")
            os.chdir(ROOT)


if __name__ == "__main__":
    main()
