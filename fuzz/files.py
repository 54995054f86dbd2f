"""Damaged files: a result or a message, in the library and in the command."""

from __future__ import annotations

import contextlib
import io
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
import scipy.io
import scipy.sparse as sp

from fuzz.outcome import ViolationError, refused, require
from fuzz.tables import Generator
from soffit.io import Result, describe, read, read_result, write_result

_SEED = 4711


def _frame() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "id": [f"o{i}" for i in range(40)],
            "x": np.linspace(-3, 8, 40),
            "n": np.arange(40) % 7,
            "c": ["red", "blue"] * 20,
        }
    )


def _sparse() -> Any:
    return sp.random_array((30, 9), density=0.3, random_state=np.random.default_rng(_SEED))


def _graph(ending: str, path: Path) -> None:
    import networkx

    getattr(networkx, f"write_{ending}")(networkx.karate_club_graph(), path)


def _cells(path: Path) -> None:
    import anndata

    X = np.random.default_rng(_SEED).random((20, 4))
    cells = anndata.AnnData(X=X, obsm={"X_pca": X[:, :2].copy()})
    cells.obsp["connectivities"] = sp.csr_matrix((X @ X.T > 1.2).astype(float))
    cells.write_h5ad(path)


def _sparse_cells(path: Path) -> None:
    import anndata

    anndata.AnnData(X=sp.csr_matrix(_sparse())).write_h5ad(path)


def _result(path: Path) -> None:
    rows = np.random.default_rng(_SEED).dirichlet(np.ones(3), 30)
    write_result(Result.from_memberships(rows), path)


def _mtx(path: Path) -> None:
    buffer = io.BytesIO()
    scipy.io.mmwrite(buffer, _sparse())
    path.write_bytes(buffer.getvalue())


def _picture(path: Path) -> None:
    from PIL import Image

    Image.fromarray((np.indices((12, 16)).sum(axis=0) * 9).astype(np.uint8)).save(path)


FILES: dict[str, Callable[[Path], Any]] = {
    "t.csv": lambda path: _frame().write_csv(path),
    "t.tsv": lambda path: _frame().write_csv(path, separator="\t"),
    "t.parquet": lambda path: _frame().write_parquet(path),
    "t.arrow": lambda path: _frame().write_ipc(path),
    "t.jsonl": lambda path: _frame().write_ndjson(path),
    "t.xlsx": lambda path: _frame().write_excel(path),
    "t.npy": lambda path: np.save(path, np.arange(90.0).reshape(30, 3)),
    "t.npz": lambda path: np.savez_compressed(path, X=np.arange(90.0).reshape(30, 3)),
    "s.npz": lambda path: sp.save_npz(path, _sparse()),
    "e.npz": lambda path: np.savez(path, edges=np.array([[0, 1], [1, 2], [2, 0], [3, 0]])),
    "m.mtx": _mtx,
    "g.graphml": lambda path: _graph("graphml", path),
    "g.gml": lambda path: _graph("gml", path),
    "g.edges": lambda path: path.write_text("".join(f"{i} {i * 7 % 20}\n" for i in range(30))),
    "c.h5ad": _cells,
    "d.h5ad": _sparse_cells,
    "r.csv": _result,
    "r.json": _result,
    "r.npz": _result,
    "p.png": _picture,
    "p.tif": _picture,
    "p.bmp": _picture,
}


