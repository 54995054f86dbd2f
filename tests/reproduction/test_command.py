"""`python -m reproduction`, and the one experiment in several processes."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from reproduction.__main__ import main
from reproduction.harness import run as running
from reproduction.harness.experiment import Setup
from reproduction.harness.registry import names


@pytest.fixture(autouse=True)
def no_png(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "png_works", lambda: False)


def rows(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        return [{**row, "seconds": ""} for row in csv.DictReader(file)]


def test_experiments_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    main([])
    shown = capsys.readouterr().out
    assert [line.split()[0] for line in shown.splitlines()[1:-1]] == list(names())
    main(["--json"])
    assert json.loads(capsys.readouterr().out) == {"experiments": list(names())}


def test_an_experiment_is_run_kept_and_documented(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    options = ["jordan-ideal", "--quick", "--out", str(out)]
    main([*options, "--docs", str(tmp_path / "docs")])
    shown = capsys.readouterr()
    assert str(out / "jordan-ideal" / "table.md") in shown.out
    assert "python -m reproduction jordan-ideal" in (tmp_path / "docs/reproduction.md").read_text()
    before = (out / "jordan-ideal" / "units.jsonl").read_text()
    main([*options, "--json"])
    assert "jordan-ideal" in json.loads(capsys.readouterr().out)["verdicts"]
    assert (out / "jordan-ideal" / "units.jsonl").read_text() == before


def test_quiet_prints_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["jordan-ideal", "--quick", "--quiet", "--out", str(tmp_path)])
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no-such"], "'no-such' is not an experiment. Choose sof-tables"),
        (["jordan-ideal", "--jobs", "0"], "at least 1, got '0'"),
        (["jordan-ideal", "--data", "/no/such/folder"], "there is no folder /no/such/folder"),
    ],
)
def test_mistakes_are_told(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert message in capsys.readouterr().err


def test_an_interrupted_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measured = running._measure

    def interrupted(number: int, *rest: Any) -> Any:
        if number == 1:
            raise KeyboardInterrupt
        return measured(number, *rest)

    options = ["zass-donut", "--runs", "1", "--out", str(tmp_path)]
    monkeypatch.setattr(running, "_measure", interrupted)
    with pytest.raises(SystemExit, match="130"):
        main(options)
    assert "goes on" in capsys.readouterr().err
    kept = tmp_path / "zass-donut" / "units.jsonl"
    first = kept.read_text()
    assert first.count("\n") == 1
    monkeypatch.setattr(running, "_measure", measured)
    main(options)
    assert kept.read_text().startswith(first)
    assert kept.read_text().count("\n") == 4


def test_results_do_not_depend_on_the_number_of_processes(tmp_path: Path) -> None:
    found = []
    for jobs in (1, 2):
        running.run(["zass-donut"], tmp_path / str(jobs), setup=Setup(runs=2), jobs=jobs)
        found.append(rows(tmp_path / str(jobs) / "zass-donut" / "runs.csv"))
    assert found[0] == found[1]
    assert len(found[0]) == 4
