from __future__ import annotations

import warnings
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from soffit import SoF, SoftClustering
from soffit.results.cautions import (
    cautions,
    checks,
    component_sizes,
    isolated,
)
from soffit.results.summary import Summary


def headings(model, X=None, **options):
    return [caution.heading for caution in cautions(Summary.of(model, X, **options))]


def text_of(model, X=None, **options):
    found = cautions(Summary.of(model, X, **options))
    return " ".join(f"{r.heading}. {r.seen} {r.remedy}" for r in found)


def test_a_good_fit_needs_no_remark(fitted, touching):
    assert headings(fitted, X=touching.X) == []


def test_a_fit_that_did_not_converge(touching):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SoF(3, max_iter=1, random_state=23).fit(touching.X)
    text = text_of(model)
    assert "The fit did not converge." in text
    assert "It stopped after 1 iteration without converging: it reached the limit of 1" in text
    assert "Increase max_iter, or tol" in text


def test_duplicates_are_named(touching):
    X = np.vstack([touching.X, touching.X[:2]])
    model = SoftClustering(3, random_state=23).fit(X)
    assert "2 objects are duplicates. “90” and “91” have" in text_of(model, X=X)
    names = [f"n{number}" for number in range(92)]
    assert "“n90” and “n91” have" in text_of(model, X=X, ids=names)


SUGGESTS = "The data suggest another number of clusters"


@pytest.fixture(scope="module")
def three_blobs():
    rng = np.random.default_rng(23)
    return np.concatenate([rng.normal(centre, 1.0, (40, 2)) for centre in (0.0, 12.0, 24.0)])


def test_a_number_that_the_data_contradict(three_blobs):
    model = SoftClustering(7, random_state=23).fit(three_blobs)
    assert SUGGESTS in headings(model)
    text = text_of(model)
    assert "3 clusters are far more probable than 7 (confidence" in text
    assert "Compare with n_clusters=3. If you need 7" in text
    assert SUGGESTS not in headings(SoftClustering(3, random_state=23).fit(three_blobs))
    assert SUGGESTS not in headings(SoftClustering(None, random_state=23).fit(three_blobs))


def test_clusters_of_one_continuum():
    X = np.random.default_rng(23).normal(size=(300, 3))
    text = text_of(SoftClustering(6, random_state=23).fit(X))
    assert "A single cluster is far more probable than 6" in text
    assert "n_clusters=1" not in text


def test_a_given_number_is_weighed_if_there_are_few_objects(three_blobs, monkeypatch):
    model = SoftClustering(7, random_state=23).fit(three_blobs)
    assert Summary.of(model).suggestion.ks.tolist() == list(range(1, 21))
    assert Summary.of(model.merge([0, 1])).suggestion is None
    assert Summary.of(SoftClustering(51, random_state=23).fit(three_blobs)).suggestion is None
    monkeypatch.setattr("soffit.results.summary._MOST_WEIGHED", 100)
    assert Summary.of(model).suggestion is None
    assert SUGGESTS not in headings(model)
    skipped = {check.subject: check.skipped for check in checks(Summary.of(model))}
    assert "it was specified" in skipped["the number of clusters"]


def test_parts_without_links_and_isolated_objects():
    graph = nx.disjoint_union(nx.complete_graph(6), nx.complete_graph(7))
    graph.add_node("alone")
    model = SoftClustering(2, random_state=23).fit(graph)
    text = text_of(model)
    assert "has 2 connected components" in text
    assert "as many components as clusters" in text
    assert "1 object is isolated. “alone” has no links to other objects" in text
    assert "add links" in text.lower()
    assert "n_neighbors" not in text


def stand_in(fitted, **attributes):
    model = SoftClustering(3)
    vars(model).update(vars(fitted) | attributes)
    return model


def test_low_recall_and_instability(fitted):
    unstable = stand_in(
        fitted,
        neighbor_recall_=0.62,
        n_resamples=2,
        agreement_=0.4,
        cluster_stability_=np.array([0.2, 0.9, 0.3]),
    )
    text = text_of(unstable)
    assert "found 62 % of the true nearest neighbours" in text
    assert "agree on 40 %" in text
    assert "Clusters 0 and 2 do not recur" in text
    stable = stand_in(fitted, neighbor_recall_=0.97, n_resamples=2, agreement_=0.9)
    assert headings(stable) == []


def test_an_unclear_number_of_clusters(fitted):
    choice = SimpleNamespace(n_clusters=3, confidence=0.31, runner_up=5, ks=np.arange(1, 9))
    assert "5 is the next best number" in text_of(
        stand_in(fitted, n_clusters=None, k_choice_=choice)
    )


def test_tiny_and_empty_clusters():
    rows = np.zeros((200, 4))
    rows[:100, 0] = rows[100:199, 1] = rows[199, 2] = 1
    text = text_of(SimpleNamespace(memberships=rows))
    assert "2 clusters are very small" in text
    assert "Clusters 2 and 3 are each the most probable cluster of only 0 to 1 objects" in text
    rows[199] = [0, 1, 0, 0]
    assert "are empty: no object has it" in text_of(SimpleNamespace(memberships=rows))


@pytest.mark.parametrize("n_uncertain", [9, 10])
def test_many_uncertain_objects(n_uncertain):
    rows = np.repeat(np.eye(4), 10, axis=0)
    rows[:n_uncertain] = 0.25
    found = headings(SimpleNamespace(memberships=rows))
    assert ("Many objects are uncertain" in found) == (n_uncertain == 10)


@pytest.mark.parametrize("as_sparse", [False, True])
def test_parts_of_dense_and_sparse_graphs(as_sparse):
    A = np.kron(np.eye(3), np.ones((4, 4)))
    A[0, :] = A[:, 0] = 0
    A[0, 0] = 1
    matrix = sp.csr_array(A) if as_sparse else A
    assert sorted(component_sizes(matrix).tolist()) == [1, 3, 4, 4]
    assert isolated(matrix).tolist() == [0]


def test_checks_say_what_was_not_checked(fitted, touching):
    found = {check.subject: check for check in checks(Summary.of(fitted, touching.X))}
    assert found["convergence"].skipped == ""
    assert found["convergence"].caution is None
    assert found["stability under resampling"].skipped == "needs n_resamples=10."
    assert found["the number of clusters"].skipped == ""
    assert found["the number of clusters"].caution is None
    assert "far outliers" in found
    alone = {check.subject: check for check in checks(Summary.of(fitted.memberships_))}
    assert alone["convergence"].skipped
    assert alone["duplicates"].skipped == "no table was given."
    assert "isolated objects" not in alone


def test_a_single_far_value_is_pointed_out(fitted, touching):
    X = touching.X.copy()
    X[17, 1] = 1e4
    text = text_of(fitted, X=X)
    assert "1 object is far from all others. “17” has a value of “column 1” more than 10" in text
    assert "far from all others" not in text_of(fitted, X=touching.X)


def test_units_that_were_not_wanted_to_be_standardized(touching):
    X = touching.X * [1.0, 1000.0]
    careless = SoftClustering(3, standardize=False, random_state=23).fit(X)
    assert "One column outweighs the others" in headings(careless, X=X)
    assert headings(SoftClustering(3, random_state=23).fit(X), X=X) == []


def test_a_table_of_a_few_different_rows():
    X = np.repeat(np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), 30, axis=0)
    text = text_of(SimpleNamespace(memberships=np.eye(3)[np.repeat([0, 1, 2], 30)]), X=X)
    assert "Only 3 rows are different." in text
    assert "duplicates" not in text
