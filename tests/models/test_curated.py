"""Clusters merged, split and named by hand: everything follows, for fitted and for new objects."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from tests.reference.estimators import Case

import soffit
from soffit import HigherOrder, RelationFactorization, SoftClustering, SoftHierarchy
from soffit.datasets import Sample, make_gaussians
from soffit.fitting.curation import summed
from soffit.memberships import entropy
from soffit.metrics import adjusted_rand

Fitted = Callable[[Case], Any]


def assert_consistent(model: Any, X: Any, k: int) -> None:
    """The invariants of the design for a model whose clusters were edited."""
    rows = model.memberships_
    assert model.n_clusters_ == rows.shape[1] == k
    for found in (rows, model.predict_proba(X)):
        assert found.dtype == rows.dtype
        assert np.isfinite(found).all()
        assert (found >= 0).all()
        np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(model.labels_, rows.argmax(axis=1))
    np.testing.assert_allclose(model.entropy_, entropy(rows), atol=1e-12)
    np.testing.assert_array_equal(model.transform(X), model.predict_proba(X))
    assert np.mean(model.predict(X) == model.labels_) >= 0.94
    assert len(model.get_feature_names_out()) == k


@pytest.fixture(scope="module")
def model(blobs: Sample) -> Any:
    return SoftClustering(3, random_state=29).fit(blobs.X)


# --- merge ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("group", [[0, 0, 1], [1, 2, 2], [0, 2, 2]])
def test_a_group_without_clusters_has_no_memberships(group: list[int]) -> None:
    """Only a forged file has one: its sums stay those of the clusters that are there."""
    rows = np.random.default_rng(7).dirichlet(np.ones(3), 5)
    expected = np.zeros((5, 3))
    for cluster, target in enumerate(group):
        expected[:, target] += rows[:, cluster]
    np.testing.assert_allclose(summed(rows, np.array(group), 3), expected)


def test_merging_adds_memberships(clustering: Case, fitted_to_blobs: Fitted, blobs: Sample) -> None:
    model = fitted_to_blobs(clustering)
    before = model.memberships_.copy()
    merged = model.merge([0, 2])
    assert type(merged) is type(model)
    assert merged.get_params() == model.get_params()
    assert_consistent(merged, blobs.X, 2)
    np.testing.assert_allclose(merged.memberships_[:, 0], before[:, 0] + before[:, 2])
    np.testing.assert_array_equal(merged.memberships_[:, 1], before[:, 1])
    placed = model.predict_proba(blobs.X[:9])
    np.testing.assert_allclose(
        merged.predict_proba(blobs.X[:9]), np.c_[placed[:, 0] + placed[:, 2], placed[:, 1]]
    )
    # The model itself is unchanged.
    np.testing.assert_array_equal(model.memberships_, before)
    assert not hasattr(model, "curation_")


def test_a_merged_model_is_saved_pickled_and_cloned(
    clustering: Case, fitted_to_blobs: Fitted, blobs: Sample, tmp_path: Path
) -> None:
    merged = fitted_to_blobs(clustering).merge([1, 2], name="both")
    soffit.save(merged, tmp_path / "merged.soffit")
    for again in (
        soffit.load(tmp_path / "merged.soffit"),
        pickle.loads(pickle.dumps(merged)),
    ):
        assert vars(again).keys() == vars(merged).keys()
        np.testing.assert_array_equal(again.memberships_, merged.memberships_)
        np.testing.assert_array_equal(again.predict_proba(blobs.X), merged.predict_proba(blobs.X))
        assert again.cluster_names_.tolist() == ["0", "both"]
        assert again.curation_.tolist() == ["merge([1, 2], name='both')"]
    assert not hasattr(clone(merged), "memberships_")


def test_clusters_after_the_merged_ones_move_up() -> None:
    X = make_gaussians(300, n_clusters=6, separation=9.0, random_state=5).X
    model = SoftClustering(6, random_state=29).fit(X)
    merged = model.merge([1, 4], [0, 2])
    mapping = np.array([0, 1, 0, 2, 1, 3])
    np.testing.assert_array_equal(merged.labels_, mapping[model.labels_])
    assert merged.curation_.tolist() == ["merge([1, 4], [0, 2])"]
    assert model.merge(range(6)).memberships_.shape == (300, 1)


def test_attributes_of_former_clusters_are_left_out(fitted_to_blobs: Fitted, blobs: Sample) -> None:
    model = SoftClustering(3, n_resamples=2, random_state=29).fit(blobs.X)
    merged = model.merge([0, 1])
    for name in ("factor_", "scale_", "overlap_", "cluster_stability_", "agreement_"):
        assert hasattr(model, name)
        assert not hasattr(merged, name)
    for name in ("objective_", "n_iter_", "converged_", "affinity_matrix_", "n_steps_"):
        assert hasattr(merged, name)
    assert merged.score(blobs.X) == model.score(blobs.X)
    hierarchy = SoftHierarchy(levels=[9, 3], random_state=29).fit(blobs.X)
    assert not hasattr(hierarchy.merge([0, 1]), "tree_")
    with pytest.raises(ValueError, match="has no levels: its clusters were merged"):
        hierarchy.merge([0, 1]).at_level(1)
    assert hierarchy.rename({0: "a"}).at_level(1).shape == (180, 9)
    chosen = SoftClustering(None, random_state=29).fit(blobs.X)
    assert hasattr(chosen, "k_choice_")
    assert not hasattr(chosen.merge([0, 1]), "k_choice_")


def test_another_fit_starts_afresh(blobs: Sample) -> None:
    model = SoftClustering(3, warm_start=True, random_state=29).fit(blobs.X)
    edited = model.rename({0: "a"}).merge([0, 1])
    edited.fit(blobs.X)
    assert edited.n_clusters_ == 3
    assert not hasattr(edited, "curation_")
    assert not hasattr(edited, "cluster_names_")
    np.testing.assert_array_equal(edited.memberships_, model.memberships_)
    hierarchy = SoftHierarchy(3, warm_start=True, random_state=29).fit(blobs.X)
    assert hierarchy.merge([0, 1]).fit(blobs.X).n_clusters_ == 3


# --- split ----------------------------------------------------------------------------------------


# The rows of published SoF are nearly uniform: half of a cluster may lose against another one.
@pytest.mark.filterwarnings("ignore:1 of the 2 parts of cluster:UserWarning")
def test_splitting_recovers_what_was_merged(of_pairs: Case, blobs: Sample) -> None:
    if not hasattr(of_pairs.model(), "merge"):
        pytest.skip("a classifier has classes, not clusters")
    model = of_pairs.model(2).fit(blobs.X)
    sizes = np.bincount(model.labels_)
    largest = int(sizes.argmax())
    split = model.split(largest, n=2)
    assert_consistent(split, blobs.X, 3)
    # Its membership is divided, the other's stays.
    np.testing.assert_array_equal(
        split.memberships_[:, 1 - largest], model.memberships_[:, 1 - largest]
    )
    np.testing.assert_allclose(
        split.memberships_[:, [largest, 2]].sum(axis=1), model.memberships_[:, largest], atol=1e-9
    )
    if of_pairs.name in ("SoF", "SoF-gradient", "SoF-penalty"):
        return
    new = np.bincount(split.labels_, minlength=3)
    assert new[largest] >= new[2]
    # Objects that the other cluster takes are no matter of the parts.
    if sizes.max() == new[largest] + new[2] == 120:
        assert adjusted_rand(blobs.labels, split.labels_) > 0.9


def test_a_chain_of_edits_is_saved(blobs: Sample, model: Any, tmp_path: Path) -> None:
    edited = model.rename({1: "one"}).split(1, n=3).merge([0, "one 2"]).split(0).rename({2: "two"})
    assert_consistent(edited, blobs.X, 5)
    soffit.save(edited, tmp_path / "edited.soffit")
    again = soffit.load(tmp_path / "edited.soffit")
    np.testing.assert_array_equal(again.predict_proba(blobs.X), edited.predict_proba(blobs.X))
    np.testing.assert_array_equal(again.novelty_score(blobs.X), model.novelty_score(blobs.X))
    assert again.cluster_names_.tolist() == edited.cluster_names_.tolist()
    assert len(again.curation_) == 5
    # Edits of the loaded model go on where it stopped.
    assert again.merge([0, 1]).n_clusters_ == 4


def test_the_number_of_parts_can_be_chosen() -> None:
    X, labels, _ = make_gaussians(400, n_clusters=4, separation=12.0, random_state=5)
    model = SoftClustering(4, random_state=29).fit(X).merge([0, 1, 2])
    chosen = model.split(0, n=None)
    assert chosen.n_clusters_ == 4
    assert adjusted_rand(labels, chosen.labels_) == 1.0
    with pytest.raises(ValueError, match="Nothing indicates parts of cluster 1"):
        model.split(1, n=None)


def test_single_precision_and_graphs(blobs: Sample) -> None:
    import networkx as nx

    X = blobs.X.astype(np.float32)
    model = SoftClustering(2, random_state=29).fit(X)
    split = model.split(int(np.bincount(model.labels_).argmax()))
    assert split.memberships_.dtype == np.float32
    assert_consistent(split, X, 3)
    graph = nx.from_scipy_sparse_array(model.affinity_matrix_)
    by_graph = SoftClustering(2, random_state=29).fit(graph)
    split = by_graph.split(int(np.bincount(by_graph.labels_).argmax()))
    assert_consistent(split, model.affinity_matrix_, 3)


def test_same_seed_same_bytes(blobs: Sample, model: Any) -> None:
    first, second = (model.split(0, n=2).memberships_.tobytes() for _ in range(2))
    assert first == second
    two_threads = SoftClustering(3, random_state=29, n_jobs=2).fit(blobs.X).split(0, n=2)
    assert two_threads.memberships_.tobytes() == first


# --- names ----------------------------------------------------------------------------------------


def test_names_are_shown_everywhere(blobs: Sample, model: Any, tmp_path: Path) -> None:
    from soffit.figures import cluster_sizes, confusion
    from soffit.io import Result, read_result, write_result
    from soffit.results.summary import Summary

    named = model.rename({0: "adults", 2: "<b>young</b>"})
    assert named.cluster_names_.tolist() == ["adults", "1", "<b>young</b>"]
    assert named.get_feature_names_out().tolist() == ["adults", "softclustering1", "<b>young</b>"]
    frame = named.set_output(transform="pandas").transform(blobs.X)
    assert list(frame.columns) == ["adults", "softclustering1", "<b>young</b>"]
    assert "adults" in named._repr_mimebundle_()["text/html"]
    assert "<b>young" not in named._repr_mimebundle_()["text/html"]
    summary = Summary.of(named)
    assert summary.name_of(0) == "cluster adults"
    assert summary.as_dict()["clusters"][0]["name"] == "adults"
    assert "adults" in str(cluster_sizes(named).to_dict())
    assert "adults" in str(confusion(blobs.labels, named).to_dict())
    named.report(tmp_path / "page.html", blobs.X, truth=blobs.labels)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Cluster adults" in page
    assert "<b>young" not in page
    assert "rename({0: " in page
    for ending in ("csv", "parquet", "json", "jsonl", "npz", "xlsx"):
        write_result(Result.of(named), tmp_path / f"result.{ending}")
        again = read_result(tmp_path / f"result.{ending}")
        assert again.names == ("adults", "1", "<b>young</b>")
        assert Summary.of(again).names == again.names
    # What the fit was is kept: only names were given.
    assert named.factor_ is model.factor_
    assert named.novelty_score().tobytes() == model.novelty_score().tobytes()


def test_reports_say_what_was_edited(blobs: Sample, model: Any, tmp_path: Path) -> None:
    edited = model.merge([0, 1]).split(0, n=3)
    edited.report(tmp_path / "page.html", blobs.X)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "edited after the fit" in page
    assert "model = model.merge([0, 1])" in page
    assert "model = model.split(0, n=3)" in page
    assert "merge([0, 1]) and split(0, n=3)" in edited._repr_mimebundle_()["text/html"]


def test_names_follow_the_clusters(model: Any) -> None:
    named = model.rename(["a", "b", "c"])
    assert named.merge(["c", 0]).cluster_names_.tolist() == ["a + c", "b"]
    assert named.merge([0, 1], name="all").cluster_names_.tolist() == ["all", "c"]
    assert named.split("b").cluster_names_.tolist() == ["a", "b 1", "c", "b 2"]
    swapped = named.rename({"a": "b", "b": "a"})
    assert swapped.cluster_names_.tolist() == ["b", "a", "c"]
    assert not hasattr(named.rename({0: None, 1: None, 2: None}), "cluster_names_")
    assert model.rename({}).curation_.tolist() == ["rename({})"]


# --- mistakes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edit", "error", "message"),
    [
        (lambda m: m.merge(), ValueError, "Pass their numbers"),
        (lambda m: m.merge([1]), ValueError, "at least two different clusters"),
        (lambda m: m.merge([1, 1]), ValueError, "at least two different clusters"),
        (lambda m: m.merge(1, 2), TypeError, r"Write merge\(\[2, 5\]\)"),
        (lambda m: m.merge("12"), TypeError, r"Write merge\(\[2, 5\]\)"),
        (lambda m: m.merge([0, 3]), ValueError, "no cluster 3: .* numbered from 0 to 2"),
        (lambda m: m.merge([0, -1]), ValueError, "no cluster -1"),
        (lambda m: m.merge([0, 1.0]), TypeError, "by its number or its name, got 1.0"),
        (lambda m: m.merge([0, True]), TypeError, "by its number or its name"),
        (lambda m: m.merge([0, "x"]), ValueError, "no cluster named 'x'. Pass its number"),
        (lambda m: m.merge([0, 1], [1, 2]), ValueError, "in two of the groups"),
        (lambda m: m.merge([0, 1], name="7"), ValueError, "mistaken for the number"),
        (lambda m: m.split(5), ValueError, "no cluster 5"),
        (lambda m: m.split(0, n=1), ValueError, "n must be None or an integer of at least 2"),
        (lambda m: m.split(0, n=0.5), ValueError, "n must be None or an integer"),
        (lambda m: m.split(0, n=1000), ValueError, "most probable one of 60 objects.*fewer parts"),
        (lambda m: m.rename({0: ""}), ValueError, "must not be empty"),
        (lambda m: m.rename({0: " "}), ValueError, "must not be empty"),
        (lambda m: m.rename({0: 5}), TypeError, "must be text, got 5"),
        (lambda m: m.rename({0: "12"}), ValueError, "mistaken for the number of a cluster"),
        (lambda m: m.rename({0: "a", 1: "a"}), ValueError, "Two clusters would be named 'a'"),
        (lambda m: m.rename({9: "a"}), ValueError, "no cluster 9"),
        (lambda m: m.rename("abc"), ValueError, "one name for each of the 3 clusters"),
        (lambda m: m.rename(["a"]), ValueError, "one name for each of the 3 clusters"),
        (
            lambda m: m.rename({0: "a"}).rename({"b": "c"}),
            ValueError,
            "no cluster named 'b'. The names are 'a'",
        ),
    ],
)
def test_mistakes_are_explained(
    edit: Callable[[Any], Any], error: type[Exception], message: str, model: Any
) -> None:
    with pytest.raises(error, match=message):
        edit(model)


def test_a_model_that_is_not_fitted() -> None:
    for edit in ("merge", "split", "rename", "update"):
        with pytest.raises(NotFittedError):
            getattr(SoftClustering(3), edit)([0, 1])


def test_clusters_of_tuples_can_be_merged_but_not_split(blobs: Sample) -> None:
    model = HigherOrder(3, tuple_affinity="point", random_state=29).fit(blobs.X)
    assert_consistent(model.merge([0, 1]).rename({0: "a"}), blobs.X, 2)
    with pytest.raises(ValueError, match="no affinities of pairs, so its clusters cannot be split"):
        model.split(0)
    tuples = [[0, 1, 2], [3, 4, 5], [0, 1, 3], [2, 3, 4], [1, 2, 5], [0, 4, 5]]
    given = HigherOrder(2, random_state=7).fit_tuples(tuples, [1, 1, 0, 0, 0, 0], 6)
    np.testing.assert_allclose(given.merge([0, 1]).memberships_, 1.0)


def test_one_cluster_and_one_object(blobs: Sample) -> None:
    one = SoftClustering(1, random_state=29).fit(blobs.X)
    assert one.rename({0: "all"}).cluster_names_.tolist() == ["all"]
    assert adjusted_rand(blobs.labels, one.split(0, n=3).labels_) == 1.0
    with pytest.raises(ValueError, match="no cluster 1: the model has 1 cluster, number 0"):
        one.merge([0, 1])
    alone = SoftClustering(1, random_state=29).fit([[1.0, 2.0]])
    with pytest.raises(ValueError, match="of 1 object and cannot be split"):
        alone.split(0)


@pytest.mark.filterwarnings("ignore::soffit.exceptions.EmptyClusterWarning")
def test_an_empty_cluster_cannot_be_split() -> None:
    model = SoftClustering(2, random_state=29).fit(np.random.default_rng(3).normal(size=(40, 2)))
    split = model.split(0)
    empty = split.merge([0, 2]).split(0)
    assert empty.n_clusters_ == 3
    forced = soffit.SoF(2, random_state=1).fit(np.r_[np.zeros((30, 1)), np.ones((30, 1))])
    sizes = np.bincount(forced.labels_, minlength=2)
    if sizes.min() == 0:
        with pytest.raises(ValueError, match="of 0 objects and cannot be split"):
            forced.split(int(sizes.argmin()))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_thousand_clusters() -> None:
    X = 10.0 * np.repeat(np.arange(600.0), 2)[:, None] + np.arange(1200)[:, None] % 2
    model = RelationFactorization(1000, n_init=0, max_iter=1, random_state=29).fit(X)
    merged = model.merge(range(500), [500, 999])
    assert merged.n_clusters_ == 500
    np.testing.assert_allclose(merged.memberships_.sum(axis=1), 1.0, atol=1e-6)
    np.testing.assert_allclose(
        merged.memberships_[:, 0], model.memberships_[:, :500].sum(axis=1), atol=1e-9
    )
    named = model.rename({number: f"name {number}" for number in range(1000)})
    largest = int(np.bincount(model.labels_).argmax())
    with pytest.warns(UserWarning, match="1 of the 2 parts of cluster name .* is empty"):
        assert named.split(f"name {largest}").n_clusters_ == 1001
