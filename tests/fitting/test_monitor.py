"""What verbose fits say."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from soffit import BaumEagon, SoF, SoftClustering
from soffit.datasets import make_gaussians
from soffit.fitting import monitor
from soffit.fitting.monitor import Progress


@pytest.fixture(autouse=True)
def memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitor, "peak_memory", lambda: 1_250_000_000)


class Clock:
    """Seconds that pass only when told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(monitor, "perf_counter", clock)
    return clock


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def shown(self) -> list[str]:
        """All that was ever shown, line by line, without the codes that move the cursor."""
        text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.getvalue())
        return [line.rstrip() for line in re.split(r"[\r\n]+", text) if line.strip()]


def open_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal for standard error; no fixture, because pytest sets it when the test begins."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "72")
    return terminal


def make_progress(verbose: int, **settings: Any) -> Progress:
    return Progress("Model", verbose, **settings)


def iterate(progress: Progress, clock: Clock, count: int, seconds: float) -> None:
    for number in range(1, count + 1):
        clock.now += seconds
        progress.iteration(number, 1.0 + 0.5**number)


def test_a_log_gets_one_line_per_phase_and_one_every_ten_seconds(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with make_progress(1) as progress:
        progress.phase("affinities")
        progress.phase("start 1 of 1")
        iterate(progress, clock, 35, 1.0)
        progress.finish("35 iterations")
    assert capsys.readouterr() == (
        "",
        "[Model]     0.00 s  affinities\n"
        "[Model]     0.00 s  start 1 of 1\n"
        "[Model]    10.00 s  start 1 of 1: iteration 10, objective 1.00098\n"
        "[Model]    20.00 s  start 1 of 1: iteration 20, objective 1\n"
        "[Model]    30.00 s  start 1 of 1: iteration 30, objective 1\n"
        "[Model]    35.00 s  done: 35 iterations, at most 1.25 GB of memory so far\n",
    )


def test_lines_of_a_log_are_neither_wrapped_nor_coloured(
    clock: Clock, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    phase = "level 1 of 2: [bold]12[/bold] clusters :smile: " + "x" * 200
    with make_progress(1) as progress:
        progress.phase(phase)
    assert capsys.readouterr().err == f"[Model]     0.00 s  {phase}\n"


def test_a_terminal_gets_a_live_line_and_one_line_per_ended_phase(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = open_terminal(monkeypatch)
    with make_progress(1) as progress:
        progress.phase("affinities")
        clock.now += 2.0
        progress.phase("start 1 of 1")
        iterate(progress, clock, 35, 1.0)
        progress.finish("35 iterations")
    lines = terminal.shown()
    assert [line for line in lines if line.startswith("[Model]")] == [
        "[Model]     2.00 s  affinities, 2.00 s",
        "[Model]    37.00 s  start 1 of 1, 35.00 s",
        "[Model]    37.00 s  done: 35 iterations, at most 1.25 GB of memory so far",
    ]
    live = [line for line in lines if not line.startswith("[Model]")]
    assert all("[Model]" in line for line in live)
    shown = [line for line in live if "start 1 of 1 iteration 35, objective 1 0:00:35" in line]
    assert shown
    assert max(len(line) for line in live) <= 72


def test_what_others_write_stands_above_the_live_line(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = open_terminal(monkeypatch)
    with make_progress(1) as progress:
        progress.phase("affinities")
        sys.stderr.write("a warning\n")
    assert "a warning" in terminal.shown()
    assert sys.stderr is terminal


def test_an_error_does_not_leave_a_line_open(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = open_terminal(monkeypatch)
    with pytest.raises(ZeroDivisionError), make_progress(1) as progress:
        progress.iteration(1, progress.phase("affinities") / 0)
    assert "[Model]     0.00 s  affinities, 0.00 s" in terminal.shown()
    # The live line is erased for good and the cursor is shown again.
    erased = terminal.getvalue().split("\x1b[2K")[-1]
    assert "\x1b[?25h" in erased
    assert "Model" not in erased


def test_threads_may_tell_their_iterations(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    open_terminal(monkeypatch)
    heard: list[int] = []
    with make_progress(1, callback=lambda event: heard.append(event.iteration)) as progress:
        progress.phase("factorization from 4 starts")
        with ThreadPoolExecutor(4) as pool:
            for thread in range(4):
                name = f"start {thread + 1} of 4" if thread else None
                for number in range(1, 51):
                    pool.submit(progress.iteration, number, 1.0, beside=name)
    assert sorted(heard) == sorted(4 * list(range(1, 51)))


def test_max_time_ends_a_fit(clock: Clock) -> None:
    with make_progress(0, max_time=30.0) as progress:
        progress.phase("start")
        clock.now += 20.0
        assert progress.iteration(20, 100.0) is None
        assert progress.time_left == pytest.approx(10.0)
        clock.now += 10.5
        assert progress.iteration(21, 50.0) == "max_time"
    assert progress.phase("next")


def test_the_time_left_is_shown_from_the_second_phase_on(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with make_progress(1, max_time=500.0) as progress:
        progress.expect((("affinities", 0.5), ("start", 0.25), ("memberships", 0.25)))
        progress.phase("affinities")
        clock.now += 200.0
        progress.phase("start")
        progress.phase("eigenvectors")
        clock.now += 290.0
        progress.phase("memberships")
        clock.now += 9.5
        progress.phase("memberships")
    assert [line.split("s  ")[1] for line in capsys.readouterr().err.splitlines()] == [
        "affinities",
        "start, about 3 min left",
        "eigenvectors",
        "memberships, about 10 s left",
        "memberships, less than 1 s left",
    ]


def test_every_fit_with_two_phases_shows_the_time_left(capsys: pytest.CaptureFixture[str]) -> None:
    X = make_gaussians(60, random_state=7).X
    for model in (SoF(3, scale="fit"), SoftClustering(3, n_resamples=2)):
        model.set_params(random_state=7, verbose=1).fit(X)
        lines = capsys.readouterr().err.splitlines()
        assert "left" not in lines[0]
        assert sum(line.endswith(" left") for line in lines) >= 2
    assert "resample 2 of 2, less than 1 s left" in "\n".join(lines)


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
    SoF(3, scale="fit", random_state=7, verbose=1).fit(X)


def test_rich_is_imported_by_verbose_fits_only() -> None:
    code = (
        "import sys\n"
        "from soffit.fitting.monitor import Progress\n"
        "with Progress('Model', 0) as progress:\n"
        "    progress.phase('start')\n"
        "    progress.iteration(1, 2.0)\n"
        "print('rich' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout.strip(), done.stderr) == ("False", "")
