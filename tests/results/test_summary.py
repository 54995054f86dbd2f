"""What a summary reads from models, results, segmentations and arrays, and the rules it applies."""

from __future__ import annotations

from types import SimpleNamespace

import networkx as nx
import numpy as np
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

from soffit import RandomWalkClassifier, SoF, SoftClustering, SoftHierarchy, metrics
from soffit.affinity import Precomputed
from soffit.affinity.given_objects import takes_matrix
from soffit.io import Result, Source
from soffit.memberships import entropy
from soffit.results.summary import SCORES, Summary, choice_of, is_matrix_model, level_sizes


@pytest.fixture(scope="module")
def memberships():
    return np.random.default_rng(7919).dirichlet([0.4] * 4, size=500)


# --- where the parts come from --------------------------------------------------------------------


def test_names_come_from_frames_graphs_sources_and_arguments(touching, fitted):
    X, labels = touching.X, touching.labels
    frame = pl.DataFrame({"east": X[:, 0], "north": X[:, 1]})
    summary = Summary.of(fitted, frame)
    assert summary.columns == ("east", "north")
    assert summary.ids is None
    assert summary.id_of(4) == "4"
    source = Source(
        "table", X, ("u", "v"), np.array([f"n{i}" for i in range(90)]), "plant", labels.astype(str)
    )
    summary = Summary.of(fitted, source=source)
    assert (summary.columns, summary.id_of(4), summary.id_name) == (("u", "v"), "n4", "plant")
    assert summary.truth is not None
    summary = Summary.of(fitted, source=source, ids=range(100, 190))
    assert summary.id_of(4) == "104"
    graph = nx.relabel_nodes(nx.karate_club_graph(), lambda number: f"member {number}")
    summary = Summary.of(SoftClustering(2, random_state=23).fit(graph))
    assert (summary.kind, summary.id_of(0), summary.table) == ("graph", "member 0", None)
    assert summary.has_given_links


def test_a_model_a_result_and_an_array_say_the_same(fitted):
    summaries = [
        Summary.of(given) for given in (fitted, Result.of(fitted), fitted.memberships_.tolist())
    ]
    for summary in summaries:
        np.testing.assert_array_equal(summary.memberships, fitted.memberships_)
        np.testing.assert_array_equal(summary.labels, fitted.labels_)
        np.testing.assert_allclose(summary.entropy, entropy(fitted.memberships_))
        assert summary.as_dict() == summaries[0].as_dict()
    assert [summary.model is fitted for summary in summaries] == [True, False, False]


def test_resamples_are_read_from_models_and_results(touching):
    model = SoftClustering(3, n_resamples=3, random_state=23).fit(touching.X)
    for given in (model, Result.of(model)):
        summary = Summary.of(given)
        np.testing.assert_array_equal(summary.overlap, model.overlap_)
        np.testing.assert_array_equal(summary.instability, model.instability_)
    assert Summary.of(model).agreement == model.agreement_
    np.testing.assert_array_equal(Summary.of(model).stability, model.cluster_stability_)


def test_a_classifier_has_named_classes(touching):
    y = np.full(90, None, dtype=object)
    for c in range(3):
        y[np.flatnonzero(touching.labels == c)[:2]] = f"<c{c}>"
    summary = Summary.of(RandomWalkClassifier().fit(touching.X, y))
    assert (summary.noun, summary.plural) == ("class", "classes")
    assert summary.names == ("<c0>", "<c1>", "<c2>")
    assert not summary.is_chosen


def test_a_segmentation_has_a_row_per_pixel():
    image = np.array([[[0.9, 0.1], [0.4, 0.6]], [[0.3, 0.7], [0.5, 0.5]]])
    summary = Summary.of(SimpleNamespace(memberships=image))
    assert summary.memberships.tolist() == [[0.9, 0.1], [0.4, 0.6], [0.3, 0.7], [0.5, 0.5]]


def test_a_precomputed_matrix_is_not_a_table(touching):
    D = np.linalg.norm(touching.X[:, None] - touching.X, axis=2)
    model = SoftClustering(3, metric="precomputed", random_state=23).fit(D)
    assert Summary.of(model, D).table is None
    assert is_matrix_model(model)


@pytest.mark.parametrize(
    ("affinity", "metric", "expected"),
    [
        ("precomputed", "euclidean", True),
        ("nearest_neighbors", "precomputed", True),
        (Precomputed(), "euclidean", True),
        ("nearest_neighbors", "euclidean", False),
        (None, np.ones(3), False),
    ],
)
def test_parameters_say_whether_the_input_is_a_matrix(affinity, metric, expected):
    assert takes_matrix(affinity, metric) is expected


def test_results_count_objects_unless_they_have_names():
    rows = np.array([[0.9, 0.1], [0.4, 0.6]])
    assert Summary.of(Result.from_memberships(rows)).ids is None
    assert Summary.of(Result.from_memberships(rows, ids=["a", "b"])).ids == ("a", "b")
    assert Summary.of(Result.from_memberships(rows, ids=["a", "b"]), ids="xy").id_of(1) == "y"


