"""The Python code of the documentation runs as it stands."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import re
import subprocess
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ALL_PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md"))
    if "auto_examples" not in path.parts
)
# CONTRIBUTING shows files to add; test_how_to_add.py adds them.
PAGES = [
    page
    for page in ALL_PAGES
    if BLOCK.search((ROOT / page).read_text(encoding="utf-8")) and page != "CONTRIBUTING.md"
]
# Code of other libraries, beside ours, and what it needs besides its imports.
OTHER = re.compile(r"^```py\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NEEDED = {"sc.": "scanpy", "leiden": "leidenalg", "ss.": "anndata"}
OTHER_PAGES = [p for p in ALL_PAGES if OTHER.search((ROOT / p).read_text(encoding="utf-8"))]
EXAMPLES = sorted((ROOT / "examples" / "gallery").rglob("plot_*.py"))


def blocks(page: str) -> list[tuple[int, str]]:
    """Each block of Python code with the line of the page on which it begins."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = BLOCK.finditer(text)
    return [(text.count("\n", 0, match.start(1)) + 1, match.group(1)) for match in found]


@pytest.mark.parametrize("page", PAGES)
def test_code_of_a_page_runs_from_top_to_bottom(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "page"}
    found = blocks(page)
    assert found, f"{page} has no Python code; is the pattern of this test still right?"
    for line, code in found:
        # Line numbers of errors are those of the page.
        compiled = compile("\n" * (line - 1) + code, page, "exec")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            exec(compiled, namespace)


def missing_modules(code: str) -> list[str]:
    """Modules that the code needs and that are not installed."""
    found = [
        alias.name
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Import)
        for alias in node.names
    ]
    found += [node.module for node in ast.walk(ast.parse(code)) if isinstance(node, ast.ImportFrom)]
    found += [module for word, module in NEEDED.items() if word in code]
    return sorted({name for name in found if not is_there(name)})


def is_there(module: str) -> bool:
    """Whether a module is installed, also a part of a package that older versions do not have."""
    package = module.partition(".")[0]
    return find_spec(package) is not None and find_spec(module) is not None


def cells() -> Any:
    """Counts of 120 cells, as someone who uses scanpy has them."""
    anndata = pytest.importorskip("anndata", reason="cells are one of the inputs")
    rng = np.random.default_rng(7)
    rates = rng.gamma(1.0, 2.0, (3, 60))[np.arange(120) % 3]
    counts = rng.poisson(rates).astype(np.float32)
    left, sizes, _ = np.linalg.svd(counts - counts.mean(axis=0), full_matrices=False)
    # Lines that compute them are left out where what they need besides is missing.
    return anndata.AnnData(counts, obsm={"X_pca": (left * sizes)[:, :10]})


def documents() -> dict[str, Any]:
    """Texts about twenty topics with their embeddings, and those of new texts."""
    rng = np.random.default_rng(5)
    centres = 3.0 * rng.normal(size=(20, 16))
    about = np.repeat(np.arange(20), 15)
    rows = centres[about] + rng.normal(size=(300, 16))
    texts = [f"topic{k} word{k} thing{i}" for i, k in enumerate(about)]
    return {"documents": texts, "embeddings": rows, "new_embeddings": rows[:5] + 0.1}


@pytest.mark.parametrize("page", OTHER_PAGES)
@pytest.mark.filterwarnings("ignore")
def test_code_of_other_libraries_runs_where_they_are_installed(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    text = (ROOT / page).read_text(encoding="utf-8")
    first = next(OTHER.finditer(text)).start()
    # What our own lines before them prepare.
    found = [*BLOCK.finditer(text, 0, first), *OTHER.finditer(text)]
    namespace: dict[str, Any] = {"__name__": "page"}
    if any("adata" in block[1] for block in found):
        namespace["adata"] = cells()
    if any("documents" in block[1] for block in found):
        namespace |= documents()
    run, left_out = 0, set()
    for block in found:
        missing = missing_modules(block[1])
        left_out |= set(missing)
        if not missing:
            if "sc." in block[1]:
                namespace["sc"] = importlib.import_module("scanpy")
            exec(compile(block[1], page, "exec"), namespace)
            run += block.re is OTHER
    if not run:
        pytest.skip(f"not installed: {', '.join(sorted(left_out))}")


def anchors(path: Path) -> set[str]:
    """The anchors of all headings of a page."""
    text = path.read_text(encoding="utf-8")
    included = re.search(r"^```\{include\} (\S+)$", text, re.MULTILINE)
    if included:
        return anchors(path.parent / included[1])
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h).strip().lower().replace(" ", "-") for h in headings}


