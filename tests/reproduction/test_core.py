"""Resuming, missing data, failures and pages, with a small experiment of the tests' own."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from reproduction.harness import run as running
from reproduction.harness.experiment import Experiment, Measured, Results, Setup, Unit
from reproduction.harness.page import write_docs
from reproduction.harness.report import Finding, Report, judged
from reproduction.harness.run import kept_sections, run
from reproduction.papers.sof.significance import beats_all

CALLS: list[str] = []


def plan(setup: Setup) -> list[Unit]:
    units = [Unit(f"toy/{n}", {"seed": n}) for n in range(setup.n_runs(3))]
    return [*units, Unit("absent/0", {"seed": 0, "set": "absent"}, ("no_such_set",))]


def measure(unit: Unit, setup: Setup) -> Measured:
    CALLS.append(unit.key)
    return Measured({"score": np.float64(unit.settings["seed"])}, {"x": np.arange(3)})


def report(results: Results) -> Report:
    mean = results.column("score").mean()
    assert all(record.arrays["x"].tolist() == [0, 1, 2] for record in results)
    return Report("Read.", [Finding("mean", "1.0", f"{mean:.1f}", "none", "reproduced")])


TOY = Experiment("toy", "Nobody 1999", "A toy", plan, measure, report)


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Experiment:
    CALLS.clear()
    monkeypatch.setattr(running, "find", lambda name: TOY)
    monkeypatch.setattr(running, "names_of_all", lambda: ("toy",))
    return TOY


def test_finished_units_are_not_run_again(toy: Experiment, tmp_path: Path) -> None:
    setup = Setup(data=tmp_path)
    run(["toy"], tmp_path / "out", setup=Setup(runs=2, data=tmp_path))
    run(["toy"], tmp_path / "out", setup=setup)
    run(["toy"], tmp_path / "out", setup=setup)
    assert CALLS == ["toy/0", "toy/1", "toy/2"]
    with (tmp_path / "out/toy/runs.csv").open() as file:
        assert [row["score"] for row in csv.DictReader(file)] == ["0.0", "1.0", "2.0"]


def test_a_line_cut_short_is_run_again(toy: Experiment, tmp_path: Path) -> None:
    run(["toy"], tmp_path / "out", setup=Setup(data=tmp_path))
    lines = tmp_path / "out/toy/units.jsonl"
    lines.write_text(lines.read_text()[:-20])
    run(["toy"], tmp_path / "out", setup=Setup(data=tmp_path))
    assert CALLS.count("toy/2") == 2
    assert CALLS.count("toy/0") == 1


def test_missing_data_are_one_line_and_the_rest_runs(toy: Experiment, tmp_path: Path) -> None:
    events = []
    (section,) = run(["toy"], tmp_path / "out", setup=Setup(data=tmp_path), listener=events.append)
    notes = [event.text for event in events if event.kind == "note"]
    assert len(notes) == 1
    assert "no_such_set" in notes[0]
    assert section.findings[0].ours == "1.0"


def test_a_failed_unit_is_told_and_tried_again(
    toy: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(unit: Unit, setup: Setup) -> Measured:
        if unit.key == "toy/1":
            raise ValueError("no luck")
        return measure(unit, setup)

    bad = Experiment("toy", "", "", plan, broken, report)
    monkeypatch.setattr(running, "find", lambda name: bad)
    (section,) = run(["toy"], tmp_path / "out", setup=Setup(data=tmp_path))
    assert any("no luck" in remark for remark in section.remarks)
    monkeypatch.setattr(running, "find", lambda name: TOY)
    (section,) = run(["toy"], tmp_path / "out", setup=Setup(data=tmp_path))
    assert not any("no luck" in remark for remark in section.remarks)


def test_units_measured_together_are_kept_one_by_one(
    toy: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    portions: list[list[str]] = []

    def plan_pairs(setup: Setup) -> list[Unit]:
        pairs = [Unit(f"toy/{n}", {"seed": n}, together=f"pair {n // 2}") for n in range(4)]
        return [*pairs[: setup.n_runs(4)], Unit("alone/0", {"seed": 9})]

    def measure_pair(units: Sequence[Unit], setup: Setup) -> list[Measured]:
        portions.append([unit.key for unit in units])
        if broken and units[0].key == "toy/2":
            raise ValueError("no luck")
        return [measure(unit, setup) for unit in units]

    pairs = Experiment("toy", "", "", plan_pairs, measure, report, measure_together=measure_pair)
    monkeypatch.setattr(running, "find", lambda name: pairs)
    # One of the first pair is there already, and the second pair fails at first.
    broken = True
    run(["toy"], tmp_path / "out", setup=Setup(runs=1))
    (section,) = run(["toy"], tmp_path / "out")
    assert [remark for remark in section.remarks if "no luck" in remark] == [
        "toy/2 failed: no luck",
        "toy/3 failed: no luck",
    ]
    broken = False
    (section,) = run(["toy"], tmp_path / "out")
    assert portions == [["toy/0"], ["toy/1"], ["toy/2", "toy/3"], ["toy/2", "toy/3"]]
    assert not section.remarks
    assert section.findings[0].ours == "3.0"
    assert CALLS.count("alone/0") == 1


def test_the_page_is_assembled_from_the_folder(toy: Experiment, tmp_path: Path) -> None:
    run(["toy"], tmp_path / "out", setup=Setup(data=tmp_path))
    sections = kept_sections(tmp_path / "out")
    page = write_docs(sections, tmp_path / "out", tmp_path / "docs")
    assert "| mean | 1.0 | 1.0 | none | reproduced |" in page.read_text(encoding="utf-8")


def test_verdicts_follow_the_numbers() -> None:
    assert judged(0.91, 0.94, 0.03) == "reproduced"
    assert judged(0.98, 0.94, 0.03) == "better"
    assert judged(0.90, 0.94, 0.03) == "not reproduced"


def test_daggers_need_enough_runs_that_agree() -> None:
    high = np.linspace(0.8, 0.9, 20)
    assert beats_all(high, [high - 0.1, high - 0.2])
    assert not beats_all(high, [high - 0.1, high])
    assert not beats_all(high[:2], [high[:2] - 0.1])
