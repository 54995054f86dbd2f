"""`soffit fit` on files that are as they should be."""

from __future__ import annotations

import re
from importlib import import_module

import numpy as np
import pytest
from tests.cli.csv_files import rows_of, write_csv

from soffit import SoftClustering

KEEP = ("--drop", "species")


def test_the_table_of_clusters_and_what_to_do_next(soffit, flowers):
    text = soffit("fit", flowers, "-k", 3, "--id", "flower", *KEEP).output
    assert "150 objects with 4 columns: 3 clusters by SoftClustering" in text
    assert "set apart by" in text
    assert "petal_length" in text
    assert "(overall " in text
    assert "Next: add -o clusters.csv" in text


def test_one_cluster_is_followed_by_how_to_divide_it(soffit, tmp_path):
    values = np.random.default_rng(3).normal(size=(60, 2))
    path = tmp_path / "cloud.csv"
    write_csv(path, ["x", "y"], values.tolist())
    text = " ".join(soffit("fit", path).output.split())
    assert "1 cluster by SoftClustering" in text
    assert "Next: pass -k 2 to divide the objects all the same" in text
    assert "Next" in soffit("fit", path, "-k", 2).output
    assert "-k 2" not in soffit("fit", path, "-k", 1).output


def test_one_cluster_is_divided_into_the_next_best_number_and_this_is_said_once(soffit, tmp_path):
    values = np.random.default_rng(9).random((60, 3))
    path = tmp_path / "box.csv"
    write_csv(path, ["x", "y", "z"], values.tolist())
    text = " ".join(soffit("fit", path).output.split())
    runner_up = re.search(r"The number of clusters, 1, .*? runner-up (\d+)", text)
    assert runner_up is not None
    assert runner_up[1] != "2"
    assert f"Next: pass -k {runner_up[1]} to divide" in text
    assert "as well, and compare" not in text


@pytest.mark.parametrize(("confidence", "said", "warned"), [(0.9, 0, 0), (0.6, 1, 0), (0.4, 0, 1)])
def test_a_doubtful_number_is_said_once(soffit, flowers, monkeypatch, *, confidence, said, warned):
    def shares(scores):
        found = np.full(len(scores), (1 - confidence) / (len(scores) - 1))
        found[scores.argmax()] = confidence
        return found

    # The module, which the function of the same name hides in its package.
    monkeypatch.setattr(import_module("soffit.selection.choose_k"), "credibility", shares)
    text = " ".join(soffit("fit", flowers, *KEEP).output.split())
    assert f"confidence {confidence:.2f}" in text
    assert text.count("as well, and compare") == said
    assert text.count("The number of clusters is uncertain") == warned


def test_json_is_one_object_and_nothing_else(answer, flowers):
    found = answer("fit", flowers, "-k", 3, "--id", "flower", *KEEP)
    assert found["n_objects"] == 150
    assert found["columns"] == ["sepal_length", "sepal_width", "petal_length", "petal_width"]
    assert sum(cluster["size"] for cluster in found["clusters"]) == 150
    assert found["choice"] is None
    assert found["scores"] is None
    assert found["files"] == {}


def test_output_has_a_row_for_every_object(soffit, flowers, tmp_path):
    out = tmp_path / "clusters.csv"
    text = soffit("fit", flowers, "-k", 3, "--id", "flower", *KEEP, "-o", out).stdout
    assert "clusters.csv" in text
    rows = rows_of(out)
    assert [row["flower"] for row in rows] == [f"F{number:03d}" for number in range(150)]
    memberships = np.array([[float(row[f"p{c}"]) for c in range(3)] for row in rows])
    np.testing.assert_allclose(memberships.sum(axis=1), 1, atol=1e-5)
    table = np.array([list(row.values())[1:5] for row in rows_of(flowers)], dtype=float)
    expected = SoftClustering(3, random_state=0).fit(table).memberships_
    np.testing.assert_allclose(memberships, expected, atol=1e-5)


def test_quiet_says_nothing_but_writes(soffit, flowers, tmp_path):
    out = tmp_path / "clusters.parquet"
    result = soffit("fit", flowers, "-k", 3, "--id", "flower", *KEEP, "-o", out, "-q")
    assert result.output == ""
    assert out.exists()


def test_without_k_the_number_is_chosen_and_explained(soffit, answer, flowers):
    common = ("fit", flowers, "--id", "flower", *KEEP)
    text = soffit(*common).stdout
    assert "The number of clusters, 2, was chosen among 1 to 20: confidence 0." in text
    assert "runner-up 3" in text
    assert "Evidence: a random walk" in text
    choice = answer(*common)["choice"]
    assert (choice["n_clusters"], choice["runner_up"]) == (2, 3)
    assert len(choice["table"]["k"]) == 20


