"""What is released: one version everywhere, a wheel with the package alone, links that work."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import soffit

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli", reason="Python 3.10 cannot read TOML by itself")

ROOT = Path(__file__).resolve().parents[1]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def project() -> dict:
    return tomllib.loads(read("pyproject.toml"))["project"]


def test_the_version_is_the_same_everywhere() -> None:
    version = soffit.__version__
    assert re.search(rf"^## \[{re.escape(version)}\]", read("CHANGELOG.md"), re.MULTILINE)
    assert f"version: {version}\n" in read("CITATION.cff")
    assert f'{{% set version = "{version}" %}}' in read("packaging/conda/meta.yaml")


def test_the_conda_recipe_needs_what_the_wheel_needs(project: dict) -> None:
    recipe = read("packaging/conda/meta.yaml").partition("  run:\n")[2].partition("\n\n")[0]
    listed = {line.strip("- ").replace(" ", "") for line in recipe.splitlines()}
    wanted = {*project["dependencies"], f"python{project['requires-python']}"}
    assert listed == wanted


def test_the_changelog_keeps_its_form() -> None:
    text = read("CHANGELOG.md")
    versions = re.findall(r"^## \[(.+?)\]", text, re.MULTILINE)
    assert versions[0] == "Unreleased"
    headings = set(re.findall(r"^### (.+)$", text, re.MULTILINE))
    assert headings <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        found = re.findall(r"^### (.+)$", section, re.MULTILINE)
        assert len(found) == len(set(found)), f"a heading occurs twice: {section[:20]!r}"


def test_the_readme_has_absolute_links_to_pages_that_exist(project: dict) -> None:
    """Relative links would not work where the README is shown by a package index."""
    docs, source = project["urls"]["Documentation"], project["urls"]["Source"]
    raw = source.replace("github.com", "raw.githubusercontent.com") + "/main/"
    targets = re.findall(r"\]\(([^)\s]+)\)", read("README.md"))
    assert len(targets) > 8
    for target in targets:
        if target.startswith(docs):
            page = target.removeprefix(docs).partition("#")[0].removesuffix(".html")
            generated = page == "auto_examples/index"
            assert generated or (ROOT / "docs" / f"{page}.md").exists(), target
        elif target.startswith(raw):
            assert (ROOT / target.removeprefix(raw)).exists(), target
        else:
            start = f"{source}/blob/main/"
            assert target.startswith(start), f"not absolute, or to another place: {target}"
            assert (ROOT / target.removeprefix(start)).exists(), target


def test_the_readme_is_about_one_screen() -> None:
    assert len(read("README.md").splitlines()) <= 110


@pytest.mark.parametrize("name", ["CODE_OF_CONDUCT.md", "SECURITY.md", "CITATION.cff", "LICENSE"])
def test_what_a_project_must_say_is_there(name: str) -> None:
    assert len(read(name)) > 300


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Names of the files in a wheel that is built here, without the network."""
    pytest.importorskip("hatchling", reason="the build backend is not installed")
    pytest.importorskip("build", reason="the package `build` is not installed")
    folder = tmp_path_factory.mktemp("dist")
    options = ["--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(
        [sys.executable, "-m", "build", *options], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return set(zipfile.ZipFile(next(folder.glob("*.whl"))).namelist())


def test_the_wheel_holds_the_package_alone(wheel: set[str]) -> None:
    assert {name.split("/")[0] for name in wheel} == {
        "soffit",
        f"soffit-{soffit.__version__}.dist-info",
    }
    assert not [name for name in wheel if re.search(r"test|reproduction|benchmark|\.ipynb", name)]
    assert "soffit/py.typed" in wheel
    assert "soffit/__init__.pyi" in wheel


def test_every_module_is_in_the_wheel(wheel: set[str]) -> None:
    files = (path for path in (ROOT / "src").rglob("*") if path.is_file())
    ours = {path.relative_to(ROOT / "src").as_posix() for path in files}
    ours = {name for name in ours if "__pycache__" not in name}
    assert ours <= wheel
