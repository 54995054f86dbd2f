"""Awkward input: each case has a defined result or an error that says what to do."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from tests.reference.problems import block_diagonal

from soffit import SoF, SoftClustering
from soffit.datasets import Sample

Make = Callable[..., Any]


def _check_rows(model: Any, n: int, k: int) -> None:
    assert model.memberships_.shape == (n, k)
    assert np.isfinite(model.memberships_).all()
    np.testing.assert_allclose(model.memberships_.sum(axis=1), 1.0, atol=1e-9)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_are_refused(make: Make, blobs: Sample, bad: float) -> None:
    X = blobs.X.copy()
    X[3, 1] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        make(3).fit(X)
    model = make(3, random_state=29).fit(blobs.X)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        model.predict_proba(X)


def test_repeated_rows(make: Make, blobs: Sample) -> None:
    X = np.repeat(blobs.X[:12], 10, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make(2, random_state=29).fit(X)
    _check_rows(model, 120, 2)
    same = model.memberships_.reshape(12, 10, 2)
    assert np.ptp(same.argmax(axis=2), axis=1).max() == 0


def test_all_rows_equal(make: Make) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make(2, random_state=29).fit(np.ones((40, 3)))
    _check_rows(model, 40, 2)


def test_constant_columns_change_nothing(make: Make, blobs: Sample) -> None:
    padded = np.column_stack([blobs.X, np.full(len(blobs.X), 7.0)])
    plain = make(3, random_state=29).fit(blobs.X)
    model = make(3, random_state=29).fit(padded)
    np.testing.assert_array_equal(plain.labels_, model.labels_)


def test_one_object(make: Make) -> None:
    model = make(1, random_state=29).fit([[1.0, 2.0]])
    np.testing.assert_allclose(model.memberships_, [[1.0]])
    with pytest.raises(ValueError, match=r"n_clusters=2 .* n_samples=1.* at most 1"):
        make(2).fit([[1.0, 2.0]])


def test_more_clusters_than_objects(make: Make, blobs: Sample) -> None:
    with pytest.raises(ValueError, match=r"n_clusters=9 .* n_samples=5.* at most 5"):
        make(9).fit(blobs.X[:5])


def test_as_many_clusters_as_objects(make: Make, blobs: Sample) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make(6, random_state=29).fit(blobs.X[:6])
    _check_rows(model, 6, 6)


def test_two_objects(make: Make) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make(2, random_state=29).fit([[0.0], [1.0]])
    _check_rows(model, 2, 2)


def test_empty_input(make: Make) -> None:
    with pytest.raises(ValueError, match=r"minimum of 1 is required|0 sample"):
        make(2).fit(np.empty((0, 3)))
    with pytest.raises(ValueError, match="0 feature"):
        make(2).fit(np.empty((5, 0)))


def _two_cliques(extra: int = 0) -> np.ndarray[Any, np.dtype[np.float64]]:
    n = 20 + extra
    A = np.zeros((n, n))
    A[:10, :10] = A[10:20, 10:20] = 1.0
    np.fill_diagonal(A, 0.0)
    return A


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array, sp.coo_array])
def test_isolated_nodes_get_the_mean_membership(make: Make, storage: Callable[..., Any]) -> None:
    model = make(2, affinity="precomputed", random_state=29).fit(storage(_two_cliques(extra=3)))
    _check_rows(model, 23, 2)
    rows = model.factor_[:20] / model.factor_[:20].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(
        model.memberships_[20:], np.tile(rows.mean(axis=0), (3, 1)), atol=1e-9
    )


def test_disconnected_graph_is_split_along_its_components() -> None:
    A = sp.csr_array(_two_cliques())
    model = SoftClustering(2, affinity="precomputed", random_state=29).fit(A)
    assert len(np.unique(model.labels_[:10])) == len(np.unique(model.labels_[10:])) == 1
    assert model.labels_[0] != model.labels_[10]


def test_more_components_than_clusters() -> None:
    A = block_diagonal([np.ones((5, 5)) for _ in range(30)])
    model = SoftClustering(3, affinity="precomputed", random_state=29).fit(A)
    _check_rows(model, 150, 3)
    # No component is torn apart.
    assert np.ptp(model.labels_.reshape(30, 5), axis=1).max() == 0


def test_graph_without_any_edge_is_all_prior(make: Make) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make(2, affinity="precomputed", random_state=29).fit(np.eye(6))
    np.testing.assert_allclose(model.memberships_, 0.5)


def test_asymmetric_similarities_are_refused(make: Make) -> None:
    A = np.ones((6, 6))
    A[0, 1] = 3.0
    with pytest.raises(ValueError, match=r"symmetric.* 2\b.*\(A \+ A\.T\) / 2"):
        make(2, affinity="precomputed").fit(A)


def test_negative_similarities_are_refused(make: Make) -> None:
    A = np.ones((6, 6))
    A[0, 1] = A[1, 0] = -0.5
    with pytest.raises(ValueError, match=r"-0\.5"):
        make(2, affinity="precomputed").fit(A)


def test_distances_given_as_similarities_are_refused(make: Make, blobs: Sample) -> None:
    D = np.linalg.norm(blobs.X[:, None] - blobs.X[None], axis=2)
    with pytest.raises(ValueError, match=r"looks like distances.*metric='precomputed'"):
        make(3, affinity="precomputed").fit(D)


def test_similarities_given_as_distances_are_refused(make: Make, blobs: Sample) -> None:
    D = np.linalg.norm(blobs.X[:, None] - blobs.X[None], axis=2)
    with pytest.raises(ValueError, match="affinity='precomputed'"):
        make(3, metric="precomputed").fit(np.exp(-D))


def test_matrix_given_as_features_is_pointed_out(make: Make, blobs: Sample) -> None:
    D = np.linalg.norm(blobs.X[:40, None] - blobs.X[None, :40], axis=2)
    with pytest.warns(UserWarning, match="reads its rows as features"):
        make(3, random_state=29).fit(D)


def test_matrix_must_be_square(make: Make) -> None:
    with pytest.raises(ValueError, match="square"):
        make(2, affinity="precomputed").fit(np.ones((5, 4)))
    with pytest.raises(ValueError, match="square"):
        make(2, metric="precomputed").fit(np.ones((5, 4)))


def test_new_objects_of_the_wrong_width(make: Make, blobs: Sample) -> None:
    model = make(3, random_state=29).fit(blobs.X)
    with pytest.raises(ValueError, match=r"3 features, but .* expecting 2"):
        model.predict_proba(np.ones((4, 3)))


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("n_clusters", 0),
        ("n_clusters", 2.5),
        ("n_clusters", "three"),
        ("n_neighbors", 0),
        ("max_iter", 0),
        ("tol", -1e-3),
        ("n_jobs", 1.5),
        ("n_jobs", 0),
        ("metric", 3),
    ],
)
def test_bad_parameters_are_named(make: Make, blobs: Sample, parameter: str, value: Any) -> None:
    model = make(3).set_params(**{parameter: value})
    with pytest.raises(ValueError, match=rf"{parameter} must be .*got {value!r}"):
        model.fit(blobs.X)


def test_unknown_affinity_lists_the_known_ones(make: Make, blobs: Sample) -> None:
    with pytest.raises(ValueError, match=r"affinity='euclid'.*nearest_neighbors"):
        make(3, affinity="euclid").fit(blobs.X)


def test_unknown_metric_is_named(make: Make, blobs: Sample) -> None:
    with pytest.raises(ValueError, match="euclidian"):
        make(3, metric="euclidian").fit(blobs.X)


def test_text_is_refused(make: Make) -> None:
    with pytest.raises(ValueError, match=r'not numeric: 0 \(text\), 1 .*metric="gower"'):
        make(2).fit([["a", "b"], ["c", "d"], ["e", "f"]])


def test_one_dimensional_input_is_refused(make: Make) -> None:
    with pytest.raises(ValueError, match="Expected 2D array"):
        make(2).fit(np.arange(10.0))


def test_dense_matrix_that_does_not_fit_is_refused_before_it_is_made() -> None:
    X = sp.csr_array((2_000_000, 2), dtype=np.float64)
    with pytest.raises(MemoryError, match=r"GB.*affinity='nearest_neighbors'"):
        SoF(2).fit(X)
