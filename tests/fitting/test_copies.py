"""Equal objects, weights, ties, units and few objects, in all models."""

from __future__ import annotations

import tracemalloc
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

import soffit
from soffit import (
    BaumEagon,
    CompletelyPositive,
    HigherOrder,
    RandomWalkClassifier,
    RelationFactorization,
    SoF,
    SoftClustering,
    SoftHierarchy,
    SpectralClustering,
)
from soffit.datasets import make_gaussians
from soffit.exceptions import EmptyClusterWarning
from soffit.fitting.data import Constraints, distinct_data
from soffit.metrics import adjusted_rand
from soffit.selection import suggest_pairs

Array = NDArray[Any]
WEIGHTED = (SoftClustering, SpectralClustering, RelationFactorization, SoftHierarchy)
OF_PAIRS = (*WEIGHTED, SoF, BaumEagon, CompletelyPositive)
weighted = pytest.mark.parametrize("model", WEIGHTED, ids=lambda model: model.__name__)
of_pairs = pytest.mark.parametrize("model", OF_PAIRS, ids=lambda model: model.__name__)


def rounded_blobs(seed: int = 31) -> tuple[Array, Array]:
    """Four clusters on a grid: about half of the 240 objects are copies."""
    X, labels, _ = make_gaussians(240, n_clusters=4, separation=9.0, random_state=seed)
    return np.round(1.5 * X), labels


def far_blobs(n_clusters: int, size: int, seed: int) -> tuple[Array, Array]:
    """Clusters ten standard deviations apart, on a circle."""
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * np.arange(n_clusters) / n_clusters
    radius = 5.0 / np.sin(np.pi / max(n_clusters, 2))
    centers = radius * np.column_stack([np.cos(angle), np.sin(angle)])
    labels = np.repeat(np.arange(n_clusters), size)
    return centers[labels] + rng.normal(size=(len(labels), 2)), labels


# --- copies ---------------------------------------------------------------------------------------


@of_pairs
def test_rounding_costs_no_accuracy(model: Any) -> None:
    X, labels = rounded_blobs()
    assert adjusted_rand(labels, model(4, random_state=3).fit(X).labels_) > 0.93


@of_pairs
def test_every_row_three_times_gives_the_same_clusters(model: Any) -> None:
    X, _ = rounded_blobs()
    once = model(4, random_state=3).fit(X).labels_
    thrice = model(4, random_state=3).fit(np.repeat(X, 3, axis=0)).labels_
    assert adjusted_rand(once, thrice[::3]) > 0.97
    np.testing.assert_array_equal(thrice[::3], thrice[1::3])


@of_pairs
@pytest.mark.parametrize("unit", [1000.0, 1e-3])
def test_no_unit_matters(model: Any, unit: float) -> None:
    X, _ = rounded_blobs()
    plain = model(4, random_state=3).fit(X)
    other = model(4, random_state=3).fit(unit * X)
    # Clusters may be numbered in another order: 0.001 is no power of two.
    assert adjusted_rand(plain.labels_, other.labels_) == 1.0
    # Of several shortest links to a stray group, rounding selects one.
    change = np.abs(np.sort(plain.memberships_, axis=1) - np.sort(other.memberships_, axis=1))
    assert np.mean(change.max(axis=1) > 1e-3) < 0.05


@weighted
def test_equal_objects_have_equal_memberships(model: Any) -> None:
    X, _ = rounded_blobs()
    fitted = model(4, random_state=3).fit(X)
    copies = fitted.copies_
    assert fitted.affinity_matrix_.shape[0] == copies.max() + 1 < len(X)
    assert fitted.factor_.shape[0] == copies.max() + 1
    assert fitted.memberships_.shape[0] == len(X)
    first = np.unique(copies, return_index=True)[1]
    np.testing.assert_array_equal(fitted.memberships_[first][copies], fitted.memberships_)
    assert np.mean(fitted.predict(X) == fitted.labels_) >= 0.97
    np.testing.assert_array_equal(fitted.novelty_score()[first][copies], fitted.novelty_score())


