"""`soffit edit`, names of clusters, refusal and novelty on the command line."""

from __future__ import annotations

import numpy as np
import pytest
from tests.cli.csv_files import rows_of, write_csv

COLUMNS = ["sepal_length", "sepal_width", "petal_length", "petal_width"]


@pytest.fixture
def model(soffit, flowers, tmp_path):
    path = tmp_path / "model.soffit"
    soffit("fit", flowers, "-k", 3, "--id", "flower", "--drop", "species", "--save", path)
    return path


def sizes(found):
    return {cluster["name"]: cluster["size"] for cluster in found["clusters"]}


def test_clusters_are_merged_and_saved(soffit, answer, model, flowers, tmp_path):
    new = tmp_path / "new.soffit"
    before = sizes(answer("predict", model, flowers))
    found = answer("edit", model, "--merge", "0,1", "--save", new)
    assert found["n_clusters"] == 2
    assert found["edits"] == ["merge([0, 1])"]
    assert sizes(found)["0"] >= before["0"] + before["1"] - 3
    assert answer("predict", new, flowers)["n_clusters"] == 2
    assert answer("predict", model, flowers)["n_clusters"] == 3
    text = soffit("edit", model, "--merge", "0,1").stdout
    assert "3 clusters before, 2 now" in text
    assert "--save new.soffit" in text


def test_splits_and_names_follow_merges(soffit, answer, model, flowers, tmp_path):
    new, out, page = (tmp_path / name for name in ("new.soffit", "out.csv", "page.html"))
    options = ("--merge", "0,1", "--split", "0:3", "--name", "1=setosa", "--name", "0=the rest")
    found = answer("edit", model, *options, "--save", new, "-o", out, "--report", page)
    assert found["n_clusters"] == 4
    assert list(sizes(found))[:2] == ["the rest", "setosa"]
    rows = rows_of(out)
    assert {row["cluster_name"] for row in rows} <= {"the rest", "setosa", "2", "3"}
    assert rows[0]["cluster_name"] == "setosa"
    assert "Cluster setosa" in page.read_text(encoding="utf-8")
    predicted = soffit("predict", new, flowers, "-o", tmp_path / "p.csv").stdout
    assert "setosa" in predicted
    assert rows_of(tmp_path / "p.csv")[0]["cluster_name"] == "setosa"
    # Names may stand for numbers.
    assert answer("edit", new, "--merge", "setosa,the rest")["n_clusters"] == 3
    report = tmp_path / "r.html"
    soffit("report", new, "-o", report, "--data", flowers, "--id", "flower", "--drop", "species")
    assert "Cluster setosa" in report.read_text(encoding="utf-8")


def test_names_are_given_with_the_fit(soffit, answer, flowers, tmp_path):
    common = ("fit", flowers, "-k", 3, "--id", "flower", "--drop", "species")
    found = answer(*common, "--name", "0=big", "--name", "2=<i>", "-o", tmp_path / "c.csv")
    assert list(sizes(found)) == ["big", "1", "<i>"]
    rows = rows_of(tmp_path / "c.csv")
    assert all((row["cluster_name"] == "big") == (row["cluster"] == "0") for row in rows)
    assert "big" in soffit(*common, "--name", "0=big").stdout
    assert "no cluster 7" in soffit(*common, "--name", "7=big", code=1).output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "Nothing to do"),
        (("--merge", "1"), "does not name two clusters"),
        (("--split", "1:1"), "at least 2"),
        (("--split", ":2"), "Write it as in 3:2"),
        (("--split", "1:x"), "Write it as in 3:2"),
        (("--name", "adults"), "Write it as in 0=adults"),
        (("--name", "0="), "Write it as in 0=adults"),
        (("--name", "0=a", "--name", "0=b"), "named twice"),
    ],
)
def test_wrong_usage(soffit, model, options, message):
    assert message in " ".join(
        soffit("edit", model, *options, code=2).output.replace("│", "").split()
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--merge", "0,9"), "There is no cluster 9"),
        (("--merge", "0,x"), "There is no cluster named 'x'"),
        (("--merge", "0,1", "--merge", "1,2"), "in two of the groups"),
        (("--split", "0:900"), "fewer parts"),
        (("--name", "0=12"), "mistaken for the number"),
        (("--name", "0=a", "--name", "1=a"), "Two clusters would be named"),
    ],
)
def test_wrong_clusters(soffit, model, options, message):
    assert message in soffit("edit", model, *options, code=1).output


def test_only_models_can_be_edited(soffit, flowers, model):
    assert "model" in soffit("edit", flowers, "--merge", "0,1", code=1).output
    assert "would be overwritten" in soffit(
        "edit", model, "--merge", "0,1", "--save", model, code=2
    ).output.replace("\n", " ").replace("│", "").replace("  ", " ")


# --- refusal --------------------------------------------------------------------------------------