@pytest.mark.parametrize("page", ALL_PAGES)
def test_links_of_a_page_lead_somewhere(page: str) -> None:
    path = ROOT / page
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        name, _, anchor = target.partition("#")
        if "://" in target or name.startswith(("mailto:", "api/")):
            continue
        if name.startswith("auto_examples/"):
            assert from_an_example(name), f"{page}: no example for {target}"
            continue
        if path.parent.name == "api" and name.endswith(".rst"):
            # The page of a module is written when the site is built.
            assert find_spec(name.removesuffix(".rst")), f"{page}: no module for {target}"
            continue
        file = path.parent / name if name else path
        assert file.exists(), f"{page}: no file {target}"
        if anchor and file.suffix == ".md":
            assert anchor in anchors(file), f"{page}: no heading for {target}"
    for group, name in re.findall(r"sphx_glr_auto_examples_([a-z_]+)_(plot_\w+)\.py", text):
        assert (ROOT / "examples" / "gallery" / group / f"{name}.py").exists(), f"{page}: {name}"


def from_an_example(target: str) -> bool:
    """Whether a page or a picture of the gallery has a script that makes it."""
    if target == "auto_examples/index.rst":
        return True
    group = target.split("/")[1]
    name = re.search(r"plot_\w+?(?=_\d{3}\.png$|\.rst$)", target)
    return name is not None and (ROOT / "examples/gallery" / group / f"{name[0]}.py").exists()


def test_the_gallery_answers_enough_questions() -> None:
    assert len(EXAMPLES) >= 25
    for path in EXAMPLES:
        title = path.read_text(encoding="utf-8").split("\n")[1]
        assert title.endswith("?"), f"{path.name}: the title is the question that it answers"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_needs_no_download(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"fetch_|urlopen|requests|https?://", text)


def test_every_model_has_a_section() -> None:
    import soffit

    text = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    models = [name for name in soffit.__all__ if isinstance(getattr(soffit, name), type)]
    assert len(models) >= 9
    for name in [*models, "segment"]:
        assert re.search(rf"\b{name}\(", "".join(code for _, code in blocks("docs/models.md")))
        assert f"`{name}" in text or f"`soffit.{name}" in text


def site_module(name: str) -> Any:
    """A module of the site's own extensions."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "_ext" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_public_name_has_an_example_and_relatives() -> None:
    pytest.importorskip("sphinx", reason="the tools of the site are not installed")
    names = site_module("site_parts").public_names()
    related = site_module("see_also").related
    # They say only where something has moved to.
    moved = {"soffit.datasets.data_home", "soffit.datasets.development_sets"}
    for module, values in names.items():
        for name, value in values.items():
            full = f"{module}.{name}"
            assert related(full), f"docs/_ext/see_also.py has no line with {full}"
            if callable(value) and full not in moved:
                assert ">>> " in (inspect.getdoc(value) or ""), f"{full} has no example"


NAMES = """
Names
=====

.. py:currentmodule:: soffit.scanpy

`SoftClustering`, `SoftClustering.fit` and `choose_k` are links; `n_clusters`, `memberships_` and
`Sample.posterior` are words; `chose_k` and `SoftClustering.fitt` are mistakes, as is :func:`fitt`.

.. py:class:: soffit.SoftClustering

   .. py:method:: fit

.. py:function:: soffit.choose_k

.. py:class:: soffit.datasets.Sample
"""


def test_a_name_that_leads_nowhere_stops_the_site(tmp_path: Path) -> None:
    pytest.importorskip("numpydoc", reason="the tools of the site are not installed")
    (tmp_path / "index.rst").write_text(NAMES, encoding="utf-8")
    extension = str(ROOT / "docs" / "_ext")
    (tmp_path / "conf.py").write_text(
        f"import sys\nsys.path.insert(0, {extension!r})\nextensions = ['names']\n"
        "default_role = 'py:obj'\nnitpicky = True\n",
        encoding="utf-8",
    )
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-b",
        "html",
        str(tmp_path),
        str(tmp_path / "out"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert re.findall(r"not found: (\S+)", done.stderr) == [
        "chose_k",
        "SoftClustering.fitt",
        "fitt",
    ]
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    link = r'<a class="reference internal"[^>]*#soffit[^>]*>.*?<span class="pre">([^<]+)'
    linked = re.findall(link, page)
    assert {"SoftClustering", "SoftClustering.fit", "choose_k"} <= set(linked)
    assert "n_clusters" not in linked


def test_the_site_is_built_with_this_check() -> None:
    text = (ROOT / "docs" / "conf.py").read_text(encoding="utf-8")
    assert re.search(r"^nitpicky = True$", text, re.MULTILINE)
    assert " -W " in (ROOT / "Makefile").read_text(encoding="utf-8")
