"""The container of a model file."""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
import zlib
from typing import IO, Any

import numpy as np

from soffit._memory import limit_words, memory_budget, size_words
from soffit.persistence.codec import ARRAY_KINDS
from soffit.persistence.schema import ModelFileError

DOCUMENT = "model.json"
MANIFEST = "manifest.json"
_MEMBER = re.compile(r"model\.json|manifest\.json|arrays/(0|[1-9][0-9]{0,8})\.npy")
# The same model gives the same bytes whenever it is saved.
_DATE = (1980, 1, 1, 0, 0, 0)
# Parsed JSON takes up to this many times its text: an empty list of two characters takes 64 bytes.
_JSON_GROWTH = 60
_SAMPLE = 8192
# Deflated only if that saves a fifth: floats hardly shrink, and packing them takes long.
_WORTHWHILE = 0.8
_CHUNK = 2**20


def array_name(number: int) -> str:
    """The member that holds an array."""
    return f"arrays/{number}.npy"


# --- writing --------------------------------------------------------------------------------------


def write_archive(
    stream: IO[bytes], document: dict[str, Any], arrays: list[np.ndarray[Any, Any]]
) -> None:
    """Write all members, the list of checksums last."""
    members: dict[str, Any] = {}
    with zipfile.ZipFile(stream, "w", allowZip64=True) as archive:
        with _Member(archive, DOCUMENT, packed=True) as member:
            member.write(_json_bytes(document))
        members[DOCUMENT] = member.summary()
        for number, array in enumerate(arrays):
            with _Member(archive, array_name(number), packed=_shrinks(array)) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
            members[array_name(number)] = member.summary()
        with _Member(archive, MANIFEST, packed=True) as member:
            member.write(_json_bytes({"members": members, "checksum": _checksum(members)}))


