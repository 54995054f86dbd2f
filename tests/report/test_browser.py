"""The page in a real browser: Playwright with the system's Chromium, no download, no network."""

from __future__ import annotations

import csv
import io
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.axe import needs_axe, serious

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

    def __init__(self, browser: Any, path: Path, **options: Any) -> None:
        self.context = browser.new_context(
            viewport={"width": 1200, "height": 900},
            offline=True,
            reduced_motion="reduce",
            **options,
        )
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", self._listen)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("#objects[data-state=ready]")
        self.page.wait_for_selector("#map[data-state=ready]")

    def _listen(self, message: Any) -> None:
        if message.type == "error":
            self.complaints.append(message.text)

    def cells(self, column: int) -> list[str]:
        """Texts of a column of the shown rows; 0 is the name, 1 the bar."""
        return self.page.locator(f"#objects tbody tr > :nth-child({column + 1})").all_inner_texts()

    def status(self) -> str:
        return str(self.page.inner_text("#objects [role=status]"))

    def map(self) -> Any:
        canvas = self.page.locator("#map canvas").first
        canvas.scroll_into_view_if_needed()
        return canvas

    def column(self, title: str) -> list[str]:
        """Texts of the column with this heading."""
        heads = self.page.locator("#objects thead th").all_inner_texts()
        return self.cells(next(i for i, head in enumerate(heads) if head.strip() == title))

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


@needs_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_use_the_page(browser, written, scheme):
    opened = Opened(browser, written, color_scheme=scheme, bypass_csp=True)
    assert serious(opened.page) == []
    opened.context.close()


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


def test_the_map_is_drawn_in_every_layout_and_colour_without_a_complaint(opened):
    layouts = opened.page.locator("[name=layout] option").count()
    colours = opened.page.locator("[name=colour] option").evaluate_all(
        "all => all.map(o => o.value)"
    )
    assert layouts == 3
    assert len(colours) == 7
    for layout in range(layouts):
        opened.page.select_option("[name=layout]", str(layout))
        spread, n_coloured = opened.colours(opened.map())
        assert spread > 5, layout
        assert n_coloured > 150, layout
    for colour in colours:
        opened.page.select_option("[name=colour]", colour)
        assert opened.colours(opened.map())[1] > 150, colour
    assert opened.complaints == []
    assert [url for url in opened.requests if not url.startswith(("file:", "data:", "blob:"))] == []


def test_the_map_zooms_moves_and_highlights_by_keyboard_and_mouse(opened):
    view = "JSON.stringify(soffitMap.view)"
    start = opened.page.evaluate(view)
    opened.map().focus()
    opened.page.keyboard.press("+")
    opened.page.keyboard.press("ArrowLeft")
    assert opened.page.evaluate("soffitMap.view.zoom") == pytest.approx(1.5)
    opened.page.keyboard.press("0")
    assert opened.page.evaluate(view) == start
    opened.page.click("[data-zoom=in]")
    assert opened.page.evaluate("soffitMap.view.zoom") == pytest.approx(1.5)
    box = opened.map().bounding_box()
    opened.page.mouse.move(box["x"] + 300, box["y"] + 300)
    opened.page.mouse.down()
    opened.page.mouse.move(box["x"] + 340, box["y"] + 320, steps=4)
    opened.page.mouse.up()
    assert opened.page.evaluate(view) != start
    opened.page.click("[data-zoom=reset]")
    before = opened.colours(opened.map())[1]
    opened.page.click(".legend [data-cluster='1']")
    assert opened.page.get_attribute(".legend [data-cluster='1']", "aria-pressed") == "true"
    assert opened.colours(opened.map())[1] < before


def test_figures_that_need_no_script_are_there(opened):
    for selector in ("#columns table.heat", "#columns svg", "#figure-calibration svg"):
        figure = opened.page.locator(selector).first
        figure.scroll_into_view_if_needed()
        assert opened.colours(figure)[0] > 5, selector
    for key in ("memberships", "reconstruction", "objective", "selection", "settings"):
        opened.page.click(f"#detail-{key} summary")
        assert opened.page.locator(f"#detail-{key} > :nth-child(2)").is_visible()
    assert opened.page.locator("#detail-memberships img").evaluate("i => i.naturalWidth") == 3


