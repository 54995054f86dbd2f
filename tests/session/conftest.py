"""Data for sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sklearn.datasets import load_iris
from tests.cli.csv_files import write_csv

from soffit import SoftClustering
from soffit.io import read
from soffit.session.files import SessionFolder
from soffit.session.session import Session


@pytest.fixture
def flowers(tmp_path: Path) -> Path:
    """150 flowers, some of whose names would break a careless CSV file."""
    iris = load_iris()
    names = ["flower", "sepal_length", "sepal_width", "petal_length", "petal_width", "species"]
    odd = {0: 'a "quoted", one', 1: "7", 2: "émile"}
    rows = [
        [odd.get(number, f"F{number:03d}"), *values.tolist(), str(iris.target_names[species])]
        for number, (values, species) in enumerate(zip(iris.data, iris.target, strict=True))
    ]
    path = tmp_path / "flowers.csv"
    write_csv(path, names, rows)
    return path


@pytest.fixture
def truth() -> Any:
    return load_iris().target


@pytest.fixture
def start(flowers: Path) -> Any:
    """Open a session about the flowers, as often as needed."""

    def begin(n_clusters: int | None = 3, **options: Any) -> tuple[Session, SessionFolder]:
        source = read(flowers, id="flower", drop=["species"])
        model = SoftClustering(n_clusters, random_state=0)
        folder = SessionFolder(flowers.with_name("flowers.session"), ["soffit", "fit", "f.csv"])
        earlier = folder.resume(source, model, source.ids)
        if earlier is not None:
            options |= {"state": earlier[0], "history": earlier[1]}
        return Session(source, model, saved=folder.save, **options), folder

    return begin
