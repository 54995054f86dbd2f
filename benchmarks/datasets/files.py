"""Read one .npz file of the data folder into a data set."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from soffit._typing import FloatArray, IntArray
from soffit.datasets import Dataset

_Arrays = Mapping[str, NDArray[Any]]
# All that NumPy and zipfile raise for files that are empty, cut short, damaged or pickled.
_READ_ERRORS = (OSError, EOFError, ValueError, zipfile.BadZipFile, zlib.error, NotImplementedError)


def read_dataset(path: Path) -> Dataset:
    """Read and check a file; every defect is a ValueError that names the file."""
    try:
        arrays = _read_arrays(path)
        reader = next((read for key, read in _READERS.items() if key in arrays), None)
        if reader is None:
            raise ValueError(f"it holds {sorted(arrays)}, none of {list(_READERS)}")
        return reader(path, arrays)
    except KeyError as error:
        problem = f"the array {error} is missing"
        raise ValueError(_message(path, problem)) from error
    except _READ_ERRORS as error:
        raise ValueError(_message(path, str(error) or type(error).__name__)) from error


def _message(path: Path, problem: str) -> str:
    return (
        f"cannot read the data set {path.stem!r} from {path}: {problem}. Replace the file, or set "
        "SOFFIT_DATA to a folder with a sound copy."
    )


def _read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    if path.stat().st_size == 0:
        raise ValueError("the file is empty")
    # Opened here because NumPy leaves the file open when the archive is damaged.
    with path.open("rb") as file:
        archive = np.load(file, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise ValueError("it is a single array, not an .npz archive")
        with archive:
            return {key: archive[key] for key in archive.files}


def _read_points(path: Path, arrays: _Arrays) -> Dataset:
    X = _as_float(arrays["X"])
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(f"X must be a non-empty matrix, it has shape {X.shape}")
    if not np.isfinite(X).all():
        raise ValueError("X has infinite or missing values")
    # Sets of the Gagolewski collection number their labelings and reserve 0 for noise.
    numbered = "labels0" in arrays
    vectors = _numbered_labels(arrays, len(X)) if numbered else (_labels(arrays, "y", len(X)),)
    return Dataset(
        path.stem,
        vectors,
        X=X,
        class_names=_class_names(arrays),
        noise_label=0 if numbered else None,
        source=str(path),
    )


def _read_sparse(path: Path, arrays: _Arrays) -> Dataset:
    n_rows, n_columns = (int(side) for side in arrays["shape"])
    parts = (_as_float(arrays["data"]), arrays["indices"], arrays["indptr"])
    X = sp.csr_array(parts, shape=(n_rows, n_columns))
    X.check_format(full_check=True)
    if n_rows == 0 or not np.isfinite(X.data).all():
        raise ValueError("the sparse matrix is empty or has infinite or missing values")
    X.sum_duplicates()
    labels = _labels(arrays, "y", n_rows)
    return Dataset(path.stem, (labels,), X=X, class_names=_class_names(arrays), source=str(path))


def _read_graph(path: Path, arrays: _Arrays) -> Dataset:
    n_nodes = int(arrays["n"])
    labels = _labels(arrays, "y", n_nodes)
    overlapping = "comm_indptr" in arrays
    return Dataset(
        path.stem,
        (labels,),
        graph=_adjacency(arrays["edges"], _as_float(arrays["weights"]), n_nodes),
        class_names=_class_names(arrays),
        noise_label=-1 if overlapping else None,
        communities=_communities(arrays, n_nodes) if overlapping else None,
        source=str(path),
    )


# The first key that a file has decides how it is read.
_READERS: dict[str, Callable[[Path, _Arrays], Dataset]] = {
    "edges": _read_graph,
    "indptr": _read_sparse,
    "X": _read_points,
}


def _adjacency(edges: IntArray, weights: FloatArray, n_nodes: int) -> sp.csr_array:
    """Symmetric adjacency from undirected edges that are listed once."""
    if edges.ndim != 2 or edges.shape[1] != 2 or weights.shape != (len(edges),):
        raise ValueError(f"edges {edges.shape} and weights {weights.shape} do not fit together")
    if len(edges) and (edges.min() < 0 or edges.max() >= n_nodes):
        raise ValueError(f"edges name nodes outside 0 ... {n_nodes - 1}")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("weights must be finite and not negative")
    first, second = edges.T
    one_way = sp.csr_array((weights, (first, second)), shape=(n_nodes, n_nodes))
    loops = sp.diags_array(one_way.diagonal(), format="csr")
    adjacency = sp.csr_array(one_way + one_way.T - loops)
    adjacency.eliminate_zeros()
    adjacency.sort_indices()
    return adjacency


def _communities(arrays: _Arrays, n_nodes: int) -> tuple[IntArray, ...]:
    bounds, members = arrays["comm_indptr"], arrays["comm_members"]
    if bounds[0] != 0 or bounds[-1] != len(members) or (np.diff(bounds) < 0).any():
        raise ValueError("comm_indptr does not cut comm_members into communities")
    if len(members) and (members.min() < 0 or members.max() >= n_nodes):
        raise ValueError(f"comm_members names nodes outside 0 ... {n_nodes - 1}")
    return tuple(np.split(members, bounds[1:-1]))


def _numbered_labels(arrays: _Arrays, n_samples: int) -> tuple[IntArray, ...]:
    count = sum(key.startswith("labels") for key in arrays)
    return tuple(_labels(arrays, f"labels{number}", n_samples) for number in range(count))


def _labels(arrays: _Arrays, key: str, n_samples: int) -> IntArray:
    labels = arrays[key]
    if labels.shape != (n_samples,) or not np.issubdtype(labels.dtype, np.integer):
        raise ValueError(
            f"{key} must hold {n_samples} whole numbers, it has shape {labels.shape} and type "
            f"{labels.dtype}"
        )
    if n_samples == 0:
        raise ValueError("it has no objects")
    return labels.astype(np.int64)


def _class_names(arrays: _Arrays) -> tuple[str, ...]:
    return tuple(str(name) for name in arrays.get("class_names", ()))


def _as_float(values: NDArray[Any]) -> FloatArray:
    """Keep float32; everything else becomes float64."""
    return values if values.dtype == np.float32 else values.astype(np.float64)
