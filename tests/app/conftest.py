"""A running app: as a process of its own, or inside the test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sklearn.datasets import load_iris
from tests.cli.csv_files import write_csv

from soffit import SoftClustering
from soffit.app.view import View
from soffit.app.worker import Worker
from soffit.io import read
from soffit.session.files import SessionFolder
from soffit.session.session import Session


@pytest.fixture
def flowers(tmp_path: Path) -> Path:
    """150 flowers; one has a hostile name."""
    iris = load_iris()
    names = ["flower", "sepal_length", "sepal_width", "petal_length", "petal_width", "species"]
    odd = {0: "<img src=x onerror=window.hacked=1>"}
    rows = [
        [odd.get(number, f"F{number:03d}"), *values.tolist(), str(iris.target_names[species])]
        for number, (values, species) in enumerate(zip(iris.data, iris.target, strict=True))
    ]
    path = tmp_path / "flowers.csv"
    write_csv(path, names, rows)
    return path


class Running:
    """The command in a process of its own."""

    def __init__(self, *arguments: object, folder: Path) -> None:
        command = [sys.executable, "-m", "soffit", "app", *map(str, arguments)]
        self.process = subprocess.Popen(
            [*command, "--no-browser", "--json"],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read() if self.process.stderr else ""
        self.address = str(json.loads(line)["address"])

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


@pytest.fixture
def running(flowers: Path) -> Any:
    """Start the command about the flowers; it ends with the block."""

    @contextmanager
    def start(*arguments: object) -> Iterator[Running]:
        given = (flowers.name, "--id", "flower", "--drop", "species", *arguments)
        app = Running(*given, folder=flowers.parent)
        try:
            yield app
        finally:
            app.kill()

    return start


@pytest.fixture
def view(flowers: Path) -> Iterator[View]:
    """A view with a first result; the worker is not started."""
    source = read(flowers, id="flower", drop=["species"])
    folder = SessionFolder(flowers.with_name("flowers.session"), ["soffit", "fit", "flowers.csv"])
    session = Session(source, SoftClustering(3, random_state=0), saved=folder.save)
    session.refit()
    return View(session, Worker(session), folder, "flowers.csv")
