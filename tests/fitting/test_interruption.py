"""Fits that are stopped by time, a callback or Ctrl-C, and fits that go on from there."""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from soffit import (
    BaumEagon,
    CompletelyPositive,
    HigherOrder,
    RandomWalkClassifier,
    RelationFactorization,
    SoF,
    SoftClustering,
    SoftHierarchy,
    SpectralClustering,
    segment,
)
from soffit.datasets import Sample, make_gaussians
from soffit.models import FitEvent

QUICK: dict[str, Any] = {"tuple_affinity": "point", "n_tuples": 1500}
# Tolerances of 0 keep the searches going until something else ends them.
MODELS: dict[str, Callable[..., Any]] = {
    "SoftClustering": SoftClustering,
    "SoF": SoF,
    "SoF-gradient": lambda *a, **k: SoF(*a, solver="gradient", **k),
    "SoF-penalty": lambda *a, **k: SoF(*a, solver="penalty", max_iter=50, **k),
    "BaumEagon": BaumEagon,
    "BaumEagon-growth": lambda *a, **k: BaumEagon(*a, solver="growth", **k),
    "CompletelyPositive": CompletelyPositive,
    "CompletelyPositive-parallel": lambda *a, **k: CompletelyPositive(*a, solver="parallel", **k),
    "RelationFactorization": RelationFactorization,
    "RelationFactorization-sparse": lambda *a, **k: RelationFactorization(*a, sparsity=0.01, **k),
    "SoftHierarchy": lambda *a, **k: SoftHierarchy(*a, levels=[12, 3], **k),
    "SoftHierarchy-published": lambda *a, **k: SoftHierarchy(*a, levels=[12, 3], refine=False, **k),
    "SpectralClustering": SpectralClustering,
    "HigherOrder": lambda *a, **k: HigherOrder(*a, n_jobs=1, **QUICK, **k),
    "HigherOrder-threads": lambda *a, **k: HigherOrder(*a, n_jobs=2, **QUICK, **k),
}
every_model = pytest.mark.parametrize("name", MODELS)


@pytest.fixture(scope="module")
def touching() -> Sample:
    return make_gaussians(120, n_clusters=3, separation=3.0, random_state=6101)


@pytest.fixture
def sigint() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def assert_stopped(model: Any, how: str) -> None:
    assert model.stop_reason_ == how
    assert not model.converged_
    # After Ctrl-C what follows a search is set up, but not searched.
    assert model.n_iter_ >= (0 if how == "interrupted" else 1)
    np.testing.assert_allclose(model.memberships_.sum(axis=1), 1.0, atol=1e-9)
    assert model.memberships_.shape == (120, 3)
    assert model.objective_ == model.objective_history_[-1]


@every_model
def test_a_callback_is_told_every_iteration_and_may_end_the_fit(
    name: str, touching: Sample
) -> None:
    events: list[FitEvent] = []

    def stop_at_the_third(event: FitEvent) -> bool:
        events.append(event)
        return len(events) == 3

    model = MODELS[name](3, random_state=31, tol=0.0, callback=stop_at_the_third)
    with pytest.warns(ConvergenceWarning, match="the callback stopped it"):
        model.fit(touching.X)
    assert_stopped(model, "callback")
    assert len(events) == 3
    assert events[0].iteration == 1
    assert events[0].phase
    assert all(np.isfinite(event.objective) for event in events)
    assert 0 < events[0].elapsed <= events[2].elapsed


@every_model
def test_max_time_ends_the_fit_after_an_iteration(name: str, touching: Sample) -> None:
    model = MODELS[name](3, random_state=31, tol=0.0, max_time=1e-6)
    with pytest.warns(ConvergenceWarning, match=r"max_time=1e-06 s.*Increase max_time"):
        model.fit(touching.X)
    assert_stopped(model, "max_time")


# Signals reach the main thread only: threads have a test of their own.
@pytest.mark.parametrize("name", [name for name in MODELS if "threads" not in name])
def test_ctrl_c_ends_the_fit_with_the_best_so_far(
    name: str, touching: Sample, sigint: None
) -> None:
    calls = []

    def interrupt(event: FitEvent) -> None:
        calls.append(event)
        if len(calls) == 2:
            signal.raise_signal(signal.SIGINT)

    model = MODELS[name](3, random_state=31, tol=0.0, callback=interrupt)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model.fit(touching.X)
    assert_stopped(model, "interrupted")
    assert len(calls) == 2


