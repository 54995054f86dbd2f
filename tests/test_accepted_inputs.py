"""The table of accepted inputs in the documentation is true."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from soffit import HigherOrder, RandomWalkClassifier, SoF, SoftClustering, segment
from soffit.datasets import make_gaussians
from soffit.scanpy import soft_clusters
from soffit.selection import choose_k

anndata = pytest.importorskip("anndata", reason="cells are one of the inputs")
dask_array = pytest.importorskip("dask.array", reason="Dask is one of the inputs")
igraph = pytest.importorskip("igraph", reason="igraph is one of the inputs")

PAGE = Path(__file__).resolve().parents[1] / "docs" / "accepted_inputs.md"
X = make_gaussians(60, n_clusters=2, separation=6.0, random_state=7).X
GRAPH = nx.karate_club_graph()
INPUTS: dict[str, Any] = {
    "NumPy": X,
    "pandas": pd.DataFrame(X, columns=["a", "b"]),
    "polars": pl.DataFrame({"a": X[:, 0], "b": X[:, 1]}),
    "SciPy sparse": sp.csr_array(X),
    "Dask": dask_array.from_array(X, chunks=(20, 2)),
    "AnnData": anndata.AnnData(X),
    "networkx": GRAPH,
    "igraph": igraph.Graph.from_networkx(GRAPH),
}


def known(given: Any) -> Any:
    """Two labels for as many objects as there are."""
    n = 34 if isinstance(given, nx.Graph | igraph.Graph) else 60
    y = np.full(n, -1)
    y[[0, n - 1]] = 0, 1
    return y


def table_model() -> SoftClustering:
    return SoftClustering(2, random_state=7).fit(X)


FUNCTIONS = {
    "SoftClustering.fit": lambda given: SoftClustering(2, random_state=7).fit(given),
    "SoF.fit": lambda given: SoF(2, random_state=7).fit(given),
    "HigherOrder.fit": lambda given: HigherOrder(2, n_init=1, random_state=7).fit(given),
    "predict_proba": lambda given: table_model().predict_proba(given),
    "selection.choose_k": lambda given: choose_k(given, ks=range(1, 4)),
    "RandomWalkClassifier.fit": lambda given: RandomWalkClassifier().fit(given, known(given)),
    "scanpy.soft_clusters": lambda given: soft_clusters(given, n_clusters=2, copy=True),
    "segment": lambda given: segment(given, 2),
}


def cells() -> list[tuple[str, str, str]]:
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if "|" in line]
    header = [cell.strip() for cell in lines[0].strip("|").split("|")]
    found = []
    for line in lines[2:]:
        first, *marks = (cell.strip() for cell in line.strip("|").split("|"))
        name = re.findall(r"`([\w.]+)`", first)[0]
        found += [(name, kind, mark) for kind, mark in zip(header[1:], marks, strict=True)]
    return found


def test_the_table_has_every_function_and_input() -> None:
    assert {name for name, _, _ in cells()} == set(FUNCTIONS)
    assert {kind for _, kind, _ in cells()} == set(INPUTS)


@pytest.mark.parametrize(("name", "kind", "mark"), cells())
@pytest.mark.filterwarnings("ignore")
def test_a_cell_of_the_table(name: str, kind: str, mark: str) -> None:
    if mark == "✓":
        assert FUNCTIONS[name](INPUTS[kind]) is not None
    else:
        with pytest.raises((TypeError, ValueError), match=r"[a-z]{3,}.*[a-z]{3,}"):
            FUNCTIONS[name](INPUTS[kind])
