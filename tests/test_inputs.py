from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from soffit import SoftClustering
from soffit.inputs import read_input
from soffit.io import Source

WHY = "this input belongs to an optional library"
TRIANGLE = np.array([[0.0, 2.0, 0.0, 0.0], [2.0, 0.0, 3.0, 0.0], [0.0, 3.0, 5.0, 0.0], [0.0] * 4])


@pytest.fixture
def nx():
    return pytest.importorskip("networkx", reason=WHY)


@pytest.fixture
def ig():
    return pytest.importorskip("igraph", reason=WHY)


@pytest.fixture
def pd():
    return pytest.importorskip("pandas", reason=WHY)


@pytest.fixture
def pl():
    return pytest.importorskip("polars", reason=WHY)


@pytest.fixture
def ad():
    return pytest.importorskip("anndata", reason=WHY)


def assert_graph(door, expected, names):
    assert door.kind == "graph"
    assert isinstance(door.data, sp.csr_array)
    assert door.data.has_canonical_format
    np.testing.assert_array_equal(door.data.toarray(), expected)
    assert (None if door.names is None else door.names.tolist()) == names


# --- plain tables ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "X",
    [
        np.arange(6.0).reshape(3, 2),
        np.array([[1, 2.5]], dtype=object),
        np.array([[1j]]),
        np.empty((0, 3)),
        [[1.0, 2.0], [3.0, 4.0]],
        "text",
        None,
    ],
    ids=["float", "object", "complex", "empty", "list", "str", "none"],
)
def test_plain_objects_pass_untouched(X):
    door = read_input(X)
    assert door.data is X
    assert door.kind == "table"
    assert door.names is None


@pytest.mark.parametrize(
    "X", [np.array([[1, "a"]], dtype=object), np.array([[1, "a"]]), [[1, "a"]]]
)
def test_text_in_arrays_and_lists_is_named(X):
    with pytest.raises(ValueError, match=r'not numeric: .*1 \(text\)\..*metric="gower"'):
        read_input(X)


@pytest.mark.parametrize("container", [list, tuple, np.array])
def test_texts_are_refused_with_the_way_to_numbers(container):
    texts = container(["a cat sat", "a dog ran", "rain today"])
    with pytest.raises(ValueError, match=r"X holds texts.*TfidfVectorizer"):
        SoftClustering(2).fit(texts)


def test_a_column_of_texts_is_refused_with_the_way_to_numbers(pd):
    with pytest.raises(ValueError, match=r"X holds texts.*TfidfVectorizer"):
        SoftClustering(2).fit(pd.Series(["a cat sat", "a dog ran", "rain today"]))


