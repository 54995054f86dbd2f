from __future__ import annotations

import json
import re
import warnings

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

import soffit
from soffit.io import Result, read

CLUSTERING = (
    "BaumEagon",
    "CompletelyPositive",
    "HigherOrder",
    "RelationFactorization",
    "SoF",
    "SoftClustering",
    "SpectralClustering",
)
# Words that show that a sentence was put together wrongly.
WRONG = re.compile(
    r"\b(None|nan|inf)\b|  |\b1 (objects|clusters|iterations|columns|settings)\b|[,;.] ?[.;]|\$\{"
)


def check(page, keys):
    folded = [e.attributes.get("id", "") for e in page.all("details")]
    found = {key.removeprefix("detail-") for key in folded if key.startswith("detail-")}
    assert found == set(keys.split())
    prose = [e for e in page.elements if e.name in ("p", "dd", "h2", "h3", "h4", "caption")]
    for element in prose:
        text = re.sub(r"\s*\n\s*", " ", element.text)
        assert not WRONG.search(text), text


@pytest.mark.parametrize("name", CLUSTERING)
def test_models(make_page, blobs, name):
    X = blobs[0]
    model = getattr(soffit, name)(n_clusters=3, random_state=23).fit(X)
    page = make_page(model, X=X)
    extra = "" if name == "HigherOrder" else " reconstruction"
    if len(model.objective_history_) > 1:
        extra += " objective"
    check(page, "numbers memberships settings" + extra)
    assert f"The model is {name}." in page.visible()


def test_classifier(make_page, blobs):
    X, labels = blobs
    y = np.array(["?"] * 90, dtype=object)
    for label, name in enumerate(("ant", "bee", "cat")):
        y[np.flatnonzero(labels == label)[:3]] = name
    y[y == "?"] = -1
    page = make_page(soffit.RandomWalkClassifier().fit(X, y), X=X)
    check(page, "numbers memberships settings")
    assert "90 objects fall into 3 classes" in page.visible()
    assert "Class bee" in page.visible()


def test_hierarchy(make_page, blobs):
    model = soffit.SoftHierarchy(levels=[12, 3], random_state=23).fit(blobs[0])
    page = make_page(model)
    check(page, "numbers memberships settings hierarchy reconstruction objective")
    assert "12 clusters" in page.by_id("detail-hierarchy").text


def test_resamples_and_a_chosen_number(make_page, blobs):
    X, labels = blobs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = soffit.SoftClustering(None, n_resamples=2, random_state=23).fit(X)
    page = make_page(model, X=X, truth=labels)
    check(page, "numbers memberships settings selection reconstruction objective")
    assert page.by_id("figure-confusion") is not None
    assert page.by_id("figure-calibration") is not None
    assert "chosen from the data" in page.visible()
    assert "Stability" in page.visible()
    assert "The fit was repeated 2 times on subsamples of 63 % of the objects" in page.visible()


def test_one_cluster(make_page, blobs):
    page = make_page(soffit.SoftClustering(1).fit(blobs[0]), X=blobs[0])
    assert "The 90 objects form a single cluster." in page.visible()
    assert "There is only one cluster" in page.visible()
    assert "There are" not in page.by_id("columns").text
    assert len(page.all("svg")) >= 2
    assert "to divide the objects" not in page.visible()  # the number was given


def test_one_cluster_that_was_chosen_can_be_divided_all_the_same(make_page):
    X = np.random.default_rng(23).normal(size=(120, 3))
    model = soffit.SoftClustering(None, random_state=23).fit(X)
    assert model.n_clusters_ == 1
    page = make_page(model, X=X)
    number = model.k_choice_.runner_up
    assert f"Pass n_clusters={number} to divide the objects all the same" in page.visible()


def test_fifty_clusters(make_page):
    G = np.repeat(np.eye(50) * 0.9 + 0.1 / 50, 4, axis=0)
    page = make_page(Result.from_memberships(G))
    check(page, "numbers memberships")
    assert "Show the 38 smaller clusters" in page.visible()
    assert len(page.all("article")) == 50


@pytest.mark.parametrize("n", [1, 2])
def test_hardly_any_objects(make_page, n):
    G = np.array([[0.7, 0.3], [0.2, 0.8]])[:n]
    page = make_page(Result.from_memberships(G))
    verb = "1 object falls" if n == 1 else "2 objects fall"
    assert f"{verb} into 2 clusters" in page.visible()


def test_graphs_have_their_nodes_names(make_page):
    graph = nx.relabel_nodes(nx.karate_club_graph(), lambda number: f"member {number}")
    model = soffit.SoftClustering(2, random_state=23).fit(graph)
    page = make_page(model)
    check(page, "numbers memberships settings reconstruction objective")
    assert "The graph has 34 objects and 78 links." in page.visible()
    cards = page.all("article")[:2]
    assert all("Best linked: member " in card.text for card in cards)
    spec = json.loads(page.by_id("map-spec").text)
    assert spec["named"]
    assert spec["links"] == 78
    assert "nearest neighbours" not in page.visible()


def test_sparse_tables_and_distances(make_page, blobs):
    S = sp.random(80, 30, density=0.2, random_state=23, format="csr")
    make_page(soffit.SoftClustering(3, random_state=23).fit(S), X=S)
    D = np.linalg.norm(blobs[0][:, None] - blobs[0], axis=2)
    page = make_page(soffit.SoftClustering(3, metric="precomputed", random_state=23).fit(D), X=D)
    assert "nearest neighbours by the given distances" in page.visible()


def test_results_without_a_model(make_page, fitted):
    page = make_page(Result.of(fitted))
    check(page, "numbers memberships")
    assert "read from a result file" in page.visible()
    page = make_page(Result.of(fitted), command="soffit report clusters.csv")
    assert "soffit report clusters.csv" in page.visible()


def test_a_file_from_reading_to_report(make_page, tmp_path):
    rng = np.random.default_rng(23)
    lines = ["id;size;colour;kind"]
    for number in range(60):
        colour, centre = ("red", 2.0) if number % 2 else ("blue", 9.0)
        size = f"{centre + rng.normal():.2f}".replace(".", ",")
        lines.append(f"plant {number};{size};{colour};{'ab'[number % 2]}")
    path = tmp_path / "plants.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    source = read(path, label="kind")
    model = soffit.SoftClustering(2, random_state=23).fit(source.data)
    page = make_page(model, source=source, command="soffit fit plants.csv -k 2 --label kind")
    text = page.visible()
    assert page.all("title")[0].text == "plants.csv: 2 clusters"
    assert "colour=red is common (" in text
    assert all(note.split(".")[0] in text for note in source.notes)
    assert "soffit fit plants.csv -k 2 --label kind" in text
    assert "source = read(" in text
