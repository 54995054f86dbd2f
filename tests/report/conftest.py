"""Pages for the tests, and a reader of HTML that is stricter than browsers."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soffit import SoftClustering
from soffit.datasets import make_gaussians
from soffit.report import write_report

VOID = {"meta", "input", "br", "img", "link", "hr", "wbr"}
HOSTILE = (
    "<script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 1'>",
    "</script><script>window.hacked = 1</script>",
    '"><svg onload=window.hacked=1>',
    "<!-- <b>bold</b> & so on",
    "$title ${style} {x} %{y}",
)


@dataclass
class Element:
    name: str
    attributes: dict[str, str]
    text: str = ""


@dataclass
class Page(HTMLParser):
    """All elements in order, with the text directly inside them; complains about wrong nesting."""

    content: str
    elements: list[Element] = field(default_factory=list)
    open: list[Element] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.feed(self.content)
        self.close()
        assert not self.open, f"never closed: {[element.name for element in self.open]}"

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].name == tag, f"</{tag}> closes <{self.open[-1].name}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        hidden = bool(self.open) and self.open[-1].name in ("script", "style")
        for element in self.open[-1:] if hidden else self.open:
            element.text += data

    def all(self, tag: str) -> list[Element]:
        return [element for element in self.elements if element.name == tag]

    def by_id(self, identifier: str) -> Element:
        return next(e for e in self.elements if e.attributes.get("id") == identifier)

    def visible(self) -> str:
        """Everything a reader sees, as one line."""
        return " ".join(self.all("body")[0].text.split())


@pytest.fixture(scope="session")
def blobs() -> tuple[np.ndarray, np.ndarray]:
    """Three clusters in the plane that touch, and their labels."""
    X, labels, _ = make_gaussians(90, n_clusters=3, separation=4.0, random_state=23)
    return X, labels


@pytest.fixture(scope="session")
def fitted(blobs: Any) -> SoftClustering:
    return SoftClustering(3, random_state=23).fit(blobs[0])


@pytest.fixture
def make_page(tmp_path: Path) -> Any:
    """Write a report and read it back."""

    def make(model: Any, **options: Any) -> Page:
        path = tmp_path / "report.html"
        write_report(path, model, **options)
        return Page(path.read_text(encoding="utf-8"))

    return make


@pytest.fixture(scope="session")
def hostile_names() -> tuple[str, ...]:
    return HOSTILE
