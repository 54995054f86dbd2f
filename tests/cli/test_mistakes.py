"""Mistakes end with a message and the right exit code, before any work is lost."""

from __future__ import annotations

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from soffit.__main__ import main
from soffit._wording import visible
from soffit.cli.app import make_app


def test_a_missing_file_is_bad_data_and_a_similar_name_is_offered(soffit, flowers):
    text = soffit("fit", "flowres.csv", code=1).output
    assert "There is no file flowres.csv. Did you mean flowers.csv?" in text


def test_a_folder_is_no_file(soffit, tmp_path):
    assert "is a folder" in soffit("fit", tmp_path, code=1).output


def test_an_unknown_column_is_bad_usage(soffit, flowers):
    for option in ("--columns", "--drop", "--id", "--label"):
        text = soffit("fit", flowers, option, "petal_lenght", code=2).output
        assert "petal_lenght" in text
        assert "petal_length" in text


def test_more_clusters_than_objects_is_bad_data(soffit, flowers):
    text = soffit("fit", flowers, "-k", 151, "--drop", "flower,species", code=1).output
    assert "-k 151 is larger than the number of objects, 150." in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-k", "0"], "too small"),
        (["-k", "three"], "integer"),
        (["--neighbors", "0"], "too small"),
        (["--seed", "-1"], "too small"),
        (["--resamples", "1"], "A single subsample"),
        (["--resamples", "5", "--method", "sof"], "Only --method soft supports subsamples"),
        (["--neighbors", "5", "--method", "higher-order"], "does not use neighbours"),
        (["--must-link", "pairs.csv", "--method", "sof"], "does not accept pairs"),
        (["--method", "kmeans"], "kmeans"),
        (["--impute", "zero"], "zero"),
        (["-o", "out.docx"], ".docx"),
        (["-o", "out.graphml"], "hold graphs"),
        (["-o", "nowhere/out.csv"], "does not exist"),
        (["-o", "flowers.csv"], "would be overwritten"),
        (["--report", "out.pdf"], "must end in"),
        (["--save", "model.pkl"], ".soffit"),
        (["--no-such-option"], "--no-such-option"),
    ],
)
def test_bad_usage(soffit, flowers, arguments, words):
    text = soffit("fit", flowers.name, *arguments, code=2).output
    assert words in " ".join(text.replace("│", " ").split())
    assert flowers.stat().st_size > 1000


def test_an_unexpected_error_is_reported_on_one_line(soffit, flowers, monkeypatch):
    def fail(*_arguments, **_options):
        raise KeyError("hidden")

    monkeypatch.setattr("soffit.io.read", fail)
    text = soffit("fit", flowers, code=1).stderr
    assert text.startswith("Error: Internal error (KeyError: 'hidden').")
    assert "SOFFIT_TRACEBACK=1" in text
    assert text.count("\n") == 1


def test_traceback_on_demand(flowers, monkeypatch):
    monkeypatch.setenv("SOFFIT_TRACEBACK", "1")
    result = CliRunner().invoke(make_app(), ["fit", f"{flowers}.missing"])
    assert isinstance(result.exception, FileNotFoundError)


def test_control_c_has_an_exit_code_of_its_own(soffit, flowers, monkeypatch):
    def stop(*_arguments, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr("soffit.io.read", stop)
    assert "interrupted" in soffit("fit", flowers, code=130).stderr


def test_control_c_while_the_command_is_prepared_shows_no_traceback(monkeypatch, capsys):
    def stop():
        raise KeyboardInterrupt

    monkeypatch.setattr("soffit.cli.app.make_app", stop)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "Error: interrupted by Ctrl-C.\n"


def test_too_little_memory_is_said(soffit, flowers, monkeypatch):
    def fail(*_arguments, **_options):
        raise MemoryError

    monkeypatch.setattr("soffit.io.read", fail)
    assert "not enough memory" in soffit("fit", flowers, code=1).stderr


def test_names_from_files_cannot_steer_the_terminal(soffit, tmp_path):
    assert visible("a\x1b[31mb\x07") == "a\ufffd[31mb\ufffd"
    path = tmp_path / "escape.csv"
    rows = "".join(f"{i % 2 * 50 + i % 7},{i % 5}\n" for i in range(40))
    path.write_text(f"[red]\x1b[31mevil,other\n{rows}", encoding="utf-8")
    text = soffit("fit", path, "-k", 2, code=None).output
    assert "\x1b" not in text


def test_ctrl_c_during_the_imports_is_never_another_error(tmp_path):
    # An import that is interrupted may hide it: Python's parser calls it a syntax error.
    code = (
        "import builtins, signal, sys\n"
        "real = builtins.__import__\n"
        "def hidden(name, *args, **more):\n"
        "    if name == 'typer':\n"
        "        try: signal.raise_signal(signal.SIGINT)\n"
        "        except KeyboardInterrupt: raise SyntaxError('hidden')\n"
        "    return real(name, *args, **more)\n"
        "builtins.__import__ = hidden\n"
        "from soffit.__main__ import main\n"
        "main()\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (130, "Error: interrupted by Ctrl-C.\n")
    # Who ignores it, as nohup does, still does.
    ignored = code.replace("real =", "signal.signal(signal.SIGINT, signal.SIG_IGN); real =")
    command = [sys.executable, "-c", ignored, "--version"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("first", ["signal", "soffit.cli.app"])
def test_ctrl_c_while_the_entry_point_itself_is_imported_shows_no_traceback(first):
    code = (
        "import builtins, runpy, sys\n"
        "import soffit\n"
        "real = builtins.__import__\n"
        "def interrupted(name, *args, **more):\n"
        f"    if name == {first!r} and args[0]['__name__'] == '__main__':\n"
        "        raise KeyboardInterrupt\n"
        "    return real(name, *args, **more)\n"
        "builtins.__import__ = interrupted\n"
        "runpy.run_module('soffit', run_name='__main__')\n"
    )
    command = [sys.executable, "-c", code, "--version"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (130, "Error: interrupted by Ctrl-C.\n")
