"""Find benchmark sets by name: in the data folder, else at OpenML."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path

from benchmarks.datasets.files import read_dataset
from benchmarks.datasets.openml import OPENML_SOURCES, fetch
from soffit.datasets import Dataset
from soffit.datasets.sample import Seed

_SUBFOLDERS = ("", "gagolews")
_ROOT_MARKS = ("pyproject.toml", ".git")


def data_home() -> Path:
    """Return the folder that holds the benchmark sets.

    This is the environment variable ``SOFFIT_DATA`` where it is set. Otherwise it is
    ``../shared/data`` beside the project root: the nearest folder at or above the current one
    that has a ``pyproject.toml`` or a ``.git``, or the current folder if there is none. This
    second folder need not exist.

    Returns
    -------
    Path
        The folder.

    Examples
    --------
    >>> from benchmarks.datasets import data_home
    >>> data_home().name != ""
    True
    """
    chosen = os.environ.get("SOFFIT_DATA")
    if chosen:
        return _existing_folder(chosen, "SOFFIT_DATA")
    here = Path.cwd()
    roots = (folder for folder in (here, *here.parents) if _is_project_root(folder))
    return next(roots, here).parent / "shared" / "data"


def list_datasets(home: str | os.PathLike[str] | None = None) -> tuple[str, ...]:
    """Return the names of the sets in the data folder, sorted; empty if there is no folder.

    Parameters
    ----------
    home : path, optional
        The folder, :func:`data_home` by default.

    Returns
    -------
    tuple of str
        Names for :func:`load`.

    Examples
    --------
    >>> import tempfile
    >>> from benchmarks.datasets import list_datasets
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     list_datasets(folder)
    ()
    """
    folder = _home(home)
    return tuple(sorted(path.stem for sub in _SUBFOLDERS for path in (folder / sub).glob("*.npz")))


def load(
    name: str,
    *,
    n_samples: int | None = None,
    random_state: Seed = None,
    home: str | os.PathLike[str] | None = None,
) -> Dataset:
    """Load a benchmark set by name.

    The set is read from ``<home>/<name>.npz`` or ``<home>/gagolews/<name>.npz``. If there is no
    such file, the sets blood_transfusion, breast_tissue, ecoli, glass, iris, pendigits, satimage
    and usps are fetched from OpenML (`Dataset.source` tells). Theirs may order the classes
    otherwise, and satimage has the test part as well.

    Parameters
    ----------
    name : str
        Stem of the file, such as ``"iris"``, ``"graph_karate"`` or ``"sipu__unbalance"``.
    n_samples : int, optional
        Keep this many random objects, in their original order. A graph keeps the links between
        them.
    random_state : int, RandomState or None
        Seed of that choice.
    home : path, optional
        The data folder, :func:`data_home` by default.

    Returns
    -------
    Dataset
        Points `X` or a `graph`, and `labels`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from benchmarks.datasets import load
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(pathlib.Path(folder) / "toy.npz", X=np.eye(3), y=np.array([0, 1, 1]))
    ...     load("toy", home=folder).labels[0].tolist()
    [0, 1, 1]
    """
    return _find(name, _home(home)).sample(n_samples, random_state)


def _find(name: str, home: Path) -> Dataset:
    if not isinstance(name, str):
        raise TypeError(f"name must be a string, got {name!r}. See list_datasets().")
    if not re.fullmatch(r"[A-Za-z0-9_\-]+", name):
        raise ValueError(
            f"name must be letters, digits, '_' and '-', got {name!r}. Pass the name of a file "
            "without folder and ending; see list_datasets()."
        )
    path = next(_candidates(name, home), None)
    if path is not None:
        return read_dataset(path)
    if name not in OPENML_SOURCES:
        raise ValueError(_missing(name, home, f"known there: {_shortened(list_datasets(home))}"))
    try:
        return fetch(name)
    except (OSError, EOFError, HTTPException, ValueError) as error:
        raise ValueError(_missing(name, home, f"OpenML did not help either: {error}")) from error


def _candidates(name: str, home: Path) -> Iterator[Path]:
    paths = (home / sub / f"{name}.npz" for sub in _SUBFOLDERS)
    return (path for path in paths if path.is_file())


def _missing(name: str, home: Path, detail: str) -> str:
    return (
        f"the data set {name!r} is not in {home} ({detail}). Set SOFFIT_DATA to a folder with "
        f"{name}.npz, or pass it as home."
    )


def _shortened(names: tuple[str, ...], limit: int = 8) -> str:
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more if names else "nothing"


def _home(home: str | os.PathLike[str] | None) -> Path:
    return data_home() if home is None else _existing_folder(home, "home")


def _existing_folder(folder: str | os.PathLike[str], what: str) -> Path:
    path = Path(folder).expanduser()
    if not path.is_dir():
        raise ValueError(f"{what} is {str(path)!r}, which is not a folder. Correct or unset it.")
    return path


def _is_project_root(folder: Path) -> bool:
    return any((folder / mark).exists() for mark in _ROOT_MARKS)
