"""Terminal, JSON, notebook, report, figure and file of one fit show the same numbers."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import soffit
from soffit.cli.app import make_app
from soffit.datasets import make_gaussians
from soffit.figures import cluster_sizes
from soffit.io import read_result
from soffit.results.notebook import summary_html
from soffit.results.summary import Summary

K = 4
# A number of either sign, or a share.
VALUE = "([<>\N{MINUS SIGN}-]?[\\d.,]+(?: %)?)"


@dataclass
class Seen:
    """What one output says, read back from it."""

    sizes: list[int]
    n_uncertain: int
    certainty: list[str] = field(default_factory=list)
    expected_sizes: list[str] = field(default_factory=list)
    # By cluster: column, mean and overall mean, as text.
    apart: list[list[tuple[str, str, str]]] = field(default_factory=list)
    scores: list[str] = field(default_factory=list)
    choice: tuple[str, ...] = ()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with numbers of both signs and words, and all outputs of a fit to it."""
    folder = tmp_path_factory.mktemp("outputs")
    X, labels, _ = make_gaussians(160, n_clusters=K, separation=2.6, random_state=23)
    rng = np.random.default_rng(23)
    with (folder / "points.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["east", "north", "noise", "colour", "group"])
        for (x, y), label in zip(X, labels, strict=True):
            colour = "red" if rng.random() < (0.9 if label == 0 else 0.1) else "blue"
            row = [f"{x:.4f}", f"{100 * y:.3f}", f"{rng.normal():.4f}", colour, f"g{label}"]
            writer.writerow(row)
    common = ["fit", str(folder / "points.csv"), "--label", "group", "--text", "onehot"]
    files = ["--report", "report.html", "--save", "model.soffit", "-o", "clusters.csv"]
    outputs = [str(folder / item) if "." in item else item for item in files]
    for name, options in (
        ("terminal.txt", ["-k", str(K), *outputs]),
        ("answer.json", ["-k", str(K), "--json"]),
        ("chosen.txt", ["--report", str(folder / "chosen.html")]),
        ("chosen.json", ["--json"]),
    ):
        done = CliRunner().invoke(make_app(), [*common, *options])
        assert done.exit_code == 0, done.output
        (folder / name).write_text(done.stdout, encoding="utf-8")
    return folder


def text_of(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def from_terminal(folder: Path) -> Seen:
    text = (folder / "terminal.txt").read_text(encoding="utf-8")
    rows = re.findall(r"^ +(\d+) +(\d+) +([\d.]+) *(.*)$", text, re.MULTILINE)
    apart = [re.findall(rf"(\S+) {VALUE} \(overall {VALUE}\)", words) for *_, words in rows]
    uncertain = re.search(r"([\d,]+) of 160 objects are uncertain", text)
    assert uncertain is not None
    scores = re.search(r"Against the column 'group': (.*)\.\n", text)
    assert scores is not None
    return Seen(
        [int(row[1]) for row in rows],
        int(uncertain[1]),
        [row[2] for row in rows],
        apart=apart,
        scores=re.findall(r"\d\.\d{3}", scores[1]),
    )


def from_json(folder: Path) -> Seen:
    answer = json.loads((folder / "answer.json").read_text(encoding="utf-8"))
    clusters = answer["clusters"]
    means = [
        [(found["column"], found["mean"], found["overall"]) for found in cluster["apart"]]
        for cluster in clusters
    ]
    return Seen(
        [cluster["size"] for cluster in clusters],
        answer["n_uncertain"],
        [f"{cluster['certainty']:.2f}" for cluster in clusters],
        [f"{cluster['expected_size']:.1f}" for cluster in clusters],
        means,
        [f"{value:.3f}" for value in answer["scores"].values()],
    )


def from_report(folder: Path) -> Seen:
    page = (folder / "report.html").read_text(encoding="utf-8").replace("<wbr>", "")
    tables = re.findall(r"<table>.*?</table>", page, re.DOTALL)
    sizes = next(table for table in tables if "Expected size" in table)
    rows = [
        [text_of(cell) for cell in re.findall(r"<t[hd][ >].*?</t[hd]>", row)]
        for row in re.findall(r"<tr>.*?</tr>", sizes)[1:]
    ]
    cards = [text_of(card) for card in re.findall(r'<article class="card">.*?</article>', page)]
    how = r"(?:very )?(?:high|low|common|rare)"
    phrase = rf"(\S+) is {how} \((?:mean )?{VALUE}, overall {VALUE}\)"
    apart = [
        [tuple(word.replace("\N{MINUS SIGN}", "-") for word in found) for found in words]
        for words in (re.findall(phrase, card) for card in cards)
    ]
    tile = re.search(r"<dt>uncertain</dt><dd>([\d,]+)</dd>", page)
    assert tile is not None
    headline = re.search(r"and (\d+) are uncertain", text_of(page))
    assert headline is not None
    assert headline[1] == tile[1]
    assert sum(int(row[5]) for row in rows) == int(tile[1])
    score_table = next(table for table in tables if "Brier" in table)
    scores = re.findall(r">(\d\.\d{3})<", score_table)
    return Seen(
        [int(row[1]) for row in rows],
        int(tile[1]),
        [row[4] for row in rows],
        [row[3] for row in rows],
        apart,
        scores,
    )


def from_notebook(folder: Path) -> Seen:
    html = summary_html(soffit.load(folder / "model.soffit"))
    rows = [
        [text_of(cell) for cell in re.findall(r"<td>(.*?)</td>", row)]
        for row in re.findall(r"<tr>(.*?)</tr>", html)[1:]
    ]
    uncertain = re.search(r"(\d+) of 160 objects are uncertain", html)
    assert uncertain is not None
    return Seen([int(row[1]) for row in rows], int(uncertain[1]), [row[2] for row in rows])


def from_figure(folder: Path) -> Seen:
    figure = cluster_sizes(soffit.load(folder / "model.soffit"))
    bands = np.array([trace.y for trace in figure.data[:3]])
    assert f"{bands[2].sum()} of 160" in figure.layout.title.subtitle.text
    expected = [f"{value:.1f}" for value in figure.data[3].y]
    return Seen(bands.sum(axis=0).tolist(), int(bands[2].sum()), expected_sizes=expected)


def from_file(folder: Path) -> Seen:
    summary = Summary.of(read_result(folder / "clusters.csv"))
    with (folder / "clusters.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    sizes = [sum(row["cluster"] == str(c) for row in rows) for c in range(K)]
    assert summary.sizes.tolist() == sizes
    return Seen(sizes, sum(float(row["certainty"]) < 0.6 for row in rows))


@pytest.mark.parametrize(
    "read", [from_terminal, from_report, from_notebook, from_figure, from_file]
)
def test_sizes_doubt_and_certainty_are_the_same(files: Path, read: Any) -> None:
    expected, seen = from_json(files), read(files)
    assert sum(expected.sizes) == 160
    assert 0 < expected.n_uncertain < 160
    assert seen.sizes == expected.sizes
    assert seen.n_uncertain == expected.n_uncertain
    for part in ("certainty", "expected_sizes", "scores"):
        if getattr(seen, part):
            assert getattr(seen, part) == getattr(expected, part)
    assert len(from_report(files).scores) == len(from_terminal(files).scores) == 5


def test_columns_that_set_apart_are_the_same(files: Path) -> None:
    raw, terminal, report = from_json(files), from_terminal(files), from_report(files)
    assert [cluster[:2] for cluster in report.apart] == terminal.apart
    assert any(len(cluster) > 0 for cluster in report.apart)
    assert any("%" in mean for cluster in terminal.apart for _, mean, _ in cluster)
    assert any(mean.startswith("-") for cluster in terminal.apart for _, mean, _ in cluster)
    for written, numbers in zip(report.apart, raw.apart, strict=True):
        assert [column for column, *_ in written] == [column for column, *_ in numbers]
        for words, values in zip(written, numbers, strict=True):
            for word, value in zip(words[1:], values[1:], strict=True):
                assert_same(word, value)


def assert_same(word: str, value: float) -> None:
    """The word is the value, rounded."""
    digits = word.replace(",", "")
    if digits in ("<1 %", ">99 %"):
        assert abs(value - (digits == ">99 %")) < 0.005
        return
    if digits.endswith(" %"):
        assert digits == f"{100 * value:.0f} %"
        return
    decimals = len(digits.partition(".")[2])
    assert digits == f"{round(value, decimals) + 0.0:.{decimals}f}"


def test_the_rule_of_what_sets_apart_by_hand(files: Path) -> None:
    model = soffit.load(files / "model.soffit")
    with (files / "points.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    clusters = json.loads((files / "answer.json").read_text(encoding="utf-8"))["clusters"]
    for column in ("east", "north", "noise"):
        values = np.array([float(row[column]) for row in rows])
        for cluster in range(K):
            mean = np.average(values, weights=model.memberships_[:, cluster])
            apart = abs(mean - values.mean()) / values.std()
            found = [d for d in clusters[cluster]["apart"] if d["column"] == column]
            if apart < 0.5:
                assert not found
            elif found:
                assert found[0]["mean"] == pytest.approx(mean, rel=1e-6)
                assert found[0]["overall"] == pytest.approx(values.mean(), rel=1e-9)


def test_the_choice_of_the_number_is_the_same(files: Path) -> None:
    choice = json.loads((files / "chosen.json").read_text(encoding="utf-8"))["choice"]
    pattern = r"The number of clusters, (\d+), was chosen among 1 to \d+: confidence ([\d.]+)"
    expected = (str(choice["n_clusters"]), f"{choice['confidence']:.2f}")
    for name in ("chosen.txt", "chosen.html"):
        found = re.search(pattern, text_of((files / name).read_text(encoding="utf-8")))
        assert found is not None
        assert found.groups() == expected
