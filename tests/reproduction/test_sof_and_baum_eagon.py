"""Quick versions of the experiments of SoF and Baum-Eagon, and their baselines."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reproduction.harness.experiment import Record, Results, Setup, Unit
from reproduction.harness.report import LABEL_TUNED, judged
from reproduction.papers.baselines import (
    graph_nmf,
    nonnegative,
    spherical_kmeans,
    symmetric_nmf,
)
from reproduction.papers.sof.methods import JUDGED, METHODS, THEIRS, Data
from reproduction.papers.sof.published import PUBLISHED, SETS
from reproduction.papers.sof.tables_report import TOLERANCE, _about_data, _reached_loss
from soffit.datasets import make_gaussians
from soffit.metrics import accuracy
from soffit.models import SoF


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


def test_every_run_of_sof_is_kept_and_judged(quick: Any) -> None:
    section, folder = quick("sof-tables")
    with (folder / "runs.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["method"] == JUDGED]
    rows = [row for row in rows if row["set"] == "iris"]
    assert [row["unit"] for row in rows] == ["iris/SoF/00", "iris/SoF/01"]
    assert all(float(row["loss"]) > 0 and float(row["seconds"]) > 0 for row in rows)
    mean = float(np.mean([float(row["accuracy"]) for row in rows]))
    (row,) = [row for row in section.tables[2].rows if row[0] == JUDGED]
    column = section.tables[2].header.index("iris")
    assert row[column].replace("*", "").startswith(f"{mean:.3f}")
    (finding,) = [row for row in section.findings if row.claim.startswith("SoF, iris")]
    assert f"{mean:.3f}; " in finding.ours
    assert finding.verdict == judged(mean, 0.94, TOLERANCE)


def test_runs_side_by_side_are_fits_of_the_model() -> None:
    X, _, _ = make_gaussians(60, separation=4.0, random_state=7)
    data = Data(X, 3)
    seeds = (3, 5)
    found = METHODS[JUDGED].together
    assert found is not None
    for seed, result in zip(seeds, found(data, seeds), strict=True):
        options: Any = {"solver": "gradient", "tol": 1e-12, "random_state": seed}
        model = SoF(3, affinity="precomputed", **options).fit(data.P)
        np.testing.assert_allclose(result.factor, model.memberships_, atol=1e-4)
        assert result.objective == pytest.approx(model.objective_, rel=1e-9)


def test_the_published_sof_is_solved_in_double_precision() -> None:
    X, _, _ = make_gaussians(2100, random_state=7)
    data = Data(X, 3)
    assert data.P.dtype == np.float32
    assert data.double_similarities.dtype == np.float64
    np.testing.assert_allclose(data.double_similarities, data.P, atol=1e-5)


def test_runs_at_the_lowest_loss_are_told_apart() -> None:
    losses, scores = [5.0, 3.0, 3.0 + 1e-9], [0.2, 0.8, 0.9]
    records = [
        Record(Unit(str(n), {"set": "iris", "method": JUDGED}), {"loss": x, "accuracy": y}, 1.0)
        for n, (x, y) in enumerate(zip(losses, scores, strict=True))
    ]
    reached = _reached_loss(Results(Setup(), records), "iris")
    assert (reached.n_runs, reached.n_losses, reached.n_lowest) == (3, 2, 2)
    assert str(reached) == "0.850 in the 2 of 3 runs that end at the lowest loss"
    alike = _reached_loss(Results(Setup(), records[1:]), "iris")
    assert str(alike) == "all runs end at the same loss"


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


def test_what_the_data_say_about_a_printed_row(data_home: Path) -> None:
    assert "one single cluster (0.762 / 0.637 / 0.762)" in _about_data(
        "blood_transfusion", data_home
    )
    assert "% of the variance" in _about_data("breast_tissue", data_home)
    assert _about_data("iris", data_home) == ""
