"""What large inputs go through, on inputs that are just large enough."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import make_pipeline

from soffit import RelationFactorization, SoftClustering
from soffit.exceptions import UnstableResultWarning
from soffit.metrics import adjusted_rand


def clusters(n, k=4, d=6, seed=6131, dtype=np.float32):
    rng = np.random.default_rng(seed)
    labels = rng.integers(k, size=n)
    return (3.0 * rng.normal(size=(k, d))[labels] + rng.normal(size=(n, d))).astype(dtype), labels


def test_same_bytes_for_one_and_two_threads_at_20500_objects(monkeypatch, limits):
    limits(graph_nodes=8000)
    X, labels = clusters(20_500)
    fits = []
    for threads in ("1", "2"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        fits.append(SoftClustering(4, random_state=3).fit(X))
    one, two = fits
    assert one.neighbor_recall_ < 1.0
    assert one.memberships_.dtype == np.float32
    assert one.memberships_.tobytes() == two.memberships_.tobytes()
    assert one.affinity_matrix_.data.tobytes() == two.affinity_matrix_.data.tobytes()
    assert one.predict_proba(X[:500]).tobytes() == two.predict_proba(X[:500]).tobytes()
    assert adjusted_rand(labels, one.labels_) > 0.9


def test_relations_give_the_same_bytes_for_one_and_two_threads(monkeypatch):
    X, _ = clusters(3000)
    fits = []
    for threads in ("1", "2"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        fits.append(RelationFactorization(4, random_state=3, max_iter=15, tol=1.0).fit(X))
    assert fits[0].memberships_.tobytes() == fits[1].memberships_.tobytes()


def test_a_memory_map_is_read_like_an_array(tmp_path):
    X, _ = clusters(900)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    plain = SoftClustering(4, random_state=3).fit(X)
    assert SoftClustering(4, random_state=3).fit(mapped).memberships_.tobytes() == (
        plain.memberships_.tobytes()
    )


def test_neighbors_of_a_transformer_in_a_pipeline():
    X, labels = clusters(800, dtype=np.float64)
    pipeline = make_pipeline(
        KNeighborsTransformer(n_neighbors=20, mode="distance"),
        SoftClustering(4, metric="precomputed", random_state=3),
    )
    pipeline.fit(X)
    model = pipeline[-1]
    assert adjusted_rand(labels, model.labels_) > 0.9
    new = pipeline.predict_proba(X[:50] + 1e-3)
    assert np.mean(new.argmax(axis=1) == model.labels_[:50]) > 0.95


def test_a_graph_that_does_not_fit_into_memory_is_refused(monkeypatch):
    from soffit import _memory

    X, _ = clusters(2000)
    monkeypatch.setattr(_memory, "available_memory", lambda: 100_000)
    with pytest.raises(MemoryError, match=r"neighbour graph of 2,000 objects.*n_neighbors"):
        SoftClustering(4).fit(X)


def overlapping(*sizes):
    """Samples of eight clusters that overlap: memberships after the walk come close to zero."""
    rng = np.random.default_rng(14)
    centers = rng.normal(size=(8, 10)) * rng.uniform(0.3, 1.6)
    return [centers[rng.integers(8, size=n)] + rng.normal(size=(n, 10)) for n in sizes]


def check_simplex(rows):
    assert rows.min() >= 0.0
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, atol=1e-6)


def test_objects_between_overlapping_clusters_are_placed():
    # Above 2000 objects the walk is a polynomial, whose values may round to -1e-17.
    X, X_new = overlapping(2500, 500)
    check_simplex(SoftClustering(8, random_state=0).fit(X).predict_proba(X_new))


def test_subsamples_of_overlapping_clusters_are_combined():
    (X,) = overlapping(4000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnstableResultWarning)
        check_simplex(SoftClustering(8, n_resamples=2, random_state=0).fit(X).memberships_)