def test_ctrl_c_reaches_searches_in_threads() -> None:
    # In a process of its own: a stray interrupt would end the tests themselves.
    code = """
import os, signal, threading, time, warnings
from soffit import HigherOrder
from soffit.datasets import make_gaussians

# Jobs in the background of a shell ignore Ctrl-C, and so do the processes that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)
begun = threading.Event()

def press():
    begun.wait()
    time.sleep(0.3)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=press, daemon=True).start()
warnings.simplefilter("ignore")
# Left alone, this fit takes many times as long as the key needs to be pressed.
model = HigherOrder(
    3, random_state=31, tol=0.0, max_iter=10**6, n_jobs=2, n_init=64,
    callback=lambda event: begun.set(),
)
print(model.fit(make_gaussians(120, random_state=31).X).stop_reason_)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=240, check=False
    )
    assert done.stdout.strip() == "interrupted", done.stderr


def test_ctrl_c_before_the_first_iteration_is_raised(
    touching: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("soffit.fitting.recipe.given_or_chosen", interrupt)
    with pytest.raises(KeyboardInterrupt):
        SoF(3).fit(touching.X)


def test_what_is_merely_true_does_not_end_a_fit(touching: Sample) -> None:
    model = SoF(3, scale="fit", random_state=31, callback=lambda event: 1).fit(touching.X)
    assert (model.stop_reason_, model.converged_) == ("converged", True)


def test_an_error_in_a_callback_is_the_user_s(touching: Sample) -> None:
    def fail(event: FitEvent) -> None:
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        SoF(3, callback=fail).fit(touching.X)


def test_max_iter_has_its_own_reason(touching: Sample) -> None:
    model = SoF(3, random_state=31, tol=0.0, max_iter=2)
    with pytest.warns(ConvergenceWarning, match="Increase max_iter"):
        model.fit(touching.X)
    assert_stopped(model, "max_iter")


def test_after_a_stop_no_other_start_is_tried(touching: Sample) -> None:
    phases = set()

    def stop(event: FitEvent) -> bool:
        phases.add(event.phase)
        return True

    with pytest.warns(ConvergenceWarning):
        SoF(3, n_init=5, random_state=31, callback=stop).fit(touching.X)
    assert phases == {"start 1 of 5"}


# --- going on -------------------------------------------------------------------------------------

ONE_START: dict[str, Callable[..., Any]] = {
    **{name: MODELS[name] for name in MODELS if not name.startswith(("Spectral", "Relation"))},
    "CompletelyPositive": lambda *a, **k: CompletelyPositive(*a, init="spectral", **k),
    "CompletelyPositive-parallel": lambda *a, **k: CompletelyPositive(
        *a, init="spectral", solver="parallel", **k
    ),
    "RelationFactorization": lambda *a, **k: RelationFactorization(*a, n_init=0, **k),
    "HigherOrder": lambda *a, **k: HigherOrder(*a, n_init=1, **QUICK, **k),
}
for several in ("HigherOrder-threads", "SoF-penalty"):
    ONE_START.pop(several)


@pytest.mark.parametrize("name", ONE_START)
def test_a_stopped_fit_that_goes_on_ends_where_an_undisturbed_one_does(name: str) -> None:
    X = make_gaussians(120, n_clusters=3, separation=4.0, random_state=6113).X
    make = ONE_START[name]
    settings = {"random_state": 31, "tol": 1e-7 if "growth" in name else 1e-10, "max_iter": 20000}
    whole = make(3, **settings).fit(X)
    # Late enough for the leaders of several starts to be known.
    late = 15 * 4 + 3 if name.startswith(("Relation", "SoftHierarchy")) else 3
    count = []

    def stop(event: FitEvent) -> bool:
        count.append(event)
        return len(count) == late

    model = make(3, warm_start=True, callback=stop, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X)
    first = model.objective_
    model.set_params(callback=None).fit(X)
    assert model.converged_
    if not name.startswith("SoftHierarchy"):
        assert model.objective_history_[0] <= first * (1 + 1e-9)
    assert model.objective_ == pytest.approx(whole.objective_, rel=1e-4)
    np.testing.assert_allclose(model.memberships_, whole.memberships_, atol=0.02)


@pytest.mark.parametrize("name", ONE_START)
def test_a_converged_fit_that_goes_on_has_nothing_to_do(name: str, touching: Sample) -> None:
    model = ONE_START[name](3, warm_start=True, random_state=31, max_iter=5000).fit(touching.X)
    objective, n_iter = model.objective_, model.n_iter_
    model.fit(touching.X)
    # Only the bottom of a hierarchy goes on; the levels above it are made anew.
    is_hierarchy = name.startswith("SoftHierarchy")
    assert model.objective_ <= objective * (1 + (1e-5 if is_hierarchy else 1e-9))
    if not is_hierarchy:
        assert model.n_iter_ <= max(n_iter, 12)


@pytest.mark.parametrize("name", ONE_START)
def test_another_shape_begins_anew(name: str, touching: Sample) -> None:
    make = ONE_START[name]
    other = make_gaussians(100, n_clusters=3, separation=3.0, random_state=6121).X
    model = make(3, warm_start=True, random_state=31, tol=1e-3).fit(other).fit(touching.X)
    fresh = make(3, random_state=31, tol=1e-3).fit(touching.X)
    assert np.array_equal(model.memberships_, fresh.memberships_)
    if name.startswith("SoftHierarchy"):
        return
    model.set_params(n_clusters=4).fit(touching.X)
    fresh = make(4, random_state=31, tol=1e-3).fit(touching.X)
    assert np.array_equal(model.memberships_, fresh.memberships_)


def test_without_warm_start_a_second_fit_is_the_same(touching: Sample) -> None:
    model = SoF(3, random_state=31).fit(touching.X)
    first = model.memberships_
    assert np.array_equal(model.fit(touching.X).memberships_, first)


# --- beyond single models -------------------------------------------------------------------------


def test_resamples_end_with_the_time(touching: Sample) -> None:
    model = SoftClustering(3, n_resamples=50, random_state=31, max_time=0.02)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(touching.X)
    assert any("max_time=0.02" in str(item.message) for item in caught)
    assert model.stop_reason_ == "max_time"
    assert not model.converged_
    # Fewer than two resamples have no agreement.
    assert not hasattr(model, "agreement_")
    np.testing.assert_allclose(model.memberships_.sum(axis=1), 1.0, atol=1e-9)


def test_ctrl_c_between_resamples_keeps_those_that_are_done(
    touching: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    from soffit.fitting import resampling

    follow = resampling.run

    def interrupted_at(number: int) -> Any:
        fits = iter(range(1, 100))

        def run(*arguments: Any, **options: Any) -> Any:
            fitted = follow(*arguments, **options)
            return replace(fitted, stopped="interrupted") if next(fits) == number else fitted

        return run

    model = SoftClustering(3, n_resamples=6, random_state=31)
    monkeypatch.setattr(resampling, "run", interrupted_at(4))
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model.fit(touching.X)
    assert (model.stop_reason_, model.converged_) == ("interrupted", False)
    assert 0.0 < model.agreement_ <= 1.0
    monkeypatch.setattr(resampling, "run", interrupted_at(2))
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model.fit(touching.X)
    assert model.stop_reason_ == "interrupted"
    assert not hasattr(model, "agreement_")


# --- every phase ----------------------------------------------------------------------------------


def _interrupted_once(function: Any, error: type[BaseException]) -> Any:
    """A function whose first call ends with an error."""
    calls = []

    def call(*arguments: Any, **options: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 1:
            raise error
        return function(*arguments, **options)

    return call


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("soffit.models.soft_clustering", "solve_locally"),
        ("soffit.models.soft_clustering", "random_walk"),
        ("soffit.models.soft_clustering", "weigh_partitions"),
        ("soffit.models.soft_clustering", "calibrated"),
        ("soffit.factorize.simplex.placement", "with_prior"),
    ],
)
def test_ctrl_c_after_the_first_partition_returns_a_model(
    module: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A square has many partitions of nearly equal rank, which are averaged last."""
    X = np.random.default_rng(31).uniform(size=(120, 2))
    original = getattr(import_module(module), name)
    monkeypatch.setattr(f"{module}.{name}", _interrupted_once(original, KeyboardInterrupt))
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = SoftClustering(3, random_state=31).fit(X)
    assert_stopped(model, "interrupted")
    placed = model.predict_proba(X)
    assert np.mean(placed.argmax(axis=1) == model.labels_) > 0.9


