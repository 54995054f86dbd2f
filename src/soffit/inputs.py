"""Inputs of all supported types as a table or a symmetric graph, with names if there are any.

Objects of optional libraries are recognised by their class names, so that no library is imported
here.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, time, timedelta
from itertools import chain
from numbers import Number
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from soffit._matrix_checks import checked_csr
from soffit._wording import Message, Parameter, first_few
from soffit.graph import undirected

# Relative to the largest weight: smaller differences between the triangles are rounding.
_ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class Input:
    """An input as a table or a graph.

    Attributes
    ----------
    data : array-like, data frame or csr_array
        A table, not yet validated (arrays, lists and frames as given, sparse matrices as canonical
        ``csr_array``), or the symmetric, nonnegative weights of a graph as ``csr_array``.
    kind : {"table", "graph"}
        Whether `data` is a graph that needs no affinity. Everything else is a "table", including
        square matrices: only the caller knows whether they hold similarities.
    names : ndarray of shape (n,) or None
        Names of the objects, if they have any.
    columns : ndarray of shape (d,) or None
        Names of the features of a table whose `data` do not carry them, such as those of a file.
        They become `feature_names_in_` of a model. A pandas frame keeps its own.

    Examples
    --------
    >>> import networkx as nx
    >>> from soffit.inputs import read_input
    >>> found = read_input(nx.path_graph(["a", "b", "c"]))
    >>> found.kind, found.names.tolist()
    ('graph', ['a', 'b', 'c'])
    """

    data: Any
    kind: Literal["table", "graph"]
    names: NDArray[Any] | None = None
    columns: NDArray[Any] | None = None


def read_input(X: Any) -> Input:
    r"""Turn any supported object into a table or a graph.

    A graph becomes the matrix of its edge weights, missing weights counting as 1:

    .. math:: A_{ij} = \sum_{e = \{i, j\}} w_e, \qquad
              A \leftarrow \tfrac12 (A + A^\top) \text{ if directed.}

    Parameters
    ----------
    X : object
        - NumPy arrays, lists and unknown objects: a table, passed on unchanged; arrays of dates
          and arrays with masked entries are refused;
        - pandas and polars data frames: a table whose columns must be numeric without missing
          values; a pandas index that is not a range gives the names; a lazy frame of polars is
          collected;
        - SciPy sparse matrices and arrays of any format: a table in CSR form;
        - networkx and igraph graphs: a graph. Weights are read from the edge attribute
          ``"weight"``. Parallel edges add up, a self-loop counts once on the diagonal, isolated
          nodes stay. A directed graph is averaged with its reverse, with a warning if this changes
          it;
        - AnnData: ``obsp["connectivities"]`` as a graph if present, else ``obsm["X_pca"]`` as a
          table, else ``X`` as a table;
        - `soffit.io.Source`, the content of a file: a graph, or a table with its names.

    Returns
    -------
    Input
        The data, their kind, and the names of objects and columns. `X` is never modified.

    Raises
    ------
    TypeError
        If an edge weight is not a number.
    ValueError
        If columns of a frame are not numeric or have missing values, if weights are negative or
        not finite, or if a graph has no nodes or no edges.

    Examples
    --------
    >>> import networkx as nx
    >>> from soffit.inputs import read_input
    >>> graph = nx.Graph()
    >>> graph.add_weighted_edges_from([("ann", "bob", 2.0), ("bob", "cyd", 1.0)])
    >>> given = read_input(graph)
    >>> given.kind, given.names.tolist()
    ('graph', ['ann', 'bob', 'cyd'])
    >>> given.data.toarray()
    array([[0., 2., 0.],
           [2., 0., 1.],
           [0., 1., 0.]])
    """
    if sp.issparse(X):
        return Input(checked_csr(X, what="X"), "table")
    for ancestor in type(X).__mro__:
        library = ancestor.__module__.partition(".")[0]
        reader = _READERS.get((library, ancestor.__name__))
        if reader is not None:
            return reader(X)
    if isinstance(X, list | tuple) and any(isinstance(row, np.ma.MaskedArray) for row in X):
        return _from_masked(np.ma.stack(X))
    _check_array(X)
    return Input(X, "table")


# --- tables ---------------------------------------------------------------------------------------


_DATES = (date, time, timedelta, np.datetime64, np.timedelta64)


def _from_masked(array: Any) -> Input:
    """Masked entries are missing values."""
    count = int(np.ma.count_masked(array))
    if count and array.ndim == 2:
        gaps = np.ma.getmaskarray(array).any(axis=0)
        where = f", in columns {first_few(np.flatnonzero(gaps))}"
    else:
        where = ""
    if count:
        raise ValueError(
            f"X has missing values: {count} of its entries are masked{where}. Drop these rows or "
            "columns, or fill in the values, X.filled(...)."
        )
    return read_input(np.asarray(array))


def _check_array(X: Any) -> None:
    """Refuse dates, and name the columns of text of an array or a list of rows."""
    if isinstance(X, np.ndarray) and X.dtype.kind in "mM":
        raise TypeError(
            f"X holds dates or durations ({X.dtype}), not numbers: their values depend on the unit "
            "in which they are stored. Convert them to the unit that you mean, for example "
            "(X - X.min()) / np.timedelta64(1, 'D')."
        )
    if isinstance(X, np.ndarray) and X.dtype.names:
        raise TypeError(
            f"X is a structured array with the fields {first_few(map(repr, X.dtype.names))}. "
            "Pass a data frame, pandas.DataFrame(X), or an array of numbers, "
            "numpy.lib.recfunctions.structured_to_unstructured(X)."
        )
    _check_no_texts(X)
    if isinstance(X, list | tuple) and X and isinstance(X[0], list | tuple):
        is_mixed = any(isinstance(value, (str, *_DATES)) for value in X[0])
    else:
        is_mixed = isinstance(X, np.ndarray) and X.dtype.kind in "OU"
    if not is_mixed:
        return
    values = np.asarray(X, dtype=object)
    if values.ndim != 2:
        return
    dates = [any(isinstance(value, _DATES) for value in column) for column in values.T]
    words = [any(isinstance(value, str) for value in column) for column in values.T]
    if any(dates) or any(words):
        kinds = ["dates" if has_dates else "text" for has_dates in dates]
        numeric = [not (a or b) for a, b in zip(dates, words, strict=True)]
        _check_numeric(range(len(kinds)), kinds, numeric)


def _check_no_texts(X: Any) -> None:
    """Refuse one text per object: which words count is for the user to say."""
    is_flat = isinstance(X, list | tuple) or getattr(X, "ndim", 0) == 1  # also a pandas Series
    if is_flat and any(isinstance(value, str) for value in X):
        raise ValueError(
            "X holds texts, not numbers. Turn them into a table of word weights first, for example "
            "sklearn.feature_extraction.text.TfidfVectorizer().fit_transform(X), or embed them."
        )


def _from_pandas(frame: Any) -> Input:
    dtypes = list(frame.dtypes)
    numeric = (
        dtype.kind in "biufc"
        or (
            dtype == np.dtype(object)
            and all(isinstance(value, Number) for value in frame.iloc[:, position].dropna())
        )
        for position, dtype in enumerate(dtypes)
    )
    _check_numeric(frame.columns, dtypes, numeric)
    # Column by column: pandas warns about its own casts on frames of mixed types.
    _check_complete(frame.columns, (int(np.sum(column.isna())) for _, column in frame.items()))
    names = None if type(frame.index).__name__ == "RangeIndex" else np.asarray(frame.index)
    return Input(frame, "table", names)


def _from_polars(frame: Any) -> Input:
    dtypes = list(frame.dtypes)
    numeric = (dtype.is_numeric() or str(dtype) == "Boolean" for dtype in dtypes)
    _check_numeric(frame.columns, dtypes, numeric)
    # polars distinguishes null from NaN; here both are missing.
    gaps = [
        column.null_count() + (int(column.is_nan().sum() or 0) if column.dtype.is_float() else 0)
        for column in frame.get_columns()
    ]
    _check_complete(frame.columns, gaps)
    # Not every release of scikit-learn reads the names of every release of polars.
    return Input(frame, "table", columns=np.array(frame.columns, dtype=object))


def _check_numeric(columns: Iterable[Any], dtypes: Iterable[Any], numeric: Iterable[bool]) -> None:
    wrong = [
        f"{column!r} ({dtype})"
        for column, dtype, fine in zip(columns, dtypes, numeric, strict=True)
        if not fine
    ]
    if wrong:
        raise ValueError(
            Message(
                f"X has columns that are not numeric: {first_few(wrong)}. Pass ",
                *(
                    Parameter("metric", "gower"),
                    ", which compares numbers and text, drop them, or ",
                ),
                "encode them as numbers (for example with sklearn.preprocessing.OneHotEncoder).",
            )
        )


def _check_complete(columns: Iterable[Any], gaps: Iterable[int]) -> None:
    wrong = [
        f"{column!r} ({count} missing)"
        for column, count in zip(columns, gaps, strict=True)
        if count > 0
    ]
    if wrong:
        raise ValueError(
            Message(
                f"X has missing values (NaN) in columns {first_few(wrong)}. Pass ",
                *(Parameter("metric", "gower"), ", which compares what is there, drop these rows "),
                "or columns, or fill in the values (for example with "
                "sklearn.impute.SimpleImputer).",
            )
        )


# --- graphs ---------------------------------------------------------------------------------------


def _from_networkx(graph: Any) -> Input:
    names = _object_array(graph.nodes)
    position = {node: index for index, node in enumerate(graph.nodes)}
    edges = list(graph.edges(data="weight"))
    ends = chain.from_iterable((position[tail], position[head]) for tail, head, _ in edges)
    pairs = np.fromiter(ends, dtype=np.intp, count=2 * len(edges)).reshape(-1, 2)
    weights = _edge_weights([weight for _, _, weight in edges], pairs, names)
    return Input(_adjacency(pairs, weights, names, graph.is_directed()), "graph", names)


def _from_igraph(graph: Any) -> Input:
    named = "name" in graph.vertex_attributes()
    names = _object_array(graph.vs["name"]) if named else None
    labels = np.arange(graph.vcount()) if names is None else names
    pairs = np.array(graph.get_edgelist(), dtype=np.intp).reshape(-1, 2)
    given = graph.es["weight"] if "weight" in graph.edge_attributes() else [None] * len(pairs)
    weights = _edge_weights(given, pairs, labels)
    return Input(_adjacency(pairs, weights, labels, graph.is_directed()), "graph", names)


def _object_array(values: Iterable[Any]) -> NDArray[Any]:
    """One entry per value, even where the values are tuples."""
    items = list(values)
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def _edge_weights(
    given: Sequence[Any], pairs: NDArray[np.intp], labels: NDArray[Any]
) -> NDArray[np.float64]:
    weights = np.empty(len(given), dtype=np.float64)
    for index, weight in enumerate(given):
        try:
            weights[index] = 1.0 if weight is None else weight
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"The weight of edge {_edge(pairs[index], labels)} is {weight!r}, which is not a "
                'number. Set the edge attribute "weight" to nonnegative numbers.'
            ) from error
    return weights


def _adjacency(
    pairs: NDArray[np.intp], weights: NDArray[np.float64], labels: NDArray[Any], directed: bool
) -> sp.csr_array:
    _check_weights(weights, pairs, labels)
    n = len(labels)
    if not directed:
        return _checked_graph(undirected(pairs, weights, n))
    return _checked_graph(_symmetric(sp.csr_array((weights, tuple(pairs.T)), shape=(n, n))))


def _check_weights(
    weights: NDArray[Any], pairs: NDArray[np.integer[Any]], labels: NDArray[Any]
) -> None:
    # Written so that NaN fails as well.
    wrong = np.flatnonzero(~((weights >= 0) & (weights < np.inf)))
    if wrong.size:
        first = wrong[0]
        raise ValueError(
            f"The weight of edge {_edge(pairs[first], labels)} is {weights[first]} "
            f"({wrong.size} such edges). Weights must be finite and nonnegative: remove these "
            "edges or correct their weights."
        )


def _edge(pair: NDArray[np.integer[Any]], labels: NDArray[Any]) -> str:
    tail, head = labels[pair].tolist()
    return f"({tail!r}, {head!r})"


def _symmetric(A: sp.csr_array) -> sp.csr_array:
    """Mean of A and its transpose, with a warning if that changes more than rounding."""
    reverse = sp.csr_array(A.T)
    gap = abs(A - reverse)
    if gap.nnz == 0:
        return A
    if gap.max() > _ROUNDING * A.max():
        warnings.warn(
            "The graph is directed: its weights A were replaced by (A + A.T) / 2. Make it "
            "undirected to choose another rule and to silence this warning.",
            UserWarning,
            stacklevel=2,
        )
    return sp.csr_array((A + reverse) * A.dtype.type(0.5))


def _checked_graph(A: sp.csr_array) -> sp.csr_array:
    A.eliminate_zeros()
    if A.shape[0] == 0:
        raise ValueError("The graph has no nodes. Add nodes and edges before clustering it.")
    if A.nnz == 0:
        raise ValueError(
            f"The graph has {A.shape[0]} nodes but no edge of positive weight. Add edges before "
            "clustering it."
        )
    return A


# --- AnnData --------------------------------------------------------------------------------------


def _from_anndata(annotated: Any) -> Input:
    names = np.asarray(annotated.obs_names)
    if "connectivities" in annotated.obsp:
        return Input(_connectivities(annotated.obsp["connectivities"], names), "graph", names)
    # Not `get`, which would always read X, perhaps from a large file.
    values = annotated.obsm["X_pca"] if "X_pca" in annotated.obsm else annotated.X  # noqa: SIM401
    if values is None:
        raise ValueError(
            'The AnnData object has none of obsp["connectivities"], obsm["X_pca"] and X. Compute '
            "one of them first."
        )
    return _table_of_cells(values, names)


def _table_of_cells(values: Any, names: NDArray[Any]) -> Input:
    # Matrices on disk are handles; plain arrays may be views that track changes.
    if hasattr(values, "to_memory"):
        values = values.to_memory()
    if not (sp.issparse(values) or hasattr(values, "dtypes")):
        values = np.asarray(values)
    return replace(read_input(values), names=names)


def read_graph_of_cells(annotated: Any, key: str) -> sp.csr_array:
    """The weights of a neighbour graph of an AnnData object, checked.

    Parameters
    ----------
    annotated : AnnData
        The cells.
    key : str
        Where the graph is in ``obsp``, such as "connectivities".

    Returns
    -------
    CSR of shape (n, n)
        Symmetric weights.

    Examples
    --------
    >>> import anndata
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from soffit.inputs import read_graph_of_cells
    >>> cells = anndata.AnnData(np.zeros((2, 1)))
    >>> cells.obsp["connectivities"] = sp.csr_array([[0.0, 1.0], [1.0, 0.0]])
    >>> read_graph_of_cells(cells, "connectivities").nnz
    2
    """
    if key not in annotated.obsp:
        raise ValueError(
            f"The AnnData object has no obsp[{key!r}]. Compute the neighbour graph first (for "
            "example with scanpy.pp.neighbors)."
        )
    return _connectivities(annotated.obsp[key], np.asarray(annotated.obs_names))


def read_new_objects(X: Any, n_features: int, *, takes_matrix: bool) -> Input:
    """New objects for a fitted model, in the form in which the fitted ones were read.

    An AnnData object may hold several forms: the one with the features of the model is taken.

    Parameters
    ----------
    X : object
        As for `read_input`.
    n_features : int
        Number of features of the model.
    takes_matrix : bool
        Whether the model was fitted to a graph or a matrix of all objects.

    Returns
    -------
    Input
        The objects, with their names and columns.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.inputs import read_new_objects
    >>> read_new_objects(np.zeros((2, 3)), 3, takes_matrix=False).data.shape
    (2, 3)
    """
    names = {(c.__module__.partition(".")[0], c.__name__) for c in type(X).__mro__}
    if ("anndata", "AnnData") not in names:
        return read_input(X)
    if takes_matrix:
        raise ValueError(
            'The model was fitted to the neighbour graph obsp["connectivities"], in which new '
            'cells have no place. Fit it to coordinates instead, fit(adata.obsm["X_pca"]), or use '
            "soffit.scanpy.soft_clusters and soffit.scanpy.place."
        )
    cells = np.asarray(X.obs_names)
    if "X_pca" in X.obsm and X.obsm["X_pca"].shape[1] == n_features:
        return _table_of_cells(X.obsm["X_pca"], cells)
    if X.n_vars == n_features and X.X is not None:
        return _table_of_cells(X.X, cells)
    raise ValueError(
        f'The model was fitted to {n_features} features; neither obsm["X_pca"] nor X of the new '
        "cells has as many. Pass their coordinates as an array."
    )


def check_columns(model: Any, columns: NDArray[Any] | None) -> None:
    """Refuse new objects whose columns are not those of the fit, in the same order.

    Parameters
    ----------
    model : estimator
        A fitted model.
    columns : array of str or None
        Names of the columns of the new objects, if they have any.

    Examples
    --------
    >>> import pandas as pd
    >>> from soffit import SoftClustering
    >>> from soffit.inputs import check_columns
    >>> frame = pd.DataFrame({"a": [0.0, 0.1, 5.0, 5.1], "b": [0.0, 0.2, 5.0, 5.2]})
    >>> model = SoftClustering(2, n_neighbors=1, random_state=0).fit(frame)
    >>> check_columns(model, frame.columns.to_numpy())
    """
    fitted = vars(model).get("feature_names_in_")
    if columns is None or fitted is None or list(columns) == list(fitted):
        return
    missing = [name for name in fitted if name not in set(columns)]
    what = f"{missing[0]!r} is missing" if missing else "their order or number differs"
    raise ValueError(
        f"The columns of X are not those that {type(model).__name__} was fitted to: {what}. Pass "
        f"the columns {list(fitted)} in this order."
    )


def _connectivities(given: Any, names: NDArray[Any]) -> sp.csr_array:
    """The neighbour graph, in its own precision."""
    values = given.to_memory() if hasattr(given, "to_memory") else given
    if not sp.issparse(values):
        values = sp.csr_array(np.asarray(values))
    A = checked_csr(values, what='obsp["connectivities"]', copy=True)
    if A.dtype != np.float32:
        A = A.astype(np.float64)
    triplets = A.tocoo()
    _check_weights(triplets.data, np.column_stack(triplets.coords), names)
    return _checked_graph(_symmetric(A))


def read_attributes(X: Any) -> dict[str, list[Any]]:
    """What is known of the nodes of a graph or of cells besides what is clustered; None is missing.

    Attributes of the nodes of networkx and igraph graphs, columns of ``obs`` of AnnData; nothing
    for anything else.

    Parameters
    ----------
    X : object
        Anything.

    Returns
    -------
    dict of lists
        Values by name.

    Examples
    --------
    >>> import networkx as nx
    >>> from soffit.inputs import read_attributes
    >>> read_attributes(nx.karate_club_graph())["club"][:2]
    ['Mr. Hi', 'Mr. Hi']
    """
    kinds = {(c.__module__.partition(".")[0], c.__name__) for c in type(X).__mro__}
    if ("anndata", "AnnData") in kinds:
        return {str(name): X.obs[name].astype(object).tolist() for name in X.obs.columns}
    if ("igraph", "GraphBase") in kinds:
        return {name: list(X.vs[name]) for name in X.vertex_attributes() if name != "name"}
    if ("networkx", "Graph") not in kinds:
        return {}
    nodes = [attributes for _, attributes in X.nodes(data=True)]
    keys = dict.fromkeys(key for attributes in nodes for key in attributes)
    return {str(key): [attributes.get(key) for attributes in nodes] for key in keys}


# --- collections of blocks ------------------------------------------------------------------------


def lazy_part(X: Any) -> Any:
    """The collection of Dask or zarr that X is, or that AnnData or xarray holds; None otherwise.

    AnnData with a neighbour graph is a graph in memory, whatever else it holds.

    Parameters
    ----------
    X : object
        Anything.

    Returns
    -------
    object or None
        The collection.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.inputs import lazy_part
    >>> lazy_part(np.zeros((3, 2))) is None
    True
    """
    kinds = {(c.__module__.partition(".")[0], c.__name__) for c in type(X).__mro__}
    if kinds & _LAZY:
        return X
    if ("xarray", "DataArray") in kinds:
        return lazy_part(X.data)
    if ("anndata", "AnnData") not in kinds or "connectivities" in X.obsp:
        return None
    # Not `get`, which would always read X, perhaps from a large file.
    return lazy_part(X.obsm["X_pca"] if "X_pca" in X.obsm else X.X)  # noqa: SIM401


def _from_blocks(X: Any) -> Input:
    raise TypeError(
        f"X is a collection of blocks ({type(X).__module__}.{type(X).__name__}), but is needed in "
        "memory here. Pass X.compute() if it fits. SoftClustering.fit and the predictions of all "
        "models take collections as they are."
    )


_LAZY = {("dask", "Array"), ("dask", "DataFrame"), ("dask_expr", "DataFrame"), ("zarr", "Array")}
# They are refused, with a remedy, by `soffit.distributed.row_blocks`.
_LAZY |= {("dask", "Series"), ("dask_expr", "Series"), ("dask", "Delayed"), ("dask", "Bag")}
_LAZY |= {("zarr", "Group")}


# --- files ----------------------------------------------------------------------------------------


def weights_of_source(X: Any) -> Any:
    """The weights of the objects, if X is the content of a file that has them; else None.

    Parameters
    ----------
    X : object
        Anything.

    Returns
    -------
    array of shape (n,) or None
        The weights.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.inputs import weights_of_source
    >>> weights_of_source(np.zeros((3, 2))) is None
    True
    """
    return X.sample_weight if _READERS.get(("soffit", type(X).__name__)) is _from_source else None


def _from_source(source: Any) -> Input:
    """The result of `soffit.io.read`; a matrix of distances or similarities is a table here."""
    if source.kind == "graph":
        return Input(source.data, "graph", source.ids)
    columns = np.array(source.columns, dtype=object) if source.columns else None
    return replace(read_input(source.data), names=source.ids, columns=columns)


_READERS: dict[tuple[str, str], Callable[[Any], Input]] = {
    ("anndata", "AnnData"): _from_anndata,
    ("dask", "Array"): _from_blocks,
    ("dask", "DataFrame"): _from_blocks,
    ("dask_expr", "DataFrame"): _from_blocks,
    ("igraph", "GraphBase"): _from_igraph,
    ("numpy", "MaskedArray"): _from_masked,
    ("networkx", "Graph"): _from_networkx,
    ("pandas", "DataFrame"): _from_pandas,
    ("polars", "DataFrame"): _from_polars,
    ("polars", "LazyFrame"): lambda frame: _from_polars(frame.collect()),
    ("soffit", "Source"): _from_source,
}
