"""How the fit went."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from soffit.figures import objective


def fitted(history, *, n_iter=None, converged=True):
    return SimpleNamespace(
        objective_history_=np.asarray(history, dtype=float),
        n_iter_=len(history) - 1 if n_iter is None else n_iter,
        converged_=converged,
    )


def test_the_history_of_a_model(resampled):
    figure = objective(resampled)
    np.testing.assert_array_equal(figure.data[0].y, resampled.objective_history_)
    np.testing.assert_array_equal(figure.data[0].x, np.arange(resampled.n_iter_ + 1))
    assert figure.data[1].y[0] == resampled.objective_history_[-1]
    assert "converged after" in figure.layout.title.subtitle.text


@pytest.mark.parametrize(
    ("history", "axis"),
    [([5.0, 4.0, 3.9], "linear"), ([5000.0, 4.0, 3.9], "log"), ([500.0, 1.0, 0.0], "linear")],
)
def test_the_axis_is_logarithmic_over_decades(history, axis):
    assert objective(fitted(history)).layout.yaxis.type == axis


def test_a_shortened_history_ends_at_the_last_iteration():
    figure = objective(fitted([3.0, 2.0, 1.0], n_iter=10))
    assert figure.data[0].x.tolist() == [8, 9, 10]


def test_an_early_stop_is_said():
    figure = objective(fitted([3.0, 2.0], converged=False))
    assert figure.layout.title.subtitle.text == (
        "stopped after 1 iteration without converging: it reached the iteration limit"
    )


def test_long_histories_are_thinned():
    figure = objective(fitted(np.geomspace(1e3, 1, 50_000)))
    x = figure.data[0].x
    assert len(x) <= 2000
    assert (x[0], x[-1]) == (0, 49_999)
    assert figure.data[0].mode == "lines"


def test_no_history_is_refused(memberships):
    with pytest.raises(ValueError, match="no objective_history_"):
        objective(memberships)
