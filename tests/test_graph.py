from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from soffit.graph import (
    Graph,
    Locality,
    distinct_pairs,
    pair_components,
    reciprocal,
    set_unit_diagonal,
)


@pytest.fixture
def rng():
    return np.random.default_rng(6047)


def both(rng, n=40, *, density=0.1, dtype=np.float64, diagonal=True):
    """The same symmetric weights as an array and in CSR form."""
    A = sp.random_array((n, n), density=density, random_state=rng, dtype=dtype).toarray()
    A = A + A.T
    if not diagonal:
        np.fill_diagonal(A, 0.0)
    return Graph.of(A), Graph.of(sp.csr_array(A))


def graph(rng, n, dtype):
    A = sp.random_array((n, n), density=0.1, random_state=rng, dtype=dtype)
    return sp.csr_array(A + A.T)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_multiply_like_scipy(rng, dtype, limits):
    limits(graph_entries=0, graph_rows=17)
    A = graph(rng, 150, dtype)
    V = rng.normal(size=(150, 4)).astype(dtype)
    result = Graph.of(A).product(V)
    assert result.dtype == dtype
    np.testing.assert_allclose(result, A @ V, rtol=1e-5, atol=1e-6)


def test_dense_and_small_products(rng):
    A = graph(rng, 30, np.float64)
    V = rng.normal(size=(30, 2))
    np.testing.assert_allclose(Graph.of(A.toarray()).product(V), Graph.of(A).product(V))


def test_an_order_permutes_and_comes_back(rng):
    A = graph(rng, 120, np.float64)
    locality = Locality(rng.permutation(120))
    moved = locality.matrix(A)
    order = locality.order
    assert np.array_equal(moved.toarray(), A.toarray()[np.ix_(order, order)])
    assert moved.has_sorted_indices
    assert moved.has_canonical_format
    V = rng.normal(size=(120, 3))
    assert np.array_equal(locality.rows(V), V[order])
    assert np.array_equal(locality.back(locality.rows(V)), V)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_forms_of_columns(rng, dtype, limits):
    A = graph(rng, 90, dtype)
    U = rng.random((90, 3)).astype(dtype)
    expected = np.diag(U.T.astype(float) @ A.toarray().astype(float) @ U)
    np.testing.assert_allclose(Graph.of(A).column_forms(U), expected, rtol=1e-5)
    limits(graph_entries=0, graph_rows=64)
    np.testing.assert_allclose(Graph.of(A).column_forms(U), expected, rtol=1e-5)


