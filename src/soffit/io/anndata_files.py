"""AnnData files: the neighbour graph if there is one, else principal components or X."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from soffit._wording import Message, Parameter
from soffit.inputs import read_input
from soffit.io.data_error import DataError, check_bytes, check_names, need, shown
from soffit.io.source import Source, text_array
from soffit.io.tables.table import check_unique
from soffit.io.trial import try_reading

# The array that was read, and the one that is clustered.
_COPIES = 2.0
# No file of anndata nests deeper or holds more.
_DEEPEST = 32
_MOST_LINKS = 100_000


def read_annotated(path: Path, kind: str = "auto", label: str | None = None) -> Source:
    """An .h5ad file; `kind` "table" ignores its neighbour graph."""
    anndata = need("anndata", "anndata", "Reading .h5ad files")
    _check_content(path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            annotated = anndata.read_h5ad(path)
            given = read_input(_without_graph(annotated) if kind == "table" else annotated)
        except Exception as error:
            # h5py and anndata raise exceptions of many kinds for damaged files.
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise DataError(
                f"{path}: not a valid AnnData file ({reason}).", "Save it again with anndata."
            ) from error
    notes = [_plain(warning) for warning in caught if _concerns_data(warning)]
    if kind == "graph" and given.kind != "graph":
        raise DataError(
            f'{path}: it has no neighbour graph in obsp["connectivities"].',
            Message(
                "Compute one (for example with scanpy.pp.neighbors), or pass ",
                *(Parameter("kind", "table"), "."),
            ),
        )
    data = given.data
    names: tuple[str, ...] = ()
    if given.kind == "table":
        data, names = _table(path, annotated, data)
    used = _used(annotated, given.kind)
    notes.append(f"Clustered by {used}.")
    return Source(
        given.kind,
        data,
        columns=names,
        ids=check_unique(path, "obs_names", [str(name) for name in annotated.obs_names]),
        id_name=str(annotated.obs.index.name or "id"),
        truth=_truth(path, annotated, label),
        notes=tuple(notes),
        origin=annotated,
        path=str(path),
    )


def _without_graph(annotated: Any) -> Any:
    """The same cells without the neighbour graph."""
    bare = annotated.copy()
    if "connectivities" in bare.obsp:
        del bare.obsp["connectivities"]
    return bare


def _used(annotated: Any, kind: str) -> str:
    if kind == "graph":
        return 'the neighbour graph obsp["connectivities"]'
    return 'obsm["X_pca"]' if "X_pca" in annotated.obsm else "X"


def _table(path: Path, annotated: Any, data: Any) -> tuple[Any, tuple[str, ...]]:
    if not sp.issparse(data):
        data = np.asarray(data)
    if data.dtype != np.float32:
        data = data.astype(np.float64)
    if data.ndim != 2 or 0 in data.shape:
        raise DataError(f"{path}: its table is empty.")
    values = data.data if sp.issparse(data) else data
    if not np.isfinite(values).all():
        raise DataError(f"{path}: its table has missing or infinite values.", "Fill them in.")
    if "X_pca" in annotated.obsm:
        return data, tuple(f"PC{number}" for number in range(1, data.shape[1] + 1))
    return data, tuple(str(name) for name in annotated.var_names)


def _truth(path: Path, annotated: Any, label: str | None) -> Any:
    if label is None:
        return None
    check_names(path, [label], [str(name) for name in annotated.obs.columns], "label")
    column = annotated.obs[label]
    known = column.notna().to_numpy()
    return text_array([value if fine else None for value, fine in zip(column, known, strict=True)])


def _check_content(path: Path) -> None:
    """Refuse links to other files, and arrays that take more memory than there is.

    Every link counts, because each is read: a small file may hold one array under many names.
    """
    h5py = need("h5py", "anndata", "Reading .h5ad files")
    try_reading(path)
    try:
        with h5py.File(path, "r") as file:
            size = _declared_size(h5py, path, file)
    except (OSError, RuntimeError, KeyError, ValueError, TypeError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(
            f"{path}: it is damaged or truncated ({error}).", "Copy or save the file again."
        ) from error
    check_bytes(path, _COPIES * size, "reading it", "Keep only the parts that are needed.")


def _declared_size(h5py: Any, path: Path, file: Any) -> float:
    """Bytes that the arrays of a file declare; compressed, they may exceed its size."""
    size, n_links = 0.0, 0
    waiting = [(file, "/", 0)]
    while waiting:
        group, where, depth = waiting.pop()
        for name in group:
            n_links += 1
            if depth >= _DEEPEST or n_links > _MOST_LINKS:
                raise DataError(
                    f"{path}: it has too many groups, or groups that contain themselves.",
                    "Save it again with anndata.",
                )
            if isinstance(group.get(name, getlink=True), h5py.ExternalLink):
                raise _leads_outside(path, f"{where}{name}")
            item = group[name]
            if isinstance(item, h5py.Group):
                waiting.append((item, f"{where}{name}/", depth + 1))
            elif isinstance(item, h5py.Dataset):
                if item.external or item.is_virtual:
                    raise _leads_outside(path, f"{where}{name}")
                size += float(item.nbytes)
    return size


def _leads_outside(path: Path, where: str) -> DataError:
    return DataError(
        f"{path}: {shown(where)} is stored in another file, which soffit does not open.",
        "Save everything in one file, if you trust its origin.",
    )


def _concerns_data(warning: warnings.WarningMessage) -> bool:
    return issubclass(warning.category, UserWarning) and not issubclass(
        warning.category, FutureWarning
    )


def _plain(warning: warnings.WarningMessage) -> str:
    return str(warning.message).strip()