@weighted
def test_the_order_of_rounded_objects_does_not_matter(model: Any) -> None:
    X, _ = rounded_blobs()
    plain = model(4, random_state=3).fit(X).labels_
    for seed in (5, 7, 11):
        order = np.random.default_rng(seed).permutation(len(X))
        assert adjusted_rand(plain[order], model(4, random_state=3).fit(X[order]).labels_) > 0.98


@weighted
def test_sparse_tables_and_distances_have_copies_too(model: Any) -> None:
    X, _ = rounded_blobs()
    table = model(4, random_state=3).fit(X)
    sparse = model(4, random_state=3).fit(sp.csr_array(X))
    np.testing.assert_array_equal(table.copies_, sparse.copies_)
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    distances = model(4, metric="precomputed", random_state=3).fit(D)
    np.testing.assert_array_equal(table.copies_, distances.copies_)
    assert adjusted_rand(table.labels_, distances.labels_) > 0.95
    assert distances.predict_proba(D[:7]).shape == (7, 4)
    assert np.mean(distances.predict(D) == distances.labels_) >= 0.97


@weighted
def test_a_model_without_copies_has_no_such_attribute(model: Any) -> None:
    X = np.random.default_rng(3).normal(size=(60, 2))
    fitted = model(2, random_state=3).fit(np.concatenate([X, X[:5]]))
    assert hasattr(fitted, "copies_")
    assert not hasattr(fitted.fit(X), "copies_")


