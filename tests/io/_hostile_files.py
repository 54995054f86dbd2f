"""Files that go wrong, made on the spot: what each is, how it is read, and what must come of it.

`expected` is a pattern of the message of the DataError, or a check of what was read. The command
line is tested with the same table.
"""

from __future__ import annotations

import gzip
import io
import os
import pickle
import struct
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

Maker = Callable[[Path], Path]


@dataclass(frozen=True)
class Hostile:
    """One file: `make` writes it into a folder and returns its path."""

    name: str
    make: Maker
    expected: str | Callable[[Any], bool]
    options: dict[str, Any] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    unless_root: bool = False


def content(name: str, data: bytes | str | Callable[[], bytes]) -> Maker:
    def make(folder: Path) -> Path:
        path = folder / name
        made = data() if callable(data) else data
        path.write_bytes(made.encode() if isinstance(made, str) else made)
        return path

    return make


def cells(change: Callable[[Any, Any], Any]) -> Maker:
    """An AnnData file in which something was changed."""

    def make(folder: Path) -> Path:
        import anndata
        import h5py

        path = folder / "x.h5ad"
        anndata.AnnData(X=np.zeros((9, 2), dtype=np.float32)).write_h5ad(path)
        with h5py.File(path, "r+") as file:
            change(h5py, file)
        return path

    return make


def many_links(h5py: Any, file: Any) -> None:
    """One array of 8 GB, which takes no room in the file, under many names."""
    block = file.create_dataset("obsm/x0", (9, 10**8), "f8", compression="gzip", chunks=(9, 10**5))
    for number in range(1, 3000):
        file[f"obsm/x{number}"] = block


# --- bytes ----------------------------------------------------------------------------------------


def npy(array: np.ndarray, **options: Any) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, **options)
    return buffer.getvalue()


def npy_header(shape: tuple[int, ...]) -> bytes:
    """The start of an array that claims a shape, and hardly any data."""
    buffer = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, header)
    return buffer.getvalue() + b"\0" * 64


