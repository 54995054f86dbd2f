"""What all tests share: the folder of real data, and reproducible property tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# No deadline: compiling a kernel on first use takes seconds. Derandomized and without a database:
# a run depends on nothing but the code.
settings.register_profile(
    "soffit", deadline=None, derandomize=True, max_examples=40, database=None, print_blob=True
)
settings.load_profile("soffit")

REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def repository() -> Path:
    """The folder that holds pyproject.toml."""
    return REPOSITORY


@pytest.fixture(scope="session")
def data_home() -> Path:
    """The folder of real data sets: $SOFFIT_DATA, or shared/data beside the repository."""
    folder = Path(os.environ.get("SOFFIT_DATA") or REPOSITORY.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"no data sets in {folder}; set SOFFIT_DATA to the folder that holds them")
    return folder
