"""Scripts beside the library can be imported without running, and say how they are used."""

from __future__ import annotations

import ast
import importlib
import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def modules_of(folder: str) -> list[str]:
    files = sorted((ROOT / folder).rglob("*.py"))
    parts = [file.relative_to(ROOT).with_suffix("").parts for file in files]
    return [".".join(part) for part in parts if part[-1] != "__init__"]


MODULES = [*modules_of("benchmarks"), *modules_of("reproduction")]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
# Modules that a user starts; the others serve them.
COMMANDS = [
    name for name in modules_of("benchmarks") if name.count(".") == 1 and "._" not in name
] + ["reproduction.__main__"]


def test_all_scripts_are_found() -> None:
    assert {"benchmarks.quality", "benchmarks.trace", "reproduction.harness.run"} <= set(MODULES)
    assert "benchmarks.scale" in COMMANDS
    assert EXAMPLES


@pytest.mark.parametrize("name", MODULES)
def test_a_module_is_imported_in_silence(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert importlib.import_module(name).__doc__
    assert capsys.readouterr() == ("", "")


# Imports inside functions would be missed by the test above.
@pytest.mark.parametrize("folder", ["benchmarks", "examples", "reproduction"])
def test_every_imported_name_exists(folder: str) -> None:
    ours = ("soffit", "benchmarks", "reproduction")
    count = 0
    for path in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith(ours):
                continue
            for alias in node.names:
                count += 1
                found = _exists(str(node.module), alias.name)
                assert found, f"{path.name}, line {node.lineno}: {node.module}.{alias.name}"
    assert count


def _exists(module: str, name: str) -> bool:
    if hasattr(importlib.import_module(module), name):
        return True
    try:
        importlib.import_module(f"{module}.{name}")
    except ModuleNotFoundError:
        return False
    return True


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_imported_in_silence(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "main" in runpy.run_path(str(path), run_name="imported")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_says_how_it_is_used(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as end:
        sys.exit(importlib.import_module(name).main())
    assert end.value.code in (None, 0)
    printed = capsys.readouterr()
    assert printed.out.startswith("usage: ")
    assert printed.err == ""