@pytest.mark.parametrize("method", ["relation", "hierarchy"])
def test_models_with_a_rule_of_their_own_explain_it(soffit, few_flowers, method):
    text = soffit("fit", few_flowers, "--method", method, "--id", "flower", *KEEP).stdout
    assert "clusters" in text
    assert "thresholds" in text or "own rule" in text


def test_labels_score_and_nothing_else(answer, soffit, flowers):
    common = ("fit", flowers, "-k", 3, "--id", "flower")
    scored = answer(*common, "--label", "species")
    assert scored["clusters"] == answer(*common, *KEEP)["clusters"]
    assert scored["scores"]["accuracy"] > 0.85
    assert set(scored["scores"]) == {
        *("accuracy", "adjusted_rand", "nmi", "brier", "calibration_error")
    }
    text = soffit(*common, "--label", "species").stdout
    assert "accuracy 0." in text
    assert "The labels were used for these scores only." in text


@pytest.mark.parametrize(
    "method",
    ["sof", "baum-eagon", "completely-positive", "relation", "spectral", "higher-order"],
)
def test_every_method_runs(answer, few_flowers, method):
    found = answer("fit", few_flowers, "-k", 3, "--method", method, "--id", "flower", *KEEP)
    assert found["n_clusters"] == 3


def test_resamples_split_the_entropy(soffit, flowers, tmp_path):
    out = tmp_path / "clusters.csv"
    soffit("fit", flowers, "-k", 3, "--resamples", 2, "--id", "flower", *KEEP, "-o", out)
    assert {"overlap", "instability"} <= set(rows_of(out)[0])


def test_seed_and_jobs_do_not_change_a_result_by_themselves(answer, flowers):
    common = ("fit", flowers, "-k", 3, "--id", "flower", *KEEP)
    alone, together = answer(*common, "--jobs", 1), answer(*common, "--jobs", 2)
    assert alone["clusters"] == together["clusters"]


def test_columns_may_be_named_with_commas_and_repeated(answer, flowers):
    found = answer(
        *("fit", flowers, "-k", 2, "--columns", "petal_length,petal_width"),
        *("--columns", "sepal_width"),
    )
    assert sorted(found["columns"]) == ["petal_length", "petal_width", "sepal_width"]


def test_a_column_with_a_comma_in_its_name(answer, tmp_path):
    path = tmp_path / "odd.csv"
    rng = np.random.default_rng(719)
    rows = np.concatenate([rng.normal(0, 1, (30, 2)), rng.normal(8, 1, (30, 2))]).tolist()
    write_csv(path, ["length, cm", "width"], rows)
    found = answer("fit", path, "-k", 2, "--columns", '"length, cm"')
    assert found["columns"] == ["length, cm"]


def test_pairs_keep_apart_and_together(answer, flowers, tmp_path):
    together, apart = tmp_path / "together.csv", tmp_path / "apart.csv"
    together.write_text("a,b\nF000,F001\n", encoding="utf-8")
    apart.write_text("a,b\nF000,F100\n", encoding="utf-8")
    found = answer(
        *("fit", flowers, "-k", 3, "--id", "flower", *KEEP),
        *("--must-link", together, "--cannot-link", apart),
    )
    assert found["n_clusters"] == 3


def test_distances_are_clustered_when_said_to_be_distances(answer, soffit, tmp_path):
    rng = np.random.default_rng(907)
    points = np.concatenate([rng.normal(0, 1, (20, 2)), rng.normal(9, 1, (20, 2))])
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    path = tmp_path / "distances.csv"
    np.savetxt(path, distances, delimiter=",", fmt="%.17g")
    refused = soffit("fit", path, "-k", 2, code=1).output
    assert "kind" in refused
    found = answer("fit", path, "-k", 2, "--kind", "distances")
    assert sorted(cluster["size"] for cluster in found["clusters"]) == [20, 20]


def test_clusters_of_named_nodes_show_their_best_linked_members(soffit, tmp_path):
    path = tmp_path / "friends.csv"
    groups = [("Ann", "Bob", "Cyd", "Dan"), ("Eve", "Fay", "Gus", "Hal")]
    edges = [(a, b, 2) for group in groups for a in group for b in group if a < b]
    write_csv(path, ["source", "target", "weight"], [*edges, ("Dan", "Eve", 1)])
    text = soffit("fit", path, "-k", 2).output
    assert "Read as an edge list, because its first columns are 'source' and 'target'" in text
    assert "best linked" in text
    assert "Ann, Bob, Cyd" in text
    assert "Fay, Gus, Hal" in text