def test_names_are_text_and_nothing_in_them_runs(opened, hostile_names):
    assert opened.page.evaluate("window.hacked") is None
    assert opened.page.title() == hostile_names[0]
    assert opened.cells(0)[:3] == [f"{hostile_names[i]} {i}" for i in range(3)]
    assert opened.page.locator("main iframe, main script:not([type]), main object").count() == 0
    assert opened.page.locator("main img:not([src^='data:image/png;'])").count() == 0


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
    rising = [float(value) for value in opened.column("Entropy")]
    assert rising == sorted(rising)
    heading.get_by_role("button").press("Enter")
    assert heading.get_attribute("aria-sort") == "descending"
    falling = [float(value) for value in opened.column("Entropy")]
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
    box = opened.map().bounding_box()
    x, y = opened.page.evaluate("[soffitMap.screen[0], soffitMap.screen[1]]")
    opened.page.mouse.move(box["x"] + x, box["y"] + y)
    told = opened.page.locator("#map .tip").inner_text()
    assert "certainty 0." in told or "certainty 1." in told
    assert "label: " in told
    assert opened.page.evaluate("window.hacked") is None
    opened.page.mouse.click(box["x"] + x, box["y"] + y)
    assert opened.page.locator("#objects tr.found").count() == 1
    assert opened.page.locator("#objects tr.comparison").count() == 1


def test_a_row_opens_to_a_comparison_with_its_two_clusters(opened, hostile_names):
    button = opened.page.locator("#objects tbody button.opener").first
    button.press("Enter")
    assert button.get_attribute("aria-expanded") == "true"
    shown = opened.page.locator("#objects tr.comparison")
    assert shown.locator("thead th").count() == 4
    assert shown.locator("tbody th").all_inner_texts()[0] in hostile_names[:2]
    own = shown.locator("tbody tr").first.locator("td").first.inner_text()
    name = shown.locator("tbody th").first.inner_text()
    assert own == opened.column(name)[0]
    assert shown.locator(".nearer").count() == 2
    button.press("Enter")
    assert shown.count() == 0


def test_the_filtered_rows_are_downloaded_as_csv(opened, blobs, hostile_names):
    opened.page.select_option("[name=cluster]", "1")
    with opened.page.expect_download() as waiting:
        opened.page.click("[name=download]")
    text = Path(waiting.value.path()).read_text(encoding="utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert 0 < len(rows) < 90
    assert {row["Cluster"] for row in rows} == {"1"}
    for row in rows:
        position = int(row["id"].split()[-1])
        for j in (0, 1):
            assert float(row[hostile_names[j]]) == pytest.approx(blobs[0][position, j], abs=1e-3)


def test_dark_pages_are_dark_and_all_text_is_readable(browser, written):
    for scheme in ("light", "dark"):
        opened = Opened(browser, written, color_scheme=scheme)
        shade = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
        brightness = sum(map(int, re.findall(r"\d+", shade)[:3])) / 3
        assert (brightness < 60) == (scheme == "dark")
        poor = opened.page.evaluate(CONTRAST)
        assert poor == [], scheme
        opened.context.close()


# Text whose contrast with its background is below 4.5 : 1, by the formula of WCAG 2.
CONTRAST = """() => {
  const pen = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const parts = (colour) => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    return pen.getImageData(0, 0, 1, 1).data;
  };
  const light = (rgb) => {
    const [r, g, b] = [...rgb].slice(0, 3).map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const rgb = parts(getComputedStyle(at).backgroundColor);
      if (rgb[3] > 250) return rgb;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const element of document.querySelectorAll("main *, header *")) {
    const words = [...element.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (!words || element.closest("svg, details:not([open]), .sr, :disabled, script")) continue;
    const [a, b] = [light(parts(getComputedStyle(element).color)), light(behind(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) poor.push(`${element.outerHTML.slice(0, 80)} ${ratio.toFixed(2)}`);
  }
  return poor;
}"""


def test_a_printed_page_has_the_figures_and_no_controls(opened):
    opened.page.emulate_media(media="print", color_scheme="dark")
    assert not opened.page.locator("#objects .controls").is_visible()
    assert not opened.page.locator("#map .zoom").is_visible()
    left = [card.bounding_box()["x"] for card in opened.page.locator("#clusters .card").all()[:2]]
    assert left[1] > left[0] + 100
    assert opened.page.locator("#columns table.heat").is_visible()
    assert opened.page.evaluate("getComputedStyle(document.body).backgroundColor").endswith(
        "255, 255)"
    )


@pytest.mark.parametrize("width", [3840, 400, 320])
def test_no_screen_scrolls_sideways(opened, width):
    opened.page.set_viewport_size({"width": width, "height": 800})
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
    assert opened.map().bounding_box()["width"] <= width


def test_a_hundred_thousand_objects_stay_small_and_quick(large):
    assert large.path.stat().st_size < 3e6
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


def test_many_points_are_thinned_and_drawn(large):
    _, n_coloured = large.colours(large.map())
    assert n_coloured > 1000
    assert "20,000 of 100,000 objects shown" in large.page.inner_text("#map .note")
    assert large.complaints == []


def test_an_old_browser_is_told_so(browser, written):
    context = browser.new_context()
    context.add_init_script("delete window.DecompressionStream")
    page = context.new_page()
    page.goto(written.as_uri())
    assert "too old" in page.inner_text("#objects [role=status]")
    assert "too old" in page.inner_text("#map .state")
    context.close()
