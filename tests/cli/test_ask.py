"""`soffit ask`: questions and answers through standard input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from soffit.cli.app import make_app
from soffit.io import read_result


@pytest.fixture
def ask(flowers: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.chdir(tmp_path)

    def run(answers: str, *arguments: object, code: int = 0) -> Any:
        given = ["ask", "flowers.csv", "--drop", "species", *map(str, arguments)]
        result = CliRunner().invoke(make_app(), given, input=answers)
        assert "Traceback" not in result.output
        assert result.exit_code == code, result.output
        return result

    return run


def test_answers_are_asked_for_saved_and_used(ask, tmp_path):
    said = ask("y\nn\nhm\ns\nq\n", "-k", 3, "-o", "clusters.csv").stdout
    assert "Question 1" in said
    assert "sd apart" in said
    assert "Type y, n, s, u or q" in said
    assert "2 answers given, 2 in all." in said
    folder = tmp_path / "flowers.session"
    assert (folder / "must_link.csv").read_text(encoding="utf-8").count("\n") == 1
    assert (folder / "cannot_link.csv").read_text(encoding="utf-8").count("\n") == 1
    assert (tmp_path / "clusters.csv").exists()


def test_the_saved_command_repeats_the_result(ask, soffit, tmp_path):
    ask("n\nn\ny\n", "-k", 3, "-o", "asked.csv", "--neighbors", 12)
    command = (tmp_path / "flowers.session" / "repeat.sh").read_text(encoding="utf-8").split()
    assert command[:2] == ["soffit", "fit"]
    soffit(*command[1:], "-o", "again.csv")
    asked, again = (read_result(tmp_path / name) for name in ("asked.csv", "again.csv"))
    np.testing.assert_array_equal(asked.memberships, again.memberships)


def test_undo_and_resume(ask):
    ask("y\nu\ny\nq\n", "-k", 3)
    second = ask("u\nq\n", "-k", 3)
    assert "Resumed flowers.session: 1 answers" in second.stderr
    assert "0 in all" in second.stdout
    third = ask("q\n", "-k", 3, "--fresh")
    assert "Resumed" not in third.stderr


def test_json_and_other_mistakes(ask):
    answer = json.loads(ask("y\nq\n", "-k", 3, "--json").stdout)
    assert answer["n_answers"] == 1
    assert answer["n_clusters"] == 3
    assert answer["disputed"] == []
    refused = ask("", "-k", 3, "--neighbors", 9, code=1)
    assert "--neighbors 15" in refused.stderr
    assert "--session" in refused.stderr
    assert "is a file" in ask("", "--session", "flowers.csv", code=2).stderr
    assert "one cluster" in ask("", "-k", 1, "--session", "one").stdout
