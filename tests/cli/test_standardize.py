"""Standardized columns and warnings: the same in terminal, JSON and report, for every command."""

from __future__ import annotations

import re
from html import unescape

import numpy as np
import pytest
from tests.cli.csv_files import write_csv


@pytest.fixture
def bodies(tmp_path):
    """Heights in metres and weights in kilograms of two groups that differ in height."""
    rng = np.random.default_rng(41)
    height = np.r_[rng.normal(1.5, 0.03, 60), rng.normal(1.9, 0.03, 60)]
    weight = rng.normal(70.0, 9.0, 120)
    path = tmp_path / "bodies.csv"
    rows = [
        [*row, group] for row, group in zip(np.c_[height, weight].tolist(), GROUPS, strict=True)
    ]
    write_csv(path, ["height", "weight", "group"], rows)
    return path


GROUPS = ["small"] * 60 + ["tall"] * 60
LABEL = ("--label", "group")


def one_line(text):
    return " ".join(text.split())


@pytest.mark.parametrize("command", ["fit", "hierarchy"])
def test_units_do_not_decide(soffit, answer, bodies, command):
    found = answer(command, bodies, "-k", 2, *LABEL)
    assert found["standardized"] is True
    assert found["scores"]["adjusted_rand"] > 0.9
    text = one_line(soffit(command, bodies, "-k", 2, *LABEL).stdout)
    assert "standardized, because their units differ: the spread of weight" in text
    assert "(--standardize no keeps them as they are)" in text
    raw = answer(command, bodies, "-k", 2, *LABEL, "--standardize", "no")
    assert raw["standardized"] is False
    assert raw["scores"]["adjusted_rand"] < 0.5


def test_the_report_of_the_command_says_the_same(soffit, bodies, tmp_path):
    report = tmp_path / "report.html"
    soffit("fit", bodies, "-k", 2, *LABEL, "--report", report)
    # As it reads: an option is marked, so that no line breaks inside it.
    page = one_line(unescape(re.sub(r"</?span[^>]*>", "", report.read_text(encoding="utf-8"))))
    assert "because their units differ: the spread of weight" in page
    assert "(--standardize no keeps them as they are)" in page


def test_yes_standardizes_similar_columns(soffit, answer, flowers):
    options = ("--id", "flower", "--drop", "species", "-k", 3)
    assert answer("fit", flowers, *options)["standardized"] is False
    assert answer("fit", flowers, *options, "--standardize", "yes")["standardized"] is True
    text = one_line(soffit("fit", flowers, *options).stdout)
    assert "not standardized: their spreads are similar (--standardize yes standardizes" in text


def test_the_option_needs_a_table(soffit, tmp_path):
    path = tmp_path / "d.csv"
    write_csv(path, ["a", "b", "c"], [[0, 1, 4], [1, 0, 4], [4, 4, 0]])
    for command in ("fit", "compare"):
        options = ("--kind", "distances", "-k", 2, "--standardize", "yes")
        said = one_line(soffit(command, path, *options, code=1).output)
        assert "--standardize needs a table, but the file holds distances" in said


def test_compare_gives_every_method_the_same_table(answer, soffit, bodies):
    only = ("-k", 2, *LABEL, "--only", "soft,spectral,sklearn-kmeans,sklearn-mixture")
    found = answer("compare", bodies, *only)
    assert found["standardized"] is True
    assert min(row["adjusted_rand"] for row in found["methods"]) > 0.9
    raw = answer("compare", bodies, *only, "--standardize", "no")
    assert raw["standardized"] is False
    scores = {row["method"]: row["adjusted_rand"] for row in raw["methods"]}
    assert max(scores["KMeans"], scores["SoftClustering"]) < 0.5
    assert "the same table: its columns were standardized" in one_line(
        soffit("compare", bodies, *only).output
    )


def test_warnings_are_the_same_in_terminal_json_and_report(soffit, answer, tmp_path):
    rng = np.random.default_rng(43)
    points = np.r_[rng.normal(0.0, 1.0, (80, 2)), rng.normal(40.0, 0.1, (2, 2))]
    points[10:13] = points[9]
    path, report = tmp_path / "points.csv", tmp_path / "report.html"
    write_csv(path, ["x", "y"], points.tolist())
    common = ("fit", path, "-k", 2)
    warnings = answer(*common)["warnings"]
    assert any("duplicates" in warning for warning in warnings)
    said = one_line(soffit(*common, "--report", report).output)
    page = one_line(unescape(report.read_text(encoding="utf-8")))
    for warning in warnings:
        assert one_line(warning) in said
        assert warning.partition(". ")[0] in page


def test_remedies_name_options_on_the_command_line(answer, tmp_path):
    rng = np.random.default_rng(47)
    path = tmp_path / "noise.csv"
    write_csv(path, ["x", "y", "z"], rng.uniform(size=(60, 3)).tolist())
    found = answer("fit", path, "--neighbors", 2, "-k", 9)["warnings"]
    assert not any("n_neighbors" in warning or "n_clusters" in warning for warning in found)
