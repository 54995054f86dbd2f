"""Soft clusters of cells in the manner of scanpy's ``tl``: results are written into the AnnData."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from soffit._typing import FloatArray
from soffit._wording import first_few
from soffit.io.result_files import for_annotation
from soffit.io.source import Source
from soffit.models.soft_clustering import SoftClustering
from soffit.persistence import load, save
from soffit.report.write_report import write_report
from soffit.results.per_object import Result

# As many genes are few enough to be used as they are: the rule of scanpy.pp.neighbors.
_FEW_GENES = 50
# Cells on which the projection of the reference is checked, and the largest deviation from it, as
# a share of the spread of the components.
_CHECKED = 200
_TOLERANCE = 0.01


def soft_clusters(  # noqa: PLR0913
    adata: Any,
    n_clusters: int | None = None,
    *,
    use_rep: str | None = None,
    n_pcs: int | None = None,
    neighbors_key: str | None = None,
    key_added: str = "soffit",
    must_link: Any = None,
    cannot_link: Any = None,
    random_state: Any = 0,
    keep_model: bool = True,
    copy: bool = False,
    **parameters: Any,
) -> Any:
    """Soft clusters of cells, by `SoftClustering`.

    Parameters
    ----------
    adata : AnnData
        The cells.
    n_clusters : int or None, default None
        Number of clusters; None chooses it.
    use_rep : str, optional
        The representation: ``"X"`` or a key of ``.obsm``. By default ``"X_pca"``, or ``"X"`` if
        there are at most 50 genes, as in ``scanpy.pp.neighbors``.
    n_pcs : int, optional
        Use only this many columns of the representation.
    neighbors_key : str, optional
        Cluster the graph of ``scanpy.pp.neighbors`` with this key, ``"neighbors"`` by default
        there, instead of a representation. New cells can then not be placed.
    key_added : str, default "soffit"
        Where to write the results.
    must_link, cannot_link : sequence, optional
        Pairs or groups of cells by name or number, as for `SoftClustering.fit`.
    random_state : int, RandomState or None, default 0
        Seed.
    keep_model : bool, default True
        Keep the model in ``.uns``, as numbers that an .h5ad file can hold, so that `place` can
        place new cells. It is about as large as the representation and its neighbour graph.
    copy : bool, default False
        Return a copy instead of writing into `adata`.
    **parameters
        Further parameters of `SoftClustering`, such as ``n_neighbors`` and ``n_resamples``.

    Returns
    -------
    AnnData or None
        The copy, or None. It holds, with `key_added` in place of soffit:

        - ``.obs["soffit"]``: the most probable cluster, a category;
        - ``.obs["soffit_certainty"]``, ``.obs["soffit_entropy"]``: its membership, and the
          uncertainty in nats;
        - ``.obsm["X_soffit"]``: memberships in all clusters;
        - ``.uns["soffit"]``: ``params``, and the ``model``.

    Examples
    --------
    >>> import anndata
    >>> from soffit.datasets import make_gaussians
    >>> from soffit.scanpy import soft_clusters
    >>> X = make_gaussians(150, n_clusters=3, n_features=4, random_state=7).X
    >>> adata = anndata.AnnData(X)
    >>> soft_clusters(adata, n_clusters=3)
    >>> list(adata.obs.columns), adata.obsm["X_soffit"].shape
    (['soffit', 'soffit_certainty', 'soffit_entropy'], (150, 3))
    """
    if not hasattr(adata, "obsm"):
        raise TypeError(
            f"adata must be an AnnData object, not {type(adata).__name__}. Fit other data with "
            "soffit.SoftClustering, or put them into anndata.AnnData first."
        )
    cells = adata.copy() if copy else adata
    source, used = _representation(cells, use_rep=use_rep, n_pcs=n_pcs, neighbors_key=neighbors_key)
    model = SoftClustering(n_clusters, random_state=random_state, **parameters)
    model.fit(source, must_link=must_link, cannot_link=cannot_link)
    _annotate(cells, Result.of(model), key_added)
    given = {"n_clusters": n_clusters, "random_state": random_state, **parameters, **used}
    notes: dict[str, Any] = {"params": _plain(given)}
    if keep_model:
        notes["model"] = _as_bytes(model)
    cells.uns[key_added] = notes
    return cells if copy else None


def model_of(adata: Any, key: str = "soffit") -> Any:
    """The fitted model that `soft_clusters` has kept.

    Parameters
    ----------
    adata : AnnData
        With results of `soft_clusters`.
    key : str, default "soffit"
        Where they are.

    Returns
    -------
    SoftClustering
        To merge, split or name clusters, or to ask for pairs; write it back with `set_model`.

    Raises
    ------
    KeyError
        If there are no results with this key, or no model was kept.

    Examples
    --------
    >>> import anndata
    >>> from soffit import scanpy as ss
    >>> from soffit.datasets import make_gaussians
    >>> cells = anndata.AnnData(make_gaussians(90, n_clusters=3, random_state=7).X)
    >>> ss.soft_clusters(cells, n_clusters=3)
    >>> ss.model_of(cells).n_clusters_
    3
    """
    notes = _notes(adata, key)
    if "model" not in notes:
        raise KeyError(
            f"No model was kept in .uns[{key!r}]. Run soffit.scanpy.soft_clusters again, with "
            "keep_model=True."
        )
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.soffit"
        path.write_bytes(np.asarray(notes["model"], dtype=np.uint8).tobytes())
        return load(path)


def set_model(adata: Any, model: Any, key: str = "soffit") -> None:
    """Write the clusters of an edited model to the cells that it was fitted to.

    Parameters
    ----------
    adata : AnnData
        The cells.
    model : fitted model
        What `merge`, `split` or `rename` of the model from `model_of` has returned. Names of
        clusters become categories.
    key : str, default "soffit"
        Where to write the results.

    Examples
    --------
    >>> import anndata
    >>> from soffit.datasets import make_gaussians
    >>> from soffit.scanpy import model_of, set_model, soft_clusters
    >>> X = make_gaussians(150, n_clusters=3, n_features=4, random_state=7).X
    >>> adata = anndata.AnnData(X)
    >>> soft_clusters(adata, n_clusters=3)
    >>> set_model(adata, model_of(adata).rename({0: "B cells"}))
    >>> list(adata.obs["soffit"].cat.categories)
    ['B cells', '1', '2']
    """
    result = Result.of(model)
    if len(result.labels) != adata.n_obs:
        raise ValueError(
            f"The model has {len(result.labels)} objects, but adata has {adata.n_obs} cells. "
            "Pass the cells that it was fitted to."
        )
    _annotate(adata, result, key)
    params = adata.uns[key].get("params", {}) if key in adata.uns else {}
    adata.uns[key] = {"params": params, "model": _as_bytes(model)}


def place(
    adata_ref: Any,
    adata_new: Any,
    *,
    key: str = "soffit",
    use_rep: str | None = None,
    copy: bool = False,
) -> Any:
    """Place new cells among the clusters of a reference, as ``scanpy.tl.ingest`` does with labels.

    The cells need coordinates in the space of the reference. If it was clustered by its principal
    components, the expression of the new cells is projected onto these; it must be normalized and
    scaled like that of the reference. Any other representation must be in ``adata_new.obsm``.

    Parameters
    ----------
    adata_ref : AnnData
        The reference, with results of `soft_clusters`.
    adata_new : AnnData
        New cells.
    key : str, default "soffit"
        Where the results are, and where they are written.
    use_rep : str, optional
        Take the coordinates from ``adata_new.obsm[use_rep]`` as they are. They must have been
        computed together with those of the reference: a PCA of the new cells alone has other axes.
    copy : bool, default False
        Return a copy instead of writing into `adata_new`.

    Returns
    -------
    AnnData or None
        The copy, or None. It gets the same keys as `soft_clusters` writes, and
        ``.obs["soffit_novelty"]``: cells of 0.99 or more are like nothing in the reference, and
        their clusters mean little.

    Raises
    ------
    KeyError
        If the reference holds no model.
    ValueError
        If the cells lack genes or coordinates, or the reference was clustered by its graph.

    Examples
    --------
    >>> import anndata
    >>> from soffit import scanpy as ss
    >>> from soffit.datasets import make_gaussians
    >>> cells = anndata.AnnData(make_gaussians(90, n_clusters=3, random_state=7).X)
    >>> more = anndata.AnnData(make_gaussians(9, n_clusters=3, random_state=8).X)
    >>> ss.soft_clusters(cells, n_clusters=3)
    >>> ss.place(cells, more)
    >>> more.obsm["X_soffit"].shape
    (9, 3)
    """
    model = model_of(adata_ref, key)
    cells = adata_new.copy() if copy else adata_new
    if use_rep is None:
        coordinates = _coordinates(adata_ref, cells, _notes(adata_ref, key)["params"], model)
    else:
        coordinates = _given_coordinates(cells, use_rep, int(model.n_features_in_))
    columns = tuple(map(str, getattr(model, "feature_names_in_", ())))
    source = Source("table", coordinates, columns=columns, ids=_names(cells))
    result = Result.from_memberships(
        model.predict_proba(source),
        novelty=model.novelty_score(source),
        names=getattr(model, "cluster_names_", None),
    )
    _annotate(cells, result, key)
    cells.obs[f"{key}_novelty"] = np.asarray(result.novelty)
    return cells if copy else None


def report(
    adata: Any,
    path: str | os.PathLike[str],
    *,
    key: str = "soffit",
    layer: str | None = None,
    use_raw: bool | None = None,
    basis: str | None = None,
    title: str | None = None,
) -> None:
    """Write one HTML page about the clusters, which describes them by their genes.

    Parameters
    ----------
    adata : AnnData
        With results of `soft_clusters`.
    path : str or path
        Where to write the page.
    key : str, default "soffit"
        Where the results are.
    layer : str, optional
        The layer with the expression; by default ``.raw.X`` if there is one, else ``.X``.
    use_raw : bool, optional
        Whether to use ``.raw``; by default if it exists and no layer is given.
    basis : str, optional
        The map: ``"umap"`` for ``.obsm["X_umap"]``. By default the first of umap, tsne and pca
        that exists.
    title : str, optional
        Title of the page.

    Examples
    --------
    >>> import anndata, os, tempfile
    >>> from soffit import scanpy as ss
    >>> from soffit.datasets import make_gaussians
    >>> cells = anndata.AnnData(make_gaussians(90, n_clusters=3, random_state=7).X)
    >>> ss.soft_clusters(cells, n_clusters=3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "cells.html")
    ...     ss.report(cells, path)
    ...     os.path.exists(path)
    True
    """
    notes = _notes(adata, key)
    found = model_of(adata, key) if "model" in notes else _stored(adata, key)
    expression, genes = _expression(adata, layer, use_raw)
    write_report(
        path,
        found,
        X=expression,
        columns=genes,
        ids=_names(adata),
        title=title,
        points=_map(adata, basis),
    )


# --- what is clustered ----------------------------------------------------------------------------


def _representation(
    adata: Any, *, use_rep: str | None, n_pcs: int | None, neighbors_key: str | None
) -> tuple[Source, dict[str, Any]]:
    """The data of the cells, and which they are."""
    if neighbors_key is not None:
        if use_rep is not None or n_pcs is not None:
            raise ValueError("Pass either neighbors_key, or use_rep and n_pcs, not both.")
        graph = _graph(adata, neighbors_key)
        return Source("graph", graph, ids=_names(adata)), {"neighbors_key": neighbors_key}
    chosen = use_rep or _usual(adata)
    if chosen != "X" and chosen not in adata.obsm:
        raise ValueError(
            f"use_rep={chosen!r} is not in .obsm, which has {_listed(adata.obsm)}. Compute it "
            "first, or pass another."
        )
    values = _values(adata.X if chosen == "X" else adata.obsm[chosen])
    if n_pcs is not None:
        if not 1 <= n_pcs <= values.shape[1]:
            raise ValueError(
                f"n_pcs={n_pcs} must be from 1 to {values.shape[1]}, the number of columns of "
                f"{chosen}."
            )
        values = values[:, :n_pcs]
    names = adata.var_names if chosen == "X" else _numbered(chosen, values.shape[1])
    columns = tuple(map(str, names[: values.shape[1]]))
    used = {"use_rep": chosen, **({} if n_pcs is None else {"n_pcs": n_pcs})}
    return Source("table", values, columns=columns, ids=_names(adata)), used


def _usual(adata: Any) -> str:
    if "X_pca" in adata.obsm:
        return "X_pca"
    if adata.n_vars <= _FEW_GENES:
        return "X"
    raise ValueError(
        f'adata has {adata.n_vars} genes and no .obsm["X_pca"]. Run scanpy.pp.pca(adata) first, '
        'pass use_rep="X" to cluster the genes themselves, or another representation.'
    )


def _graph(adata: Any, neighbors_key: str) -> Any:
    """The weights that scanpy.pp.neighbors has computed."""
    if neighbors_key not in adata.uns:
        raise ValueError(
            f"neighbors_key={neighbors_key!r} is not in .uns. Run scanpy.pp.neighbors(adata) "
            "first, or leave it out to cluster a representation."
        )
    place_of = adata.uns[neighbors_key].get("connectivities_key", "connectivities")
    from soffit.inputs import read_graph_of_cells

    return read_graph_of_cells(adata, place_of)


def _values(given: Any) -> Any:
    """An array or sparse matrix in memory."""
    values = given.to_memory() if hasattr(given, "to_memory") else given
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    if hasattr(values, "tocsr"):
        return values.tocsr()
    return np.asarray(values)


def _numbered(name: str, n: int) -> list[str]:
    """Names of components: PC1, PC2, ... or UMAP1, ..."""
    stem = {"X_pca": "PC"}.get(name, name.removeprefix("X_"))
    return [f"{stem}{number}" for number in range(1, n + 1)]


def _names(adata: Any) -> Any:
    return np.array([str(name) for name in adata.obs_names], dtype=np.str_)


# --- what is written ------------------------------------------------------------------------------


def _annotate(adata: Any, result: Result, key: str) -> None:
    """Write the keys that the command line writes to .h5ad files."""
    import pandas as pd

    names = result.names or tuple(map(str, range(result.n_clusters)))
    adata.obs[key] = pd.Categorical.from_codes(result.labels, categories=list(names))
    adata.obs[f"{key}_certainty"] = np.asarray(result.certainty)
    adata.obs[f"{key}_entropy"] = np.asarray(result.entropy)
    adata.obsm[f"X_{key}"] = for_annotation(result.memberships)


def _plain(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters as an .h5ad file can hold them."""
    plain = {}
    for name, value in parameters.items():
        if value is not None:
            plain[name] = value if isinstance(value, (bool, int, float, str)) else repr(value)
    return plain


