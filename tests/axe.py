"""Accessibility as axe-core sees it; `make axe` fetches it, without it the tests are skipped."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
AXE = Path(
    os.environ.get("SOFFIT_AXE", ROOT / "build/axe/node_modules/axe-core/axe.min.js")
).resolve()
_FIND = """async () => (await axe.run(document, {resultTypes: ["violations"]})).violations
    .filter(found => ["serious", "critical"].includes(found.impact))
    .map(found => `${found.id}: ${found.nodes.slice(0, 3).map(n => n.target.join(" ")).join(", ")}`)
"""

needs_axe = pytest.mark.skipif(not AXE.exists(), reason="axe-core is not there; run `make axe`")


def serious(page: Any) -> list[str]:
    """Serious findings on an open page with all folded parts; its policy must be bypassed."""
    page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true })")
    page.add_script_tag(path=str(AXE))
    return list(page.evaluate(_FIND))