def archive(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(f"{name}.npy", data)
    return buffer.getvalue()


def flipped(data: bytes) -> bytes:
    """One byte of the packed data changed."""
    middle = len(data) // 3
    return data[:middle] + bytes([data[middle] ^ 255]) + data[middle + 1 :]


def zip_bomb() -> bytes:
    """A small archive whose directory declares a petabyte."""
    size = 10**15
    data = bytearray(archive(X=npy(np.zeros((400, 2)))))
    at = data.rfind(b"PK\x01\x02")
    name_length, extra_length = struct.unpack("<HH", data[at + 28 : at + 32])
    extra = struct.pack("<HHQ", 1, 8, size)
    struct.pack_into("<I", data, at + 24, 0xFFFFFFFF)
    struct.pack_into("<H", data, at + 30, extra_length + len(extra))
    end = at + 46 + name_length
    data[end:end] = extra
    tail = data.rfind(b"PK\x05\x06")
    (length,) = struct.unpack("<I", data[tail + 12 : tail + 16])
    struct.pack_into("<I", data, tail + 12, length + len(extra))
    return bytes(data)


class RunsCode:
    """What unpickling this would do must never happen."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (os.mkdir, ("unpickled",))


def object_array() -> np.ndarray:
    array = np.empty((3, 2), dtype=object)
    array[:] = RunsCode()
    return array


def frame_bytes(kind: str, columns: dict[str, Any]) -> bytes:
    import polars as pl

    buffer = io.BytesIO()
    frame = pl.DataFrame(columns, strict=False)
    getattr(frame, f"write_{kind}")(buffer)
    return buffer.getvalue()


def numbers_frame(kind: str) -> bytes:
    return frame_bytes(kind, {"x": np.arange(500.0), "y": np.arange(500.0) ** 2})


def excel(rows: list[list[Any]], far: str = "") -> bytes:
    import xlsxwriter

    buffer = io.BytesIO()
    book = xlsxwriter.Workbook(buffer)
    sheet = book.add_worksheet()
    for number, row in enumerate(rows):
        sheet.write_row(number, 0, row)
    if far:
        sheet.write(far, 1)
    book.close()
    return buffer.getvalue()


def broken_sparse() -> bytes:
    """Column numbers beyond the matrix: used unchecked, they read foreign memory."""
    return archive(
        format=npy(np.array(b"csr")),
        shape=npy(np.array([3, 2])),
        data=npy(np.ones(3)),
        indices=npy(np.array([0, 7_000_000, 1])),
        indptr=npy(np.array([0, 1, 2, 3])),
    )


def table_text(n: int = 12, separator: str = ",", header: str = "x,y,z") -> str:
    rows = [[f"{(i * 7) % 5 + 0.5}", f"{i * i % 11}.25", f"{i}.75"] for i in range(n)]
    lines = [separator.join(row) for row in rows]
    return "\n".join([header.replace(",", separator), *lines, ""])


# --- other than files -----------------------------------------------------------------------------


def folder(parent: Path) -> Path:
    path = parent / "table.csv"
    path.mkdir()
    return path


def nothing(parent: Path) -> Path:
    return parent / "absent.csv"


def circle(parent: Path) -> Path:
    (parent / "a.csv").symlink_to(parent / "b.csv")
    (parent / "b.csv").symlink_to(parent / "a.csv")
    return parent / "a.csv"


def pipe(parent: Path) -> Path:
    os.mkfifo(parent / "pipe.csv")
    return parent / "pipe.csv"


def forbidden(parent: Path) -> Path:
    path = content("secret.csv", table_text())(parent)
    path.chmod(0)
    return path


# --- graphs ---------------------------------------------------------------------------------------

LAUGHS = (
    '<?xml version="1.0"?>\n<!DOCTYPE lolz [<!ENTITY a0 "lol">'
    + "".join(f'<!ENTITY a{i + 1} "{f"&a{i};" * 10}">' for i in range(9))
    + "]>\n<graphml><graph edgedefault='undirected'><node id='&a9;'/></graph></graphml>"
)
OUTSIDE = (
    '<?xml version="1.0"?><!DOCTYPE g [<!ENTITY leak SYSTEM "file:///etc/passwd">]>'
    "<graphml><graph edgedefault='undirected'><node id='&leak;'/></graph></graphml>"
)
# The declaration is ASCII, what follows EBCDIC: a search for <!DOCTYPE in the bytes finds nothing.
EBCDIC = b'<?xml version="1.0" encoding="cp037"?>' + LAUGHS.split("?>", 1)[1].encode("cp037")


def graphml(edges: str, nodes: str = "<node id='a'/><node id='b'/>") -> str:
    keys = '<key id="w" for="edge" attr.name="weight" attr.type="double"/>'
    head = '<?xml version="1.0"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    return f"{head}{keys}<graph edgedefault='undirected'>{nodes}{edges}</graph></graphml>"


def weighted_edge(weight: str) -> str:
    return f"<edge source='a' target='b'><data key='w'>{weight}</data></edge>"


MTX = "%%MatrixMarket matrix coordinate real general\n"
SQUARE = "a,b,c\n0,1,2\n1,0,3\n2,3,0\n"
SCRIPT = "<script>alert(1)</script>"

HOSTILE = [
    # Not even a table.
    Hostile("empty", content("empty.csv", b""), r"the file is empty"),
    Hostile("blank", content("blank.csv", b" \n\t\n\n"), r"only blanks"),
    Hostile("only a mark", content("mark.csv", b"\xef\xbb\xbf"), r"only blanks"),
    Hostile("only header", content("header.csv", "x,y,z\n"), r"header but no rows"),
    Hostile("one line of numbers", content("one.csv", "1,2,3"), lambda s: s.data.shape == (1, 3)),
    Hostile("one row", content("row.csv", "x,y\n1,2\n"), lambda s: s.data.shape == (1, 2)),
    Hostile("one column", content("column.csv", "x\n1\n2\n3\n"), lambda s: s.data.shape == (3, 1)),
    Hostile(
        "gap in one column", content("gap.csv", "x\n1\n\n3\n"), r"missing in 'x' \(1\), of 3 rows"
    ),
    Hostile("folder", folder, r"it is a folder"),
    Hostile("missing", nothing, r"there is no such file"),
    Hostile("links in a circle", circle, r"link whose target does not exist"),
    Hostile("named pipe", pipe, r"not a regular file"),
    Hostile("forbidden", forbidden, r"cannot be opened \(Permission denied\)", unless_root=True),
    Hostile("unknown ending", content("data.xyz", "1,2\n"), r"unknown ending '.xyz'.*\.csv"),
    Hostile("no ending", content("data", "1,2\n"), r"has no ending.*\.parquet"),
    Hostile(
        "pickle", content("model.pkl", lambda: pickle.dumps([1])), r"unknown ending '.pkl'.*pickle"
    ),
    # Not what the ending says.
    Hostile("binary", content("noise.csv", bytes(range(256)) * 40), r"NUL byte.*binary"),
    Hostile("control bytes", content("noise.csv", b"\x01\x02\x03\x04" * 99), r"binary, not text"),
    Hostile("NUL in text", content("nul.csv", "x,y\n1,2\n3,\x004\n"), r"line 3 has a NUL byte"),
    Hostile("gzip", content("x.csv", lambda: gzip.compress(b"a,b\n1,2\n")), r"gzip.*Unpack"),
    Hostile(
        "truncated gzip",
        content("x.csv.gz", lambda: gzip.compress(table_text(999).encode())[:60]),
        r"x.csv.gz: it is damaged or truncated",
    ),
    Hostile("zip as csv", content("x.csv", lambda: archive(X=b"")), r"zip archive.*\.xlsx"),
    Hostile("picture", content("x.csv", b"\x89PNG\r\n\x1a\n" + b"\0" * 40), r"a picture"),
    Hostile("pdf", content("x.tsv", b"%PDF-1.7 " + b"x" * 40), r"a PDF document"),
    Hostile("old Excel", content("x.xlsx", b"\xd0\xcf\x11\xe0" + b"\0" * 99), r"Save it as .xlsx"),
    Hostile("text as parquet", content("x.parquet", table_text()), r"not a Parquet file"),
    Hostile("text as npz", content("x.npz", table_text()), r"not a NumPy archive"),
    # Text that is not as it should be.
    Hostile("short row", content("r.csv", "x,y\n1,2\n3\n4,5\n6,7\n"), r"line 3 has 1 entry"),
    Hostile("long row", content("r.csv", "x,y\n1,2\n3,4,5\n6,7\n8,9\n"), r"line 3 has 3 entries"),
    Hostile(
        "far ragged row",
        content("r.csv", table_text(60_000) + "1,2\n"),
        r"line 60,002 has 2 entries, but the table has 3 columns",
    ),
    Hostile(
        "mixed separators",
        content("m.csv", "x,y,z\n" + "1,2,3\n4;5;6\n" * 6),
        r"line 3 has 1 entry.*separated by commas",
    ),
    Hostile(
        "short header",
        content("h.csv", "x\n1,2,3\n4,5,6\n"),
        r"header has 1 name, but most rows have 3 entries",
    ),
    Hostile(
        "an open quote before quoted lines",
        content("q.csv", 'x,y\n"a,1\n' + '"b",2\n' * 300_000),
        r"quote .* opened near line 2 is never closed",
    ),
    Hostile(
        "a price of blanks",
        content("p.csv", "x,y\n$" + " " * 250 + "x,1\n2,2\n3,3\n"),
        lambda source: source.data.shape == (3, 1),
    ),
    Hostile(
        "an entry of digits",
        content("d.csv", "x,y\n" + "1" * 100_000 + "!,1\n2,2\n3,3\n"),
        lambda source: source.data.shape == (3, 1),
    ),
    Hostile(
        "an entry of brackets",
        content("b.csv", "x,y\n" + "(" * 100_000 + "!,1\n2,2\n3,3\n"),
        lambda source: source.data.shape == (3, 1),
    ),
    Hostile(
        "open quote",
        content("q.csv", 'x,y\n1,"two\n3,4\n5,6\n'),
        r"quote .* opened near line 2 is never closed",
    ),
    Hostile(
        "wrong encoding",
        content("e.csv", "größe,farbe\n1.5,grün\n2.5,rot\n3,rot\n4,grün\n".encode("cp1252")),
        lambda s: s.columns == ("größe", "farbe=grün", "farbe=rot"),
    ),
    Hostile(
        "late foreign byte",
        content("e.csv", lambda: table_text(40_000).encode() + b"1,2,3 \xe4\n"),
        r"line 40,002 has '3 ä'",
    ),
    Hostile(
        "UTF-16 cut in half",
        content("u.csv", table_text().encode("utf-16")[:-1]),
        r"UTF-16.*save it again as UTF-8",
    ),
    Hostile(
        "duplicate names",
        content("d.csv", "x,x,y\n1,2,3\n4,5,7\n1,9,8\n2,2,2\n"),
        lambda s: s.columns == ("x", "x (2)", "y") and "more than once" in s.notes[0],
    ),
    Hostile(
        "very long line",
        content("long.csv", lambda: b"x,y\n1," + b"9" * 3_000_000 + b"\n2,3\n"),
        r"infinite in 'y' \(1\)",
    ),
    Hostile("wide line", content("w.csv", lambda: b"1," * 300_000), r"transpose the table"),
    Hostile(
        "ten thousand columns",
        content("wide.csv", (",".join(["0.5"] * 9_999) + ",1\n") * 20),
        lambda s: s.data.shape == (20, 10_000),
    ),
    Hostile(
        "script in names",
        content("s.csv", f"id,{SCRIPT}\n{SCRIPT},1\nb,2\n"),
        lambda s: s.columns == (SCRIPT,) and s.ids[0] == SCRIPT,
    ),
    Hostile(
        "formula in names",
        content("s.csv", "id,x\n\"=cmd|'/c calc'!A1\",1\n@b,2\n"),
        lambda s: s.ids.tolist() == ["=cmd|'/c calc'!A1", "@b"],
    ),
    # Values.
    Hostile("NaN everywhere", content("n.csv", "x,y\nNaN,NaN\nnan,NA\n"), r"no numeric column"),
    Hostile(
        "missing values",
        content("m.csv", "x,y\n1,2\n,3\n,4\n5,\n"),
        r"missing in 'x' \(2\), 'y' \(1\), of 4 rows.*impute=\"median\".*drop=\[\"x\"\]",
    ),
    Hostile(
        "missing everywhere, rows dropped",
        content("m.csv", "x,y\n1,\n,3\n2,\n"),
        r"every row has a missing value",
        {"impute": "drop"},
    ),
    Hostile("infinite", content("i.csv", "x,y\n1,inf\n2,3\n4,-Infinity\n"), r"infinite in 'y' \(2"),
    Hostile(
        "huge integers",
        content("h.csv", f"x,y\n{10**40},1\n{10**39},2\n"),
        lambda s: s.data[0, 0] == 1e40,
    ),
    Hostile(
        "quoted numbers",
        content("q.csv", 'x,y\n"1.5","2"\n"3","4.25"\n'),
        lambda s: s.data.tolist() == [[1.5, 2.0], [3.0, 4.25]],
    ),
    Hostile(
        "stray word",
        content("w.csv", "x,y\n" + "1,2\n" * 50 + "1,oops\n" + "3,4\n" * 50),
        r"'y' holds numbers, but line 52 has 'oops'.*drop=\[\"y\"\]",
    ),
    Hostile(
        "thousands",
        content("t.csv", "x,y\n" + '1,2\n3,"1,234.5"\n' + "5,6\n" * 9),
        lambda s: s.data[1].tolist() == [3, 1234.5] and "Thousands" in " ".join(s.notes),
    ),
    Hostile(
        "point among decimal commas",
        content("p.csv", "x;y\n" + "1,5;2\n" * 60_000 + "1.500;3\n"),
        r"line 60,002 has '1.500'.*thousands=\".\" if it separates",
    ),
    Hostile(
        "documents",
        content(
            "d.csv",
            "id,text\n" + "".join(f"d{i},a story of {i} cats on a mat\n" for i in range(30)),
        ),
        r"'text' have no words in common that tell them apart",
    ),
    Hostile(
        "all text",
        content("t.csv", "a,b\n" + "".join(f"word{i},text{i}\n" for i in range(40))),
        r"no numeric column.*too many distinct values",
    ),
    Hostile(
        "no numbers wanted",
        content("t.csv", "a\nx\ny\nx\n"),
        r"no numeric column",
        {"text": "drop"},
    ),
    # Roles of columns.
    Hostile(
        "duplicate ids",
        content("d.csv", "who,x\nann,1\nbob,2\nann,3\n"),
        r"'ann' \(2 times\)",
        {"id": "who"},
    ),
    Hostile("empty id", content("d.csv", "who,x\nann,1\n,2\n"), r"line 3", {"id": "who"}),
    Hostile(
        "unknown column", content("c.csv", table_text()), r"no such column", {"columns": ["xx"]}
    ),
    Hostile(
        "unknown id", content("c.csv", table_text()), r"c.csv: id names 'name'", {"id": "name"}
    ),
    Hostile("all dropped", content("c.csv", "x\n1\n2\n"), r"no numeric column", {"drop": ["x"]}),
    # Matrices over pairs.
    Hostile("square", content("d.csv", SQUARE), r"square table, 3 x 3.*kind=.distances"),
    Hostile(
        "negative distances",
        content("d.csv", SQUARE.replace("3", "-3")),
        r"\('b', 'c'\) is negative",
        {"kind": "distances"},
    ),
    Hostile(
        "asymmetric",
        content("d.csv", "a,b,c\n0,1,2\n1,0,3\n2,9,0\n"),
        r"not symmetric: \('b', 'c'\) has 3, but \('c', 'b'\) has 9",
        {"kind": "similarities"},
    ),
    Hostile(
        "not square",
        content("d.csv", table_text()),
        r"square table.*12 rows and 3 columns",
        {"kind": "distances"},
    ),
    Hostile(
        "distance to itself",
        content("d.csv", "a,b,c\n1,1,2\n1,1,3\n2,3,1\n"),
        r"distance of 'a' to itself is 1",
        {"kind": "distances"},
    ),
    Hostile(
        "gap among distances",
        content("d.csv", "a,b,c\n0,1,\n1,0,3\n,3,0\n"),
        r"\('a', 'c'\) is missing",
        {"kind": "distances"},
    ),
    Hostile(
        "text among distances",
        content("d.csv", "n,a,b,c\nx,0,1,far\ny,1,0,off\nz,far,off,0\n"),
        r"columns .* hold something else",
        {"kind": "distances"},
    ),
    # NumPy.
    Hostile("zip bomb", content("b.npz", zip_bomb), r"unpacking it needs 1,000,000.0 GB"),
    Hostile(
        "array bomb",
        content("b.npz", lambda: archive(X=npy_header((10**9, 10**6)))),
        r"declares 8,000,000,000,000,000 bytes.*damaged",
    ),
    Hostile("npy bomb", content("b.npy", lambda: npy_header((10**9, 10**6))), r"declares 8,000,"),
    Hostile(
        "pickled npz",
        content("p.npz", lambda: archive(X=npy(object_array(), allow_pickle=True))),
        r"Python objects, which can run code",
    ),
    Hostile(
        "pickled npy",
        content("p.npy", lambda: npy(object_array(), allow_pickle=True)),
        r"Python objects, which can run code",
    ),
    Hostile(
        "truncated npz",
        content("t.npz", lambda: archive(X=npy(np.eye(40)))[:-50]),
        r"damaged or truncated",
    ),
    Hostile(
        "flipped npz",
        content("t.npz", lambda: flipped(archive(X=npy(np.eye(40))))),
        r"damaged or truncated",
    ),
    Hostile("truncated npy", content("t.npy", lambda: npy(np.eye(40))[:300]), r"truncated"),
    Hostile("npz of nothing", content("n.npz", archive), r"no arrays|empty"),
    Hostile("3-d array", content("t.npy", lambda: npy(np.zeros((2, 3, 4)))), r"\(2, 3, 4\)"),
    Hostile("complex array", content("c.npy", lambda: npy(np.ones((4, 2)) * 1j)), r"complex"),
    Hostile("text array", content("c.npy", lambda: npy(np.array([["a"], ["b"]]))), r"holds text"),
    Hostile("broken sparse", content("s.npz", broken_sparse), r"damaged"),
    Hostile(
        "two tables",
        content("t.npz", lambda: archive(A=npy(np.eye(3)), B=npy(np.eye(3)))),
        r"several tables.*name X",
    ),
    # Typed tables.
    Hostile(
        "truncated parquet",
        content("t.parquet", lambda: numbers_frame("parquet")[:-20]),
        r"damaged or truncated",
    ),
    Hostile(
        "truncated arrow", content("t.arrow", lambda: numbers_frame("ipc")[:-40]), r"truncated"
    ),
    Hostile(
        "parquet without rows",
        content("e.parquet", lambda: frame_bytes("parquet", {"x": []})),
        r"no rows",
    ),
    Hostile(
        "parquet of lists",
        content("l.parquet", lambda: frame_bytes("parquet", {"v": [[1.0, 2.0], [3.0]]})),
        r"no numeric column.*nested",
    ),
    Hostile(
        "a new key in every line",
        content("j.jsonl", "".join(f'{{"key{i}": 1}}\n' for i in range(60_000))),
        r"first 1,0\d\d lines have 1,0\d\d different keys.*Write the same keys in every line",
    ),
    Hostile(
        "JSON string of quotes",
        content("j.jsonl", '{"x": 1, "a": "' + '\\"' * 100_000 + '"}\n{"x": 2, "a": "b"}\n'),
        lambda source: source.data.shape == (2, 1),
    ),
    Hostile("JSON garbage", content("j.jsonl", '{"x": 1}\n{"x": \n'), r"line 2 is not a JSON"),
    Hostile("JSON numbers", content("j.jsonl", "1\n2\n"), r"line 1 is not a JSON object"),
    Hostile(
        "deep JSON",
        content("j.jsonl", '{"x":' + "[" * 9000 + "]" * 9000 + "}\n"),
        r"too many lists",
    ),
    Hostile(
        "Excel garbage",
        content("x.xlsx", lambda: archive(X=b"nothing")),
        r"workbook cannot be read",
        needs=("fastexcel",),
    ),
    Hostile(
        "far cell",
        content("x.xlsx", lambda: excel([["x"], [1]], far="XFD1048576")),
        r"sheet of 1,048,576 rows and 16,384 columns needs .* Delete what is far away",
        needs=("fastexcel", "xlsxwriter"),
    ),
    Hostile(
        "empty workbook",
        content("x.xlsx", lambda: excel([])),
        r"first sheet is empty",
        needs=("fastexcel", "xlsxwriter"),
    ),
    # Matrix Market.
    Hostile(
        "no banner",
        content("m.mtx", "3 3 1\n1 1 2\n"),
        r"not a valid Matrix Market file.*first line",
    ),
    Hostile(
        "too few entries",
        content("m.mtx", f"{MTX}3 2 3\n1 1 5\n2 2 1\n"),
        r"truncated.*Expected another 1 line",
    ),
    Hostile(
        "entry outside",
        content("m.mtx", f"{MTX}3 2 1\n9 9 5\n"),
        r"Line 3: Row index out of bounds",
    ),
    Hostile("NUL in mtx", content("m.mtx", f"{MTX}3 2 1\n1 1 5\x006\n"), r"not numbers"),
    # SciPy's own reader crashes on a last line without its end.
    Hostile("open mtx", content("m.mtx", f"{MTX}3 2 1\n1 1 5e"), lambda s: s.data[0, 0] == 5),
    Hostile("mtx bomb", content("m.mtx", f"{MTX}999999999 9 999999999\n1 1 5\n"), r"declares 999,"),
    Hostile("tall mtx", content("m.mtx", f"{MTX}{10**15} 9 1\n1 1 5\n"), r"needs .* of memory"),
    Hostile("wide mtx", content("m.mtx", f"{MTX}3 {10**15} 1\n1 1 5\n"), r"needs .* of memory"),
    Hostile("words in mtx", content("m.mtx", f"{MTX}3 2 1\n1 a 5\n"), r"Line 3: Invalid integer"),
    Hostile(
        "row of zero", content("m.mtx", f"{MTX}3 2 1\n0 1 5\n"), r"Line 3: Row index out of bounds"
    ),
    Hostile(
        "complex mtx",
        content("m.mtx", MTX.replace("real", "complex") + "2 1 1\n1 1 1 1\n"),
        r"complex numbers",
    ),
    Hostile("square mtx", content("m.mtx", f"{MTX}2 2 1\n1 2 5\n"), r"square matrix.*kind=.graph"),
    Hostile("sizes missing", content("m.mtx", f"{MTX}what is this\n"), r"line of sizes"),
    # Graphs.
    Hostile("edges with words", content("g.edges", "a b x\nb c y\n"), r"must be numbers.*'x'"),
    Hostile(
        "late word as weight",
        content("g.edges", "a b 1\n" * 9 + "b c y\n"),
        r"line 10 has 'y'",
    ),
    Hostile(
        "negative weight", content("g.edges", "a b 1\nb c -2\n"), r"line 2.*\('b', 'c'\) is -2"
    ),
    Hostile(
        "missing weight",
        content("g.csv", "source,target,weight\na,b,1\nb,c,\n"),
        r"is missing",
        {"kind": "graph"},
    ),
    Hostile(
        "half an edge",
        content("g.csv", "source,target\na,b\nb,\n"),
        r"line 3 names only one node",
        {"kind": "graph"},
    ),
    Hostile("weights of zero", content("g.edges", "a b 0\nb c 0\n"), r"no edge has a positive"),
    Hostile(
        "self loops",
        content("g.edges", "a a 2\na b 1\nb b 3\n"),
        lambda s: s.data.diagonal().tolist() == [2, 3] and "to itself" in " ".join(s.notes),
    ),
    Hostile("five columns", content("g.edges", "1 2 3 4 5\n1 2 3 4 5\n"), r"5 columns"),
    Hostile(
        "edges by their header",
        content("g.csv", "source,target\na,b\n"),
        lambda s: s.kind == "graph" and "edge list, because" in " ".join(map(str, s.notes)),
    ),
    Hostile("billion laughs", content("l.graphml", LAUGHS), r"document type", needs=("networkx",)),
    Hostile("outside entity", content("o.graphml", OUTSIDE), r"document type", needs=("networkx",)),
    Hostile(
        "EBCDIC laughs", content("e.graphml", EBCDIC), r"document type|XML", needs=("networkx",)
    ),
    Hostile(
        "UTF-16 laughs",
        content("u.graphml", LAUGHS.encode("utf-16")),
        r"document type",
        needs=("networkx",),
    ),
    Hostile(
        "open XML",
        content("x.graphml", "<graphml><graph>"),
        r"not valid GraphML",
        needs=("networkx",),
    ),
    Hostile(
        "other XML",
        content("x.graphml", "<html></html>"),
        r"not valid GraphML",
        needs=("networkx",),
    ),
    Hostile(
        "word as weight",
        content("x.graphml", graphml(weighted_edge("heavy"))),
        r"not valid GraphML",
        needs=("networkx",),
    ),
    Hostile(
        "negative GraphML weight",
        content("x.graphml", graphml(weighted_edge("-3"))),
        r"\('a', 'b'\) is -3",
        needs=("networkx",),
    ),
    Hostile("no edges", content("x.graphml", graphml("")), r"no edge", needs=("networkx",)),
    Hostile(
        "GML garbage", content("g.gml", "graph [ node [ id"), r"not valid GML", needs=("networkx",)
    ),
    Hostile(
        "GML with duplicate labels",
        content("g.gml", 'graph [ node [ id 0 label "a" ] node [ id 1 label "a" ] ]'),
        r"sound GML|no edge",
        needs=("networkx",),
    ),
    Hostile(
        "graph as table", content("g.edges", "a b\n"), r"cannot be read as table", {"kind": "table"}
    ),
    # AnnData.
    Hostile("text as h5ad", content("x.h5ad", "hello"), r"not an AnnData file"),
    Hostile(
        "h5ad with a link to another file",
        cells(lambda h5py, file: file.__setitem__("uns/x", h5py.ExternalLink("/etc/passwd", "/"))),
        r"'/uns/x' is stored in another file, which soffit does not open",
        needs=("anndata",),
    ),
    Hostile(
        "h5ad with data in another file",
        cells(
            lambda h5py, file: file.create_dataset(
                "obsm/x", (9, 2), "u1", external=[("/etc/passwd", 0, 18)]
            )
        ),
        r"'/obsm/x' is stored in another file, which soffit does not open",
        needs=("anndata",),
    ),
    Hostile(
        "h5ad that contains itself",
        cells(lambda h5py, file: file.__setitem__("uns/x", file["uns"])),
        r"groups that contain themselves",
        needs=("anndata",),
    ),
    Hostile(
        "h5ad bomb of links",
        cells(many_links),
        r"reading it needs [\d,.]+ GB of memory",
        needs=("anndata",),
    ),
    Hostile(
        "truncated h5ad",
        content("x.h5ad", b"\x89HDF\r\n\x1a\n" + b"\0" * 90),
        r"truncated",
        needs=("anndata",),
    ),
]
