"""The Python code of the documentation runs as it stands."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = (
    *("README.md", "docs/after_the_fit.md", "docs/asking.md", "docs/mixed_tables.md"),
    *("docs/models.md", "docs/reports_and_figures.md", "docs/texts.md", "docs/uncertainty.md"),
)
# Pages without Python code, whose links are checked all the same.
OTHER_PAGES = ("CONTRIBUTING.md", "docs/command_line.md")
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


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


def test_links_of_the_pages_lead_somewhere() -> None:
    for page in (*PAGES, *OTHER_PAGES):
        path = ROOT / page
        text = path.read_text(encoding="utf-8")
        headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
        anchors = {re.sub(r"[^\w\- ]", "", h).strip().lower().replace(" ", "-") for h in headings}
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if target.startswith("#"):
                assert target[1:] in anchors, f"{page}: no heading for {target}"
            elif "://" not in target:
                assert (path.parent / target.split("#")[0]).exists(), f"{page}: no file {target}"


def test_every_model_has_a_section() -> None:
    import soffit

    text = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    models = [name for name in soffit.__all__ if isinstance(getattr(soffit, name), type)]
    assert len(models) >= 9
    for name in [*models, "segment"]:
        assert re.search(rf"\b{name}\(", "".join(code for _, code in blocks("docs/models.md")))
        assert f"`{name}" in text or f"`soffit.{name}" in text
