"""Quick versions of the experiments after Jordan's notes."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from reproduction.harness.report import REPRODUCED
from reproduction.papers.jordan.cut import exact_cut, partitions, small_graph
from reproduction.papers.jordan.ideal import affinities, decomposed, turned
from soffit.factorize import normalized_cut


def test_ideal_case_and_perturbation(quick: Any) -> None:
    section, folder = quick("jordan-ideal")
    assert [finding.verdict for finding in section.findings] == [REPRODUCED] * 5
    assert (folder / "sphere.html").is_file()


def test_exact_against_relaxed_cut(quick: Any) -> None:
    section, _ = quick("jordan-cut")
    assert section.findings[0].verdict == REPRODUCED
    assert "sign test" in " ".join(finding.ours for finding in section.findings)


# --- parts ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "k", "count"), [(6, 2, 31), (6, 3, 90), (8, 3, 966)])
def test_all_partitions_are_listed_once(n: int, k: int, count: int) -> None:
    listed = partitions(n, k)
    assert len(listed) == count  # Stirling numbers of the second kind
    assert len({tuple(row) for row in listed.tolist()}) == count
    assert all(len(set(row)) == k and row[0] == 0 for row in listed.tolist())


def test_exact_cut_is_the_least_of_all() -> None:
    W, _ = small_graph(7, 3, "unequal", 0.7, [8191])
    value, labels = exact_cut(W, 3)
    assert value == pytest.approx(normalized_cut(W, labels))
    every = (row for row in product(range(3), repeat=7) if len(set(row)) == 3)
    assert value == pytest.approx(min(normalized_cut(W, row) for row in every))


def test_groups_of_both_kinds() -> None:
    for groups, sizes in (("equal", [7, 7]), ("unequal", [9, 5])):
        W, labels = small_graph(14, 2, groups, 0.3, [911])
        assert np.bincount(labels).tolist() == sizes
        assert np.array_equal(W, W.T)


def test_ideal_rows_turn_onto_the_axes() -> None:
    W, labels = affinities(1607, 0.0)
    values, Y = decomposed(W)
    np.testing.assert_allclose(values[:3], 1.0)
    rotation = np.linalg.qr(np.random.default_rng(337).standard_normal((3, 3)))[0]
    np.testing.assert_allclose(turned(Y @ rotation, labels), np.eye(3)[labels], atol=1e-7)
