"""Files with text, yes/no, gaps, row numbers and sentinels, through the command."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.cli.csv_files import rows_of


@pytest.fixture
def customers(tmp_path):
    """Three kinds of customers; sex and year tell nothing."""
    rng = np.random.default_rng(4)
    lines = ["number,age,income,city,sex,member,year,kind"]
    for i in range(240):
        kind = i % 3
        age = f"{rng.normal(20 + 18 * kind, 4):.0f}" if rng.random() > 0.03 else ""
        income = f"{np.exp(10 + 0.9 * (kind == 2) + 0.2 * rng.normal()):.0f}"
        city = ["Bern", "Ulm", "Lyon"][kind] if rng.random() < 0.9 else "Rome"
        sex = rng.choice(["f", "m", ""], p=[0.48, 0.48, 0.04])
        member = "yes" if rng.random() < 0.2 + 0.3 * kind else "no"
        lines.append(f"{i + 1},{age},{income},{city},{sex},{member},{2007 + i % 2},k{kind}")
    path = tmp_path / "customers.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_fit_predict_and_report(soffit, answer, customers, tmp_path):
    model, page, out = (tmp_path / name for name in ("m.soffit", "page.html", "new.csv"))
    found = answer(
        *("fit", customers, "-k", 3, "--label", "kind", "--save", model, "--report", page)
    )
    assert found["scores"]["adjusted_rand"] > 0.9
    assert found["columns"] == ["age", "income", "city", "sex", "member", "year"]
    notes = " ".join(found["notes"])
    assert "Left out 'number': it numbers the objects." in notes
    assert "Missing values stay missing in 'age'" in notes
    assert "Text ('city' and 'sex') and numbers are compared by a mixed distance" in notes
    described = [item["column"] for c in found["clusters"] for item in c["apart"]]
    assert any(name.startswith("city=") for name in described)
    text = page.read_text(encoding="utf-8")
    assert "metric=&#x27;gower&#x27;" in text or "metric='gower'" in text
    assert ".fit(source)" in text
    # New objects: other columns, an unknown city, gaps.
    new = tmp_path / "fresh.csv"
    new.write_text(
        "city,extra,sex,member,year,income,age\nOslo,1,f,no,2007,22000,21\n,2,,yes,2008,54000,57\n",
        encoding="utf-8",
    )
    soffit("predict", model, new, "-o", out)
    rows = rows_of(out)
    assert len(rows) == 2
    assert rows[0]["cluster"] != rows[1]["cluster"]


@pytest.mark.parametrize("command", ["hierarchy", "compare"])
def test_other_commands_prepare_alike(answer, customers, command):
    only = ("--only", "soft,spectral,higher-order,sklearn-kmeans") if command == "compare" else ()
    found = answer(command, customers, "-k", 3, "--label", "kind", *only)
    if command == "hierarchy":
        assert found["scores"]["adjusted_rand"] > 0.9
        return
    scores = {row["method"]: row["adjusted_rand"] for row in found["methods"]}
    assert scores["SoftClustering"] > 0.9
    assert scores["SpectralClustering"] > 0.9
    assert scores["KMeans"] > 0.4
    assert "numbers without gaps" in found["left_out"]["soffit HigherOrder"]


def test_gaps_can_be_refused_filled_or_dropped(soffit, answer, customers):
    filled = answer("fit", customers, "-k", 3, "--impute", "median")
    assert any("set to the median in 'age'" in note for note in filled["notes"])
    assert any("Missing text stays missing in 'sex'" in note for note in filled["notes"])
    dropped = answer("fit", customers, "-k", 3, "--impute", "drop")
    assert dropped["n_objects"] < 240
    kept = answer("fit", customers, "-k", 3, "--impute", "none")
    assert kept["n_objects"] == 240


def test_many_gaps_are_refused_with_the_remedies(soffit, tmp_path):
    path = tmp_path / "gaps.csv"
    rows = "\n".join(f"{i},{i % 3 if i % 2 else ''}" for i in range(5, 60))
    path.write_text(f"x,y\n{rows}\n", encoding="utf-8")
    text = soffit("fit", path, "-k", 2, code=1).stderr
    assert "28 % of the entries" in text or "25% of the entries" in text
    assert "--impute none" in text
    soffit("fit", path, "-k", 2, "--impute", "none")


def test_identifiers_that_repeat_are_left_out_in_any_column(answer, tmp_path):
    rng = np.random.default_rng(5)
    numbers = 1_000_000 + rng.permutation(300)[:60]
    numbers[50:] = numbers[:10]
    lines = ["row,ID,mass index,size"]
    for i, number in enumerate(numbers):
        index = 1000 + 7 * (i % 55)
        lines.append(f"r{i},{number},{index},{3.0 * (i % 2) + 0.1 * rng.normal():.3f}")
    path = tmp_path / "patients.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = answer("fit", path, "-k", 2)
    assert found["columns"] == ["mass index", "size"]
    assert any("Left out 'ID'" in note for note in found["notes"])


def test_sentinels_are_pointed_out(answer, tmp_path):
    path = tmp_path / "survey.csv"
    rng = np.random.default_rng(0)
    rows = [f"{rng.integers(18, 80)},{rng.normal():.2f}" for _ in range(60)]
    rows += ["999,0.1", "999,-0.2", "999,0.3", "44,-9", "51,-9"]
    path.write_text("age,score\n" + "\n".join(rows) + "\n", encoding="utf-8")
    notes = " ".join(answer("fit", path, "-k", 2)["notes"])
    assert "999 occurs 3 times in 'age', far from its other values (18 to 79)" in notes
    assert "--na 999" in notes
    assert "-9 occurs 2 times in 'score'" in notes
    clean = answer("fit", path, "-k", 2, "--na", "999,-9")["notes"]
    assert not any("occurs" in note for note in clean)


def test_clusters_that_are_the_values_of_columns_are_warned_of(soffit, tmp_path):
    path, page = tmp_path / "poll.csv", tmp_path / "poll.html"
    rng = np.random.default_rng(0)
    rows = [f"{rng.normal() + 30 * (i % 2):.3f},{'ab'[i % 2]}" for i in range(120)]
    path.write_text("x,party\n" + "\n".join(rows) + "\n", encoding="utf-8")
    done = soffit("fit", path, "-k", 2, "--report", page)
    assert "The clusters follow one column, “party”: nearly all objects" in done.stderr
    assert "--drop party" in done.stderr
    assert "The clusters follow one column" in page.read_text(encoding="utf-8")
    found = json.loads(soffit("fit", path, "-k", 2, "--json").stdout)
    assert found["telling_columns"] == ["party"]
    assert any("“party”" in warning for warning in found["warnings"])


def test_encoded_text_is_still_possible(answer, customers, tmp_path):
    model = tmp_path / "m.soffit"
    found = answer(
        *("fit", customers, "-k", 3, "--text", "onehot", "--impute", "median", "--save", model)
    )
    assert "city=Bern" in found["columns"]
    assert answer("predict", model, customers, "--impute", "median")["n_objects"] == 240


def test_yes_and_no_alone_make_a_table_mixed(answer, tmp_path):
    path = tmp_path / "b.csv"
    rng = np.random.default_rng(0)
    rows = [f"{rng.normal() * 1000:.1f},{['yes', 'no'][i % 2]}" for i in range(60)]
    path.write_text("x,member\n" + "\n".join(rows) + "\n", encoding="utf-8")
    notes = answer("fit", path, "-k", 2)["notes"]
    assert any("mixed distance" in note for note in notes)


def test_a_report_does_not_claim_that_a_finished_fit_compared_text(soffit, customers, tmp_path):
    model, page = tmp_path / "m.soffit", tmp_path / "page.html"
    soffit("fit", customers, "-k", 3, "--columns", "age,income", "--save", model)
    shown = soffit("report", model, "--data", customers, "-o", page)
    assert page.exists()
    assert "mixed distance" not in shown.stdout + shown.stderr
    assert "mixed distance" not in page.read_text(encoding="utf-8")