@pytest.mark.parametrize("name", ["random_walk", "calibrated"])
def test_ctrl_c_while_a_free_mixture_is_placed_loses_nothing(
    name: str, touching: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There are no other partitions to average over, and so nothing is left to do."""
    whole = SoftClustering(3, random_state=31).fit(touching.X)
    original = getattr(import_module("soffit.models.soft_clustering"), name)
    broken = _interrupted_once(original, KeyboardInterrupt)
    monkeypatch.setattr(f"soffit.models.soft_clustering.{name}", broken)
    model = SoftClustering(3, random_state=31).fit(touching.X)
    assert model.memberships_.tobytes() == whole.memberships_.tobytes()


def test_ctrl_c_at_the_very_end_loses_nothing(
    touching: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    from soffit.fitting.fitted import with_surroundings

    whole = SoftClustering(3, random_state=31).fit(touching.X)
    broken = _interrupted_once(with_surroundings, KeyboardInterrupt)
    monkeypatch.setattr("soffit.models.base.with_surroundings", broken)
    model = SoftClustering(3, random_state=31).fit(touching.X)
    assert model.memberships_.tobytes() == whole.memberships_.tobytes()
    assert model.novelty_score().tobytes() == whole.novelty_score().tobytes()


def test_a_second_ctrl_c_is_raised(touching: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("soffit.models.soft_clustering.random_walk", interrupt)
    with pytest.raises(KeyboardInterrupt):
        SoftClustering(3).fit(touching.X)


def test_a_mixture_that_takes_too_long_is_left_out(
    touching: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    from soffit.models import soft_clustering

    original = soft_clustering.weigh_partitions

    def slow(*arguments: Any, **options: Any) -> Any:
        time.sleep(1.5)
        return original(*arguments, **options)

    monkeypatch.setattr(soft_clustering, "weigh_partitions", slow)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = SoftClustering(3, random_state=31, max_time=1.4).fit(touching.X)
    assert_stopped(model, "max_time")
    assert model._fitted.placer.smoothing.mixture is None


def test_without_any_result_in_time_a_large_fit_is_given_up() -> None:
    X = make_gaussians(30_000, n_clusters=3, random_state=31).X
    X = np.column_stack([X, np.random.default_rng(31).normal(size=(30_000, 8))])
    # What is compiled at first counts on neither side.
    SoftClustering(3, random_state=31).fit(X)
    model = SoftClustering(3, random_state=31).fit(X[:200])
    before = pickle.dumps(model)
    begin = time.process_time()
    with pytest.raises(ValueError, match=r"max_time=0\.01 s ended .* 'affinities'.*Increase"):
        model.set_params(max_time=0.01).fit(X)
    given_up = time.process_time() - begin
    assert pickle.dumps(model.set_params(max_time=None)) == before
    begin = time.process_time()
    model.fit(X)
    assert given_up < time.process_time() - begin


@pytest.mark.parametrize("on", ["points", "clusters"])
def test_a_walk_of_a_billion_steps_ends_in_time(on: Any, touching: Sample) -> None:
    y = np.full(120, -1)
    y[:20] = touching.labels[:20]
    model = RandomWalkClassifier(on=on, n_clusters=12, n_steps=10**9, max_time=0.5, random_state=31)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(touching.X, y)
    np.testing.assert_allclose(model.label_distributions_.sum(axis=1), 1.0, atol=1e-9)


def test_a_walk_that_has_arrived_takes_no_further_steps() -> None:
    A = np.ones((6, 6))
    A[:3, 3:] = A[3:, :3] = 0.2
    y = [0, -1, -1, 1, -1, -1]
    model = RandomWalkClassifier(affinity="precomputed", n_steps=10**9).fit(A, y)
    long = RandomWalkClassifier(affinity="precomputed", n_steps=10**4).fit(A, y)
    np.testing.assert_allclose(
        model.label_distributions_, long.label_distributions_, rtol=0, atol=1e-12
    )


def test_high_orders_end_in_time() -> None:
    X = make_gaussians(300, n_clusters=2, random_state=31).X
    begin = time.process_time()
    with pytest.raises(ValueError, match=r"max_time=0\.01 s ended before"):
        HigherOrder(2, order=24, random_state=31, max_time=0.01).fit(X)
    assert time.process_time() - begin < 10.0


def test_the_classifier_uses_the_clusters_found_so_far(touching: Sample) -> None:
    y = np.full(120, -1)
    y[:20] = touching.labels[:20]
    model = RandomWalkClassifier(on="clusters", n_clusters=12, max_time=1e-6, random_state=31)
    with pytest.warns(ConvergenceWarning, match="RandomWalkClassifier.*max_time"):
        model.fit(touching.X, y)
    np.testing.assert_allclose(model.label_distributions_.sum(axis=1), 1.0, atol=1e-9)
    seen: list[FitEvent] = []
    RandomWalkClassifier(on="clusters", n_clusters=12, callback=seen.append).fit(touching.X, y)
    assert seen


def test_segmentation_hands_on_time_and_callback() -> None:
    image = np.zeros((12, 16))
    image[3:9, 4:11] = 1.0
    seen: list[FitEvent] = []
    with pytest.warns(ConvergenceWarning, match="max_time"):
        result = segment(image, 2, max_time=1e-6)
    assert result.model.stop_reason_ == "max_time"
    segment(image, 2, callback=seen.append)
    assert seen


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_time": 0}, "max_time must be None or a number above 0"),
        ({"max_time": "1 min"}, "max_time must be None or a number above 0"),
        ({"callback": 3}, "callback must be None or a callable"),
        ({"warm_start": 1}, "warm_start must be one of True, False"),
    ],
)
def test_parameters_are_checked(settings: dict[str, Any], message: str, touching: Sample) -> None:
    with pytest.raises(ValueError, match=message):
        SoF(3, **settings).fit(touching.X)


def test_models_with_a_callback_can_be_cloned_and_pickled(touching: Sample) -> None:
    model = SoF(3, random_state=31, callback=abs_of_nothing, max_time=60.0).fit(touching.X)
    assert clone(model).callback is abs_of_nothing
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.memberships_, model.memberships_)


def abs_of_nothing(event: FitEvent) -> None:
    """A callback that can be pickled."""