def test_missing_labels_are_empty(fitted):
    truth = ["a", None, float("nan"), ""] + ["b"] * 86
    summary = Summary.of(fitted, truth=truth)
    assert summary.truth.tolist()[:5] == ["a", "", "", "", "b"]
    assert Summary.of(fitted, truth=[None] * 90).truth is None
    single = np.array([1.0, np.nan, *[2.0] * 88], dtype=np.float32)
    assert Summary.of(fitted, truth=single).truth.tolist()[:3] == ["1.0", "", "2.0"]


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"table": np.zeros((5, 2))}, "X has 5 rows"),
        ({"table": np.full((90, 2), np.nan)}, "missing or infinite"),
        ({"table": np.zeros((90, 2)), "columns": ["a"]}, "columns has 1 names"),
        ({"ids": ["a"]}, "ids has 1 entries for 90 objects"),
        ({"truth": ["a"]}, "truth has 1 labels"),
    ],
)
def test_what_does_not_fit_is_refused(fitted, options, message):
    with pytest.raises(ValueError, match=message):
        Summary.of(fitted, **options)


def test_an_unfitted_model_and_other_objects_are_refused():
    with pytest.raises(NotFittedError, match="This SoftClustering is not fitted yet"):
        Summary.of(SoftClustering(3))
    with pytest.raises(TypeError, match="a fitted model, a result or an array"):
        Summary.of(object())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.ones((3, 2)), "each row of memberships must sum to 1"),
        (np.ones(3), "must have shape"),
        (np.array([[np.nan, 1.0]]), "NaN"),
    ],
)
def test_wrong_memberships_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        Summary.of(wrong)


def test_rounded_memberships_are_rescaled_and_exact_ones_are_not():
    rounded = np.array([[0.33, 0.33, 0.33], [0.9, 0.05, 0.05]])
    np.testing.assert_allclose(Summary.of(rounded).memberships.sum(axis=1), 1, atol=1e-15)
    exact = np.array([[1 / 3, 1 / 3, 1 / 3 + 1e-9], [0.9, 0.05, 0.05]])
    np.testing.assert_array_equal(Summary.of(exact).memberships, exact)


# --- the rules ------------------------------------------------------------------------------------


def test_sizes_certainty_and_doubt_by_hand():
    G = np.array([[0.6, 0.4, 0.0], [0.59, 0.41, 0.0], [0.1, 0.9, 0.0], [0.2, 0.8, 0.0]])
    summary = Summary.of(G)
    assert summary.sizes.tolist() == [2, 2, 0]
    np.testing.assert_allclose(summary.expected_sizes, [1.49, 2.51, 0])
    np.testing.assert_allclose(summary.mean_certainty, [0.595, 0.85, np.nan])
    # 0.6 itself is not below 0.6.
    assert summary.is_uncertain.tolist() == [False, True, False, False]
    assert [cluster.n_uncertain for cluster in summary.clusters] == [1, 0, 0]


def test_scores_are_those_of_the_metrics_where_labels_are_known(memberships):
    truth = np.random.default_rng(5).choice(["a", "b", "c", ""], size=500)
    known = truth != ""
    found = Summary.of(memberships, truth=truth).scores
    assert list(found) == list(SCORES)
    labels = memberships.argmax(axis=1)
    assert found["accuracy"] == metrics.accuracy(truth[known], labels[known])
    assert found["nmi"] == metrics.nmi(truth[known], labels[known])
    assert found["brier"] == metrics.brier(truth[known], memberships[known])
    assert Summary.of(memberships).scores is None


def test_scores_of_a_rounded_file_are_defined():
    rows = np.array([[0.66, 0.33], [0.33, 0.66], [0.99, 0.0]])
    assert Summary.of(rows, truth=["a", "b", "a"]).scores["accuracy"] == 1.0


def test_levels_are_counted_in_the_order_of_the_tree(touching):
    model = SoftHierarchy(levels=[9, 3], random_state=23).fit(touching.X)
    sizes = level_sizes(model.levels_)
    assert len(sizes) == len(model.tree_)
    assert sizes[:9].sum() == sizes[9:].sum() == 90
    assert sizes[9:].tolist() == np.bincount(model.labels_, minlength=3).tolist()


def test_computed_parts_are_computed_once(fitted, touching):
    summary = Summary.of(fitted, touching.X)
    assert summary.means is summary.means
    assert summary.clusters is summary.clusters
    with pytest.raises(AttributeError):
        summary.noun = "group"


# --- attributes of an earlier fit (B1, B2) --------------------------------------------------------


def test_a_choice_belongs_to_the_fit_that_made_it(touching):
    model = SoF(None, random_state=23).fit(touching.X)
    choice = model.k_choice_
    assert Summary.of(model).choice is choice
    model.set_params(n_clusters=4).fit(touching.X)
    # As models did that kept the attributes of an earlier fit.
    model.k_choice_ = choice
    summary = Summary.of(model)
    assert summary.choice is None
    assert not summary.is_chosen
    assert summary.as_dict()["choice"] is None
    other = SimpleNamespace(n_clusters=None, n_clusters_=choice.n_clusters + 1, k_choice_=choice)
    assert choice_of(other) is None


def test_resamples_belong_to_the_fit_that_made_them(touching):
    model = SoftClustering(3, n_resamples=2, random_state=23).fit(touching.X)
    stale = {
        name: getattr(model, name)
        for name in ("overlap_", "instability_", "agreement_", "cluster_stability_")
    }
    model.set_params(n_resamples=0).fit(touching.X)
    vars(model).update(stale)
    summary = Summary.of(model)
    for part in (summary.overlap, summary.instability, summary.agreement, summary.stability):
        assert part is None
    assert Result.of(model).overlap is None
