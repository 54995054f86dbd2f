"""Quick versions of the experiments after Zass & Shashua."""

from __future__ import annotations

import builtins
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from reproduction.harness.experiment import Results, Setup
from reproduction.harness.panels import larger_first, matched
from reproduction.harness.report import MET, REPRODUCED
from reproduction.papers.zass.donut import _kernel_kmeans, _share_of_the_kernel
from reproduction.papers.zass.dots import PATTERNS, dots, kernel
from reproduction.papers.zass.pairs import _some_pairs
from reproduction.papers.zass.photographs import explained, photograph
from reproduction.papers.zass.scribbles import overlap
from reproduction.papers.zass.side import random_pairs
from reproduction.papers.zass.strokes import outline, strokes


def test_memberships_cross_on_the_bridge(quick: Any) -> None:
    section, folder = quick("zass-bridge")
    assert [finding.verdict for finding in section.findings][:2] == [REPRODUCED] * 2
    assert (folder / "bridge.html").is_file()
    assert (folder / "table.md").read_text(encoding="utf-8").count("| ten bridge points |") == 3


def test_additive_normalization_keeps_the_ring_whole(quick: Any) -> None:
    section, _ = quick("zass-normalization")
    verdicts = {finding.claim: finding.verdict for finding in section.findings}
    assert verdicts["(a) against (b): additive better, donut, k = 2"] == REPRODUCED
    assert all("[label-tuned]" in f.setting for f in section.findings if "width 0.5" in f.setting)


def test_dots_and_photographs(quick: Any) -> None:
    pytest.importorskip("skimage")
    section, folder = quick("zass-patterns")
    assert {path.name for path in folder.glob("*.html")} == {"dots.html", "photographs.html"}
    assert sum("photograph" in finding.claim for finding in section.findings) == 3


def test_photographs_are_left_out_in_one_line_without_scikit_image(
    quick: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    photograph.cache_clear()
    original = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("skimage"):
            raise ImportError(name)
        return original(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    section, folder = quick("zass-scribbles")
    (remark,) = section.remarks
    assert "pip install scikit-image" in remark
    assert (folder / "table.md").is_file()


def test_strokes(quick: Any) -> None:
    pytest.importorskip("skimage")
    section, _ = quick("zass-scribbles")
    assert [finding.published for finding in section.findings] == ["picture"] * 3


def test_donut_from_random_starts(quick: Any) -> None:
    section, _ = quick("zass-donut")
    assert [finding.verdict for finding in section.findings][:3] == [REPRODUCED] * 3


def test_a_tenth_of_the_pairs(quick: Any) -> None:
    section, _ = quick("zass-pairs")
    first, second, *_ = section.findings
    assert (first.verdict, second.verdict) == (REPRODUCED, REPRODUCED)
    assert "[label-tuned]" not in first.setting


# --- parts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns_have_their_groups_and_a_common_size(name: str) -> None:
    X, labels = dots(name, 100, 3313)
    assert X.shape == (100, 2)
    assert len(np.unique(labels)) == PATTERNS[name]
    assert 0.8 < np.abs(X - X.mean(axis=0)).max() < 1.3


def test_kernel_is_that_of_the_paper() -> None:
    K = kernel(np.array([[0.0, 0.0], [3.0, 4.0]]), 5.0)
    np.testing.assert_allclose(K, [[1.0, np.exp(-1)], [np.exp(-1), 1.0]])


def test_pairs_are_drawn_on_both_sides_and_never_with_themselves() -> None:
    known = _some_pairs(60, 0.3, 7177).toarray()
    assert np.array_equal(known, known.T)
    assert not known.diagonal().any()
    assert 0.2 < known.mean() < 0.4


def test_kernel_kmeans_divides_two_clouds() -> None:
    labels = np.repeat([0, 1], 10)
    X = 4.0 * labels[:, None] + np.random.default_rng(977).standard_normal((20, 2)) / 3
    found = _kernel_kmeans(kernel(X, 2.0), np.random.default_rng(4211))
    assert np.array_equal(found == found[0], labels == 0)


def test_labels_take_the_numbers_of_their_classes() -> None:
    truth, labels = np.array([0, 0, 1, 1, 2]), np.array([7, 7, 3, 3, 5])
    assert matched(truth, labels).tolist() == truth.tolist()
    assert larger_first(np.array([[4, 4], [1, 4]])).tolist() == [[0, 0], [1, 0]]


def test_strokes_lie_on_their_sides_of_the_outline() -> None:
    person, marks = outline(96), strokes(96)
    assert 0.35 < person.mean() < 0.5
    assert person[marks == 1].mean() > 0.97
    assert person[marks == 2].mean() < 0.03


def test_overlap_and_explained_brightness_of_a_perfect_segment() -> None:
    person = outline(48)
    assert overlap(person.astype(int) + 4, person) == (1.0, 5)
    assert explained(person.astype(float), person) == pytest.approx(1.0)


def test_known_pairs_are_scored_on_objects_that_none_touches(quick: Any) -> None:
    section, folder = quick("zass-side")
    assert len(section.findings) == 12
    truth, pool = np.array([0, 0, 1, 1, 0, 1]), np.array([0, 2, 3, 5])
    pairs = random_pairs(truth, pool, 6, np.random.default_rng(7))
    assert sorted(map(tuple, pairs["must_link"].tolist())) == [(2, 3), (2, 5), (3, 5)]
    assert sorted(map(tuple, pairs["cannot_link"].tolist())) == [(0, 2), (0, 3), (0, 5)]
    assert "python -m reproduction zass-side" in (folder / "table.md").read_text(encoding="utf-8")


def test_triples_find_crossing_lines(quick: Any) -> None:
    section, _ = quick("zass-lines")
    assert section.findings[0].verdict == MET
    assert "Triples reach" in section.reading


def test_the_drawn_image_is_segmented(quick: Any) -> None:
    section, _ = quick("zass-image")
    (found,) = [f.ours for f in section.findings if f.claim == "the drawn areas are found"]
    assert float(found.removeprefix("accuracy ")) > 0.99


def test_the_reading_of_the_donut_follows_the_numbers() -> None:
    def reading(hard: list[float]) -> str:
        def record(method: str, scores: list[float]) -> SimpleNamespace:
            unit = SimpleNamespace(settings={"method": method})
            return SimpleNamespace(unit=unit, arrays={"scores": np.array(scores)})

        records = [record("cp", [1.0] * 10), record("kernel kmeans", hard)]
        return _share_of_the_kernel(Results(Setup(), records))

    assert "much of the work" in reading([1.0] * 10)
    assert reading([1.0] + [0.6] * 9) == ": 10% against 100% for CP"
