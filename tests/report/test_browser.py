"""The page in a real browser: Playwright with the system's Chromium, no download, no network."""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soffit import SoftClustering
from soffit.io import Result
from soffit.report import write_report

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
Image = pytest.importorskip("PIL.Image", reason="pillow reads the screenshots")
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the path")
OPTIONS = ["--no-sandbox", "--disable-dev-shm-usage", "--enable-unsafe-swiftshader"]
LARGE = 100_000


@pytest.fixture(scope="module")
def browser() -> Any:
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield browser
        browser.close()


class Opened:
    """A page without a network, and all that it complained about or asked for."""

    def __init__(self, browser: Any, path: Path) -> None:
        self.context = browser.new_context(
            viewport={"width": 1200, "height": 900}, offline=True, reduced_motion="reduce"
        )
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", self._listen)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("#objects[data-state=ready]")

    def _listen(self, message: Any) -> None:
        if message.type == "error":
            self.complaints.append(message.text)

    def cells(self, column: int) -> list[str]:
        """Texts of a column of the shown rows; 0 is the name, 1 the bar."""
        return self.page.locator(f"#objects tbody tr > :nth-child({column + 1})").all_inner_texts()

    def status(self) -> str:
        return str(self.page.inner_text("#objects [role=status]"))

    def draw(self, key: str) -> Any:
        plot = self.page.locator(f"#figure-{key} .plot")
        plot.scroll_into_view_if_needed()
        self.page.wait_for_selector(f"#figure-{key} .plot[data-state=drawn]")
        return plot

    def colours(self, plot: Any) -> tuple[float, int]:
        """Standard deviation of a picture's pixels, and the number of coloured ones."""
        self.page.wait_for_timeout(300)
        pixels = np.asarray(Image.open(io.BytesIO(plot.screenshot())).convert("RGB"), dtype=float)
        return float(pixels.std()), int((np.ptp(pixels, axis=2) > 40).sum())


@pytest.fixture(scope="module")
def written(tmp_path_factory: Any, blobs: Any, hostile_names: Any) -> Path:
    X, labels = blobs
    model = SoftClustering(None, n_resamples=2, random_state=23).fit(X)
    path: Path = tmp_path_factory.mktemp("report") / "small.html"
    write_report(
        path,
        model,
        X=X,
        columns=hostile_names[:2],
        ids=[f"{hostile_names[i % 6]} {i}" for i in range(90)],
        truth=[hostile_names[3 + label] for label in labels],
        command=hostile_names[2],
        title=hostile_names[0],
    )
    return path


@pytest.fixture
def opened(browser: Any, written: Path) -> Any:
    opened = Opened(browser, written)
    yield opened
    opened.context.close()


@pytest.fixture(scope="module")
def large(browser: Any, tmp_path_factory: Any) -> Any:
    rng = np.random.default_rng(8461)
    G = rng.dirichlet(np.full(10, 0.1), size=LARGE)
    ids = [f"object-{i}-{rng.integers(2**32):x}" for i in range(LARGE)]
    path = tmp_path_factory.mktemp("report") / "large.html"
    write_report(path, Result.from_memberships(G, ids=ids), X=rng.normal(size=(LARGE, 4)))
    opened = Opened(browser, path)
    opened.path, opened.memberships = path, G
    yield opened
    opened.context.close()


FIGURES = (
    "scatter",
    "entropy",
    "sizes",
    "heatmap",
    "selection",
    "reconstruction",
    "objective",
    "confusion",
    "calibration",
)


def test_all_figures_are_drawn_without_a_complaint(opened):
    for key in FIGURES:
        spread, n_coloured = opened.colours(opened.draw(key))
        assert spread > 5, key
        assert n_coloured > 150, key
    assert opened.complaints == []
    assert [url for url in opened.requests if not url.startswith(("file:", "data:", "blob:"))] == []


def test_names_are_text_and_nothing_in_them_runs(opened, hostile_names):
    for key in ("scatter", "entropy", "confusion"):
        opened.draw(key)
    assert opened.page.evaluate("window.hacked") is None
    assert opened.page.title() == hostile_names[0]
    assert opened.cells(0)[:3] == [f"{hostile_names[i]} {i}" for i in range(3)]
    assert opened.page.locator("main img, main iframe, main script:not([type])").count() == 0