def test_uncertain_objects_have_no_cluster(soffit, model, flowers, tmp_path):
    out = tmp_path / "out.csv"
    shown = soffit("predict", model, flowers, "--min-certainty", 0.8, "-o", out)
    rows = rows_of(out)
    refused = [row for row in rows if float(row["certainty"]) < 0.8]
    assert 0 < len(refused) < 150
    assert all((row["cluster"] == "-1") == (row in refused) for row in rows)
    assert f"{len(refused)} of 150 objects have a certainty below 0.8" in shown.output
    fitted = tmp_path / "fit.csv"
    soffit(
        "fit", flowers, "-k", 3, "--drop", "species,flower", "--min-certainty", 0.8, "-o", fitted
    )
    assert any(row["cluster"] == "-1" for row in rows_of(fitted))
    # Reports read memberships, which nothing was refused of.
    soffit("report", fitted)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--min-certainty", "2", "-o", "x.csv"), "2 is not a probability"),
        (("--min-certainty", "nan", "-o", "x.csv"), "nan is not a probability"),
        (("--min-certainty", "0.5"), "add -o"),
    ],
)
def test_a_limit_is_a_probability_and_needs_an_output(soffit, model, flowers, options, message):
    for command in (("predict", model, flowers), ("fit", flowers)):
        assert message in soffit(*command, *options, code=2).output.replace("\n", " ")


# --- novelty --------------------------------------------------------------------------------------


def test_objects_like_nothing_seen_are_pointed_out(soffit, answer, model, flowers, tmp_path):
    out, new = tmp_path / "out.csv", tmp_path / "new.csv"
    rows = [[row[name] for name in COLUMNS] for row in rows_of(flowers)]
    ordinary = soffit("predict", model, flowers, "-o", out).output
    assert "outside everything" not in ordinary
    assert max(float(row["novelty"]) for row in rows_of(out)) < 1.0
    write_csv(new, COLUMNS, [*rows, [90, 90, 90, 90]])
    shown = soffit("predict", model, new, "-o", out).output
    assert "1 of 151 new objects lies outside everything that the model was fitted to" in shown
    last = rows_of(out)[-1]
    assert float(last["novelty"]) > 0.9999
    found = answer("predict", model, new)
    assert found["n_outside"] >= 1
    assert any("lies outside everything" in text for text in found["warnings"])
    # Many that are a little outside are notable as well.
    write_csv(new, COLUMNS, [[row[0], row[1], 9.0, 3.0] for row in rows[:30]])
    assert "30 of 30 new objects lie outside" in soffit("predict", model, new).output


def test_novel_objects_are_refused(soffit, model, flowers, tmp_path):
    out, new = tmp_path / "out.csv", tmp_path / "new.csv"
    rows = [[row[name] for name in COLUMNS] for row in rows_of(flowers)]
    write_csv(new, COLUMNS, [*rows, [90, 90, 90, 90]])
    shown = soffit("predict", model, new, "-o", out).output.replace("\n", " ")
    assert rows_of(out)[-1]["cluster"] != "-1"
    assert "--max-novelty 0.99 gives such objects no cluster" in shown
    shown = soffit("predict", model, new, "-o", out, "--max-novelty", 0.999).output
    found = rows_of(out)
    refused = [row for row in found if row["cluster"] == "-1"]
    assert refused == [row for row in found if float(row["novelty"]) > 0.999]
    assert refused[-1] is found[-1]
    assert "1 of 151 objects has a novelty above 0.999: its cluster is -1" in shown
    both = ("--max-novelty", 0.999, "--min-certainty", 0.8)
    shown = soffit("predict", model, new, "-o", out, *both).output.replace("\n", " ")
    more = [row for row in rows_of(out) if row["cluster"] == "-1"]
    assert len(more) > len(refused)
    assert "have a certainty below 0.8 or a novelty above 0.999" in shown
    assert "add -o" in soffit("predict", model, new, "--max-novelty", 0.9, code=2).output
    assert (
        "2 is not a probability"
        in soffit("predict", model, new, "-o", out, "--max-novelty", 2, code=2).output
    )


def test_a_model_without_distances_has_no_novelty(answer, soffit, tmp_path):
    generator = np.random.default_rng(5)
    X = np.concatenate([generator.normal(size=(30, 2)), generator.normal(size=(30, 2)) + 9])
    path, model = tmp_path / "x.csv", tmp_path / "m.soffit"
    write_csv(path, ["x", "y"], X.round(4).tolist())
    soffit("fit", path, "-k", 2, "--method", "higher-order", "--save", model)
    found = answer("predict", model, path, "-o", tmp_path / "out.csv")
    assert found["n_outside"] is None
    assert "novelty" not in rows_of(tmp_path / "out.csv")[0]
    limit = ("-o", tmp_path / "out.csv", "--max-novelty", 0.99)
    assert "measures no novelty" in soffit("predict", model, path, *limit, code=2).output


# --- groups of pairs ------------------------------------------------------------------------------


def test_groups_of_identifiers(answer, soffit, flowers, tmp_path):
    together, apart = tmp_path / "together.csv", tmp_path / "apart.csv"
    together.write_text("F000,F001,F002\nF060,F061\n", encoding="utf-8")
    apart.write_text("F000,F060,F120\n", encoding="utf-8")
    common = ("fit", flowers, "-k", 3, "--id", "flower", "--drop", "species")
    pairs = ("--must-link", together, "--cannot-link", apart)
    assert answer(*common, *pairs)["n_clusters"] == 3
    apart.write_text("F000,F002\n", encoding="utf-8")
    together.write_text("F000,F001\nF001,F002\n", encoding="utf-8")
    shown = soffit(*common, *pairs).output
    assert "--cannot-link contradicts --must-link through other objects" in shown
    assert "'F000' - 'F001' - 'F002'" in shown
