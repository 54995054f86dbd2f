"""Data inside a page: packed, harmless to the HTML around it, and allowed by its policy."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray


def packed(data: bytes) -> str:
    """Bytes, compressed, as base64; the same bytes give the same text."""
    return base64.b64encode(gzip.compress(data, compresslevel=9, mtime=0)).decode("ascii")


def packed_text(content: str) -> str:
    """Text, compressed, as base64."""
    return packed(content.encode("utf-8"))


def packed_array(values: NDArray[Any]) -> str:
    """Numbers in little-endian order, as typed arrays of browsers expect on common machines."""
    return packed(np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<")).tobytes())


def data_block(identifier: str, content: str) -> str:
    """An element that a page's scripts read and that no browser runs."""
    return f'<script type="text/plain" id="{identifier}">{content}</script>'


def json_block(identifier: str, value: Any) -> str:
    """Plain JSON inside a page; nothing in it can end the element or open a comment."""
    content = json.dumps(value, separators=(",", ":")).replace("&", r"\u0026")
    content = content.replace("<", r"\u003c").replace(">", r"\u003e")
    return f'<script type="application/json" id="{identifier}">{content}</script>'


def script_hash(script: str) -> str:
    """The source expression with which a content security policy allows one script."""
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
