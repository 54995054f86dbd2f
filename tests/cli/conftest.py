"""Files that a user might have, and the command to try them with."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sklearn.datasets import load_iris
from tests.cli.csv_files import write_csv
from typer.testing import CliRunner

from soffit.cli.app import make_app

Run = Callable[..., Any]


@pytest.fixture
def soffit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run the command in a folder of its own; without `code` it must succeed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SOFFIT_TRACEBACK", raising=False)

    def run(*arguments: object, code: int | None = 0) -> Any:
        result = CliRunner().invoke(make_app(), [str(argument) for argument in arguments])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.output
        assert "Traceback" not in result.output
        assert code is None or result.exit_code == code, result.output
        return result

    return run


@pytest.fixture
def answer(soffit: Run) -> Callable[..., dict[str, Any]]:
    """Run the command with --json and read what it prints, which must be JSON alone."""

    def run(*arguments: object) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(soffit(*arguments, "--json").stdout)
        return found

    return run


@pytest.fixture
def flowers(tmp_path: Path) -> Path:
    """150 flowers with an identifier, four lengths and their species."""
    iris = load_iris()
    path = tmp_path / "flowers.csv"
    names = ["flower", "sepal_length", "sepal_width", "petal_length", "petal_width", "species"]
    rows = [
        [f"F{number:03d}", *values.tolist(), str(iris.target_names[species])]
        for number, (values, species) in enumerate(zip(iris.data, iris.target, strict=True))
    ]
    write_csv(path, names, rows)
    return path


@pytest.fixture
def few_flowers(flowers: Path) -> Path:
    """Every fourth of them, for slow methods."""
    lines = flowers.read_text(encoding="utf-8").splitlines(keepends=True)
    path = flowers.with_name("few.csv")
    path.write_text("".join([lines[0], *lines[1::4]]), encoding="utf-8")
    return path


@pytest.fixture
def friends(tmp_path: Path) -> Path:
    """Two groups of ten who all know one another, and two links between the groups."""
    path = tmp_path / "friends.csv"
    edges = [[f"{group}{i}", f"{group}{j}"] for group in "ab" for i in range(10) for j in range(i)]
    write_csv(path, ["source", "target"], [*edges, ["a0", "b0"], ["a1", "b1"]])
    return path