def test_report_and_model_are_written(soffit, flowers, tmp_path):
    report, model = tmp_path / "report.html", tmp_path / "model.soffit"
    text = soffit(
        *("fit", flowers, "-k", 3, "--id", "flower", *KEEP, "-o", tmp_path / "out.csv"),
        *("--report", report, "--save", model),
    ).stdout
    assert "<html" in report.read_text(encoding="utf-8")
    assert model.stat().st_size > 1000
    assert "soffit predict" in text


def test_all_cores_are_used_unless_jobs_says_otherwise(soffit, flowers, tmp_path):
    from soffit import load

    for options, expected in (((), -1), (("--jobs", 2), 2)):
        soffit("fit", flowers, "-k", 2, "--id", "flower", "--save", tmp_path / "m.soffit", *options)
        assert load(tmp_path / "m.soffit").n_jobs == expected


def test_the_largest_number_of_clusters(soffit, answer, flowers):
    found = answer("fit", flowers, "--max-clusters", 3, "--id", "flower", *KEEP)
    assert found["choice"]["table"]["k"] == [1, 2, 3]
    text = soffit("fit", flowers, "--max-clusters", 3, "--id", "flower", *KEEP).output
    assert "among 1 to 3" in text


def test_the_largest_number_needs_a_choice(soffit, flowers):
    text = soffit("fit", flowers, "-k", 3, "--max-clusters", 5, *KEEP, code=2).output
    assert "-k sets the number of clusters" in text
    text = soffit("fit", flowers, "--method", "relation", "--max-clusters", 5, code=2).output
    assert "has its own rule" in text


def test_one_cluster_says_what_was_tried(soffit, tmp_path):
    X = np.random.default_rng(7).normal(size=(120, 2))
    write_csv(tmp_path / "one.csv", ["a", "b"], X.tolist())
    text = " ".join(soffit("fit", tmp_path / "one.csv").output.split())
    assert "was chosen among 1 to 20" in text
    assert "Partitions into 2 to 20 clusters were tried" in text


def test_weights_equal_copies(soffit, answer, tmp_path):
    kinds = [("red", "small", "old"), ("red", "small", "new"), ("red", "large", "old")]
    kinds += [("blue", "large", "new"), ("blue", "large", "old"), ("blue", "small", "new")]
    counts = [30, 3, 2, 20, 4, 5]
    rows = [[*kind, count] for kind, count in zip(kinds, counts, strict=True)]
    weighted, copied = tmp_path / "counts.csv", tmp_path / "rows.csv"
    names = ["colour", "size", "age"]
    write_csv(weighted, [*names, "n"], [*rows, ["red", "small", "new", 0]])
    write_csv(copied, names, [row[:3] for row in rows for _ in range(row[3])])
    found = answer("fit", weighted, "-k", 2, "--weight", "n")
    expected = answer("fit", copied, "-k", 2)
    assert found["n_objects"] == 6
    assert any("1 row of weight 0 left out" in note for note in found["notes"])
    assert [c["weight"] for c in found["clusters"]] == [c["size"] for c in expected["clusters"]]
    for ours, theirs in zip(found["clusters"], expected["clusters"], strict=True):
        assert [part["column"] for part in ours["apart"]] == [
            part["column"] for part in theirs["apart"]
        ]
        np.testing.assert_allclose(
            [part["mean"] for part in ours["apart"]], [part["mean"] for part in theirs["apart"]]
        )
    out = tmp_path / "clusters.csv"
    text = soffit("fit", weighted, "-k", 2, "--weight", "n", "-o", out).output
    assert "weight" in text
    assert [row["n"] for row in rows_of(out)] == ["30", "3", "2", "20", "4", "5"]
    said = " ".join(soffit("fit", weighted, "-k", 2).output.split())
    assert "'n' seems to count objects" in said
    assert "Pass --weight n" in said


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("word", "'word' of weights does not hold numbers"),
        ("gap", "line 3 of 'gap' is missing"),
        ("minus", "line 2 of 'minus' is -1"),
        ("zero", "all weights in 'zero' are 0"),
        ("none", "--weight names 'none', but there is no such column"),
    ],
)
def test_bad_weights_are_named(soffit, tmp_path, column, message):
    path = tmp_path / "table.csv"
    rows = [["a", 1, -1, 0, 1.5], ["b", "", 2, 0, 2.5], ["c", 3, 3, 0, 9.5], ["d", 3, 3, 0, 9.0]]
    write_csv(path, ["word", "gap", "minus", "zero", "x"], rows)
    done = soffit("fit", path, "-k", 2, "--weight", column, code=None)
    assert message in " ".join(re.sub(r"[│\s]+", " ", done.output).split())


def test_models_without_weights_refuse_them(soffit, flowers):
    done = soffit("fit", flowers, "-k", 3, "--method", "sof", "--weight", "petal_width", code=None)
    assert "SoF does not support weights of objects. Leave out --weight" in done.output
