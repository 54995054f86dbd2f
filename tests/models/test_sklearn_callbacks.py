"""Callbacks of scikit-learn: a fit as a tree of tasks, beside our own `callback`."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from tests.reference.estimators import Array, Case

from soffit import CompletelyPositive, RelationFactorization, SoF, SoftClustering, SoftHierarchy
from soffit.datasets import Sample
from soffit.fitting import monitor

sklearn_callback = pytest.importorskip(
    "sklearn.callback", reason="scikit-learn has callbacks from version 1.9 on"
)


class Watch:
    """Notes the path of names of every task that begins and ends."""

    def __init__(self, stop_at: str = "") -> None:
        self.began: list[tuple[str, ...]] = []
        self.ended: list[tuple[str, ...]] = []
        self.seen: list[Any] = []
        self.fitted: list[Any] = []
        self.n_open = 0
        self._stop_at = stop_at

    def setup(self, estimator: Any, context: Any) -> None:
        self.n_open += 1

    def teardown(self, estimator: Any, context: Any) -> None:
        self.n_open -= 1

    def on_fit_task_begin(self, estimator: Any, context: Any, *, X: Any = None) -> None:
        self.began.append(path_of(context))
        self.seen.append(X)

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, fitted_estimator: Any = None
    ) -> bool:
        self.ended.append(path_of(context))
        if fitted_estimator is not None:
            self.fitted.append(fitted_estimator)
        return context.task_name == self._stop_at


def path_of(context: Any) -> tuple[str, ...]:
    names: list[str] = []
    while context is not None:
        names.insert(0, context.task_name)
        context = context.parent
    return tuple(names)


def test_every_estimator_reports_its_fit(case: Case, blobs: Sample, y: Array) -> None:
    watch = Watch()
    model = case.fit_model(case.model().set_callbacks(watch), blobs.X, y)
    assert watch.n_open == 0
    assert sorted(watch.began) == sorted(watch.ended)
    assert watch.began[0] == ("fit",)
    assert watch.ended[-1] == ("fit",)
    phases = {path[1] for path in watch.began if len(path) == 2}
    assert len(phases) >= 2
    assert all(X is blobs.X for X in watch.seen)
    # At the end there is a model that can predict.
    np.testing.assert_array_equal(
        watch.fitted[-1].predict_proba(blobs.X[:5]), model.predict_proba(blobs.X[:5])
    )
    # Callbacks change no result.
    np.testing.assert_array_equal(
        model.predict_proba(blobs.X), case.fit(blobs.X, y).predict_proba(blobs.X)
    )
    assert not [name for name in vars(model) if "ctx" in name or "teardown" in name]


def test_iterations_are_leaves_of_their_search(blobs: Sample) -> None:
    watch = Watch()
    model = SoftClustering(3, random_state=29).set_callbacks(watch).fit(blobs.X)
    leaf = ("fit", "row blocks", "iterations", "iteration")
    assert watch.began.count(leaf) == model.n_iter_
    assert watch.began.count(leaf[:3]) == 1
    assert ("fit", "memberships") in watch.began


def test_every_search_of_a_phase_is_a_task_of_its_own(blobs: Sample) -> None:
    watch = Watch()
    RelationFactorization(3, n_init=4, random_state=29).set_callbacks(watch).fit(blobs.X)
    searches = [path for path in watch.began if len(path) == 3 and path[1] == "starts"]
    assert len(searches) >= 4
    hierarchy = Watch()
    SoftHierarchy(3, random_state=29).set_callbacks(hierarchy).fit(blobs.X)
    assert any(path[1].startswith("level 2") for path in hierarchy.began if len(path) > 1)


def test_a_callback_can_stop_the_fit(blobs: Sample) -> None:
    watch = Watch(stop_at="iteration")
    model = SoF(3, scale="fit", random_state=29, tol=0.0).set_callbacks(watch)
    with pytest.warns(ConvergenceWarning, match="the callback stopped it"):
        model.fit(blobs.X)
    assert model.stop_reason_ == "callback"
    assert model.n_iter_ == 1
    assert watch.n_open == 0


def test_both_kinds_of_callbacks_are_called(blobs: Sample) -> None:
    events: list[Any] = []
    watch = Watch()
    model = SoF(3, scale="fit", random_state=29, callback=events.append).set_callbacks(watch)
    model.fit(blobs.X)
    assert len(events) == sum(path[-1] == "iteration" for path in watch.began)


def test_a_failed_fit_is_torn_down(blobs: Sample) -> None:
    watch = Watch()
    model = SoftClustering(3, random_state=29).set_callbacks(watch)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((9, 2), np.nan))
    assert watch.n_open == 0
    assert vars(model).keys() == clone(model).__dict__.keys()
    assert model.fit(blobs.X).n_clusters_ == 3


def test_callbacks_are_set_removed_and_cloned(blobs: Sample) -> None:
    watch = Watch()
    model = SoftClustering(3, random_state=29).set_callbacks(watch)
    assert clone(model)._skl_callbacks == [watch]
    assert not hasattr(model.set_callbacks(), "_skl_callbacks")
    model.fit(blobs.X)
    assert watch.began == []
    with pytest.raises(TypeError, match="FitCallback protocol"):
        model.set_callbacks(lambda event: None)


def test_progress_bars(blobs: Sample, capsys: pytest.CaptureFixture[str]) -> None:
    bar = sklearn_callback.ProgressBar()
    SoftClustering(3, random_state=29).set_callbacks(bar).fit(blobs.X)
    shown = capsys.readouterr().out
    assert "SoftClustering - fit" in shown
    assert "row blocks" in shown
    assert "100%" in shown
    # Threads of the fit itself do not disturb it.
    CompletelyPositive(3, n_init=2, random_state=29).set_callbacks(bar).fit(blobs.X)
    assert "start 2 of 2" in capsys.readouterr().out


def test_inside_a_pipeline_and_a_grid_search(
    blobs: Sample, capsys: pytest.CaptureFixture[str]
) -> None:
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    bar = sklearn_callback.ProgressBar(max_propagation_depth=None)
    pipeline = make_pipeline(StandardScaler(), SoftClustering(3, random_state=29))
    pipeline.set_callbacks(bar).fit(blobs.X)
    assert "SoftClustering - row blocks" in capsys.readouterr().out
    search = GridSearchCV(SoF(3, scale="fit", random_state=29), {"n_clusters": [1, 3]}, cv=2)
    search.set_callbacks(bar).fit(blobs.X)
    assert "SoF - iterations" in capsys.readouterr().out
    assert search.best_params_ == {"n_clusters": 3}


def test_a_model_with_callbacks_is_saved_without_them(blobs: Sample, tmp_path: Any) -> None:
    import soffit

    model = SoftClustering(3, random_state=29).set_callbacks(Watch()).fit(blobs.X)
    soffit.save(model, tmp_path / "model.soffit")
    assert not hasattr(soffit.load(tmp_path / "model.soffit"), "_skl_callbacks")
    assert len(pickle.loads(pickle.dumps(model))._skl_callbacks) == 1


def test_older_versions_have_no_such_method(monkeypatch: pytest.MonkeyPatch, blobs: Sample) -> None:
    monkeypatch.setattr("soffit.models.base.has_callbacks", lambda: False)
    model = SoftClustering(3, random_state=29)
    assert not hasattr(model, "set_callbacks")
    assert model.fit(blobs.X).n_clusters_ == 3
    assert monitor.has_callbacks()
