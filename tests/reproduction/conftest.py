"""Quick versions of experiments, run into a temporary folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from reproduction.harness import run as running
from reproduction.harness.experiment import Setup
from reproduction.harness.report import Section
from reproduction.harness.run import run


@pytest.fixture
def quick(
    data_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], tuple[Section, Path]]:
    """Run an experiment quickly; without PNG, as a browser takes seconds to start."""
    monkeypatch.setattr(running, "png_works", lambda: False)

    def run_quickly(name: str) -> tuple[Section, Path]:
        (section,) = run([name], tmp_path, setup=Setup(quick=True, data=data_home))
        return section, tmp_path / name

    return run_quickly
