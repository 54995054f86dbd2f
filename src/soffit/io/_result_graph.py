"""Results written into the graph or AnnData object that was read."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from soffit.io._errors import DataError, need
from soffit.io._result import Result
from soffit.io._source import Source


def write_annotated(result: Result, path: Path, source: Source | None) -> None:
    """A copy of the AnnData object with the memberships, clusters and entropies."""
    anndata = need("anndata", "anndata", "Writing .h5ad files")
    pandas = need("pandas", "anndata", "Writing .h5ad files")
    origin = None if source is None else source.origin
    annotated: Any
    if origin is not None and type(origin).__name__ == "AnnData":
        annotated = origin.copy()
    elif source is not None and source.kind == "table":
        ids = range(len(result.memberships)) if result.ids is None else result.ids
        obs = pandas.DataFrame(index=[str(name) for name in ids])
        var = pandas.DataFrame(index=list(source.columns))
        annotated = anndata.AnnData(X=source.data, obs=obs, var=var)
    else:
        raise DataError(
            "an .h5ad file holds cells and their features, so it can only be written for an .h5ad "
            "file or a table. Write a .csv or .parquet file instead."
        )
    _check_length(result, annotated.n_obs)
    annotated.obsm["X_soffit"] = np.asarray(result.memberships)
    names = [str(number) for number in range(result.n_clusters)]
    labels = pandas.Categorical.from_codes(result.labels, categories=names)
    annotated.obs["soffit"] = labels
    annotated.obs["soffit_certainty"] = np.asarray(result.certainty)
    annotated.obs["soffit_entropy"] = np.asarray(result.entropy)
    with warnings.catch_warnings():
        # Remarks about the layout of the file that was read are not about this result.
        warnings.simplefilter("ignore")
        annotated.write_h5ad(path)


def write_graph(result: Result, path: Path, source: Source | None) -> None:
    """A copy of the graph whose nodes know their cluster, certainty, entropy and memberships."""
    networkx = need("networkx", "graphs", f"Writing {path.suffix} files")
    graph = _graph(networkx, source, path)
    nodes = list(graph.nodes)
    _check_length(result, len(nodes))
    for position, node in enumerate(nodes):
        attributes = graph.nodes[node]
        attributes["soffit"] = int(result.labels[position])
        attributes["soffit_certainty"] = float(result.certainty[position])
        attributes["soffit_entropy"] = float(result.entropy[position])
        for number in range(result.n_clusters):
            attributes[f"p{number}"] = float(result.memberships[position, number])
    write = networkx.write_graphml if path.suffix.lower() == ".graphml" else _write_gml
    try:
        write(graph, path)
    except (networkx.NetworkXError, TypeError, ValueError) as error:
        raise DataError(
            f"the graph has attributes that {path.suffix} files cannot hold ({error}). Write a "
            ".csv or .parquet file instead."
        ) from error


def _write_gml(graph: Any, path: Path) -> None:
    import networkx

    networkx.write_gml(graph, path, stringizer=str)


def _graph(networkx: Any, source: Source | None, path: Path) -> Any:
    origin = None if source is None else source.origin
    if origin is not None and hasattr(origin, "nodes"):
        return origin.copy()
    if source is None or source.kind != "graph":
        raise DataError(
            f"a {path.suffix} file holds a graph, so it can only be written for a graph. Write a "
            ".csv or .parquet file instead."
        )
    graph = networkx.from_scipy_sparse_array(source.data)
    if source.ids is not None:
        networkx.relabel_nodes(graph, dict(enumerate(map(str, source.ids))), copy=False)
    return graph


def _check_length(result: Result, n: int) -> None:
    if len(result.memberships) != n:
        raise DataError(
            f"the result has {len(result.memberships):,} objects, but the data it should be "
            f"written into have {n:,}. Write a .csv or .parquet file instead."
        )
