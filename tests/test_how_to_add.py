"""CONTRIBUTING's "how to add" is followed to the letter, in a copy of the package."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
# In `SUPPORT` and `FAMILIES`, what the text asks for in words.
SUPPORT_ENTRY = '    "fixed_point": Support(scales=SCALES, diagonal=(False, True), degrees=True),\n'
FAMILY_ENTRY = '            "fixed_point": solve_fixed_point,\n'


def blocks() -> dict[str, str]:
    """The code in CONTRIBUTING.md that begins with the name of a file, by that name."""
    text = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
    found = re.findall(r"^ *```python\n(.*?)^ *```$", text, re.MULTILINE | re.DOTALL)
    named = [textwrap.dedent(code).split("\n", 1) for code in found]
    return {first[2:]: rest for first, rest in named if first.startswith("# src/soffit/")}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package to which a model, a solver and a figure have been added."""
    root = tmp_path_factory.mktemp("copy")
    without = shutil.ignore_patterns("__pycache__")
    shutil.copytree(REPOSITORY / "src" / "soffit", root / "src" / "soffit", ignore=without)
    for name, code in blocks().items():
        path = root / name.partition(",")[0]
        if name.endswith("in _ENTRIES"):
            text = path.read_text(encoding="utf-8")
            entry = textwrap.indent(code.rstrip() + ",\n", "    ")
            path.write_text(text.replace("_ENTRIES = (\n", f"_ENTRIES = (\n{entry}"), "utf-8")
        elif path.name in ("__init__.py", "__init__.pyi"):
            path.write_text(path.read_text(encoding="utf-8") + code, encoding="utf-8")
        else:
            assert not path.exists()
            path.write_text(code, encoding="utf-8")
    insert(root, "problem.py", "SUPPORT: dict[str, Support] = {\n", SUPPORT_ENTRY)
    insert(root, "solvers.py", '            "rows": solve_rows,\n', FAMILY_ENTRY)
    line = "from soffit.factorize.simplex.rows import solve_rows\n"
    added = "from soffit.factorize.simplex.fixed_point import solve_fixed_point\n"
    insert(root, "solvers.py", line, added)
    return root


def insert(root: Path, name: str, line: str, added: str) -> None:
    path = root / "src" / "soffit" / "factorize" / name
    text = path.read_text(encoding="utf-8")
    assert text.count(line) == 1
    path.write_text(text.replace(line, line + added), encoding="utf-8")


def run(copy: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(copy / "src")}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=copy,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_text_shows_a_model_a_solver_and_a_figure() -> None:
    assert {name.partition(",")[0] for name in blocks()} == {
        "src/soffit/__init__.pyi",
        "src/soffit/catalogue.py",
        "src/soffit/factorize/simplex/fixed_point.py",
        "src/soffit/figures/__init__.py",
        "src/soffit/figures/certainty.py",
        "src/soffit/models/scaled_sof.py",
    }


def test_an_added_model_is_known_to_the_command_the_report_and_files(copy: Path) -> None:
    table = "\n".join(f"{a},{b}" for a, b in [("x", "y"), *((i % 7, i // 20) for i in range(40))])
    (copy / "points.csv").write_text(table, encoding="utf-8")
    command = ("-m", "soffit", "fit", "points.csv", "-k", "2", "--method", "scaled-sof")
    run(copy, *command, "--report", "page.html", "--save", "model.soffit", "-o", "rows.csv")
    page = (copy / "page.html").read_text(encoding="utf-8")
    assert "<code>ScaledSoF</code>" in page
    assert "scaled per cluster" in page
    assert len((copy / "rows.csv").read_text(encoding="utf-8").splitlines()) == 41
    assert "ScaledSoF" in run(copy, "-m", "soffit", "info", "model.soffit")
    code = (
        "import numpy as np, soffit\n"
        "model = soffit.load('model.soffit')\n"
        "assert type(model) is soffit.ScaledSoF\n"
        "placed = model.predict_proba(np.array([[1.0, 0.0], [3.0, 1.0]]))\n"
        "np.testing.assert_allclose(placed.sum(axis=1), 1.0)\n"
        "print(placed.shape)\n"
    )
    assert run(copy, "-c", code).strip() == "(2, 2)"


def test_an_added_solver_is_known_by_name(copy: Path) -> None:
    code = (
        "import numpy as np\n"
        "from soffit.factorize import SOLVERS, Problem, random_start\n"
        "A = np.kron(np.eye(2), np.ones((5, 5)))\n"
        "start = random_start(10, 2, np.random.RandomState(7))\n"
        "found = SOLVERS['fixed_point'](Problem(A, 2), start)\n"
        "print(len(set(found.factor.argmax(axis=1)[:5])), found.stopped)\n"
    )
    assert run(copy, "-c", code).split() == ["1", "converged"]


def test_an_added_figure_is_public(copy: Path) -> None:
    code = (
        "import numpy as np\n"
        "from soffit.figures import certainty\n"
        "figure = certainty(np.array([[0.9, 0.1], [0.4, 0.6]]))\n"
        "print(figure.data[0].x.tolist())\n"
    )
    assert run(copy, "-c", code).strip() == "[0.9, 0.6]"
