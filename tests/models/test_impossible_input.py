"""Numbers, matrices and arrays that no kernel may see: refused at the door, by name."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from tests.reference.estimators import Array, Case, most_probable

from soffit import CompletelyPositive, SoftClustering
from soffit.affinity import NeighborGraph
from soffit.datasets import Sample
from soffit.metrics import adjusted_rand
from soffit.selection import choose_k

Damage = Callable[[Any], None]


# --- numbers whose squares overflow or vanish -----------------------------------------------------


@pytest.mark.parametrize("value", [1e155, -1e200, np.finfo(np.float64).max])
def test_a_number_too_large_to_square_is_refused_by_place(
    of_pairs: Case, blobs: Sample, y: Array, value: float
) -> None:
    for n_columns in (2, 3, 12):
        X = np.tile(blobs.X, 6)[:, :n_columns].copy()
        X[17, 1] = value
        with pytest.raises(ValueError, match=r"X\[17, 1\] = .* too large.*divide"):
            of_pairs.fit(X, y)


def test_a_new_object_too_large_to_square_is_refused(
    of_pairs: Case, blobs: Sample, fitted_to_blobs: Callable[[Case], Any]
) -> None:
    X = blobs.X[:4].copy()
    X[2, 0] = 1e300
    # Dividing one column of a matrix of pairs would not help.
    with pytest.raises(
        ValueError, match=r"X\[2, 0\] = 1e\+300 is too large.*all numbers by .*1e\+161"
    ):
        fitted_to_blobs(of_pairs).predict_proba(X)


@pytest.mark.parametrize(
    ("dtype", "factor"), [(np.float64, 1e-160), (np.float64, 1e-300), (np.float32, 1e-22)]
)
def test_differences_too_small_to_square_are_refused(
    of_pairs: Case, blobs: Sample, y: Array, dtype: Any, factor: float
) -> None:
    with pytest.raises(
        ValueError, match=r"X has no column whose values differ by more.*Multiply X"
    ):
        of_pairs.fit((factor * blobs.X).astype(dtype), y)


@pytest.mark.parametrize("unit", [np.float64(1e-130), np.float64(1e130), np.float32(1e15)])
def test_numbers_within_the_limits_are_clustered_as_others_are(
    of_pairs: Case,
    blobs: Sample,
    y: Array,
    unit: Any,
    fitted_to_blobs: Callable[[Case], Any],
) -> None:
    scaled = (blobs.X * float(unit)).astype(unit.dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = of_pairs.fit(scaled, y)
        placed = model.predict_proba(scaled).argmax(axis=1)
    expected = most_probable(fitted_to_blobs(of_pairs))
    assert adjusted_rand(expected, most_probable(model)) > 0.98
    assert adjusted_rand(expected, placed) > 0.98


@pytest.mark.parametrize("value", [1e200, 1e-200])
def test_precomputed_matrices_out_of_range_are_refused(
    of_pairs: Case, blobs: Sample, y: Array, value: float
) -> None:
    D = np.linalg.norm(blobs.X[:, None] - blobs.X[None], axis=2)
    for matrix, options in ((D, "metric"), (np.exp(-D), "affinity")):
        with pytest.raises(ValueError, match=r"too large|Multiply"):
            of_pairs.fit(value * matrix, y, **{options: "precomputed"})


def test_choosing_k_refuses_them_too(blobs: Sample) -> None:
    X = blobs.X.copy()
    X[5, 1] = 1e200
    with pytest.raises(ValueError, match=r"X\[5, 1\] = 1e\+200 is too large"):
        choose_k(X)


def test_the_tree_never_names_a_row_that_does_not_exist() -> None:
    X = np.random.default_rng(5).normal(size=(40, 2))
    X[3] = 1e200
    graph = NeighborGraph(5).fit(X).matrix_
    assert graph.indices.max() < 40
    assert graph.indices.min() >= 0


# --- sparse matrices that lie ---------------------------------------------------------------------


def _column_out_of_range(A: Any) -> None:
    A.indices[len(A.indices) // 2] = A.shape[1] + 10**6


def _negative_column(A: Any) -> None:
    A.indices[3] = -7


def _rows_that_shrink(A: Any) -> None:
    A.indptr[5] = A.indptr[4] - 2


def _more_entries_than_stored(A: Any) -> None:
    A.indptr[-1] = 10**6


DAMAGES: list[Damage] = [
    _column_out_of_range,
    _negative_column,
    _rows_that_shrink,
    _more_entries_than_stored,
]
CONTAINERS = (sp.csr_array, sp.csr_matrix, sp.csc_array)


def _damaged(A: Any, container: Any, damage: Damage) -> Any:
    matrix = container(A)
    damage(matrix)
    return matrix


def test_a_sparse_table_that_lies_is_refused(of_pairs: Case, blobs: Sample, y: Array) -> None:
    X = np.hstack([blobs.X] * 4)
    for container, damage in product(CONTAINERS, DAMAGES):
        with pytest.raises(ValueError, match=r"X is not a valid sparse matrix: .*make it again"):
            of_pairs.fit(_damaged(X, container, damage), y)


def test_a_sparse_graph_that_lies_is_refused(of_pairs: Case, blobs: Sample, y: Array) -> None:
    A = np.exp(-np.linalg.norm(blobs.X[:, None] - blobs.X[None], axis=2))
    model = of_pairs.fit(sp.csr_array(A), y, affinity="precomputed")
    for container, damage in product(CONTAINERS, DAMAGES):
        with pytest.raises(ValueError, match="is not a valid sparse matrix"):
            of_pairs.fit(_damaged(A, container, damage), y, affinity="precomputed")
        with pytest.raises(ValueError, match="is not a valid sparse matrix"):
            model.predict_proba(_damaged(A[:30], container, damage))


@pytest.mark.parametrize("damage", DAMAGES)
def test_pair_weights_that_lie_are_refused(blobs: Sample, damage: Damage) -> None:
    weight = _damaged(np.ones((180, 180)), sp.csr_array, damage)
    with pytest.raises(ValueError, match="pair_weight is not a valid sparse matrix"):
        CompletelyPositive(3).fit(blobs.X, pair_weight=weight)


def test_triplets_that_lie_are_refused(blobs: Sample) -> None:
    X = sp.coo_array(blobs.X)
    X.coords[1][7] = 10**6
    with pytest.raises(ValueError, match="X is not a valid sparse matrix"):
        SoftClustering(3).fit(X)


@pytest.mark.parametrize("order", ["unsorted", "twice"])
def test_a_flag_that_lies_changes_nothing(blobs: Sample, order: str) -> None:
    A = sp.csr_array(np.exp(-np.linalg.norm(blobs.X[:, None] - blobs.X[None], axis=2)))
    expected = SoftClustering(3, affinity="precomputed", random_state=29).fit(A).memberships_
    B = A.copy()
    if order == "unsorted":
        for row in range(180):
            part = slice(B.indptr[row], B.indptr[row + 1])
            B.indices[part], B.data[part] = B.indices[part][::-1], B.data[part][::-1]
    else:
        B = sp.csr_array(
            (np.repeat(A.data / 2, 2), np.repeat(A.indices, 2), 2 * A.indptr), shape=A.shape
        )
    B.has_sorted_indices = B.has_canonical_format = True
    before = B.indices.copy()
    model = SoftClustering(3, affinity="precomputed", random_state=29).fit(B)
    assert model.memberships_.tobytes() == expected.tobytes()
    np.testing.assert_array_equal(B.indices, before)


# --- arrays that are no tables of numbers ---------------------------------------------------------


def test_masked_entries_are_missing_values(case: Case, blobs: Sample, y: Array) -> None:
    X = np.ma.masked_array(blobs.X, mask=np.zeros(blobs.X.shape, dtype=bool))
    plain = case.fit(blobs.X, y)
    np.testing.assert_array_equal(most_probable(case.fit(X, y)), most_probable(plain))
    X.mask[4, 1] = X.mask[9, 1] = True
    with pytest.raises(ValueError, match=r"2 of its entries are masked, in columns 1\b.*filled"):
        case.fit(X, y)
    with pytest.raises(ValueError, match="masked"):
        plain.predict_proba(X)
    with pytest.raises(ValueError, match="2 of its entries are masked"):
        case.fit(list(X), y)


@pytest.mark.parametrize("dtype", ["datetime64[D]", "timedelta64[s]"])
def test_dates_are_no_numbers(case: Case, blobs: Sample, y: Array, dtype: str) -> None:
    X = (1e6 * blobs.X).astype("int64").astype(dtype)
    with pytest.raises(TypeError, match=r"dates or durations.*timedelta64\(1, 'D'\)"):
        case.fit(X, y)


def test_dates_among_numbers_are_named() -> None:
    rows: list[Any] = [[i / 7, datetime.date(2020, 1, 1 + i)] for i in range(20)]
    for X in (rows, np.array(rows, dtype=object)):
        with pytest.raises(ValueError, match=r"not numeric: 1 \(dates\)"):
            SoftClustering(2).fit(X)


def test_structured_arrays_are_named() -> None:
    X = np.zeros(20, dtype=[("size", "f8"), ("weight", "f8")])
    with pytest.raises(TypeError, match=r"fields 'size', 'weight'.*pandas.DataFrame"):
        SoftClustering(2).fit(X)


@pytest.mark.parametrize(
    ("value", "message"),
    [(np.nan, "not a number or infinite"), (np.inf, "infinite"), (-1.0, "negative distance")],
)
def test_metrics_that_are_no_distances_are_named(
    of_pairs: Case, blobs: Sample, y: Array, value: float, message: str
) -> None:
    def broken(a: Array, b: Array) -> float:
        return value if np.any(a != b) else 0.0

    with pytest.raises(ValueError, match=rf"metric='broken' .*{message}"):
        of_pairs.fit(blobs.X, y, metric=broken)
