"""Write a file next to its target, and move it there once it is complete."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def replaced(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A new file in the folder of `path`, which it replaces if the block ends without an error.

    A link is followed: its target is replaced, not the link. The new file has the permissions of
    the old one, and its extension, for writers that choose a format by it. A device or a pipe
    cannot be replaced and is written to directly.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"{os.fspath(path)} is a folder. Give the name of a file in it.")
    if target.exists() and not target.is_file():
        yield target
        return
    temporary = target.with_name(f".soffit-{secrets.token_hex(8)}{target.suffix}")
    try:
        # Created here, so that it has the permissions of a new file and overwrites no other file.
        temporary.open("xb").close()
        if target.exists():
            _keep_permissions(target, temporary)
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(target)
    except OSError as error:
        # The message is about the file that the user knows.
        if error.errno is not None and error.filename in (None, str(temporary)):
            error.filename = os.fspath(path)
        raise
    finally:
        temporary.unlink(missing_ok=True)


def _keep_permissions(target: Path, temporary: Path) -> None:
    before = target.stat()
    if hasattr(os, "chown"):
        # Only root may give a file away; a group that is not ours cannot be kept, either.
        with suppress(OSError):
            os.chown(temporary, before.st_uid, before.st_gid)
    temporary.chmod(stat.S_IMODE(before.st_mode))