@weighted
def test_models_with_copies_are_saved_edited_and_updated(model: Any, tmp_path: Any) -> None:
    X, _ = rounded_blobs()
    fitted = model(4, random_state=3).fit(X, sample_weight=np.arange(1, len(X) + 1))
    soffit.save(fitted, tmp_path / "model.soffit")
    loaded = soffit.load(tmp_path / "model.soffit")
    np.testing.assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    np.testing.assert_array_equal(loaded.copies_, fitted.copies_)
    merged = fitted.merge([0, 1])
    assert merged.memberships_.shape == (len(X), 3)
    assert fitted.split(2).memberships_.shape == (len(X), 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        grown = fitted.update(np.concatenate([X[:9], np.full((20, 2), 90.0)]))
    assert len(grown.labels_) == len(X) + 29
    assert grown.predict_proba(X[:4]).shape[0] == 4


def test_distances_with_copies_are_updated(tmp_path: Any) -> None:
    X, _ = rounded_blobs()
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    old, new = np.arange(200), np.arange(200, 240)
    model = SoftClustering(4, metric="precomputed", random_state=3).fit(D[:200, :200])
    grown = model.update(D[new])
    assert grown.memberships_.shape == (240, 4)
    block = D[:5]
    placed = grown.predict_proba(block)
    np.testing.assert_allclose(placed, model.predict_proba(block[:, old]), atol=1e-9)
    soffit.save(grown, tmp_path / "grown.soffit")
    np.testing.assert_array_equal(
        soffit.load(tmp_path / "grown.soffit").predict_proba(block), placed
    )


def test_copies_are_no_slower_to_fit_than_their_distinct_objects() -> None:
    """The graph has a node per distinct object, whatever the number of copies."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 2)) + 8 * rng.integers(0, 2, (300, 1))
    many = X[rng.integers(0, 300, 6000)]
    model = SoftClustering(2, random_state=3).fit(many)
    assert model.affinity_matrix_.shape[0] <= 300
    assert model.affinity_matrix_.nnz <= 300 * 30


def test_pairs_hold_for_copies() -> None:
    X, _ = rounded_blobs()
    copies = SoftClustering(4, random_state=3).fit(X).copies_
    pair = next(np.flatnonzero(copies == c)[:2] for c in np.flatnonzero(np.bincount(copies) > 1))
    apart = SoftClustering(4, random_state=3).fit(X, cannot_link=[pair])
    assert apart.labels_[pair[0]] != apart.labels_[pair[1]]
    assert apart.side_information_.n_objects == len(X)
    together = SoftClustering(4, random_state=3).fit(X, must_link=[[0, 1]])
    same = np.isin(copies, copies[[0, 1]])
    assert len(np.unique(together.labels_[same])) == 1


def test_questions_are_about_distinct_objects() -> None:
    X, _ = rounded_blobs()
    model = SoftClustering(4, random_state=3).fit(X, must_link=[[0, 1]])
    pairs = suggest_pairs(model, 12)
    assert pairs.max() < len(X)
    assert np.all(model.copies_[pairs[:, 0]] != model.copies_[pairs[:, 1]])


def test_reports_and_figures_of_copies(tmp_path: Any) -> None:
    X, _ = rounded_blobs()
    model = SoftClustering(4, random_state=3).fit(X)
    model.report(tmp_path / "page.html")
    model.report(tmp_path / "table.html", X)
    figure = soffit.figures.reconstruction(model, max_pixels=1000)
    assert figure.data[0].z.shape[0] == model.copies_.max() + 1
    assert len(soffit.figures.embedding(model)) == len(X)
    hierarchy = SoftHierarchy(2, levels=[8, 2], random_state=3).fit(X)
    assert hierarchy.at_level(1).shape == (len(X), 8)
    assert hierarchy.induced_affinity(1).shape[0] == hierarchy.affinity_matrix_.shape[0]


def test_resamples_of_copies() -> None:
    X, _ = rounded_blobs()
    model = SoftClustering(4, n_resamples=3, random_state=3).fit(X)
    assert model.overlap_.shape == model.instability_.shape == (len(X),)
    assert model.predict_proba(X[:3]).shape == (3, 4)


def test_a_warm_start_with_copies() -> None:
    X, _ = rounded_blobs()
    for model in (SoftClustering, RelationFactorization, SoftHierarchy):
        fitted = model(4, warm_start=True, random_state=3).fit(X)
        before = fitted.labels_
        assert adjusted_rand(before, fitted.fit(X).labels_) > 0.95


@of_pairs
def test_fewer_distinct_objects_than_clusters(model: Any) -> None:
    X = np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], 20, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = model(5, random_state=3).fit(X)
    assert fitted.memberships_.shape == (60, 5)
    np.testing.assert_allclose(fitted.memberships_.sum(axis=1), 1.0, atol=1e-6)


# --- weights --------------------------------------------------------------------------------------


@weighted
def test_a_weight_of_three_equals_three_copies(model: Any) -> None:
    rng = np.random.default_rng(5)
    X, _, _ = make_gaussians(150, n_clusters=3, separation=5.0, random_state=17)
    counts = rng.integers(1, 4, len(X))
    heavy = model(3, random_state=3).fit(X, sample_weight=counts)
    rows = np.repeat(np.arange(len(X)), counts)
    copied = model(3, random_state=3).fit(X[rows])
    np.testing.assert_allclose(heavy.memberships_[rows], copied.memberships_, atol=1e-12)
    np.testing.assert_allclose(heavy.predict_proba(X), copied.predict_proba(X), atol=1e-12)


@weighted
def test_only_the_ratios_of_weights_matter(model: Any) -> None:
    X, _, _ = make_gaussians(120, n_clusters=3, separation=5.0, random_state=17)
    plain = model(3, random_state=3).fit(X)
    for weight in (np.full(len(X), 7.0), 2.5, np.full(len(X), 1e300)):
        even = model(3, random_state=3).fit(X, sample_weight=weight)
        np.testing.assert_array_equal(even.memberships_, plain.memberships_)


def test_weights_change_the_answer() -> None:
    X, _, _ = make_gaussians(120, n_clusters=2, separation=3.0, random_state=17)
    weight = np.where(X[:, 0] > np.median(X[:, 0]), 30.0, 1.0)
    plain, heavy = (
        SoftClustering(2, random_state=3).fit(X, sample_weight=w).memberships_
        for w in (None, weight)
    )
    assert np.abs(plain - heavy).max() > 1e-3


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0, 2.0], r"one weight per object: n_samples=60, but its shape is \(2,\)"),
        (np.zeros(60), "positive and finite, not zero; got 0 for object 0"),
        (np.r_[np.ones(59), -1.0], "got -1 for object 59"),
        (np.r_[np.nan, np.ones(59)], "got nan for object 0"),
        (np.full(60, np.inf), "got inf"),
        (["a"] * 60, "must hold numbers"),
        (np.r_[np.full(30, 1e300), np.full(30, 1e-300)], "ranges from 1e-300 to 1e.300, too far"),
        (np.ma.masked_array(np.ones(60), mask=np.arange(60) == 3), "has masked entries"),
    ],
)
def test_bad_weights_are_refused_by_name(weight: Any, message: str) -> None:
    X = np.random.default_rng(3).normal(size=(60, 2))
    with pytest.raises(ValueError, match=f"sample_weight.*{message}"):
        SoftClustering(2).fit(X, sample_weight=weight)


def test_models_without_weights_refuse_them() -> None:
    X = np.random.default_rng(3).normal(size=(30, 2))
    for model in (SoF, BaumEagon, CompletelyPositive, HigherOrder):
        with pytest.raises(TypeError, match="sample_weight"):
            model(2).fit(X, sample_weight=np.ones(30))


def test_weights_of_nodes() -> None:
    A = np.kron(np.eye(3), np.ones((12, 12))) + 0.05
    weight = np.random.default_rng(3).uniform(1, 4, 36)
    model = SpectralClustering(3, affinity="precomputed", random_state=3)
    labels = model.fit(A, sample_weight=weight).labels_
    assert adjusted_rand(labels, np.repeat(np.arange(3), 12)) == 1.0
    np.testing.assert_allclose(
        model.affinity_matrix_[0, 1] / A[0, 1], (weight[0] * weight[1] / weight.mean() ** 2)
    )


# --- few objects ----------------------------------------------------------------------------------


@of_pairs
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("size", [2, 3, 5, 8])
@pytest.mark.parametrize("n_clusters", [2, 3, 4])
def test_few_objects_per_cluster(model: Any, size: int, n_clusters: int) -> None:
    X, labels = far_blobs(n_clusters, size, seed=41)
    fitted = model(n_clusters, random_state=3).fit(X)
    assert adjusted_rand(labels, fitted.labels_) > 0.9
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    by_distances = model(n_clusters, metric="precomputed", random_state=3).fit(D)
    assert adjusted_rand(labels, by_distances.labels_) > 0.9


@pytest.mark.parametrize("size", [3, 6, 9])
def test_many_clusters_of_few_objects(size: int) -> None:
    rng = np.random.default_rng(43)
    centers = 10.0 * np.stack(np.meshgrid(np.arange(5), np.arange(5)), -1).reshape(-1, 2)
    labels = np.repeat(np.arange(25), size)
    X = centers[labels] + rng.normal(size=(len(labels), 2))
    for model in (SoftClustering, SpectralClustering):
        assert adjusted_rand(labels, model(25, random_state=3).fit(X).labels_) > 0.97


# Latitude and longitude.
CITIES = {
    "Berlin": (52.5, 13.4, "D"),
    "Hamburg": (53.6, 10.0, "D"),
    "Cologne": (50.9, 7.0, "D"),
    "Frankfurt": (50.1, 8.7, "D"),
    "Madrid": (40.4, -3.7, "E"),
    "Seville": (37.4, -6.0, "E"),
    "Valencia": (39.5, -0.4, "E"),
    "Malaga": (36.7, -4.4, "E"),
    "Rome": (41.9, 12.5, "I"),
    "Naples": (40.9, 14.3, "I"),
    "Bari": (41.1, 16.9, "I"),
}


def great_circles() -> tuple[Array, Array]:
    """Distances of the cities in kilometres, and their countries."""
    place = np.radians([city[:2] for city in CITIES.values()])
    steps = np.sin((place[:, None] - place[None]) / 2) ** 2
    cosines = np.cos(place[:, 0])
    half = np.sqrt(steps[..., 0] + np.outer(cosines, cosines) * steps[..., 1])
    D = 2 * 6371 * np.arcsin(half)
    np.fill_diagonal(D, 0.0)
    return (D + D.T) / 2, np.array([city[2] for city in CITIES.values()])


@of_pairs
def test_eleven_cities(model: Any) -> None:
    D, country = great_circles()
    three = model(3, metric="precomputed", random_state=3).fit(D).labels_
    assert adjusted_rand(np.unique(country, return_inverse=True)[1], three) == 1.0
    two = model(2, metric="precomputed", random_state=3).fit(D).labels_
    assert sorted(np.bincount(two)) in ([4, 7], [3, 8])


@of_pairs
@pytest.mark.filterwarnings("ignore")
def test_any_number_of_few_rows_has_an_answer(model: Any) -> None:
    rng = np.random.default_rng(47)
    for n in range(1, 21):
        for X in (rng.normal(size=(n, 2)), np.round(rng.normal(size=(n, 2))), np.zeros((n, 2))):
            fitted = model(None, random_state=3).fit(X)
            assert 1 <= fitted.n_clusters_ <= n
            assert np.isfinite(fitted.memberships_).all()


# --- empty clusters -------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [*OF_PAIRS, HigherOrder], ids=lambda model: model.__name__)
def test_empty_clusters_are_never_silent(model: Any) -> None:
    for seed in (3, 5):
        X = np.round(np.random.default_rng(seed).normal(size=(24, 2)))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fitted = model(7, random_state=seed).fit(X)
        n_empty = 7 - len(np.unique(fitted.labels_))
        told = [str(one.message) for one in caught if one.category is EmptyClusterWarning]
        assert len(told) == (n_empty > 0)
        if told:
            assert f"found {7 - n_empty} of 7 clusters" in told[0]
            assert f"n_clusters={7 - n_empty}" in told[0]


def test_classifiers_are_no_worse_on_rounded_values() -> None:
    X, labels = rounded_blobs()
    y = np.where(np.arange(len(X)) % 9 == 0, labels, -1)
    model = RandomWalkClassifier().fit(X, y)
    assert np.mean(model.transduction_ == labels) > 0.95
    other = RandomWalkClassifier().fit(1000 * X, y)
    np.testing.assert_array_equal(model.transduction_, other.transduction_)


@pytest.mark.parametrize("n_clusters", [3, None])
@pytest.mark.parametrize("metric", ["euclidean", "gower"])
def test_weights_equal_copies_where_columns_are_scaled(metric: str, n_clusters: int | None) -> None:
    rng = np.random.default_rng(5)
    X, _, _ = make_gaussians(150, n_clusters=3, separation=6.0, random_state=17)
    table = np.column_stack([1000.0 * X[:, 0], X[:, 1], rng.integers(0, 2, len(X))])
    # The heavy objects are on one side: scales that ignore weights are others.
    counts = np.where(X[:, 0] > np.median(X[:, 0]), 4, 1)
    rows = np.repeat(np.arange(len(X)), counts)
    model = SoftClustering(n_clusters, metric=metric, random_state=3)
    copied = model.fit(table[rows]).memberships_
    np.testing.assert_array_equal(model.fit(table, sample_weight=counts).memberships_[rows], copied)
    # Twice the weights are the same ratios; other numbers are approximated.
    np.testing.assert_array_equal(
        model.fit(table, sample_weight=2.0 * counts).memberships_[rows], copied
    )
    nearly = model.fit(table, sample_weight=0.1 * counts).memberships_[rows]
    assert np.abs(nearly - copied).mean() < 0.02


def test_weights_take_no_memory_of_many_copies() -> None:
    X = np.random.default_rng(5).normal(size=(50_000, 40)) * np.r_[1000.0, np.ones(39)]
    weight = np.random.default_rng(6).uniform(1, 4, len(X))
    model = SoftClustering(2, n_neighbors=5, random_state=3)
    for given in (weight, 1e307 * weight, np.where(X[:, 0] > 0, 1.0, 10.0**12)):
        objects = distinct_data(model._read(X, Constraints(sample_weight=given), None), 2).objects
        assert objects.weights is not None
        tracemalloc.start()
        spread = objects.preparation.spread
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert np.isfinite(spread).all()
        assert peak < 400e6
    # Without a scale of columns no row is repeated at all.
    unscaled = SoftClustering(2, standardize=False, random_state=3)
    objects = distinct_data(unscaled._read(X, Constraints(sample_weight=weight), None), 2).objects
    assert not objects.preparation.is_active
