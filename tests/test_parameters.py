"""Former names of parameters, attributes and functions still work, and say what they are now."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from soffit import CompletelyPositive, HigherOrder, RandomWalkClassifier, SoftClustering, segment
from soffit.datasets import make_gaussians
from soffit.selection import choose_k

RENAMED = [
    (SoftClustering, "resamples", "n_resamples", 3),
    (SoftClustering, "side_weight", "constraint_weight", 0.5),
    (CompletelyPositive, "side_weight", "constraint_weight", 0.5),
    (CompletelyPositive, "start", "init", "random"),
    (HigherOrder, "width", "bandwidth", 0.2),
    (RandomWalkClassifier, "steps", "n_steps", 5),
]


@pytest.mark.parametrize(("model", "old", "new", "value"), RENAMED)
def test_former_parameters_work_with_a_warning(model: Any, old: str, new: str, value: Any) -> None:
    words = f"{old} is deprecated: it is now called {new}"
    with pytest.warns(FutureWarning, match=words) as caught:
        made = model(**{old: value})
    assert caught[0].filename == __file__
    assert made.get_params()[new] == value
    assert old not in made.get_params()
    assert old not in inspect.signature(model).parameters
    assert clone(made).get_params()[new] == value
    with pytest.warns(FutureWarning, match=words) as caught:
        made.set_params(**{old: model().get_params()[new]})
    assert caught[0].filename == __file__
    with pytest.warns(FutureWarning, match=words):
        assert getattr(made, old) == model().get_params()[new]
    with pytest.raises(TypeError, match=f"pass only {new}"):
        model(**{old: value, new: value})


def test_former_attributes_work_with_a_warning() -> None:
    X = make_gaussians(60, n_clusters=2, separation=8.0, random_state=7).X
    model = SoftClustering(2, random_state=7)
    assert not hasattr(model, "stopped_")
    model.fit(X)
    with pytest.warns(FutureWarning, match="stopped_ is deprecated: it is now called stop_reason_"):
        assert model.stopped_ == model.stop_reason_ == "converged"
    with pytest.raises(AttributeError, match="no attribute 'never_'"):
        model.never_  # noqa: B018


def test_former_parameters_of_functions_work_with_a_warning() -> None:
    X = make_gaussians(60, n_clusters=2, separation=8.0, random_state=7).X
    with pytest.warns(FutureWarning, match="it is now called n_resamples"):
        assert choose_k(X, resamples=2).n_clusters == choose_k(X, n_resamples=2).n_clusters
    image = np.zeros((8, 9))
    image[2:6, 3:7] = 1.0
    with pytest.warns(FutureWarning, match="it is now called constraint_weight"):
        assert segment(image, 2, side_weight=0.5).labels.shape == (8, 9)
