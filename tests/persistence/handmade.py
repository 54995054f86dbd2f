"""Model files made by hand, without a line of the code that writes them."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Members = dict[str, bytes]


def npy(array: Any) -> bytes:
    """An array as the bytes of an .npy file."""
    stream = io.BytesIO()
    np.save(stream, np.asarray(array), allow_pickle=False)
    return stream.getvalue()


def signed(members: Members) -> Members:
    """The members and the list of their checksums."""
    table = {
        name: {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
        for name, data in sorted(members.items())
    }
    text = json.dumps(table, separators=(",", ":")).encode()
    manifest = {"members": table, "checksum": hashlib.sha256(text).hexdigest()}
    return {**members, "manifest.json": json.dumps(manifest).encode()}


def write(path: Path, members: Members, packing: int = zipfile.ZIP_STORED) -> None:
    """The members as a zip file."""
    with zipfile.ZipFile(path, "w", packing) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def read(path: Path) -> Members:
    """The members of a zip file, without the list of checksums."""
    with zipfile.ZipFile(path) as archive:
        found = {name: archive.read(name) for name in archive.namelist()}
    found.pop("manifest.json", None)
    return found


def forge(source: Path, target: Path, change: Callable[[dict[str, Any], Members], None]) -> None:
    """Change the document and the members of a file, and make all checksums right again."""
    members = read(source)
    document = json.loads(members["model.json"])
    change(document, members)
    members["model.json"] = json.dumps(document).encode()
    write(target, signed(members))


def document(arrays: list[Any], **fields: Any) -> tuple[dict[str, Any], Members]:
    """A version-1 document with numbered arrays, and their members."""
    arrays = [np.asarray(array) for array in arrays]
    head = {
        "format": "soffit model",
        "version": 1,
        "soffit": "0.1.0",
        "arrays": [{"dtype": array.dtype.str, "shape": list(array.shape)} for array in arrays],
    }
    members = {f"arrays/{number}.npy": npy(array) for number, array in enumerate(arrays)}
    return {**head, **fields}, members
