"""What is released: one version everywhere, a wheel with the package alone, links that work."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from email import message_from_string
from email.message import Message
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
        empty = re.findall(r"^### (.+)\n+(?=#|\Z)", section, re.MULTILINE)
        assert not empty, f"headings without an entry: {section[:20]!r}"
        assert len(section.splitlines()) <= 130, f"too long for users: {section[:20]!r}"
    for entry in re.split(r"^- ", text, flags=re.MULTILINE)[1:]:
        assert len(entry.split("\n\n")[0].split()) <= 70, (
            f"too long for a changelog: {entry[:60]!r}"
        )


def test_every_python_that_is_named_is_tested_where_it_is_found(project: dict) -> None:
    prefix = "Programming Language :: Python :: 3."
    named = [c.removeprefix(prefix) for c in project["classifiers"] if c.startswith(prefix)]
    assert project["requires-python"] == f">=3.{named[0]}"
    (listed,) = re.findall(r"^VERSIONS := (.+)$", read("Makefile"), re.MULTILINE)
    assert listed.split() == [f"3.{minor}" for minor in named]


@pytest.fixture(scope="module")
def addresses() -> dict[str, str]:
    """The one place where addresses stand."""
    tool = tomllib.loads(read("pyproject.toml"))["tool"]
    return tool["hatch"]["metadata"]["hooks"]["custom"]


def links_of(text: str) -> list[str]:
    """Targets of links and pictures, of Markdown or in an `<img>`."""
    return re.findall(r"""(?:\]\(|\bsrc=")([^)"\s]+)[)"]""", text)


def test_the_readme_links_to_files_that_exist() -> None:
    """They work in every checkout; a package index gets addresses (packaging/hatch_build.py)."""
    targets = links_of(read("README.md"))
    assert len(targets) > 8
    for target in targets:
        assert (ROOT / target.partition("#")[0]).exists(), target


def test_links_of_the_package_are_absolute(metadata: Message, addresses: dict[str, str]) -> None:
    """Relative links would not work where the README is shown by a package index."""
    site, source = addresses["site"], addresses["source"]
    text = metadata.get_payload()
    assert "model.memberships_" in text
    targets = links_of(text)
    assert len(targets) > 8
    raw = source.replace("github.com", "raw.githubusercontent.com") + "/main/"
    assert raw + "docs/digits.png" in targets
    assert f"{site}benchmarks.html#true-probabilities" in targets
    for target in targets:
        if target.startswith(site):
            page = target.removeprefix(site).partition("#")[0].removesuffix(".html")
            example = page.replace("auto_examples", "examples/gallery") + ".py"
            generated = page == "auto_examples/index" or (ROOT / example).exists()
            assert generated or (ROOT / "docs" / f"{page}.md").exists(), target
        else:
            start = raw if target.startswith(raw) else f"{source}/blob/main/"
            assert target.startswith(start), f"not absolute, or to another place: {target}"
            assert (ROOT / target.removeprefix(start)).exists(), target
    links = dict(entry.split(", ") for entry in metadata.get_all("Project-URL"))
    assert (links["Documentation"], links["Source"]) == (site, source)


def test_addresses_are_the_same_everywhere(addresses: dict[str, str]) -> None:
    site, source = addresses["site"], addresses["source"]
    assert f'repository-code: "{source}"\n' in read("CITATION.cff")
    recipe = read("packaging/conda/meta.yaml")
    assert f"home: {source}\n" in recipe
    assert f"doc_url: {site}\n" in recipe


@pytest.mark.parametrize("name", ["CODE_OF_CONDUCT.md", "SECURITY.md", "CITATION.cff", "LICENSE"])
def test_what_a_project_must_say_is_there(name: str) -> None:
    assert len(read(name)) > 300


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """A wheel that is built here, without the network."""
    pytest.importorskip("hatchling", reason="the build backend is not installed")
    pytest.importorskip("build", reason="the package `build` is not installed")
    folder = tmp_path_factory.mktemp("dist")
    options = ["--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(
        [sys.executable, "-m", "build", *options], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return zipfile.ZipFile(next(folder.glob("*.whl")))


@pytest.fixture(scope="module")
def wheel(archive: zipfile.ZipFile) -> set[str]:
    """Names of the files in the wheel."""
    return set(archive.namelist())


@pytest.fixture(scope="module")
def metadata(archive: zipfile.ZipFile) -> Message:
    """What a package index knows of the wheel."""
    name = f"soffit-{soffit.__version__}.dist-info/METADATA"
    return message_from_string(archive.read(name).decode("utf-8"))


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