@pytest.mark.parametrize("diagonal", [True, False])
def test_forms_of_columns_with_few_entries_a_row(rng, diagonal, limits):
    limits(graph_entries=0, graph_rows=17)
    A = graph(rng, 150, np.float64)
    U = rng.random((150, 80))
    # Some rows have so few entries that only these are looked at, others have not.
    U[rng.random(U.shape) > np.where(np.arange(150) % 2, 0.03, 0.5)[:, None]] = 0.0
    full = A.toarray() - (0.0 if diagonal else np.diag(A.diagonal()))
    expected = np.einsum("ic,ij,jc->c", U, full, U)
    np.testing.assert_allclose(Graph.of(A).column_forms(U, diagonal=diagonal), expected, rtol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scaled_rows_are_exactly_symmetric(rng, dtype, limits):
    limits(graph_rows=16)
    A = graph(rng, 90, dtype)
    x = rng.random(90)
    result = Graph.of(A).scaled(x, x).matrix
    assert result.dtype == dtype
    assert (result != result.T).nnz == 0
    np.testing.assert_allclose(result.toarray(), x[:, None] * A.toarray() * x, rtol=1e-6)
    # The given matrix may be changed later on without changing the result.
    assert not np.shares_memory(result.indices, A.indices)
    y = rng.random(90)
    np.testing.assert_allclose(
        Graph.of(A).scaled(x, y).array(), x[:, None] * A.toarray() * y, rtol=1e-6
    )


# --- both storages --------------------------------------------------------------------------------


def test_a_graph_of_a_graph_is_itself_and_copies_nothing(rng):
    for graph in both(rng):
        assert Graph.of(graph) is graph
        assert Graph.of(graph.matrix).matrix is graph.matrix
        assert np.shares_memory(graph.values, graph.matrix.data)


def test_any_sparse_format_becomes_csr(rng):
    A = sp.coo_matrix(both(rng)[0].matrix)
    assert isinstance(Graph.of(A).matrix, sp.csr_array)


def test_an_array_has_no_edges_to_loop_over(rng):
    dense, sparse = both(rng)
    assert sparse.csr is sparse.matrix
    with pytest.raises(TypeError, match="is_sparse"):
        _ = dense.csr


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "number",
    [
        lambda g: g.degrees(),
        lambda g: g.diagonal(),
        lambda g: g.array(),
        lambda g: g.array(slice(3, 9)),
        lambda g: g.at(np.array([0, 5, 5]), np.array([7, 5, 1])),
        lambda g: g.linked(),
        lambda g: g.row_max(),
        lambda g: g.components(),
        lambda g: g.squared_norm(),
        lambda g: g.squared_norm(diagonal=False),
        lambda g: g.range_of_pairs(),
        lambda g: g.column_forms(np.arange(80.0).reshape(40, 2)),
        lambda g: g.column_forms(np.arange(80.0).reshape(40, 2), diagonal=False),
        lambda g: g.product(np.arange(80.0).reshape(40, 2)),
        lambda g: g.between(np.arange(40) % 3, 3),
        lambda g: g.inside(np.arange(40) % 3),
        lambda g: max(
            g.over_pairs(lambda a, x: (a * x).max(initial=0), np.arange(40.0), np.ones(40))
        ),
        lambda g: g.scaled(np.arange(40.0), np.ones(40)).array(),
        lambda g: g.subgraph(np.array([3, 1, 8, 20])).array(),
        lambda g: g.permuted(np.arange(40)[::-1]).array(),
        lambda g: g.plus(sp.csr_array(np.eye(40)[::-1])).array(),
        lambda g: g.at_least(sp.csr_array(0.5 * np.eye(40))).array(),
        lambda g: g.plus(sp.csr_array(-np.eye(40))).without_negative().array(),
        lambda g: g.without_diagonal().array(),
        lambda g: g.with_positive_diagonal().array(),
        lambda g: set_unit_diagonal(g.without_diagonal().matrix.copy()).sum(),
    ],
)
def test_both_storages_say_the_same(rng, number, dtype):
    for density in (0.02, 0.3):
        dense, sparse = both(rng, density=density, dtype=dtype)
        np.testing.assert_allclose(number(dense), number(sparse), rtol=1e-6, atol=1e-6)


def test_what_changes_nothing_returns_the_graph_itself(rng):
    for graph in both(rng, density=0.5, diagonal=False):
        assert graph.without_diagonal() is graph
        assert graph.without_negative() is graph
        assert graph.without_strays(2) is graph
        assert graph.subgraph(np.arange(graph.n)) is graph
        turned = graph.subgraph(np.arange(graph.n)[:0:-2]).matrix
        assert not sp.issparse(turned) or turned.has_sorted_indices


def test_no_operation_changes_its_graph(rng):
    extra = sp.csr_array(np.eye(40))
    for graph in both(rng, density=0.3):
        kept = graph.matrix.copy()
        for changed in (
            graph.plus(extra),
            graph.at_least(extra),
            graph.without_diagonal(),
            graph.with_positive_diagonal(),
            graph.scaled(np.full(40, 2.0), np.full(40, 2.0)),
        ):
            assert abs(changed.matrix - graph.matrix).max() > 0
        assert abs(graph.matrix - kept).max() == 0


def test_degrees_of_single_precision_are_summed_in_double():
    A = np.full((5000, 5000), 0.1, dtype=np.float32)
    assert Graph.of(A).degrees()[0] == 5000 * float(np.float32(0.1))


def test_components_of_pairs_are_numbered_by_their_first_objects():
    found = pair_components(np.array([4, 2]), np.array([1, 3]), 6)
    assert found.tolist() == [0, 1, 2, 2, 1, 3]


def test_reciprocals_of_what_is_not_positive_are_zero():
    values = np.array([2.0, 0.0, 4.0], dtype=np.float32)
    assert reciprocal(values).tolist() == [0.5, 0.0, 0.25]
    assert reciprocal(values, 0.5).dtype == np.float32


@pytest.mark.parametrize("n", [3, 40, 2**31 - 1])
def test_pairs_are_listed_once(rng, n):
    pairs = rng.integers(n, size=(60, 2))
    expected = np.unique(np.sort(pairs, axis=1), axis=0)
    np.testing.assert_array_equal(distinct_pairs(pairs), expected)
    assert distinct_pairs(pairs[:0]).shape == (0, 2)
