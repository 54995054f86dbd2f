"""`--dask`: files in blocks, from the command line."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

pytest.importorskip("dask.dataframe")


@pytest.fixture
def parts(tmp_path):
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(7)
    labels = rng.integers(0, 3, 6000)
    frame = pd.DataFrame(
        9 * np.eye(3, 4)[labels] + rng.normal(size=(6000, 4)), columns=list("abcd")
    )
    frame["name"] = "x"
    for number in range(3):
        part = frame[2000 * number : 2000 * (number + 1)]
        part.to_parquet(tmp_path / f"part-{number}.parquet")
    return labels


def test_fit_predict_and_report_in_blocks(parts, tmp_path, soffit, answer):
    fitted = answer(
        *("fit", "part-*.parquet", "-k", 3, "--dask", "threads", "--sample-size", 900),
        *("-o", "found.parquet", "--save", "m.soffit", "--report", "r.html"),
    )
    assert fitted["n_objects"] == 6000
    assert sum(cluster["size"] for cluster in fitted["clusters"]) == 6000
    found = pl.read_parquet(tmp_path / "found.parquet")
    assert found["row"].to_list() == list(range(6000))
    sizes = np.bincount(found["cluster"], minlength=3)
    assert sizes.tolist() == [cluster["size"] for cluster in fitted["clusters"]]
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "of 6,000 objects" in page
    assert f"{sizes[0]:,}" in page
    soffit("predict", "m.soffit", "part-*.parquet", "--dask", "threads", "-o", "new.parquet")
    assert pl.read_parquet(tmp_path / "new.parquet").equals(found)


def test_mistakes_are_named(parts, soffit):
    for arguments, message in (
        (("--dask", "threads", "-o", "x.csv"), "folder of Parquet files"),
        (("--dask", "threads", "--method", "sof"), "--method"),
        (("--dask", "threads", "--label", "name"), "--label"),
        (("--dask", "threads", "--drop", "z"), "no such column"),
        (("--sample-size", "9"), "--sample-size"),
    ):
        found = soffit("fit", "part-*.parquet", *arguments, code=None)
        assert found.exit_code != 0
        assert message in " ".join(found.output.replace("│", " ").split()), found.output