@pytest.mark.parametrize("form", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
@pytest.mark.parametrize("container", ["matrix", "array"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_sparse_formats_become_csr_arrays(form, container, dtype):
    dense = np.array([[0, 1, 0], [2, 0, 3]], dtype=dtype)
    door = read_input(getattr(sp, f"{form}_{container}")(dense))
    assert isinstance(door.data, sp.csr_array)
    assert door.kind == "table"
    assert door.data.dtype == dtype
    np.testing.assert_array_equal(door.data.toarray(), dense)


def test_disordered_csr_is_put_in_order_on_a_copy():
    data, indices, indptr = np.array([1.0, 2.0, 4.0]), np.array([2, 0, 2]), np.array([0, 3])
    X = sp.csr_matrix((data, indices, indptr), shape=(1, 3))
    door = read_input(X)
    assert door.data.has_canonical_format
    np.testing.assert_array_equal(door.data.toarray(), [[2.0, 0.0, 5.0]])
    np.testing.assert_array_equal(X.indices, [2, 0, 2])
    np.testing.assert_array_equal(X.data, [1.0, 2.0, 4.0])


def test_input_is_frozen_and_pickles(nx):
    door = read_input(nx.path_graph(3))
    with pytest.raises(AttributeError):
        door.kind = "table"
    assert pickle.loads(pickle.dumps(door)).names.tolist() == [0, 1, 2]


# --- data frames ----------------------------------------------------------------------------------


def test_pandas_frame_passes_and_a_range_index_names_nothing(pd):
    frame = pd.DataFrame({"a": [1, 2], "b": [0.5, 0.25], "c": [True, False]})
    door = read_input(frame)
    assert door.data is frame
    assert door.kind == "table"
    assert door.names is None


@pytest.mark.parametrize("index", [["x", "y"], [7, 3]])
def test_pandas_index_gives_the_names(pd, index):
    assert read_input(pd.DataFrame({"a": [1.0, 2.0]}, index=index)).names.tolist() == index


def test_pandas_extension_and_object_numbers_are_numbers(pd):
    frame = pd.DataFrame(
        {
            "integers": pd.array([1, 2], dtype="Int64"),
            "sparse": pd.arrays.SparseArray([0.0, 1.0]),
            "objects": np.array([1, 2.5], dtype=object),
        }
    )
    assert read_input(frame).data is frame


def test_pandas_columns_that_are_no_numbers_are_named(pd):
    frame = pd.DataFrame(
        {
            "fine": [1.0, 2.0],
            "city": ["Rome", "Oslo"],
            "kind": pd.Categorical([1, 2]),
            "when": pd.to_datetime(["2020-01-01", "2021-01-01"]),
        }
    )
    with pytest.raises(ValueError, match="not numeric") as caught:
        read_input(frame)
    message = str(caught.value)
    assert all(name in message for name in ("'city'", "'kind' (category)", "'when'", "Encoder"))
    assert "'fine'" not in message


def test_many_wrong_columns_are_counted_not_listed(pd):
    frame = pd.DataFrame({f"c{i}": ["a"] for i in range(9)})
    with pytest.raises(ValueError, match=r"'c4' \(\w+\) and 4 more"):
        read_input(frame)


def test_pandas_gaps_are_named_and_counted(pd):
    frame = pd.DataFrame(
        {
            "full": [1.0, 2.0, 3.0],
            "holes": [np.nan, 1.0, np.nan],
            "nulls": pd.array([1, None, 3], dtype="Int64"),
            "objects": np.array([1, pd.NA, None], dtype=object),
        }
    )
    expected = r"'holes' \(2 missing\), 'nulls' \(1 missing\), 'objects' \(2 missing\)"
    with pytest.raises(ValueError, match=expected) as caught:
        read_input(frame)
    assert "full" not in str(caught.value)
    assert "SimpleImputer" in str(caught.value)


def test_pandas_columns_may_share_a_name(pd):
    frame = pd.DataFrame(np.ones((2, 2)), columns=["a", "a"])
    assert read_input(frame).data is frame
    frame = pd.DataFrame([[1.0, "b"]], columns=["a", "a"])
    with pytest.raises(ValueError, match="not numeric: 'a'"):
        read_input(frame)


def test_subclass_of_a_frame_is_a_frame(pd):
    class Special(pd.DataFrame):
        pass

    assert read_input(Special({"a": [1.0, 2.0]}, index=["x", "y"])).names.tolist() == ["x", "y"]


def test_polars_frame_passes(pl):
    frame = pl.DataFrame({"a": [1, 2], "b": [0.5, 0.25], "c": [True, False]})
    door = read_input(frame)
    assert door.data is frame
    assert (door.kind, door.names) == ("table", None)


def test_polars_lazy_frame_is_collected(pl):
    door = read_input(pl.LazyFrame({"a": [1.0, 2.0]}).with_columns(b=2 * pl.col("a")))
    np.testing.assert_array_equal(np.asarray(door.data), [[1.0, 2.0], [2.0, 4.0]])


def test_polars_columns_that_are_no_numbers_are_named(pl):
    frame = pl.DataFrame({"fine": [1], "city": ["Rome"], "list": [[1.0]]})
    with pytest.raises(ValueError, match=r"not numeric: 'city' \(String\), 'list'"):
        read_input(frame)


def test_polars_nulls_and_nans_are_gaps(pl):
    frame = pl.DataFrame({"a": [1.0, None, float("nan")], "b": [1, None, 3], "c": [1, 2, 3]})
    with pytest.raises(ValueError, match=r"'a' \(2 missing\), 'b' \(1 missing\)\."):
        read_input(frame)


def test_polars_column_of_nulls_only_in_a_float_type(pl):
    frame = pl.DataFrame({"a": [None, None]}, schema={"a": pl.Float64})
    with pytest.raises(ValueError, match=r"'a' \(2 missing\)"):
        read_input(frame)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_satisfy_scikit_learn(library):
    from sklearn.base import BaseEstimator
    from sklearn.utils.validation import validate_data

    module = pytest.importorskip(library, reason=WHY)
    estimator = BaseEstimator()
    frame = module.DataFrame({"a": [1, 2], "b": [0.5, 0.25]})
    given = read_input(frame)
    X = validate_data(estimator, given.data, dtype=[np.float64, np.float32])
    np.testing.assert_array_equal(X, [[1.0, 0.5], [2.0, 0.25]])
    # Releases of scikit-learn before 1.8 do not read the names of recent polars frames.
    names = getattr(estimator, "feature_names_in_", given.columns)
    assert names.tolist() == ["a", "b"]


# --- networkx -------------------------------------------------------------------------------------


def test_networkx_weights_loops_and_isolated_nodes(nx):
    graph = nx.Graph()
    graph.add_nodes_from("abcd")
    graph.add_weighted_edges_from([("b", "a", 2.0), ("b", "c", 3), ("c", "c", 5.0)])
    before = nx.Graph(graph)
    door = read_input(graph)
    assert_graph(door, TRIANGLE, list("abcd"))
    assert door.data.dtype == np.float64
    assert nx.utils.graphs_equal(graph, before)


def test_networkx_edges_without_weight_count_one(nx):
    graph = nx.Graph([(0, 1), (1, 2)])
    graph.edges[1, 2]["weight"] = 0.5
    assert_graph(read_input(graph), [[0, 1, 0], [1, 0, 0.5], [0, 0.5, 0]], [0, 1, 2])


def test_networkx_parallel_edges_add_up(nx):
    graph = nx.MultiGraph([("a", "b", {"weight": 1.5}), ("b", "a", {"weight": 2.0}), ("a", "a")])
    graph.add_edge("a", "a")
    assert_graph(read_input(graph), [[2.0, 3.5], [3.5, 0.0]], ["a", "b"])


def test_networkx_nodes_may_be_tuples(nx):
    assert read_input(nx.grid_2d_graph(2, 2)).names.tolist() == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_networkx_edges_of_weight_zero_are_no_edges(nx):
    graph = nx.Graph([(0, 1), (1, 2, {"weight": 0.0})])
    assert read_input(graph).data.nnz == 2


def test_directed_graph_is_averaged_with_a_warning(nx):
    graph = nx.DiGraph([("a", "b", {"weight": 3.0}), ("b", "a", {"weight": 1.0}), ("b", "c")])
    graph.add_edge("c", "c", weight=4.0)
    with pytest.warns(UserWarning, match=r"\(A \+ A\.T\) / 2"):
        door = read_input(graph)
    assert_graph(door, [[0, 2, 0], [2, 0, 0.5], [0, 0.5, 4]], ["a", "b", "c"])


def test_directed_graph_that_is_symmetric_needs_no_warning(nx):
    graph = nx.path_graph(3)
    # A warning would be an error here.
    assert_graph(read_input(graph.to_directed()), nx.to_numpy_array(graph), [0, 1, 2])


def test_directed_multigraph(nx):
    graph = nx.MultiDiGraph([(0, 1), (0, 1), (1, 0)])
    with pytest.warns(UserWarning, match="directed"):
        assert_graph(read_input(graph), [[0, 1.5], [1.5, 0]], [0, 1])


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf")])
def test_networkx_bad_weight_names_the_edge(nx, weight):
    graph = nx.Graph([("ann", "bob"), ("bob", "cyd", {"weight": weight})])
    with pytest.raises(ValueError, match=rf"edge \('bob', 'cyd'\) is {weight}.*nonnegative"):
        read_input(graph)


@pytest.mark.parametrize("weight", ["heavy", [1.0, 2.0], 1j, {}])
def test_networkx_weight_that_is_no_number_names_the_edge(nx, weight):
    graph = nx.Graph([("ann", "bob", {"weight": weight})])
    with pytest.raises(TypeError, match=r"edge \('ann', 'bob'\) is .*not a number"):
        read_input(graph)


def test_graph_without_nodes_or_edges_is_refused(nx, ig):
    for graph in (nx.Graph(), nx.DiGraph(), ig.Graph()):
        with pytest.raises(ValueError, match="no nodes"):
            read_input(graph)
    for graph in (nx.empty_graph(4), ig.Graph(4), nx.Graph([(0, 1, {"weight": 0})])):
        with pytest.raises(ValueError, match=r"(2|4) nodes but no edge"):
            read_input(graph)


edges = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 6), st.floats(0.125, 8.0, width=16)), min_size=1
)


