"""report, info, hierarchy, graph, compare and demo."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.cli.csv_files import rows_of

KEEP = ("--id", "flower", "--drop", "species")


@pytest.fixture
def clusters(soffit, flowers, tmp_path):
    path = tmp_path / "clusters.csv"
    soffit("fit", flowers, "-k", 3, *KEEP, "-o", path, "--save", tmp_path / "model.soffit")
    return path


# --- report and info ------------------------------------------------------------------------------


def test_report_of_a_result(soffit, clusters, tmp_path):
    assert "clusters.html" in soffit("report", clusters).stdout
    assert "<html" in (tmp_path / "clusters.html").read_text(encoding="utf-8")


def test_report_with_the_data_knows_its_columns(soffit, clusters, flowers, tmp_path):
    page = tmp_path / "page.html"
    soffit("report", clusters, "--data", flowers, *KEEP, "--title", "My <b>flowers", "-o", page)
    text = page.read_text(encoding="utf-8")
    assert "petal_length" in text
    assert "<title>My &lt;b&gt;flowers" in text


def test_report_of_a_model(answer, clusters, tmp_path):
    found = answer("report", tmp_path / "model.soffit")
    assert found["files"]["report"].endswith("model.html")


def test_report_refuses_other_data(soffit, clusters, friends):
    refused = soffit("report", clusters, "--data", friends, "--kind", "graph", code=1)
    assert "has 20 objects, but" in refused.output


def test_report_of_a_file_without_memberships(soffit, flowers):
    text = soffit("report", flowers, code=1).stderr
    assert "flowers.csv: not a result of soffit: the memberships p0, p1, ... are missing" in text


def test_info_of_data(soffit, answer, flowers):
    text = soffit("info", flowers).stdout
    assert "150" in text
    assert "petal_length" in text
    assert answer("info", flowers)["holds"] == "data"


def test_info_of_a_result_and_of_a_model(soffit, answer, clusters, tmp_path):
    assert "memberships of 150 objects" in soffit("info", clusters).stdout
    assert answer("info", clusters)["n_clusters"] == 3
    assert "a fitted SoftClustering" in soffit("info", tmp_path / "model.soffit").stdout
    found = answer("info", tmp_path / "model.soffit")
    assert (found["model"], found["settings"]["n_clusters"]) == ("SoftClustering", 3)
    assert found["columns"][0] == "sepal_length"


# --- hierarchy ------------------------------------------------------------------------------------


def test_hierarchy_draws_a_tree_and_writes_every_level(soffit, flowers, tmp_path):
    out = tmp_path / "groups.csv"
    text = soffit(
        *("hierarchy", flowers, "--levels", "12,6,3", *KEEP, "-o", out, "--each-level")
    ).stdout
    assert "3 clusters at the top" in text
    assert "% here" in text
    assert "p2" in rows_of(out)[0]
    assert "p11" in rows_of(tmp_path / "groups-12.csv")[0]


def test_hierarchy_as_json(answer, flowers):
    found = answer("hierarchy", flowers, "-k", 3, *KEEP)
    assert found["levels"][-1] == 3
    assert len(found["tree"]) == sum(found["levels"])


def in_one_line(text):
    """Errors of usage without the frame around them and its line breaks."""
    return " ".join(text.replace("│", " ").split())


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        ("3,6", "must decrease from the bottom to the top"),
        ("5,5", "must decrease from the bottom to the top"),
        ("3,0", "must decrease from the bottom to the top"),
        ("a,b", "'a,b' is not a list of integers"),
    ],
)
def test_levels_must_fall(soffit, flowers, levels, words):
    text = soffit("hierarchy", flowers, "--levels", levels, *KEEP, code=2).stderr
    assert words in in_one_line(text)
    assert "--levels" in text


def test_levels_and_k_must_agree(soffit, flowers):
    levels = ("hierarchy", flowers, *KEEP, "--levels")
    text = soffit(*levels, "9,3", "-k", 4, code=2).stderr
    assert "-k 4 differs from the last level, 3." in in_one_line(text)
    text = soffit(*levels, "9,3", "--each-level", code=2).stderr
    assert "There is no output file" in in_one_line(text)
    text = soffit(*levels, "900,3", code=1).stderr
    assert "--levels 900,3 starts with more clusters than objects (150)." in text


# --- graph ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["soft", "relation"])
def test_graph_finds_both_groups(answer, friends, tmp_path, method):
    out = tmp_path / "groups.csv"
    found = answer("graph", friends, "-k", 2, "--method", method, "-o", out)
    assert (found["kind"], found["n_objects"]) == ("graph", 20)
    cluster = {next(iter(row.values())): row["cluster"] for row in rows_of(out)}
    assert len({cluster[f"a{i}"] for i in range(10)}) == 1
    assert cluster["a5"] != cluster["b5"]


def test_graph_writes_attributes_of_nodes(soffit, friends, tmp_path):
    networkx = pytest.importorskip("networkx")
    graph = networkx.read_edgelist(friends, delimiter=",")
    graph.remove_nodes_from(["source", "target"])
    path, out = tmp_path / "friends.graphml", tmp_path / "out.graphml"
    networkx.write_graphml(graph, path)
    soffit("graph", path, "-k", 2, "-o", out)
    written = networkx.read_graphml(out)
    assert written.number_of_edges() == graph.number_of_edges()
    assert len(dict(written.nodes(data=True))["a3"]) >= 2


def test_a_graph_is_not_for_higher_order(soffit, friends):
    text = soffit("graph", friends, "-k", 2, "--method", "higher-order", code=1).output
    assert "needs a table" in text


# --- compare --------------------------------------------------------------------------------------


def test_compare_lists_everyone_best_first(answer, few_flowers):
    found = answer("compare", few_flowers, "-k", 3, "--id", "flower", "--label", "species")
    rows = found["methods"]
    assert {row["library"] for row in rows} == {"soffit", "scikit-learn"}
    assert len(rows) + len(found["left_out"]) == 13
    scores = [row["adjusted_rand"] for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert all(np.isfinite(row["seconds"]) for row in rows)


def test_compare_without_labels_shows_agreement(soffit, few_flowers):
    text = soffit(
        "compare", few_flowers, *KEEP, "--only", "soft,sklearn-kmeans,sklearn-mixture"
    ).output
    assert "agreement" in text
    assert "accuracy" not in text
    assert "chosen with confidence" in text


def test_compare_says_who_does_not_apply(soffit, tmp_path):
    rng = np.random.default_rng(811)
    points = np.concatenate([rng.normal(0, 1, (20, 2)), rng.normal(9, 1, (20, 2))])
    path = tmp_path / "similarities.csv"
    squares = ((points[:, None] - points) ** 2).sum(axis=2)
    np.savetxt(path, np.exp(-squares / 8), delimiter=",", fmt="%.17g")
    text = soffit("compare", path, "--kind", "similarities", "-k", 2).stdout
    assert "scikit-learn KMeans was skipped: needs a table of numbers." in text
    assert "soffit HigherOrder was skipped" in text
    assert "soffit SoftClustering" in text


def test_compare_knows_its_methods(soffit, flowers):
    assert "sklearn-kmeans" in soffit("compare", flowers, "--only", "kmeans", code=2).output


# --- demo -----------------------------------------------------------------------------------------


def test_demo_prints_the_table_and_writes_a_report(soffit, tmp_path):
    text = soffit("demo", "--data", "iris").stdout
    assert "3 clusters by SoftClustering" in text
    assert "accuracy" in text
    assert len(rows_of(tmp_path / "soffit_demo.csv")) == 150
    assert "<html" in (tmp_path / "soffit_demo.html").read_text(encoding="utf-8")


def test_demo_needs_a_folder_that_exists(soffit):
    text = soffit("demo", "-o", "nowhere", code=2).stderr
    assert "There is no folder nowhere" in in_one_line(text)


def test_warmup_tells_how_much_it_compiled(soffit):
    assert "Compiled" in soffit("warmup", "--objects", "100").stdout
    answer = json.loads(soffit("warmup", "--objects", "100", "--json").stdout)
    # The first of the two has compiled everything.
    assert answer["command"] == "warmup"
    assert answer["functions"] == 0
