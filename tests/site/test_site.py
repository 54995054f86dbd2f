"""The site that `make docs` builds: links, pictures, search, and what a newcomer must find."""

from __future__ import annotations

import os
import re
import shutil
import threading
from functools import cache
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from tests.axe import needs_axe, serious

import soffit

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "build" / "docs"
MAIN_PAGES = (
    *("index", "start", "guide", "which_model", "how_it_works", "parameters", "uncertainty"),
    *("command_line", "coming_from", "faq", "glossary", "benchmarks", "changelog", "contributing"),
    *("auto_examples/index", "api/index", "api/generated/soffit.SoftClustering", "accepted_inputs"),
)
# What someone who knows scikit-learn looks for: a link of the first page, the page and the heading
# to which it leads, and the line to copy, which stands nowhere on the first page.
TASKS = {
    "probabilities for new points": (
        *("Probabilities for new objects", "start", "New objects"),
        "model.predict_proba(new)",
    ),
    "choose k": (
        *("How do I choose the number of clusters?", "start", "Choose the number of clusters"),
        "SoftClustering(n_clusters=None",
    ),
    "give pairs": (
        *("Pairs that belong together", "start", "Pairs that belong together or apart"),
        "must_link=[(50, 52)",
    ),
    "text columns": (
        *("Text columns, yes/no, missing values", "mixed_tables"),
        *("Tables with text, yes/no and missing values", 'metric="gower"'),
    ),
    "ten million rows": (
        *("Millions of rows", "scale", "Ten million rows"),
        "memberships = model.predict_proba(rows)",
    ),
    "why a point is uncertain": (
        *("Why is this object uncertain?", "start", "Why is an object uncertain?"),
        "model.instability_[row]",
    ),
}
# What they may type, and the title of a page among the first ten that are found.
SEARCHES = {
    "must_link": "How do I say that two objects belong together?",
    "predict_proba": "soffit.SoftClustering.predict_proba",
    "choose_k": "soffit.choose_k",
    "probabilities new objects": "How do I get probabilities for new objects?",
    "new points": "Start",
    "number of clusters": "How do I choose the number of clusters?",
    "choose k": "How do I choose the number of clusters?",
    "pairs": "Which pairs should I ask an expert about?",
    "text columns": "What do I do with text columns and missing values?",
    "gower": "Parameters by effect",
    "ten million rows": "Speed and scale",
    "uncertain": "Why is this object uncertain?",
    "instability": "Why is this object uncertain?",
}
# Text beyond the right edge, where nothing can be scrolled to show it.
CUT_OFF = """() => [...document.querySelectorAll('.bd-article *')]
  .filter(e => e.getBoundingClientRect().right > window.innerWidth + 1
    && !e.closest('pre, table, .formula, .sphx-glr-thumbnails'))
  .map(e => `${e.tagName} ${e.textContent.slice(0, 40)}`)"""
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
OPTIONS = ["--no-sandbox", "--disable-dev-shm-usage"]


@pytest.fixture(scope="module")
def site() -> Path:
    """The folder of the site; tests are skipped without it, or fail with SOFFIT_REQUIRE_SITE=1."""
    if not (SITE / "index.html").exists():
        missing = "the site was not built; run `make docs`"
        if os.environ.get("SOFFIT_REQUIRE_SITE", "0") not in ("", "0"):
            pytest.fail(f"{missing} (SOFFIT_REQUIRE_SITE is set)")
        pytest.skip(missing)
    return SITE


# --- files ----------------------------------------------------------------------------------------


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def ids_of(path: Path) -> frozenset[str]:
    return frozenset(re.findall(r'\bid="([^"]+)"', text_of(path)))


def pages(site: Path) -> list[Path]:
    return sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)


def test_every_link_and_picture_leads_somewhere(site: Path) -> None:
    broken = set()
    for page in pages(site):
        for target in set(re.findall(r'\b(?:href|src)="([^"]+)"', text_of(page))):
            parts = urlsplit(target)
            # Source code is shown with its strings, some of which look like links.
            if parts.scheme or parts.netloc or target in ("#", "") or "<" in target:
                continue
            file = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            known = file.exists() and (file != page or page.suffix == ".html")
            # Pages of the source link back to the place where a name is defined, not documented.
            anchor = "" if "_modules" in page.parts else unquote(parts.fragment)
            if not known or (anchor and file.suffix == ".html" and anchor not in ids_of(file)):
                broken.add(f"{page.relative_to(site)}: {target}")
    assert not broken, sorted(broken)[:20]


