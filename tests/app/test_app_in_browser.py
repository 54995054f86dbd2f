"""The app in a real browser: Playwright with the system's Chromium, no network."""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from tests.axe import needs_axe, serious

from soffit import SoftClustering, load
from soffit.io import read, read_pairs, read_result

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
Image = pytest.importorskip("PIL.Image", reason="pillow reads the screenshots")
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the path")
OPTIONS = ["--no-sandbox", "--disable-dev-shm-usage", "--enable-unsafe-swiftshader"]
TRUTH = load_iris().target


@pytest.fixture(scope="module")
def browser() -> Any:
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield browser
        browser.close()


@pytest.fixture(autouse=True)
def _close_pages(browser: Any) -> Any:
    """No page outlives its test: it would go on asking an app that has ended."""
    yield
    for context in browser.contexts:
        context.close()


class Opened:
    """A page, with all that it complained about or asked for."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        size = {"width": 1300, "height": 850}
        self.context = browser.new_context(viewport=size, reduced_motion="reduce", **options)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", self._listen)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(address)
        self.page.wait_for_selector("#explorer[data-ready]")

    def _listen(self, message: Any) -> None:
        if message.type == "error":
            self.complaints.append(message.text)

    def version(self) -> int:
        return int(self.page.get_attribute("#explorer", "data-version"))

    def after(self, act: Any) -> None:
        """Do something, and wait for the next result."""
        before = self.version()
        act()
        self.page.wait_for_function(
            "v => { const e = document.querySelector('#explorer').dataset;"
            " return Number(e.version) > v && e.busy === '0' }",
            arg=before,
        )

    def pair(self) -> list[int]:
        """The rows of the two objects that are asked about."""
        names = self.page.locator(".pair thead th").all_inner_texts()
        found = [name.split(maxsplit=1)[1] for name in names]
        return [0 if name.startswith("<") else int(name[1:]) for name in found]

    def answer_truthfully(self) -> None:
        a, b = self.pair()
        self.after(lambda: self.page.keyboard.press("y" if TRUTH[a] == TRUTH[b] else "n"))

    def sizes(self) -> list[int]:
        return [int(text) for text in self.page.locator(".clusters .size").all_inner_texts()]

    def colours(self) -> int:
        """How many colours the map shows."""
        shot = Image.open(io.BytesIO(self.page.locator(".map").screenshot())).convert("RGB")
        return len(np.unique(np.asarray(shot).reshape(-1, 3), axis=0))


def test_a_whole_session(browser, running, flowers, tmp_path):
    """Answer, undo, lasso, edit, change k, reload, kill, resume, export; compare with the API."""
    with running("-k", 3) as app:
        opened = Opened(browser, app.address)
        assert opened.colours() > 20
        _answer_and_undo(opened)
        _lasso(opened)
        _edit(opened)
        opened.page.reload()
        opened.page.wait_for_selector("#explorer[data-ready]")
        assert "10 answers, 3 edits" in opened.page.inner_text(".status")
        shown = opened.sizes()
        own = app.address.split("?")[0]
        asked = [url for url in opened.requests if not url.startswith(("data:", "blob:"))]
        assert asked
        assert all(url.startswith(own) for url in asked)
        assert opened.page.evaluate("window.hacked === undefined")
        assert opened.complaints == []
        app.kill()
    with running("-k", 3) as app:
        opened = Opened(browser, app.address)
        assert "10 answers, 3 edits" in opened.page.inner_text(".status")
        assert opened.sizes() == shown
        downloaded = tmp_path / "downloaded.csv"
        _export(opened, downloaded)
        assert opened.complaints == []
    _compare_with_the_api(flowers, downloaded, shown)


def _answer_and_undo(opened: Opened) -> None:
    page = opened.page
    for _ in range(10):
        opened.answer_truthfully()
    assert "10 answers" in page.inner_text(".status")
    before = opened.pair()
    opened.answer_truthfully()
    opened.after(lambda: page.keyboard.press("u"))
    assert opened.pair() == before
    page.keyboard.press("s")
    page.wait_for_selector(".question >> text=1 skipped")
    assert opened.pair() != before


def _lasso(opened: Opened) -> None:
    """A lasso around everything: all objects belong together, then not."""
    page = opened.page
    box = page.locator(".map").bounding_box()
    corners = [(0.01, 0.01), (0.99, 0.01), (0.99, 0.97), (0.01, 0.97), (0.01, 0.02)]
    page.click("button:has-text('Lasso')")
    for number, (x, y) in enumerate(corners):
        page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"], steps=3)
        if number == 0:
            page.mouse.down()
    page.mouse.up()
    page.wait_for_selector(".chosen >> text=150 objects selected")
    opened.after(lambda: page.click("[data-do=group]"))
    opened.after(lambda: page.click("[data-do=undo]"))


def _edit(opened: Opened) -> None:
    page = opened.page
    sizes = opened.sizes()
    for cluster in (0, 1):
        page.check(f"[data-cluster='{cluster}'] input[type=checkbox]")
    opened.after(lambda: page.click("[data-do=merge]"))
    assert opened.sizes() == [sizes[0] + sizes[1], sizes[2]]
    opened.after(lambda: page.click("[data-cluster='0'] [data-do=split]"))
    assert len(opened.sizes()) == 3
    page.click("[data-cluster='1'] .name")
    page.keyboard.type("tall <b>ones</b>")
    opened.after(lambda: page.keyboard.press("Enter"))
    assert page.inner_text("[data-cluster='1'] .name") == "tall <b>ones</b>"
    # Names follow their clusters; splits and merges end with another number.
    page.locator("input[type=range]").focus()
    opened.after(lambda: page.keyboard.press("ArrowRight"))
    assert len(opened.sizes()) == 4
    opened.after(lambda: page.click("[data-do=undo]"))
    assert len(opened.sizes()) == 3


def _export(opened: Opened, downloaded: Path) -> None:
    page = opened.page
    page.click("[data-do=results]")
    page.click("[data-do=write]")
    page.wait_for_selector(".files a >> nth=2")
    with page.expect_download() as download:
        page.click(".files a >> nth=0")
    download.value.save_as(downloaded)


def _compare_with_the_api(flowers: Path, downloaded: Path, shown: list[int]) -> None:
    """The files of the app are what the lines in Python give."""
    folder = flowers.with_name("flowers.session")
    source = read(flowers, id="flower", drop=["species"], impute="auto", text="category")
    pairs = {
        name: read_pairs(folder / f"{name}.csv", source.ids)
        for name in ("must_link", "cannot_link")
    }
    model = SoftClustering(3, random_state=0).fit(source, **pairs)
    merged = model.merge([0, 1]).split(0).rename({1: "tall <b>ones</b>"})
    saved = load(folder / "model.soffit")
    np.testing.assert_array_equal(saved.memberships_, merged.memberships_)
    assert list(saved.cluster_names_) == list(merged.cluster_names_)
    for path in (folder / "memberships.csv", downloaded):
        np.testing.assert_allclose(read_result(path).memberships, merged.memberships_, atol=1e-12)
    assert np.bincount(merged.labels_).tolist() == shown
    assert "tall &lt;b&gt;ones" in (folder / "report.html").read_text(encoding="utf-8")
    # The script is to be run beside the data.
    script = (folder / "repeat.py").read_text(encoding="utf-8")
    scope: dict[str, Any] = {}
    exec(script.replace("flowers.", f"{flowers.parent}/flowers."), scope)
    np.testing.assert_array_equal(scope["model"].memberships_, merged.memberships_)


def test_colours_table_freeze_and_narrow_screens(browser, running):
    with running("-k", 3, "--resamples", 3) as app:
        opened = Opened(browser, app.address, color_scheme="dark")
        page = opened.page
        by_cluster = opened.page.locator(".map").screenshot()
        values = page.locator("select[aria-label='Colour by'] option").evaluate_all(
            "options => options.map(o => o.value)"
        )
        assert {"cluster", "certainty", "entropy", "overlap", "instability"} <= set(values)
        for value in ("entropy", "overlap", "instability", "column:0", "column:4"):
            page.select_option("select[aria-label='Colour by']", value)
            page.wait_for_timeout(150)
            assert page.locator(".map").screenshot() != by_cluster
        assert "setosa" in page.inner_text(".legend")

        page.fill("input[type=search]", "virginica")
        page.wait_for_selector("text=1 to 50 of 50")
        page.click("th button:has-text('petal_width')")
        page.click("th[aria-sort=ascending] button:has-text('petal_width')")
        page.wait_for_selector("th[aria-sort=descending]")
        assert page.locator("tbody tr >> nth=0 >> td >> nth=5").inner_text() == "2.5"

        opened.after(lambda: page.click("[data-cluster='0'] [data-do=freeze]"))
        assert "answers" in page.inner_text(".status")
        page.click("[data-do=evidence]")
        page.wait_for_selector(".evidence .here")
        # Narrow screens have everything.
        page.set_viewport_size({"width": 400, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        for part in (".map", ".answers", ".clusters", ".number", ".objects"):
            assert page.locator(part).is_visible()
        assert opened.complaints == []


def test_answers_that_are_newer_than_the_state_do_not_stop_the_page(browser, running):
    """A question may name a cluster that only the next state has: the next news shows it."""

    changed: list[Any] = []

    def newer(route: Any) -> None:
        answer = route.fetch()
        found = answer.json()
        if found["question"] and not changed:
            changed.extend(found["question"]["objects"])
            for thing in changed:
                thing["cluster"] = 9
        route.fulfill(response=answer, json=found)

    with running("-k", 3) as app:
        opened = Opened(browser, app.address)
        page = opened.page
        page.route("**/get/question", newer)
        opened.after(lambda: page.click("[data-cluster='0'] [data-do=split]"))
        assert changed
        assert len(opened.sizes()) == 4
        assert page.inner_text(".message") == ""
        opened.after(lambda: page.click("[data-do=undo]"))
        assert "Cluster 9" not in page.inner_text(".pair")
        assert opened.complaints == []
        # A question on its way through the handler must not meet an app that has ended.
        page.unroute_all(behavior="ignoreErrors")
        opened.context.close()


@needs_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_use_the_app(browser, running, scheme):
    with running("-k", 3) as app:
        opened = Opened(browser, app.address, color_scheme=scheme, bypass_csp=True)
        assert serious(opened.page) == []