def _as_bytes(model: Any) -> Any:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.soffit"
        save(model, path)
        return np.frombuffer(path.read_bytes(), dtype=np.uint8)


def _notes(adata: Any, key: str) -> Mapping[str, Any]:
    if key not in adata.uns or "params" not in adata.uns[key]:
        raise KeyError(
            f"There are no soft clusters in .uns[{key!r}]. Run soffit.scanpy.soft_clusters(adata) "
            "first, or pass the key that it was given."
        )
    notes: Mapping[str, Any] = adata.uns[key]
    return notes


def _stored(adata: Any, key: str) -> Result:
    """The memberships that were written, without a model."""
    categories = adata.obs[key].cat.categories
    return Result.from_memberships(
        np.asarray(adata.obsm[f"X_{key}"]), ids=_names(adata), names=list(categories)
    )


# --- new cells ------------------------------------------------------------------------------------


def _coordinates(reference: Any, cells: Any, params: Mapping[str, Any], model: Any) -> Any:
    """New cells in the coordinates in which the reference was clustered."""
    if "neighbors_key" in params:
        raise ValueError(
            "The reference was clustered by its neighbour graph, in which new cells have no place. "
            "Run soft_clusters without neighbors_key."
        )
    used, width = str(params["use_rep"]), int(model.n_features_in_)
    if used == "X":
        return _values(_of_genes(cells, [str(n) for n in reference.var_names]).X)[:, :width]
    if used == "X_pca" and "PCs" in reference.varm:
        return _projected(reference, cells, width)
    return _given_coordinates(cells, used, width)


