"""A table as it comes from a spreadsheet: each message says what to add, until it works."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.cli.csv_files import rows_of


@pytest.fixture
def patients(tmp_path):
    """Semicolons, decimal commas, text columns, missing values, identifiers."""
    rng = np.random.default_rng(1213)
    lines = ["patient;weight;height;smoker;city;group"]
    cities = ["Ulm", "Köln", "Bonn"]
    for i in range(80):
        ill = i % 2
        weight = f"{rng.normal(60 + 30 * ill, 3):.1f}".replace(".", ",")
        height = f"{rng.normal(1.6 + 0.3 * ill, 0.03):.2f}".replace(".", ",")
        if i in (5, 17, 40):
            weight = ""
        smoker, city = ["yes", "no"][i % 3 == 0], cities[i % 3]
        lines.append(f"P-{i:03d};{weight};{height};{smoker};{city};{'AB'[ill]}")
    path = tmp_path / "patients.csv"
    path.write_text("\n".join(lines) + "\n", encoding="cp1252")
    return path


def test_a_table_with_text_and_few_gaps_is_clustered_as_it_comes(soffit, patients, tmp_path):
    out = tmp_path / "clusters.csv"
    result = soffit("fit", patients, "-k", 2, "--id", "patient", "--label", "group", "-o", out)
    # Written as it came in: the whole table, with semicolons and decimal commas.
    rows = rows_of(out, ";")
    assert {"weight", "height", "smoker", "city", "group", "cluster", "p1"} <= set(rows[0])
    assert all("," in row["certainty"] and "." not in row["certainty"] for row in rows)
    assert [row["patient"] for row in rows] == [f"P-{i:03d}" for i in range(80)]
    assert "Missing values stay missing in 'weight' (3)" in result.stderr
    assert "Text ('city') and numbers are compared by a mixed distance" in result.stderr
    assert "ARI 1.000" in result.stdout


def test_following_the_advice_leads_to_a_result(soffit, patients):
    # Without text and gaps the table must be numbers: every message says how.
    arguments = ["fit", patients, "-k", 2, "--label", "group", "--method", "higher-order"]
    result = soffit(*arguments, code=None)
    for _ in range(4):
        if result.exit_code == 0:
            break
        assert result.exit_code == 1
        # The first remedy is for models that compare what is there.
        advice = re.search(r"(--\w+) (?!none)(\w+)", result.stderr)
        assert advice is not None, result.stderr
        assert advice.group(1) not in arguments, f"advice followed in vain: {result.stderr}"
        arguments += [advice.group(1), advice.group(2)]
        result = soffit(*arguments, code=None)
    assert result.exit_code == 0, result.output
    assert "--impute" in arguments
    assert "smoker" in result.stderr, "what became of text columns must be said"


def test_the_missing_values_are_counted_by_column(soffit, patients):
    arguments = ("--label", "group", "--method", "higher-order")
    text = soffit("fit", patients, *arguments, code=1).stderr
    assert "weight" in text
    assert "3" in text
    assert "--impute" in text


def test_decimal_commas_are_numbers(answer, patients):
    found = answer(
        *("fit", patients, "-k", 2, "--columns", "weight,height", "--impute", "median"),
        *("--label", "group"),
    )
    assert found["columns"] == ["weight", "height"]
    assert found["scores"]["accuracy"] > 0.95
