"""Quick versions of the experiments of SoF and Baum-Eagon, and their baselines."""

from __future__ import annotations

import csv
from typing import Any

import numpy as np
import pytest

from soffit.datasets import make_gaussians
from soffit.metrics import accuracy
from soffit.reproduce._baselines import graph_nmf, nonnegative, spherical_kmeans, symmetric_nmf
from soffit.reproduce._report import LABEL_TUNED, judged
from soffit.reproduce._sof_methods import METHODS, THEIRS
from soffit.reproduce._sof_published import PUBLISHED, SETS
from soffit.reproduce._sof_tables_report import TOLERANCE


def test_tables_of_sof(quick: Any) -> None:
    section, folder = quick("sof-tables")
    assert len(section.tables) == 4
    assert [len(table.rows) for table in section.tables[:3]] == [len(METHODS)] * 3
    assert (folder / "accuracy.html").is_file()
    assert (folder.parent / "plotly.min.js").is_file()
    tuned = [row for row in section.findings if row.claim.startswith("SoF,")]
    assert tuned
    assert all(LABEL_TUNED in row.setting for row in tuned)
    defaults = [row for row in section.findings if "SoftClustering" in row.setting]
    assert not any(LABEL_TUNED in row.setting for row in defaults)


def test_tables_and_verdicts_are_by_the_first_runs(quick: Any) -> None:
    section, folder = quick("sof-tables")
    with (folder / "runs.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["method"] == "SoF"]
    runs = [float(row["accuracy"]) for row in rows if row["set"] == "iris"]
    assert len(runs) == 20
    first = [row["in_table"] for row in rows if row["set"] == "iris"]
    assert first == ["True"] * 2 + ["False"] * 18
    (row,) = [row for row in section.tables[2].rows if row[0] == "SoF"]
    column = section.tables[2].header.index("iris")
    assert row[column].replace("*", "").startswith(f"{np.mean(runs[:2]):.3f}")
    (finding,) = [row for row in section.findings if row.claim.startswith("SoF, iris")]
    assert finding.ours.endswith(f"{np.mean(runs):.3f} in 20 runs")
    assert finding.verdict == judged(float(np.mean(runs[:2])), 0.94, TOLERANCE)


def test_figures_of_sof(quick: Any) -> None:
    section, folder = quick("sof-figures")
    assert len(section.pictures) == 6
    assert all((folder / picture.html).is_file() for picture in section.pictures)


def test_baum_eagon(quick: Any) -> None:
    section, _ = quick("baum-eagon")
    assert section.findings[-1].verdict == "no data"
    assert {picture.html for picture in section.pictures} == {
        "blocks.html",
        "digits.html",
        "iris.html",
    }
    cosine = [row for row in section.findings if "cosine" in row.setting]
    assert cosine
    assert all(LABEL_TUNED in row.setting and "chosen by labels" in row.verdict for row in cosine)


def test_published_tables_are_whole() -> None:
    for table in PUBLISHED.values():
        assert list(table) == list(THEIRS)
        assert all(len(row) == len(SETS) for row in table.values())


@pytest.mark.parametrize("name", ["spherical", "graph", "symmetric"])
def test_baselines_find_clear_groups(name: str) -> None:
    X, labels, _ = make_gaussians(120, separation=12.0, random_state=7)
    X = nonnegative(X)
    if name == "spherical":
        # Directions from the middle, so that the groups differ by angle.
        X = X - X.mean(axis=0)
        found = max(
            (spherical_kmeans(X, 3, seed) for seed in range(7, 12)),
            key=lambda guess: accuracy(labels, guess),
        )
    elif name == "graph":
        V = graph_nmf(X, 3, 7)
        assert np.isfinite(V).all()
        assert (V >= 0).all()
        return
    else:
        found = max(
            (symmetric_nmf(X, 3, seed).argmax(axis=1) for seed in range(7, 12)),
            key=lambda guess: accuracy(labels, guess),
        )
    assert accuracy(labels, found) > 0.9