def test_the_policy_stops_foreign_code(opened):
    opened.page.evaluate(
        "() => { const s = document.createElement('script'); s.textContent = 'window.hacked = 1';"
        " document.body.append(s); }"
    )
    assert opened.page.evaluate("window.hacked") is None
    assert len(opened.complaints) == 1
    assert "Content Security Policy" in opened.complaints[0]


def test_headings_sort(opened):
    heading = opened.page.locator("#objects thead th", has_text="Entropy")
    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    rising = [float(value) for value in opened.cells(4)]
    assert rising == sorted(rising)
    heading.get_by_role("button").press("Enter")
    assert heading.get_attribute("aria-sort") == "descending"
    falling = [float(value) for value in opened.cells(4)]
    assert falling == sorted(falling, reverse=True)
    assert falling[0] >= rising[-1]
    names = opened.page.locator("#objects thead th").first
    names.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") == "none"


def test_search_and_filters_narrow_the_rows(opened):
    assert opened.status() == "1 to 25 of 90 objects"
    # The page forbids evaluated code, so that `wait_for_function` is not at hand.
    status = sync_api.expect(opened.page.locator("#objects [role=status]"))
    opened.page.fill("[name=search]", "IMG SRC")
    status.to_have_text("1 to 15 of 15 objects, out of 90")
    assert all("<img src" in name for name in opened.cells(0))
    opened.page.fill("[name=search]", "no such object")
    status.to_have_text("No object matches.")
    opened.page.fill("[name=search]", "")
    status.to_have_text("1 to 25 of 90 objects")
    opened.page.select_option("[name=cluster]", "1")
    assert set(opened.cells(2)) == {"1"}
    opened.page.select_option("[name=certainty]", "0.9")
    assert all(float(value) < 0.9 for value in opened.cells(3))


def test_pages_turn(opened):
    first = opened.cells(0)
    opened.page.click("[data-go=next]")
    assert opened.status() == "26 to 50 of 90 objects"
    assert set(first).isdisjoint(opened.cells(0))
    opened.page.click("[data-go=last]")
    assert opened.status() == "76 to 90 of 90 objects"
    assert opened.page.is_disabled("[data-go=next]")
    opened.page.fill("[name=page]", "1")
    opened.page.press("[name=page]", "Enter")
    assert opened.cells(0) == first
    opened.page.select_option("[name=rows]", "100")
    assert len(opened.cells(0)) == 90


def test_a_card_shows_its_members(opened):
    opened.page.locator("button[data-members='1']").click()
    assert set(opened.cells(2)) == {"1"}


def test_hovering_tells_about_an_object(opened):
    plot = opened.draw("scatter")
    points = plot.locator(".points path")
    box = points.first.bounding_box()
    opened.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    opened.page.wait_for_selector("#figure-scatter .hoverlayer .hovertext")
    told = plot.locator(".hoverlayer").text_content()
    assert "certainty" in told
    assert "hacked" in told or "title" in told or "bold" in told
    assert opened.page.evaluate("window.hacked") is None


def test_small_screens_do_not_scroll_sideways(opened):
    opened.page.set_viewport_size({"width": 380, "height": 800})
    opened.draw("sizes")
    width = opened.page.evaluate("document.documentElement.scrollWidth")
    assert width <= 380


def test_a_hundred_thousand_objects_stay_small_and_quick(large):
    assert large.path.stat().st_size < 8e6
    assert large.status() == "1 to 25 of 100,000 objects"
    milliseconds = large.page.evaluate(
        """() => {
            const begin = performance.now();
            soffitTable.sort(0);
            soffitTable.sort(3);
            soffitTable.search.value = 'ab1';
            soffitTable.filter();
            return performance.now() - begin;
        }"""
    )
    assert milliseconds < 5000
    assert "out of 100,000" in large.status()
    assert all("ab1" in name for name in large.cells(0))
    assert large.page.locator("#objects tbody tr").count() == 25


def test_many_points_are_drawn_by_webgl(large):
    _, n_coloured = large.colours(large.draw("scatter"))
    assert n_coloured > 1000
    assert large.complaints == []


def test_an_old_browser_is_told_so(browser, written):
    context = browser.new_context()
    context.add_init_script("delete window.DecompressionStream")
    page = context.new_page()
    page.goto(written.as_uri())
    assert "too old" in page.inner_text("#objects [role=status]")
    assert "too old" in page.inner_text("#figure-scatter .plot")
    context.close()
