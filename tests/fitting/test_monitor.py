"""What verbose fits say, and how they judge the time left."""

from __future__ import annotations

import io
import sys
from typing import Any

import pytest

from soffit import BaumEagon, SoF
from soffit.datasets import make_gaussians
from soffit.fitting import monitor as _display
from soffit.fitting import monitor as _outlook
from soffit.fitting import monitor as _progress
from soffit.fitting.monitor import Outlook, Progress, duration


@pytest.fixture(autouse=True)
def memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_progress, "peak_memory", lambda: 1_250_000_000)


class Clock:
    """Seconds that pass only when told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    from soffit.fitting import monitor as _progress

    clock = Clock()
    for module in (_outlook, _display, _progress):
        monkeypatch.setattr(module, "perf_counter", clock)
    return clock


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def run(outlook: Outlook, clock: Clock, objectives: list[float], seconds: float = 1.0) -> None:
    for number, objective in enumerate(objectives, start=1):
        clock.now += seconds
        outlook.note(number, objective)


def geometric(count: int, rate: float) -> list[float]:
    """Objectives near 1 whose gains shrink by the rate, beginning with 0.01."""
    return [1.0 + 0.01 * rate**t / (1 - rate) for t in range(count)]


def test_gains_are_extrapolated_to_the_tolerance(clock: Clock) -> None:
    outlook = Outlook(1000, 1e-5)
    run(outlook, clock, geometric(30, 0.9))
    left = outlook.left()
    assert left is not None
    assert not left.at_most
    # The gain is 0.01 * 0.9^t and reaches 1e-5 after some 66 iterations.
    assert 33 < left.seconds < 39
    assert str(left).startswith("about")


def test_only_max_iter_bounds_a_search_whose_gains_do_not_shrink(clock: Clock) -> None:
    outlook = Outlook(100, 1e-5)
    run(outlook, clock, [100.0 * 0.99**t for t in range(40)], seconds=0.5)
    left = outlook.left()
    assert left is not None
    assert left.at_most
    assert left.seconds == pytest.approx(30.0)
    assert str(left) == "at most 30 s left"


def test_max_iter_caps_what_gains_would_take(clock: Clock) -> None:
    outlook = Outlook(35, 1e-12)
    run(outlook, clock, geometric(30, 0.9))
    left = outlook.left()
    assert left == (5.0, True)


def test_nothing_to_judge_by(clock: Clock) -> None:
    assert Outlook(100, 1e-5).left() is None
    outlook = Outlook(None, 1e-5)
    run(outlook, clock, [3.0, 2.0])
    assert outlook.left() is None
    outlook = Outlook(20, 0.0)
    run(outlook, clock, [3.0, 2.0])
    assert outlook.left() == (18.0, True)


def test_searches_to_come_take_as_long_as_those_that_have_ended(clock: Clock) -> None:
    outlook = Outlook(10, 0.0, parts=4)
    run(outlook, clock, [5.0] * 10)
    run(outlook, clock, [5.0] * 10)
    run(outlook, clock, [5.0] * 4)
    left = outlook.left()
    assert left is not None
    assert left.seconds == pytest.approx(6.0 + 10.0, rel=0.35)


def test_durations_in_apt_units() -> None:
    assert [duration(s) for s in (-1.0, 4.4, 89.0, 300.0, 7200.0)] == [
        "0 s",
        "4 s",
        "89 s",
        "5 min",
        "2.0 h",
    ]


def make_progress(verbose: int, **settings: Any) -> Progress:
    return Progress("Model", verbose, max_iter=100, tol=1e-5, **settings)


def iterate(progress: Progress, clock: Clock, count: int, seconds: float) -> None:
    for number in range(1, count + 1):
        clock.now += seconds
        progress.iteration(number, 1.0 + 0.5**number)


def test_a_log_gets_one_line_a_phase_and_one_every_ten_seconds(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with make_progress(1) as progress:
        progress.phase("affinities")
        progress.phase("start 1 of 1")
        iterate(progress, clock, 35, 1.0)
        progress.finish("35 iterations")
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2 + 3 + 1
    assert "\r" not in "".join(lines)
    assert lines[2].startswith("[Model]    10.00 s  start 1 of 1 [")
    assert "left, iteration 10, objective 1.00098" in lines[2]
    assert lines[-1].endswith("done: 35 iterations, at most 1.25 GB of memory so far")


def test_a_terminal_gets_one_line_a_phase_that_is_rewritten(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "72")
    with make_progress(1) as progress:
        progress.phase("affinities")
        clock.now += 2.0
        progress.phase("start 1 of 1")
        iterate(progress, clock, 35, 1.0)
        progress.finish("35 iterations")
    lines = terminal.getvalue().split("\n")
    assert len(lines) == 4
    assert lines[0].split("\r")[-1].rstrip() == "[Model]     2.00 s  affinities, 2.00 s"
    states = lines[1].split("\r")
    assert len(states) == 1 + 1 + 35 + 1
    assert max(len(state) for state in states) <= 71
    assert "at most 95 s left" not in states[1]
    assert "left" in states[20]
    assert states[-1].rstrip() == "[Model]    37.00 s  start 1 of 1, 35.00 s"
    assert lines[2] == "[Model]    37.00 s  done: 35 iterations, at most 1.25 GB of memory so far"


def test_an_error_does_not_leave_a_line_open(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with pytest.raises(ZeroDivisionError), make_progress(1) as progress:
        progress.iteration(1, progress.phase("affinities") / 0)
    assert terminal.getvalue().endswith("\n")


def test_the_time_left_is_never_more_than_max_time(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with make_progress(1, max_time=30.0) as progress:
        progress.phase("start")
        for number in range(1, 21):
            clock.now += 1.0
            assert progress.iteration(number, 100.0 * 0.99**number) is None
        assert "at most 10 s left" in capsys.readouterr().err.splitlines()[-1]
        assert progress.time_left == pytest.approx(10.0)
        clock.now += 10.5
        assert progress.iteration(21, 50.0) == "max_time"
    assert progress.phase("next")


def test_verbose_two_tells_each_iteration(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with make_progress(2) as progress:
        progress.phase("start")
        progress.iteration(1, 2.5)
        progress.iteration(1, 3.5, beside="start 2 of 2")
    assert [line.split("s  ")[1] for line in capsys.readouterr().err.splitlines()] == [
        "start",
        "iteration 1, objective 2.5",
        "start 2 of 2: iteration 1, objective 3.5",
    ]


def test_nothing_is_said_unless_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    X = make_gaussians(60, random_state=7).X
    SoF(3, scale="fit", random_state=7, callback=lambda event: None, max_time=60).fit(X)
    assert capsys.readouterr() == ("", "")


def test_a_fit_tells_its_phases_once(capsys: pytest.CaptureFixture[str]) -> None:
    X = make_gaussians(60, random_state=7).X
    BaumEagon(3, solver="growth", n_init=2, random_state=7, verbose=1).fit(X)
    err = capsys.readouterr().err
    for phase in ("affinities", "start 1 of 2", "start 2 of 2", "memberships", "done:"):
        assert err.count(phase) == 1


def test_a_program_without_standard_error_can_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    X = make_gaussians(60, random_state=7).X
    monkeypatch.setattr(sys, "stderr", None)
    SoF(3, scale="fit", random_state=7).fit(X)
