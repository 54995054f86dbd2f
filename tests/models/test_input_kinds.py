"""Everything a user may hand over, with the real libraries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from tests.reference.estimators import Array, Case, probabilities

from benchmarks.datasets import load
from soffit import SoftClustering
from soffit.datasets import Sample
from soffit.metrics import accuracy, adjusted_rand


@pytest.fixture
def plain(blobs: Sample) -> SoftClustering:
    return SoftClustering(3, random_state=29).fit(blobs.X)


def test_pandas(blobs: Sample, plain: SoftClustering) -> None:
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pd.DataFrame(blobs.X, columns=["a", "b"], index=[f"p{i}" for i in range(180)])
    model = SoftClustering(3, random_state=29).fit(frame)
    np.testing.assert_array_equal(model.memberships_, plain.memberships_)
    assert list(model.feature_names_in_) == ["a", "b"]
    assert model.object_names_[5] == "p5"
    np.testing.assert_array_equal(model.predict(frame), plain.predict(blobs.X))


def test_polars(blobs: Sample, plain: SoftClustering) -> None:
    pl = pytest.importorskip("polars", reason="polars is not installed")
    frame = pl.DataFrame({"a": blobs.X[:, 0], "b": blobs.X[:, 1]})
    model = SoftClustering(3, random_state=29).fit(frame)
    np.testing.assert_array_equal(model.memberships_, plain.memberships_)
    assert list(model.feature_names_in_) == ["a", "b"]


def test_lists(blobs: Sample, plain: SoftClustering) -> None:
    model = SoftClustering(3, random_state=29).fit(blobs.X.tolist())
    np.testing.assert_array_equal(model.memberships_, plain.memberships_)


@pytest.mark.parametrize("storage", [sp.csr_matrix, sp.csr_array, sp.csc_array, sp.coo_array])
def test_sparse_features(blobs: Sample, storage: Any) -> None:
    model = SoftClustering(3, random_state=29).fit(storage(blobs.X))
    assert adjusted_rand(blobs.labels, model.labels_) == 1.0
    assert model.predict_proba(storage(blobs.X[:7])).shape == (7, 3)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_storage_of_a_table_changes_nothing(of_pairs: Case, blobs: Sample, y: Array) -> None:
    # Columns of different units, which are standardized.
    X = np.where(blobs.X > 0, blobs.X, 0.0) * [1.0, 100.0]
    dense, sparse = of_pairs.fit(X, y), of_pairs.fit(sp.csr_array(X), y)
    assert probabilities(sparse).tobytes() == probabilities(dense).tobytes()
    placed = dense.predict_proba(X[:9])
    for model in (dense, sparse):
        for new in (X[:9], sp.csc_array(X[:9])):
            assert model.predict_proba(new).tobytes() == placed.tobytes()
    if hasattr(dense, "update"):
        updated = [model.update(sp.csr_array(X[:3] + 1.0)) for model in (dense, sparse)]
        assert np.array_equal(updated[0].memberships_, updated[1].memberships_)


def test_sparse_rows_of_similarities_to_fitted_objects(blobs: Sample) -> None:
    A = np.exp(-((blobs.X[:, None] - blobs.X) ** 2).sum(axis=2))
    for storage in (np.asarray, sp.csr_array):
        model = SoftClustering(3, affinity="precomputed", random_state=29).fit(storage(A))
        placed = model.predict_proba(sp.csr_array(A[:5]))
        assert (placed.argmax(axis=1) == model.labels_[:5]).all()


def test_texts_stay_sparse() -> None:
    rng = np.random.default_rng(7)
    X = sp.random_array((90, 400), density=0.04, random_state=rng, format="csr")
    X = sp.csr_array(X + sp.csr_array(np.eye(90, 400)))
    model = SoftClustering(2, random_state=29, metric="cosine").fit(X)
    assert model.predict_proba(X[:5]).shape == (5, 2)
    assert sp.issparse(model._fitted.placer.fitted_rows(np.arange(3)))


def test_networkx_karate_club() -> None:
    nx = pytest.importorskip("networkx", reason="networkx is not installed")
    graph = nx.karate_club_graph()
    model = SoftClustering(2, random_state=29).fit(graph)
    clubs = [graph.nodes[v]["club"] for v in graph]
    assert accuracy(clubs, model.labels_) >= 0.9
    assert list(model.object_names_) == list(graph.nodes)
    block = np.zeros((1, 34))
    block[0, [0, 1, 2]] = 1.0
    assert model.predict(block)[0] == model.labels_[0]


def test_igraph(plain: SoftClustering) -> None:
    ig = pytest.importorskip("igraph", reason="igraph is not installed")
    graph = ig.Graph.Full(8) + ig.Graph.Full(8)
    graph.add_edge(0, 8)
    model = SoftClustering(2, random_state=29).fit(graph)
    assert adjusted_rand(np.repeat([0, 1], 8), model.labels_) == 1.0


def test_anndata_connectivities_and_components(blobs: Sample, plain: SoftClustering) -> None:
    ad = pytest.importorskip("anndata", reason="anndata is not installed")
    table = ad.AnnData(X=np.zeros((180, 4), dtype=np.float32))
    table.obs_names = [f"cell{i}" for i in range(180)]
    table.obsm["X_pca"] = blobs.X
    by_components = SoftClustering(3, random_state=29).fit(table)
    np.testing.assert_array_equal(by_components.memberships_, plain.memberships_)
    assert by_components.object_names_[7] == "cell7"
    table.obsp["connectivities"] = sp.csr_matrix(plain.affinity_matrix_)
    by_graph = SoftClustering(3, random_state=29).fit(table)
    assert adjusted_rand(blobs.labels, by_graph.labels_) == 1.0


def test_neighbour_graph_of_scikit_learn_in_a_pipeline(blobs: Sample) -> None:
    from sklearn.neighbors import KNeighborsTransformer
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(
        KNeighborsTransformer(n_neighbors=15, mode="distance"),
        SoftClustering(3, metric="precomputed", random_state=29),
    )
    assert adjusted_rand(blobs.labels, model.fit_predict(blobs.X)) == 1.0


@pytest.mark.parametrize("metric", ["manhattan", "cosine", "chebyshev", "canberra"])
def test_metrics_of_scikit_learn(blobs: Sample, metric: str) -> None:
    model = SoftClustering(3, metric=metric, random_state=29).fit(blobs.X)
    assert model.memberships_.shape == (180, 3)
    assert model.predict_proba(blobs.X[:9]).shape == (9, 3)


def test_affinity_may_be_a_function(blobs: Sample) -> None:
    def similarity(X: Any, Y: Any) -> Any:
        return np.exp(-((X[:, None] - Y[None]) ** 2).sum(axis=2))

    model = SoftClustering(3, affinity=similarity, random_state=29).fit(blobs.X)
    assert adjusted_rand(blobs.labels, model.labels_) == 1.0
    assert adjusted_rand(blobs.labels, model.predict(blobs.X)) == 1.0


def test_affinity_may_be_an_object(blobs: Sample) -> None:
    from soffit.affinity import NeighborGraph

    graph = NeighborGraph(n_neighbors=20, keep="union", weights="local")
    model = SoftClustering(3, affinity=graph, random_state=29).fit(blobs.X)
    assert adjusted_rand(blobs.labels, model.labels_) == 1.0
    assert not hasattr(graph, "matrix_")


def test_text_counts_as_sparse_features(data_home: Any) -> None:
    news = load("news4", home=data_home)
    rows = np.arange(0, news.n_samples, 6)
    model = SoftClustering(4, metric="cosine", random_state=29).fit(news.X[rows])
    assert sp.issparse(model.affinity_matrix_)
    assert model.memberships_.shape == (len(rows), 4)