def test_every_public_name_has_a_page_with_source(site: Path) -> None:
    names = set()
    for name in (name for name in soffit.__all__ if not name.startswith("_")):
        value = getattr(soffit, name)
        if isinstance(value, ModuleType):
            names |= {f"soffit.{name}.{own}" for own in getattr(value, "__all__", ())}
        else:
            names.add(f"soffit.{name}")
    folder = site / "api" / "generated"
    for name in names:
        module, _, own = name.rpartition(".")
        if module != "soffit" and f"soffit.{own}" in names:
            continue  # has its page under the shorter name
        assert (folder / f"{name}.html").exists(), f"no page of {name}"
    flagship = text_of(folder / "soffit.SoftClustering.html")
    assert "[source]" in flagship
    assert "sphx-glr-thumbcontainer" in flagship, "no examples on the page of SoftClustering"


def test_every_page_of_the_api_names_its_relatives(site: Path) -> None:
    registries = {"soffit.affinity.AFFINITIES", "soffit.factorize.SOLVERS"}
    registries |= {"soffit.normalize.NORMALIZATIONS"}
    found = {page.stem: text_of(page) for page in (site / "api" / "generated").glob("*.html")}
    assert len(found) > 100
    alone = {name for name, text in found.items() if "admonition seealso" not in text}
    assert alone <= registries


def test_the_gallery_is_complete(site: Path) -> None:
    scripts = list((ROOT / "examples" / "gallery").rglob("plot_*.py"))
    assert len(scripts) >= 25
    for script in scripts:
        page = site / "auto_examples" / script.parent.name / f"{script.stem}.html"
        assert "sphx-glr-single-img" in text_of(page), f"{script.stem} has no figure"


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    for page in pages(site):
        found = re.findall(r'<(?:script|img|iframe)[^>]*\ssrc="(https?://[^"]+)"', text_of(page))
        found += re.findall(
            r'<link[^>]*rel="stylesheet"[^>]*href="(https?://[^"]+)"', text_of(page)
        )
        assert not found, f"{page.relative_to(site)} loads {found[0]}"


# --- in a browser ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def address(site: Path) -> Any:
    class Quiet(SimpleHTTPRequestHandler):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, directory=str(site), **options)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def browser(site: Path) -> Any:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no chromium on the path")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Any, address: str) -> Any:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, base_url=address)
    page = context.new_page()
    page.complaints = []
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("requestfailed", lambda request: page.complaints.append(request.url))
    yield page
    context.close()


@pytest.mark.parametrize("name", MAIN_PAGES)
def test_a_page_shows_all_pictures_and_fits_any_screen(page: Any, name: str) -> None:
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(f"/{name}.html")
        missing = page.evaluate(
            "() => [...document.images].filter(i => { i.loading = 'eager'; return i.complete && "
            "!i.naturalWidth }).map(i => i.src)"
        )
        assert missing == []
        assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 1
        assert page.evaluate(CUT_OFF) == []
    assert page.complaints == []


@needs_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["index", "start", "which_model", "auto_examples/index"])
def test_everybody_can_use_the_pages(page: Any, name: str, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    page.goto(f"/{name}.html")
    assert serious(page) == []


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("task", TASKS)
def test_a_newcomer_finds_it_by_links(page: Any, task: str, width: int) -> None:
    link, name, heading, words = TASKS[task]
    page.set_viewport_size({"width": width, "height": 900})
    page.goto("/index.html")
    assert words not in page.locator("article").inner_text()
    found = page.get_by_role("link", name=link, exact=True)
    assert found.count() == 1
    found.click()
    page.wait_for_url(f"**/{name}.html*")
    # The reader sees the heading without scrolling, and the line soon after it.
    title = page.get_by_role("heading", name=heading)
    page.wait_for_function("() => document.readyState === 'complete'")
    assert 0 <= title.bounding_box()["y"] < 450
    code = page.locator("section", has=title).last.locator("pre").filter(has_text=words).first
    assert code.bounding_box()["y"] - title.bounding_box()["y"] < 900


@pytest.mark.parametrize("query", SEARCHES)
def test_a_newcomer_finds_it_by_search(page: Any, query: str) -> None:
    page.goto(f"/search.html?q={query}")
    page.wait_for_selector("#search-results li a")
    # The list grows until the summary says how many were found.
    summary = "document.querySelector('.search-summary, #search-results p')"
    page.wait_for_function(f"/found|match/i.test({summary}?.innerText ?? '')")
    titles = page.locator("#search-results li > a").all_inner_texts()[:10]
    assert SEARCHES[query] in titles
