"""A file that crashes its parser ends a child, not the user's process."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from soffit.io import DataError, read, trial

pl = pytest.importorskip("polars")


def _table(folder: Path) -> Path:
    path = folder / "t.parquet"
    pl.DataFrame({"x": np.arange(9.0), "y": np.arange(9.0) ** 2}).write_parquet(path)
    return path


def _arrow(folder: Path) -> Path:
    path = folder / "t.arrow"
    pl.read_parquet(_table(folder)).write_ipc(path)
    return path


def _cells(folder: Path) -> Path:
    anndata = pytest.importorskip("anndata")
    path = folder / "c.h5ad"
    anndata.AnnData(X=np.random.default_rng(1).random((9, 3))).write_h5ad(path)
    return path


def _instead(folder: Path, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run this code of the shell where Python is asked for."""
    script = folder / "python"
    script.write_text(f"#!/bin/sh\n{code}\n")
    script.chmod(0o755)
    monkeypatch.setattr(trial.sys, "executable", str(script))


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
@pytest.mark.parametrize("make", [_table, _arrow, _cells])
@pytest.mark.parametrize("sign", ["SEGV", "ABRT", "BUS"])
def test_a_crash_is_damage(tmp_path, monkeypatch, make, sign):
    path = make(tmp_path)
    _instead(tmp_path, f"kill -{sign} $$", monkeypatch)
    with pytest.raises(DataError, match=f"{path.name}: it is damaged: its parser crashes"):
        read(path)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
@pytest.mark.parametrize(
    ("code", "how"), [("exit 70", "crashes"), ("exit 71", "never ends"), ("kill -XCPU $$", "never")]
)
def test_a_panic_and_work_without_end_are_damage(tmp_path, monkeypatch, code, how):
    _instead(tmp_path, code, monkeypatch)
    with pytest.raises(DataError, match=f"it is damaged: its parser {how}"):
        read(_arrow(tmp_path))


def _tried(path: Path, before: str = "") -> int:
    """The exit code of the child, which runs some code first."""
    code = f"import sys; sys.path.insert(0, {str(Path(trial.__file__).parent)!r}); import trial\n"
    code += f"{before}\nsys.argv = ['', {str(path)!r}, {json.dumps(sys.path)!r}]; trial._main()"
    command = [sys.executable, "-I", "-c", code]
    return subprocess.run(command, check=False, capture_output=True, timeout=60).returncode


def test_a_panic_has_a_code_of_its_own(tmp_path):
    """A damaged Arrow file panics in threads of polars; found by fuzzing."""
    path = _arrow(tmp_path)
    assert _tried(path) == 0
    panic = "class PanicException(BaseException): pass\ndef fail(*a, **k): raise PanicException"
    assert _tried(path, f"{panic}\ntrial._frame = fail") == 70
    assert _tried(path, "def fail(*a, **k): raise OSError\ntrial._frame = fail") == 0


def test_a_parser_that_waits_for_ever_is_given_up(tmp_path):
    waits = "import time; trial._PATIENCE = 1.0; trial._frame = lambda *a, **k: time.sleep(50)"
    assert _tried(_arrow(tmp_path), waits) == 71


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of processor time")
def test_a_parser_that_works_for_ever_is_ended(tmp_path):
    works = "def spin(*a, **k):\n    while True: pass\ntrial._SECONDS = 1; trial._frame = spin"
    assert _tried(_arrow(tmp_path), works) == -signal.SIGXCPU


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
@pytest.mark.parametrize("code", ["kill -KILL $$", "kill -TERM $$", "exit 0", "exit 2"])
def test_other_ends_tell_nothing(tmp_path, monkeypatch, code):
    _instead(tmp_path, code, monkeypatch)
    assert read(_table(tmp_path)).data.shape == (9, 2)


def test_without_another_interpreter_the_file_is_read_all_the_same(tmp_path, monkeypatch):
    path = _table(tmp_path)
    for executable in ("", str(tmp_path / "none")):
        monkeypatch.setattr(trial.sys, "executable", executable)
        trial._ends_badly.cache_clear()
        assert read(path).data.shape == (9, 2)


def test_the_child_needs_nothing_but_the_parser(tmp_path):
    seen = subprocess.run(
        [sys.executable, "-X", "importtime", "-I", trial.__file__, str(_table(tmp_path)), "[]"],
        capture_output=True,
        text=True,
        check=True,
    ).stderr
    assert "soffit" not in seen
    assert "numpy" not in seen


def test_everything_in_a_file_is_read(tmp_path):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "all.h5ad"
    with h5py.File(path, "w") as file:
        file.attrs["said"] = "yes"
        file["numbers"] = np.arange(12.0).reshape(4, 3)
        file["scalar"] = 3.0
        file["empty"] = np.zeros((0, 3))
        file["words"] = ["a", "bc"]
        file["inside/itself"] = file["/"]
        file["outside"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "/x")
    trial._hdf5(str(path))
    trial._frame(str(_table(tmp_path)), is_arrow=False)
    trial._frame(str(_arrow(tmp_path)), is_arrow=True)
    (tmp_path / "none.parquet").write_bytes(b"PAR1 and nothing else PAR1")
    with pytest.raises(DataError, match="damaged or truncated"):
        read(tmp_path / "none.parquet")


def test_attributes_are_tried_by_name_where_their_list_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "a.h5ad"
    with h5py.File(path, "w") as file:
        file.create_group("obs").attrs["encoding-type"] = "dataframe"
    asked = []

    def refuse(self: object) -> object:
        raise RuntimeError("damaged")

    original = h5py.AttributeManager.__getitem__
    monkeypatch.setattr(h5py.AttributeManager, "__iter__", refuse)
    monkeypatch.setattr(
        h5py.AttributeManager,
        "__getitem__",
        lambda self, name: (asked.append(name), original(self, name))[1],
    )
    trial._hdf5(str(path))
    # Of the file and of its group.
    assert asked.count("encoding-type") == 2
    assert {"column-order", "_index", "shape"} <= set(asked)
