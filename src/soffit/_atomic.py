"""Write a file next to its target, and move it there once it is complete."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replaced(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A new file in the folder of `path`, which it replaces if the block ends without an error.

    A link is followed: its target is replaced, not the link. The new file has the extension of the
    target, for writers that choose a format by it.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"{os.fspath(path)} is a folder. Give the name of a file in it.")
    temporary = target.with_name(f".soffit-{secrets.token_hex(8)}{target.suffix}")
    try:
        # Created here, so that it has the permissions of a new file and overwrites no other file.
        temporary.open("xb").close()
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