@given(edges=edges)
def test_graphs_agree_with_networkx_and_with_one_another(edges):
    nx = pytest.importorskip("networkx", reason=WHY)
    ig = pytest.importorskip("igraph", reason=WHY)
    graph = nx.MultiGraph()
    graph.add_nodes_from(range(7))
    graph.add_weighted_edges_from(edges)
    A = read_input(graph).data.toarray()
    np.testing.assert_array_equal(A, A.T)
    np.testing.assert_allclose(A, nx.to_numpy_array(graph), rtol=1e-12)
    twin = ig.Graph(n=7, edges=[edge[:2] for edge in edges])
    twin.es["weight"] = [edge[2] for edge in edges]
    np.testing.assert_allclose(read_input(twin).data.toarray(), A, rtol=1e-12)


# --- igraph ---------------------------------------------------------------------------------------


def test_igraph_weights_names_and_isolated_nodes(ig):
    graph = ig.Graph(n=4, edges=[(1, 0), (1, 2), (2, 2)])
    graph.es["weight"] = [2.0, 3.0, 5.0]
    assert_graph(read_input(graph), TRIANGLE, None)
    graph.vs["name"] = list("abcd")
    assert_graph(read_input(graph), TRIANGLE, list("abcd"))


def test_igraph_edges_without_weight_count_one(ig):
    graph = ig.Graph(n=3, edges=[(0, 1), (1, 2), (1, 2)])
    assert_graph(read_input(graph), [[0, 1, 0], [1, 0, 2], [0, 2, 0]], None)
    graph.es[0]["weight"] = 4.0
    assert_graph(read_input(graph), [[0, 4, 0], [4, 0, 2], [0, 2, 0]], None)


