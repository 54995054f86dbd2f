"""The command as a process: exit codes, streams, pipes."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest


def environment() -> dict[str, str]:
    # A path in PYTHONPATH may be relative to the folder in which the tests were started.
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    paths = os.pathsep.join(os.path.abspath(entry) for entry in entries if entry)
    return {**os.environ, "PYTHONPATH": paths}


def run(folder, *arguments, **extra):
    return subprocess.run(
        [sys.executable, "-m", "soffit.cli", *map(str, arguments)],
        cwd=folder,
        env=environment() | extra,
        capture_output=True,
        check=False,
    )


def test_json_and_exit_code_zero(flowers):
    done = run(flowers.parent, "fit", flowers, "-k", 2, "--id", "flower", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["n_clusters"] == 2
    assert done.stderr == b""


@pytest.mark.parametrize("module", ["soffit", "soffit.cli"])
def test_python_runs_the_command_as_a_module(tmp_path, module):
    done = subprocess.run(
        [sys.executable, "-m", module, "--version"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("soffit ")


def test_bad_data(tmp_path):
    (tmp_path / "one.csv").write_text("a,b\n", encoding="utf-8")
    done = run(tmp_path, "fit", "one.csv")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"Error: ")
    assert b"Traceback" not in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="a shell with pipes is needed")
def test_a_reader_that_goes_away_is_no_error(flowers):
    command = f"{sys.executable} -m soffit.cli info {flowers.name}; echo code=$? >&2"
    done = subprocess.run(
        ["sh", "-c", f"({command}) | true"],
        cwd=flowers.parent,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.strip() == "code=0"


def test_output_without_unicode(flowers):
    done = run(
        *(flowers.parent, "fit", flowers, "-k", 2, "--id", "flower"),
        PYTHONIOENCODING="ascii",
    )
    assert done.returncode == 0, done.stderr


def test_help_loads_no_heavy_library(tmp_path):
    code = (
        "import sys\n"
        "from soffit.cli.app import make_app\n"
        "make_app()\n"
        "heavy = ['numba', 'polars', 'plotly', 'networkx', 'PIL', 'sklearn.cluster']\n"
        "print([name for name in heavy if name in sys.modules])\n"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
