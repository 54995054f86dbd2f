"""Growing data: new objects are placed, new clusters found, and old ones stay what they are."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from tests.reference.estimators import Case

import soffit
from soffit import HigherOrder, SoftClustering, suggest_pairs

CENTRES = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])


def drawn(sizes: tuple[int, ...], seed: int, centres: Any = CENTRES) -> Any:
    generator = np.random.default_rng(seed)
    parts = [generator.normal(size=(n, 2)) + c for n, c in zip(sizes, centres, strict=True)]
    return np.concatenate(parts)


OLD = drawn((60, 60, 60), 3)
FOURTH = np.array([[12.0, 12.0]])
# Twenty objects of each known cluster, and thirty of a fourth.
BATCH = np.concatenate([drawn((20, 20, 20), 5), drawn((30,), 7, FOURTH)])
KNOWN, NEW = slice(180, 240), slice(240, 270)


@pytest.fixture(scope="module")
def model() -> Any:
    return SoftClustering(3, random_state=29).fit(OLD)


@pytest.fixture(scope="module")
def grown(model: Any) -> Any:
    return model.update(BATCH)


def test_a_fourth_cluster_gets_the_next_number(model: Any, grown: Any) -> None:
    assert grown.n_clusters_ == 4
    assert grown.memberships_.shape == (270, 4)
    np.testing.assert_array_equal(grown.labels_[:180], model.labels_)
    np.testing.assert_array_equal(grown.memberships_[:180, :3], model.memberships_)
    np.testing.assert_array_equal(grown.labels_[KNOWN], model.predict(BATCH[:60]))
    np.testing.assert_array_equal(grown.labels_[NEW], 3)
    np.testing.assert_allclose(grown.memberships_.sum(axis=1), 1.0, atol=1e-9)
    assert grown.curation_.tolist() == ["update(X_new)"]
    assert not hasattr(model, "curation_")


def test_placing_agrees_with_the_memberships(grown: Any) -> None:
    everything = np.concatenate([OLD, BATCH])
    rows = grown.predict_proba(everything)
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, atol=1e-9)
    np.testing.assert_array_equal(rows.argmax(axis=1), grown.labels_)
    np.testing.assert_array_equal(rows[180:], grown.memberships_[180:])
    assert rows.max(axis=1).mean() > 0.95


def test_the_new_cluster_is_no_longer_novel(model: Any, grown: Any) -> None:
    more = drawn((50,), 11, FOURTH)
    assert (model.novelty_score(more) >= 0.99).mean() == 1.0
    assert (grown.novelty_score(more) >= 0.99).mean() < 0.1
    assert grown.novelty_score([[60.0, -60.0]])[0] > 0.999
    assert grown.novelty_score().shape == (270,)
    np.testing.assert_array_equal(grown.novelty_score()[:180], model.novelty_score())


def test_batch_after_batch(grown: Any) -> None:
    later = grown.update(np.concatenate([drawn((5, 5, 5), 13), drawn((25,), 17, FOURTH)]))
    assert later.n_clusters_ == 4
    np.testing.assert_array_equal(later.labels_[:270], grown.labels_)
    np.testing.assert_array_equal(later.labels_[-25:], 3)
    fifth = later.update(drawn((40,), 19, np.array([[-15.0, -15.0]])))
    assert fifth.n_clusters_ == 5
    np.testing.assert_array_equal(fifth.labels_[-40:], 4)
    np.testing.assert_array_equal(fifth.predict(drawn((9,), 23, FOURTH)), 3)


def test_two_new_clusters_at_once(model: Any) -> None:
    two = np.array([[12.0, 12.0], [-15.0, -15.0]])
    grown = model.update(drawn((40, 25), 31, two))
    assert grown.n_clusters_ == 5
    # The larger one first.
    np.testing.assert_array_equal(grown.labels_[180:], np.repeat([3, 4], [40, 25]))


def test_each_fit_is_asked_once_for_the_tails_of_new_objects(model: Any, monkeypatch: Any) -> None:
    from soffit.fitting.fitted import SimilarityPlacer

    two = np.array([[12.0, 12.0], [-15.0, -15.0]])
    placer = model.update(drawn((40, 25), 31, two))._fitted.placer
    new = np.concatenate([BATCH, [[60.0, -60.0], [1e6, 1e6]]])
    # The rule, level by level.
    inside = placer.base
    p, q, r = inside.base.tail(new), inside.added.tail(new), placer.added.tail(new)
    share = q / (p + q)
    rows = [(1 - share)[:, None] * inside.base.place(new), share[:, None]]
    share = r / (np.maximum(p, q) + r)
    rows = [*((1 - share)[:, None] * part for part in rows), share[:, None]]
    asked: list[int] = []
    tail = SimilarityPlacer.tail
    monkeypatch.setattr(SimilarityPlacer, "tail", lambda *a, **b: asked.append(1) or tail(*a, **b))
    np.testing.assert_allclose(placer.place(new), np.concatenate(rows, axis=1), atol=1e-14)
    assert len(asked) == 3


def test_new_clusters_close_to_each_other(model: Any) -> None:
    pair = np.array([[30.0, 30.0], [38.0, 30.0]])
    assert model.update(drawn((60, 60), 53, pair)).n_clusters_ == 5
    # One large group is not divided.
    assert model.update(drawn((120,), 59, pair[:1])).n_clusters_ == 4


def _dot(X: Any, Y: Any) -> Any:
    return np.exp(-((X[:, None] - Y[None]) ** 2).sum(axis=2) / 8.0)


@pytest.mark.parametrize("kind", ["sparse", "approximate", "function", "manhattan"])
def test_other_searches_and_affinities(kind: str, limits: Any) -> None:
    # Columns of noise, because few columns are searched exactly. Their spread is a sixteenth of
    # that of the others: standardized, they would hide the fourth cluster.
    noise = np.random.default_rng(61).normal(size=(270, 6))
    everything = np.column_stack([np.concatenate([OLD, BATCH]) * 3 + 60.0, noise])
    options: dict[str, Any] = {"standardize": False}
    if kind == "approximate":
        limits(compared_objects=20)
    elif kind == "function":
        options["affinity"], everything = _dot, everything[:, :2] / 3
    elif kind == "manhattan":
        options["metric"] = "manhattan"
    elif kind == "sparse":
        everything = sp.csr_array(everything)
    model = SoftClustering(3, random_state=29, **options).fit(everything[:180])
    grown = model.update(everything[180:])
    np.testing.assert_array_equal(grown.labels_[NEW], 3)
    np.testing.assert_array_equal(grown.labels_[:180], model.labels_)


def test_what_forms_no_group_stays_novel(model: Any) -> None:
    generator = np.random.default_rng(37)
    scattered = generator.uniform(-80, 80, size=(20, 2))
    grown = model.update(scattered)
    assert grown.n_clusters_ == 3
    outside = model.novelty_score(scattered) >= 0.99
    assert outside.sum() > 15
    assert (grown.novelty_score()[180:][outside] >= 0.99).all()
    # Seven are too few for a cluster.
    assert model.update(drawn((7,), 41, FOURTH)).n_clusters_ == 3


def test_ordinary_objects_add_no_cluster(model: Any) -> None:
    grown = model.update(drawn((200, 200, 200), 43))
    assert grown.n_clusters_ == 3
    assert len(grown.labels_) == 780


def test_one_object(model: Any) -> None:
    grown = model.update([[0.1, 0.2]])
    assert grown.labels_[180] == model.predict([[0.1, 0.2]])[0]
    alone = SoftClustering(1, random_state=29).fit([[0.0, 0.0]])
    assert alone.update([[1.0, 1.0], [2.0, 2.0]]).labels_.tolist() == [0, 0, 0]


def test_every_model_of_pairs_can_grow(of_pairs: Case, tmp_path: Path) -> None:
    model = of_pairs.model()
    if not hasattr(model, "update"):
        pytest.skip("a classifier has classes, not clusters")
    model.fit(OLD)
    grown = model.update(BATCH)
    np.testing.assert_array_equal(grown.labels_[:180], model.labels_)
    np.testing.assert_array_equal(grown.labels_[NEW], 3)
    soffit.save(grown, tmp_path / "grown.soffit")
    for again in (soffit.load(tmp_path / "grown.soffit"), pickle.loads(pickle.dumps(grown))):
        np.testing.assert_array_equal(again.predict_proba(BATCH), grown.predict_proba(BATCH))
        np.testing.assert_array_equal(again.novelty_score(), grown.novelty_score())
        np.testing.assert_array_equal(again.memberships_, grown.memberships_)


@pytest.mark.parametrize("kind", ["distances", "similarities", "sparse"])
def test_matrices_need_the_rows_of_all_objects(kind: str, tmp_path: Path) -> None:
    everything = np.concatenate([OLD, BATCH])
    D = np.linalg.norm(everything[:, None] - everything[None], axis=2)
    options = {"metric": "precomputed"}
    if kind != "distances":
        D, options = np.where(D < 5.0, np.exp(-(D**2)), 0.0), {"affinity": "precomputed"}
    if kind == "sparse":
        D = sp.csr_array(D)
    model = SoftClustering(3, random_state=29, **options).fit(D[:180][:, :180])
    grown = model.update(D[180:])
    np.testing.assert_array_equal(grown.labels_[:180], model.labels_)
    np.testing.assert_array_equal(grown.labels_[NEW], 3)
    assert grown.n_features_in_ == 270
    np.testing.assert_array_equal(grown.predict(D), grown.labels_)
    soffit.save(grown, tmp_path / "grown.soffit")
    again = soffit.load(tmp_path / "grown.soffit")
    np.testing.assert_array_equal(again.predict_proba(D), grown.predict_proba(D))
    with pytest.raises(ValueError, match=r"n \+ m = 180 \+ 90 columns.*got 180"):
        model.update(D[180:][:, :180])


def test_nodes_of_a_graph() -> None:
    everything = np.concatenate([OLD, BATCH])
    D = np.linalg.norm(everything[:, None] - everything[None], axis=2)
    A = np.where((D < 2.0) & (D > 0), 1.0, 0.0)
    graph = nx.from_numpy_array(A[:180, :180])
    model = SoftClustering(3, random_state=29).fit(nx.relabel_nodes(graph, lambda i: f"node {i}"))
    grown = model.update(A[180:])
    np.testing.assert_array_equal(grown.labels_[NEW], 3)
    assert grown.object_names_[0] == "node 0"
    assert grown.object_names_[180] == 180


def test_a_grown_model_can_be_edited_and_grown_again(model: Any, tmp_path: Path) -> None:
    everything = np.concatenate([OLD, BATCH])
    named = model.rename({0: "first"}).merge([1, 2], name="rest")
    grown = named.update(BATCH)
    assert grown.cluster_names_.tolist() == ["first", "rest", "2"]
    np.testing.assert_array_equal(grown.labels_[NEW], 2)
    edited = grown.rename({2: "new"}).split("rest").merge(["first", "new"])
    assert edited.n_clusters_ == 3
    np.testing.assert_allclose(edited.predict_proba(everything).sum(axis=1), 1.0, atol=1e-9)
    assert np.mean(edited.predict(everything) == edited.labels_) > 0.97
    again = edited.update(drawn((30,), 47, np.array([[30.0, -30.0]])))
    assert again.n_clusters_ == 4
    soffit.save(again, tmp_path / "again.soffit")
    loaded = soffit.load(tmp_path / "again.soffit")
    np.testing.assert_array_equal(loaded.predict_proba(BATCH), again.predict_proba(BATCH))
    assert [step.partition("(")[0] for step in loaded.curation_] == [
        *("rename", "merge", "update", "rename", "split", "merge", "update")
    ]


def test_the_graph_of_all_objects(model: Any, grown: Any) -> None:
    A = grown.affinity_matrix_
    assert A.shape == (270, 270)
    assert abs(A - A.T).max() == 0
    assert abs(A[:180, :180] - model.affinity_matrix_).max() == 0
    assert (A[180:].sum(axis=1) > 0).all()
    assert suggest_pairs(grown, 5).shape == (5, 2)


def test_names_pairs_and_columns(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(OLD, columns=["x", "y"], index=[f"old {i}" for i in range(180)])
    model = SoftClustering(3, random_state=29).fit(frame, must_link=[(0, 1)])
    batch = pd.DataFrame(BATCH, columns=["x", "y"], index=[f"new {i}" for i in range(90)])
    grown = model.update(batch)
    assert grown.object_names_[[0, 180, 269]].tolist() == ["old 0", "new 0", "new 89"]
    assert grown.side_information_.n_objects == 270
    soffit.save(grown, tmp_path / "grown.soffit")
    grown.report(tmp_path / "page.html", pd.concat([frame, batch]))
    assert "X_new for the objects that were added" in (tmp_path / "page.html").read_text()
    with pytest.raises(ValueError, match="feature names"):
        model.update(batch.rename(columns={"x": "z"}))


def test_single_precision_stays() -> None:
    model = SoftClustering(3, random_state=29).fit(OLD.astype(np.float32))
    grown = model.update(BATCH.astype(np.float32))
    assert grown.memberships_.dtype == np.float32
    assert grown.affinity_matrix_.dtype == np.float32
    np.testing.assert_array_equal(grown.labels_[NEW], 3)


def test_a_standardized_table_grows_in_its_common_unit() -> None:
    model = SoftClustering(3, standardize=True, random_state=29).fit(OLD * [1.0, 1e4])
    grown = model.update(BATCH * [1.0, 1e4])
    np.testing.assert_array_equal(grown.labels_[NEW], 3)


def test_same_seed_same_bytes(model: Any, grown: Any) -> None:
    assert model.update(BATCH).memberships_.tobytes() == grown.memberships_.tobytes()


def test_mistakes(model: Any) -> None:
    with pytest.raises(NotFittedError):
        SoftClustering(3).update(BATCH)
    with pytest.raises(ValueError, match="NaN"):
        model.update([[np.nan, 1.0]])
    with pytest.raises(ValueError, match="3 features"):
        model.update(np.zeros((4, 3)))
    tuples = HigherOrder(3, tuple_affinity="point", random_state=29).fit(OLD)
    with pytest.raises(ValueError, match=r"HigherOrder cannot be updated.*Fit it again"):
        tuples.update(BATCH)