def test_igraph_directed_graph_is_averaged_with_a_warning(ig):
    graph = ig.Graph(n=2, edges=[(0, 1)], directed=True)
    with pytest.warns(UserWarning, match="directed"):
        assert_graph(read_input(graph), [[0, 0.5], [0.5, 0]], None)


def test_igraph_bad_weight_names_the_edge(ig):
    graph = ig.Graph(n=3, edges=[(0, 1), (1, 2)])
    graph.es["weight"] = [1.0, -2.0]
    with pytest.raises(ValueError, match=r"edge \(1, 2\) is -2\.0"):
        read_input(graph)
    graph.vs["name"] = list("abc")
    with pytest.raises(ValueError, match=r"edge \('b', 'c'\) is -2\.0"):
        read_input(graph)


# --- AnnData --------------------------------------------------------------------------------------


@pytest.fixture
def cells(ad):
    rng = np.random.default_rng(7919)
    made = ad.AnnData(rng.random((4, 3)).astype(np.float32))
    made.obs_names = [f"cell{i}" for i in range(4)]
    return made


def test_anndata_prefers_the_neighbour_graph(cells):
    cells.obsm["X_pca"] = np.ones((4, 2))
    cells.obsp["connectivities"] = sp.csr_matrix(TRIANGLE.astype(np.float32))
    door = read_input(cells)
    assert_graph(door, TRIANGLE, list(cells.obs_names))
    assert door.data.dtype == np.float32
    assert not np.shares_memory(door.data.data, cells.obsp["connectivities"].data)


