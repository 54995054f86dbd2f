"""Warnings of the library in the words of the command, recognised by their categories."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from tests.cli.csv_files import write_csv

from soffit.cli.steps import with_remarks
from soffit.datasets import make_gaussians
from soffit.exceptions import UnstableResultWarning


def remarks(category, **model):
    _, found = with_remarks(
        lambda: warnings.warn("any words", category, stacklevel=1), SimpleNamespace(**model)
    )
    return found


def test_a_fit_that_did_not_converge():
    model = {"converged_": False, "n_iter_": 4, "max_time": 2.0}
    assert remarks(ConvergenceWarning, stop_reason_="max_time", **model) == [
        "The fit stopped after 4 iterations without converging: it reached the time limit of 2 s. "
        "The best solution so far is kept. Increase --max-time."
    ]


def test_unstable_clusters():
    (found,) = remarks(UnstableResultWarning, agreement_=0.4)
    assert "agree on 40 % of the objects" in found
    assert "--must-link" in found


def test_other_warnings_keep_their_words():
    assert remarks(UserWarning, agreement_=0.4) == ["any words"]


def test_an_unstable_fit_warns_on_the_command_line(soffit, answer, tmp_path):
    X, _, _ = make_gaussians(90, n_clusters=3, separation=4.0, random_state=23)
    path = tmp_path / "points.csv"
    write_csv(path, ["u", "v"], np.round(X, 5).tolist())
    arguments = ("fit", path, "-k", 2, "--resamples", 2, "--seed", 23)
    assert "Warning: The clusters are unstable. Two fits" in soffit(*arguments).output
    assert any("clusters are unstable" in text for text in answer(*arguments)["warnings"])