def _given_coordinates(cells: Any, used: str, width: int) -> Any:
    if used not in cells.obsm or cells.obsm[used].shape[1] < width:
        raise ValueError(
            f"The new cells need .obsm[{used!r}] with {width} columns: their coordinates in the "
            "space of the reference."
        )
    return _values(cells.obsm[used])[:, :width]


def _of_genes(cells: Any, genes: list[str]) -> Any:
    known = set(map(str, cells.var_names))
    missing = [gene for gene in genes if gene not in known]
    if missing:
        raise ValueError(
            f"The new cells lack {len(missing)} of the {len(genes)} genes of the reference: "
            f"{_listed(missing)}. Add them; a gene that was not measured has no value to assume."
        )
    return cells[:, genes]


def _projected(reference: Any, cells: Any, width: int) -> FloatArray:
    """Principal components of new cells, by the loadings of the reference."""
    # Genes that were not used have no loadings.
    loadings = np.nan_to_num(np.asarray(reference.varm["PCs"])[:, :width])
    used = np.flatnonzero(loadings.any(axis=1))
    loadings = loadings[used]
    genes = [str(name) for name in reference.var_names[used]]
    given = np.asarray(reference.obsm["X_pca"])[:_CHECKED, :width]
    own = np.asarray(_values(reference[: len(given), used].X) @ loadings)
    # Components are (x - mean) times loadings: the difference is the same for all cells.
    shift = np.mean(own - given, axis=0)
    spread = np.std(given, axis=0)
    # Written so that NaN fails, too.
    if not np.abs(own - given - shift).max() <= _TOLERANCE * max(float(spread.max()), 1e-12):
        raise ValueError(
            'New cells cannot be projected: .obsm["X_pca"] of the reference does not follow from '
            'its .X and .varm["PCs"], so .X was changed after the PCA, or genes were left out. Run '
            "scanpy.pp.pca and soft_clusters again on the reference. If the new cells have "
            'principal components that were computed together with it, pass use_rep="X_pca".'
        )
    rows = _values(_of_genes(cells, genes).X) @ loadings - shift
    return np.asarray(rows, dtype=given.dtype)