def test_anndata_dense_neighbour_graph_and_view(cells):
    cells.obsp["connectivities"] = TRIANGLE
    assert_graph(read_input(cells), TRIANGLE, list(cells.obs_names))
    assert_graph(read_input(cells[1:]), TRIANGLE[1:, 1:], list(cells.obs_names[1:]))


def test_anndata_uneven_graph_is_averaged_with_a_warning(cells):
    cells.obsp["connectivities"] = sp.csr_matrix(np.triu(TRIANGLE, 1))
    with pytest.warns(UserWarning, match="directed"):
        door = read_input(cells)
    np.testing.assert_array_equal(
        door.data.toarray(), (np.triu(TRIANGLE, 1) + np.tril(TRIANGLE, -1)) / 2
    )


def test_anndata_bad_weight_names_the_cells(cells):
    cells.obsp["connectivities"] = sp.csr_matrix(-TRIANGLE)
    with pytest.raises(ValueError, match=r"edge \('cell0', 'cell1'\) is -2"):
        read_input(cells)


def test_anndata_falls_back_to_components_then_to_values(cells):
    door = read_input(cells)
    np.testing.assert_array_equal(door.data, cells.X)
    assert (door.kind, door.names.tolist()) == ("table", list(cells.obs_names))
    cells.obsm["X_pca"] = np.arange(8.0).reshape(4, 2)
    door = read_input(cells[:3])
    assert type(door.data) is np.ndarray
    np.testing.assert_array_equal(door.data, np.arange(6.0).reshape(3, 2))


def test_anndata_sparse_values_and_views_become_csr_arrays(cells):
    cells.X = sp.csr_matrix(cells.X)
    for some in (cells, cells[1:]):
        door = read_input(some)
        assert type(door.data) is sp.csr_array
        np.testing.assert_array_equal(door.data.toarray(), some.X.toarray())


def test_anndata_without_any_values_is_refused(ad, pd):
    with pytest.raises(ValueError, match="X_pca"):
        read_input(ad.AnnData(obs=pd.DataFrame(index=["a", "b"])))


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_anndata_left_on_disk_is_read(ad, cells, tmp_path, storage):
    values = np.array(cells.X)
    cells.X = storage(values)
    cells.write_h5ad(tmp_path / "cells.h5ad")
    backed = ad.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    data = read_input(backed).data
    backed.file.close()
    np.testing.assert_array_equal(data.toarray() if sp.issparse(data) else data, values)


# --- no library needed ----------------------------------------------------------------------------


def test_reading_loads_no_optional_library():
    code = (
        "import sys\n"
        "from soffit.inputs import read_input\n"
        "read_input([[1.0, 2.0]])\n"
        "wanted = {'polars', 'networkx', 'igraph', 'anndata'}\n"
        "raise SystemExit(', '.join(wanted & set(sys.modules)) or 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# --- files ----------------------------------------------------------------------------------------


def test_a_table_from_a_file_keeps_its_names():
    data = np.arange(6.0).reshape(3, 2)
    source = Source("table", data, columns=("a", "b"), ids=np.array(["x", "y", "z"]))
    given = read_input(source)
    assert given.kind == "table"
    assert given.data is data
    assert given.columns.tolist() == ["a", "b"]
    assert given.names.tolist() == ["x", "y", "z"]


@pytest.mark.parametrize("kind", ["distances", "similarities"])
def test_a_matrix_from_a_file_has_no_columns(kind):
    given = read_input(Source(kind, np.zeros((3, 3))))
    assert (given.kind, given.columns, given.names) == ("table", None, None)


def test_a_graph_from_a_file_needs_no_affinity():
    graph = sp.csr_array(np.ones((4, 4)) - np.eye(4))
    given = read_input(Source("graph", graph, ids=np.array(list("abcd"))))
    assert given.kind == "graph"
    assert given.names.tolist() == list("abcd")


def test_a_model_takes_a_file_as_its_input():
    rng = np.random.default_rng(71)
    data = np.concatenate([rng.normal(0, 1, (20, 2)), rng.normal(8, 1, (20, 2))])
    model = SoftClustering(2, random_state=0)
    expected = model.fit(data).memberships_
    found = model.fit(Source("table", data, columns=("a", "b"))).memberships_
    np.testing.assert_array_equal(found, expected)
