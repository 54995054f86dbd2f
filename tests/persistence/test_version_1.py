"""Files that a release with format version 1 wrote load, and predict the same as they did."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.persistence.fitted import assert_same

from soffit import load, save
from soffit.memberships import FittedRows
from soffit.persistence.schema import MODELS

FOLDER = Path(__file__).parent / "version1"
CASES = sorted(path.stem for path in FOLDER.glob("*.soffit"))


@pytest.mark.parametrize("case", CASES)
def test_old_file_gives_the_same(case: str, tmp_path: Path) -> None:
    model = load(FOLDER / f"{case}.soffit")
    rows = getattr(model, "memberships_", getattr(model, "label_distributions_", None))
    with np.load(FOLDER / "expected.npz") as expected:
        _assert_bytes(rows, expected[f"{case}/memberships"])
        if f"{case}/new" in expected:
            new = expected[f"{case}/new"]
            placed, theirs = model.predict_proba(new), expected[f"{case}/placed"]
            if isinstance(getattr(model._fitted.placer, "extension", None), FittedRows):
                # Version 1 solved the row of a new object step by step, up to a gap of 1e-9 of its
                # gradient. Rows without zeros now have a closed form, which is exact.
                assert placed.dtype == theirs.dtype
                np.testing.assert_allclose(placed, theirs, rtol=0, atol=2e-8)
                np.testing.assert_array_equal(placed.argmax(axis=1), theirs.argmax(axis=1))
            else:
                # Not the same bytes: OpenBLAS sums in another order on another type of processor.
                assert placed.dtype == theirs.dtype
                np.testing.assert_allclose(placed, theirs, rtol=0, atol=1e-14)
    # From here on it is a file like any other, and a smaller one.
    path = tmp_path / "again.soffit"
    save(model, path)
    assert_same(model, load(path))


def test_there_is_an_old_file_of_every_model() -> None:
    assert {case.partition("-")[0] for case in CASES} == set(MODELS)


def _assert_bytes(ours: np.ndarray, theirs: np.ndarray) -> None:
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
    assert ours.tobytes() == theirs.tobytes()