# --- the report -----------------------------------------------------------------------------------


def _expression(adata: Any, layer: str | None, use_raw: bool | None) -> tuple[Any, list[str]]:
    if layer is not None:
        if layer not in adata.layers:
            # Since anndata 0.13, None is the name of X.
            named = [name for name in adata.layers if name is not None]
            raise ValueError(f"layer={layer!r} is not in .layers, which has {_listed(named)}.")
        return _values(adata.layers[layer]), list(map(str, adata.var_names))
    if use_raw or (use_raw is None and adata.raw is not None):
        if adata.raw is None:
            raise ValueError("use_raw=True, but adata has no .raw. Leave it out to use .X.")
        return _values(adata.raw.X), list(map(str, adata.raw.var_names))
    return _values(adata.X), list(map(str, adata.var_names))


def _map(adata: Any, basis: str | None) -> FloatArray | None:
    keys = ["X_umap", "X_tsne", "X_pca"] if basis is None else [f"X_{basis.removeprefix('X_')}"]
    for key in keys:
        if key in adata.obsm:
            return np.asarray(adata.obsm[key], dtype=np.float64)[:, :2]
    if basis is not None:
        raise ValueError(f"basis={basis!r} is not in .obsm, which has {_listed(adata.obsm)}.")
    return None


def _listed(names: Any) -> str:
    return first_few(repr(str(name)) for name in names) or "nothing"