def array_header(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    """What the document says about an array."""
    return {"dtype": array.dtype.str, "shape": list(array.shape)}


class _Member:
    """A member while it is written, with its size and checksum."""

    def __init__(self, archive: zipfile.ZipFile, name: str, *, packed: bool) -> None:
        info = zipfile.ZipInfo(name, date_time=_DATE)
        info.compress_type = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
        info.external_attr = 0o644 << 16
        info.create_system = 3
        if packed:
            # Speed before size; the attribute has another name in Python 3.10 to 3.12.
            level = "compress_level" if hasattr(info, "compress_level") else "_compresslevel"
            setattr(info, level, 1)
        self._target = archive.open(info, "w", force_zip64=True)
        self._hash = hashlib.sha256()
        self._size = 0

    def __enter__(self) -> _Member:
        return self

    def __exit__(self, *_: object) -> None:
        self._target.close()

    def write(self, data: bytes) -> int:
        self._hash.update(data)
        self._size += len(data)
        return self._target.write(data)

    def summary(self) -> dict[str, Any]:
        return {"sha256": self._hash.hexdigest(), "bytes": self._size}


def _shrinks(array: np.ndarray[Any, Any]) -> bool:
    sample = np.asarray(array.flat[:_SAMPLE]).tobytes()
    return len(zlib.compress(sample, 1)) < _WORTHWHILE * len(sample)


def _json_bytes(value: Any) -> bytes:
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")


def _checksum(members: dict[str, Any]) -> str:
    """One number for all: of the list of members, in the order of their names."""
    return hashlib.sha256(_json_bytes(dict(sorted(members.items())))).hexdigest()


# --- reading --------------------------------------------------------------------------------------


class ModelArchive:
    """A zip that looks like a model file, opened for reading."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._zip = zipfile.ZipFile(stream)
        self._infos = {info.filename: info for info in self._zip.infolist()}
        if DOCUMENT not in self._infos:
            raise ModelFileError(f"it is a zip file without a {DOCUMENT}.")
        if len(self._infos) < len(self._zip.infolist()):
            raise ModelFileError("it holds two members of the same name.")
        for name, info in self._infos.items():
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ModelFileError(f"{name} is packed in a way that soffit does not use.")
        self._check_room()

    def _check_room(self) -> None:
        budget = memory_budget()
        needed = sum(
            info.file_size * (_JSON_GROWTH if name.endswith(".json") else 1)
            for name, info in self._infos.items()
        )
        if needed > budget:
            raise ModelFileError(
                f"it needs {size_words(needed)} of memory, {limit_words(budget)} Load it on a "
                "larger machine, if it comes from someone you know."
            )

    def document(self) -> dict[str, Any]:
        """The parsed model.json, not yet compared with its checksum."""
        return self._parsed(DOCUMENT)[0]

    def verified(self) -> dict[str, Any]:
        """The list of members, if it is complete, and model.json is as it was written."""
        for name in self._infos:
            if not _MEMBER.fullmatch(name):
                raise ModelFileError(f"it holds {name!r}, which no model file has.")
        if MANIFEST not in self._infos:
            raise ModelFileError(f"it has no {MANIFEST}, the list of its checksums.")
        manifest, _ = self._parsed(MANIFEST)
        members = manifest["members"]
        if manifest["checksum"] != _checksum(members):
            raise ModelFileError(f"the list of checksums, {MANIFEST}, was changed.")
        missing = set(members) ^ (set(self._infos) - {MANIFEST})
        if missing:
            raise ModelFileError(f"{min(missing)} is missing, or is not in {MANIFEST}.")
        _compare(DOCUMENT, self._parsed(DOCUMENT)[1], members)
        return members

    def arrays(self, headers: list[dict[str, Any]], members: dict[str, Any]) -> list[Any]:
        """All arrays, compared with what the document says of them and with their checksums."""
        expected = {DOCUMENT, *(array_name(number) for number in range(len(headers)))}
        if expected != set(members):
            raise ModelFileError(f"{DOCUMENT} and {MANIFEST} list different arrays.")
        return [self._array(array_name(n), header, members) for n, header in enumerate(headers)]

    def _parsed(self, name: str) -> tuple[dict[str, Any], str]:
        info = self._infos[name]
        with self._zip.open(name) as plain:
            # Never without a limit: what is packed may be longer than the zip says.
            text = _Hashed(plain).exactly(info.file_size)
        value = json.loads(text)
        if not isinstance(value, dict):
            raise ModelFileError(f"{name} is not an object.")
        return value, hashlib.sha256(text).hexdigest()

    def _array(self, name: str, told: dict[str, Any], members: dict[str, Any]) -> Any:
        with self._zip.open(name) as plain:
            stream = _Hashed(plain)
            dtype, shape, in_columns = _read_header(stream, name)
            if dtype.str != told["dtype"] or list(shape) != told["shape"]:
                raise ModelFileError(
                    f"{name} is a {dtype} array of shape {shape}, but {DOCUMENT} says "
                    f"{told['dtype']} and {told['shape']}."
                )
            # Python's numbers cannot overflow; a header may claim any shape.
            n_bytes = dtype.itemsize
            for length in shape:
                n_bytes *= length
            if stream.count + n_bytes != self._infos[name].file_size:
                raise ModelFileError(f"{name} has not the length that its shape {shape} needs.")
            array = np.empty(shape, dtype=dtype, order="F" if in_columns else "C")
            if n_bytes:
                stream.fill((array.T if in_columns else array).reshape(-1).view(np.uint8))
        _compare(name, stream.hash.hexdigest(), members)
        return array.astype(dtype.newbyteorder("="), copy=False)


class _Hashed:
    """A member while it is read."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source
        self.hash = hashlib.sha256()
        self.count = 0

    def read(self, size: int = -1) -> bytes:
        data = self._source.read(size)
        self.hash.update(data)
        self.count += len(data)
        return data

    def exactly(self, size: int) -> bytes:
        """All that is left, if it is that much."""
        data = self.read(size)
        if len(data) < size or self.read(1):
            raise ModelFileError("a part has not the length that the zip says.")
        return data

    def fill(self, target: np.ndarray[Any, Any]) -> None:
        """Read exactly as many bytes as the target has room for."""
        for first in range(0, len(target), _CHUNK):
            wanted = min(_CHUNK, len(target) - first)
            data = self.read(wanted)
            if len(data) < wanted:
                raise ModelFileError("an array breaks off.")
            target[first : first + wanted] = np.frombuffer(data, dtype=np.uint8)
        # Reading to the very end makes zipfile compare its own checksum, too.
        self.exactly(0)


def _read_header(stream: Any, name: str) -> tuple[np.dtype[Any], tuple[int, ...], bool]:
    version = np.lib.format.read_magic(stream)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if read is None:
        raise ModelFileError(f"{name} has version {version} of NumPy's format; 1 and 2 are read.")
    shape, in_columns, dtype = read(stream)
    if dtype.kind not in ARRAY_KINDS or dtype.hasobject or dtype.subdtype is not None:
        raise ModelFileError(f"{name} holds {dtype}, which is neither numbers nor text.")
    if any(length < 0 for length in shape):
        raise ModelFileError(f"{name} has the impossible shape {shape}.")
    return dtype, shape, in_columns


def _compare(name: str, digest: str, members: dict[str, Any]) -> None:
    if members[name]["sha256"] != digest:
        raise ModelFileError(f"the checksum of {name} is wrong: it was changed after saving.")