@cache
def sound(name: str) -> bytes:
    """The content of a sound file."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        FILES[name](path)
        return path.read_bytes()


def damaged(data: bytes, rng: Generator) -> bytes:
    """The same with bytes changed, removed, repeated, or cut off."""
    changed = bytearray(data)
    how = rng.random()
    if how < 0.2:
        return bytes(changed[: int(rng.integers(1, len(changed)))])
    if how < 0.3:
        first, last = sorted(rng.integers(len(changed), size=2).tolist())
        return bytes(changed[:first] + changed[last:])
    if how < 0.4:
        first, last = sorted(rng.integers(len(changed), size=2).tolist())
        return bytes(changed[:last] + changed[first:])
    # Where formats keep their structure: at the start and at the end.
    near = min(len(changed), 400)
    for _ in range(int(rng.integers(1, 5))):
        place = int(rng.integers(near))
        at = {0: place, 1: len(changed) - 1 - place}.get(int(rng.integers(3)))
        changed[int(rng.integers(len(changed))) if at is None else at] = int(
            rng.choice([0, 255, 127, 48, 57, 44, 10, int(rng.integers(256))])
        )
    return bytes(changed)


def damaged_file(rng: Generator, folder: Path) -> str:
    """Read a damaged file by the library."""
    name = list(FILES)[int(rng.integers(len(FILES)))]
    path = folder / name
    path.write_bytes(damaged(sound(name), rng))
    return _read_as_it_is(path)


_TEXTS = ["t.csv", "t.tsv", "t.jsonl", "g.edges", "g.gml", "g.graphml", "m.mtx", "r.csv", "r.json"]
_SIGNS = tuple(" (-\"'\t,;\r\n$1.#[{<\\")
_PIECES = (*_SIGNS, '\\"', '"a"', "1,", "a b", "- ", "\n ", ": ", "=", "\u00e9", "<a>", "<node>")
_STRETCHED_BYTES = 100_000
# Seconds of processor time that reading so few bytes may take; what is quadratic takes minutes.
_LINEAR = 15.0


def stretched_file(rng: Generator, folder: Path) -> str:
    """Read a text file in which a short piece is repeated until the file is 100 kB long."""
    name = _TEXTS[int(rng.integers(len(_TEXTS)))]
    content, path = sound(name), folder / name
    at = int(rng.integers(len(content) + 1))
    piece = str(rng.choice(_PIECES)).encode()
    if rng.random() < 0.5:
        first = int(rng.integers(len(content)))
        piece = content[first : first + int(rng.integers(1, 30))]
    path.write_bytes(content[:at] + piece * (_STRETCHED_BYTES // len(piece)) + content[at:])
    begin = time.process_time()
    outcome = _read_as_it_is(path)
    seconds = time.process_time() - begin
    require(seconds < _LINEAR, f"{name} with many {piece!r} at {at} took {seconds:.0f} s")
    return outcome


def _read_as_it_is(path: Path) -> str:
    name = path.name
    try:
        if name[0] == "r":
            rows = read_result(path).memberships
            require(np.isfinite(rows).all(), "a result with NaN was read")
        elif name[0] == "p":
            from soffit.cli.segment_command import load_image

            require(load_image(path).size[0] > 0, "an empty image was read")
        else:
            check_source(read(path, impute="median"))
    except Exception as error:
        return refused(error)
    try:
        if name[0] not in "rp":
            describe(path).lines()
    except Exception as error:
        refused(error)
    return "read"


def check_source(source: Any) -> None:
    """Values are finite, and the indices of a sparse matrix are in range."""
    data = source.data
    if sp.issparse(data):
        data.check_format(full_check=True)
        require(np.isfinite(data.data).all(), "a sparse matrix with NaN was read")
    else:
        require(np.isfinite(data).all(), "a table with NaN was read")


_COMMANDS = ("info", "fit", "graph", "segment", "predict", "report", "edit", "hierarchy")


def command(rng: Generator, folder: Path) -> str:
    """Run the command on a damaged file."""
    name = list(FILES)[int(rng.integers(len(FILES)))]
    path = folder / name
    content = sound(name)
    path.write_bytes(damaged(content, rng) if rng.random() < 0.8 else content)
    verb = _COMMANDS[int(rng.integers(len(_COMMANDS)))]
    arguments = [verb, str(path)]
    if verb in ("fit", "graph"):
        arguments += ["-k", "2"]
        if rng.random() < 0.3:
            arguments += ["-o", str(folder / f"out{rng.choice(['.csv', '.json', '.npz', '.x'])}")]
    elif verb == "predict":
        arguments = [verb, str(path), str(path)]
    code, out = run_command(arguments)
    require(code in (0, 1, 2), f"soffit {verb} of a damaged {name} exits with {code}: {out[-300:]}")
    return f"exit {code}"


def run_command(arguments: list[str]) -> tuple[Any, str]:
    """The exit code and all output of `soffit`, in this process; ViolationError for a traceback."""
    from soffit.cli.app import make_app

    out = io.StringIO()
    before = sys.argv
    sys.argv = ["soffit", *arguments]
    code: Any = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            make_app()(arguments, prog_name="soffit")
    except SystemExit as ended:
        code = ended.code or 0
    except BaseException as error:
        raise ViolationError(
            f"soffit {' '.join(arguments)}: {type(error).__name__}: {error}"
        ) from error
    finally:
        sys.argv = before
    text = out.getvalue()
    for sign in ("Traceback", "Internal error"):
        require(sign not in text, f"soffit {' '.join(arguments)}: {text[-400:]}")
    return code, text


_OPTIONS: dict[str, tuple[str, ...]] = {
    "-k": ("2", "1", "3", "39", "400", "0", "-1", "x"),
    "--max-clusters": ("4", "1", "0"),
    "--method": ("soft", "sof", "spectral", "relation", "hierarchy", "higher-order", "none"),
    "--neighbors": ("5", "1", "999", "0"),
    "--standardize": ("auto", "yes", "no", "maybe"),
    "--resamples": ("0", "2", "-1"),
    "--seed": ("0", "7", "-1", "99999999999999999999"),
    "--max-time": ("5", "0.001", "0", "nan", "inf"),
    "--sep": (",", ";", "tab", "blank", "", "ab"),
    "--decimal": (".", ",", "x"),
    "--thousands": (",", ".", "'", "blank", "x"),
    "--na": ("red", "0,1", "", "'"),
    "--sheet": ("1", "Sheet1", "0", "none"),
    "--skip-rows": ("0", "1", "3", "1000", "-1"),
    "--encoding": ("utf-8", "latin-1", "utf-16", "none", "rot13"),
    "--kind": ("auto", "table", "distances", "similarities", "graph", "x"),
    "--columns": ("x,n", "x", "c", "id", '"x', "", "none"),
    "--drop": ("c", "x,n,c", "none"),
    "--id": ("id", "c", "x", "none"),
    "--label": ("c", "n", "x", "none"),
    "--impute": ("none", "median", "mean", "drop", "x"),
    "--text": ("auto", "onehot", "drop", "x"),
    "--must-link": ("PAIRS", "FILE", "none.csv"),
    "--cannot-link": ("PAIRS", "none.csv"),
    "--name": ("0=low", "1=<b>", "0=", "=x", "9=x", "x"),
    "-o": ("OUT.csv", "OUT.json", "OUT.xlsx", "OUT.npz", "OUT.graphml", "OUT.h5ad", "OUT.x", "."),
    "--save": ("OUT.soffit", "OUT.x", "none/x.soffit"),
    "--min-certainty": ("0.5", "0", "1", "2", "nan"),
    "--only-memberships": (),
    "--quiet": (),
    "--json": (),
}
_EDITS = {"--merge": ("0,1", "0", "0,9", "x,y", ""), "--split": ("0", "1:3", "9", "0:0", "0:x")}


def options(rng: Generator, folder: Path) -> str:
    """Run `soffit fit` on a sound file with any options, then predict and edit what it saved."""
    table = folder / list(FILES)[int(rng.integers(len(FILES)))]
    table.write_bytes(sound(table.name))
    pairs = folder / "pairs.csv"
    pairs.write_text(str(rng.choice(["o1,o2\no3,o5\n", "1,2\n", "1\n", "a,b\n", "1,1\n", "", "é"])))
    out = folder / "out"

    def some(known: dict[str, tuple[str, ...]], count: int) -> list[str]:
        chosen: list[str] = []
        for option in rng.choice(list(known), size=count, replace=False).tolist():
            values = known[option]
            chosen.append(option)
            if values:
                value = values[0] if rng.random() < 0.4 else values[int(rng.integers(len(values)))]
                places = {"PAIRS": str(pairs), "FILE": str(table)}
                chosen.append(places.get(value, value.replace("OUT", str(out))))
        return chosen

    verb = str(rng.choice(["fit", "fit", "fit", "info", "graph", "hierarchy"]))
    arguments = [verb, str(table), *some(_OPTIONS, int(rng.integers(0, 5)))]
    model = folder / "model.soffit"
    if verb == "fit" and rng.random() < 0.3:
        arguments += ["--save", str(model)]
    code, text = run_command(arguments)
    require(code in (0, 1, 2), f"soffit {' '.join(arguments)} exits with {code}: {text[-300:]}")
    if model.exists():
        for more in (["predict", str(model), str(table)], ["edit", str(model), *some(_EDITS, 1)]):
            then, text = run_command(more)
            require(then in (0, 1, 2), f"soffit {' '.join(more)} exits with {then}: {text[-300:]}")
    return f"exit {code}"


_TOPICS = (
    ("orbit", "rocket", "moon", "launch", "crew"),
    ("dough", "oven", "flour", "yeast", "salt"),
    ("goal", "referee", "match", "striker", "cup"),
)
_NOISE = (
    "the",
    "of",
    "a",
    "2024",
    "\u202e",
    "=1+1",
    '"',
    ";",
    "<b>",
    "\u00e9t\u00e9",
    "\u6570\u636e",
)


def _documents(rng: Generator, n: int) -> list[str]:
    texts = []
    for number in range(n):
        topic = _TOPICS[number % len(_TOPICS)] if rng.random() < 0.9 else _NOISE
        words = rng.choice([*topic, *_NOISE], size=int(rng.choice([0, 1, 3, 12, 40])))
        texts.append(" ".join(words.tolist()))
    return texts


def documents(rng: Generator, folder: Path) -> str:
    """Cluster a column of documents by its words; place others, some without a known word."""
    table, other, model = (folder / name for name in ("docs.csv", "new.csv", "model.soffit"))
    n = int(rng.choice([2, 6, 20, 60]))
    frame = pl.DataFrame({"text": _documents(rng, n)})
    if rng.random() < 0.4:
        frame = frame.with_columns(x=pl.Series(rng.normal(size=n)))
    frame.write_csv(table)
    new = frame.with_columns(text=pl.Series(_documents(rng, n))).head(5)
    if rng.random() < 0.3:
        new = new.with_columns(text=pl.lit("nothing that was ever seen"))
    new.write_csv(other)
    if rng.random() < 0.2:
        table.write_bytes(damaged(table.read_bytes(), rng))
    arguments = ["fit", str(table), "--save", str(model)]
    if rng.random() < 0.7:
        arguments += ["-k", str(rng.choice(["1", "2", "3", "9"]))]
    if rng.random() < 0.6:
        arguments += ["--text", str(rng.choice(["words", "words", "onehot", "drop"]))]
    if rng.random() < 0.2:
        arguments += ["--report", str(folder / "report.html")]
    code, text = run_command(arguments)
    require(code in (0, 1, 2), f"soffit {' '.join(arguments)} exits with {code}: {text[-300:]}")
    if model.exists():
        then, text = run_command(["predict", str(model), str(other), "-o", str(folder / "o.csv")])
        require(then in (0, 1), f"soffit predict of documents exits with {then}: {text[-300:]}")
        if then == 0:
            rows = read_result(folder / "o.csv").memberships
            require(np.isfinite(rows).all(), "predicted memberships hold NaN")
        return f"exit {code}, predict {then}"
    return f"exit {code}"
