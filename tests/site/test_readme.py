"""The README is one screen, with all that it must have, where a code host shows it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
# Measures of the column in which GitHub shows a README in a window of 1280 x 900: 830 pixels of
# text. Other hosts leave at least as much.
SCREEN = {"width": 1280, "height": 900}
STYLE = """
body { margin: 0; font: 16px/1.5 Helvetica, Arial, sans-serif; }
article { box-sizing: border-box; width: 894px; margin: auto; padding: 32px; }
h1 { font-size: 2em; line-height: 1.25; margin: 0 0 16px; padding-bottom: .3em;
  border-bottom: 1px solid; }
p, ul, pre { margin: 0 0 16px; }
ul { padding-left: 2em; }
li + li { margin-top: .25em; }
pre { padding: 16px; overflow: auto; background: #f6f8fa; font: 13.6px/1.45 monospace; }
pre code { font: inherit; }
code { font: 13.6px monospace; padding: .2em .4em; }
pre code { padding: 0; }
img { box-sizing: content-box; max-width: 100%; }
img[align="right"] { padding-left: 20px; }
article > :last-child { margin-bottom: 0; }
"""


@pytest.fixture(scope="module")
def readme() -> str:
    return (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(readme: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    # It comes with rich.
    markdown = pytest.importorskip("markdown_it").MarkdownIt("commonmark").render(readme)
    if CHROMIUM is None:
        pytest.skip("no chromium on the path")
    file = tmp_path_factory.mktemp("readme") / "readme.html"
    base = f'<!doctype html><meta charset="utf-8"><base href="{ROOT.as_uri()}/">'
    file.write_text(f"{base}<style>{STYLE}</style><article>{markdown}</article>", encoding="utf-8")
    with sync_api.sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-dev-shm-usage"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        page = browser.new_page(viewport=SCREEN)
        page.goto(file.as_uri())
        yield page
        browser.close()


def test_it_is_one_screen(page: Any) -> None:
    height = page.evaluate("document.querySelector('article').getBoundingClientRect().height")
    assert 600 < height <= SCREEN["height"]


def test_its_picture_stands_beside_the_code_and_nothing_is_cut(page: Any) -> None:
    boxes = page.evaluate(
        "['img', 'pre'].map(name => document.querySelector(name).getBoundingClientRect())"
        ".map(box => [box.left, box.right, box.top, box.bottom])"
    )
    picture, code = boxes
    assert page.evaluate("document.querySelector('img').naturalWidth") > 600
    assert code[1] <= picture[0]
    assert abs(code[2] - picture[2]) <= 16
    for block in page.locator("pre").all():
        assert block.evaluate("block => block.scrollWidth - block.clientWidth") <= 0


def test_it_has_every_part(readme: str) -> None:
    assert "pip install soffit" in readme
    (python,) = re.findall(r"^```python\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    assert len(re.findall(r"^.+$", python, re.MULTILINE)) == 10
    (shell,) = re.findall(r"^```console\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    assert shell.count("$ soffit fit ") == 1
    facts = re.findall(r"^- (.+)$", readme, re.MULTILINE)
    assert len(facts) == 4
    for fact in facts:
        page, example = re.findall(r"\]\(([^)]+)\)", fact)
        assert page.startswith("docs/"), fact
        assert example.startswith("examples/gallery/"), fact
        measured = (ROOT / page.partition("#")[0]).read_text(encoding="utf-8")
        for number in re.findall(r"\d+\.\d+|\d+ s\b", fact):
            assert number in measured, f"{number} does not stand in {page}"
    assert "**For you**" in readme
    assert "**Not for you**" in readme
