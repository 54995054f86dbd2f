"""Run the commands shown in the documentation, and update their output in the pages.

Every ```console block of the pages below begins with a command after `$`. All commands run in one
folder, page by page, with the files of `soffit demo --files`; the pages are then rewritten.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("docs/command_line.md", "README.md")
BLOCK = re.compile(r"^```console\n\$ (.*)\n(?:.*\n)*?```$", re.MULTILINE)
WIDTH = 98


def printed(command: str, folder: Path) -> str:
    """The output of a command, including errors and notes, wrapped to the width of the page."""
    # `python` and `soffit` of this environment come first.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONIOENCODING": "utf-8"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    try:
        text = done.stdout.decode("utf-8")
    except UnicodeDecodeError:
        text = done.stdout.decode("cp1252")
    return "\n".join(part for line in text.rstrip().splitlines() for part in _wrapped(line))


def _wrapped(line: str) -> list[str]:
    """Wrap sentences; leave tables, trees and data as they are."""
    is_sentence = re.match(r"[A-Z]|\d+ \w+ ", line) is not None
    return textwrap.wrap(line, WIDTH) if is_sentence else [line.rstrip()]


def main() -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        printed("soffit demo --files", folder)
        for page in PAGES:
            path = ROOT / page
            text = path.read_text(encoding="utf-8")
            new = BLOCK.sub(
                lambda found: f"```console\n$ {found[1]}\n{printed(found[1], folder)}\n```", text
            )
            path.write_text(new, encoding="utf-8", newline="\n")
            print(f"{page}: {len(BLOCK.findall(text))} commands")


if __name__ == "__main__":
    main()
