"""Quick versions of the experiments after Yu, Yu & Tresp."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from reproduction.harness.report import REPRODUCED
from reproduction.papers.yu import data as yu
from reproduction.papers.yu.hierarchy import _mosaic
from reproduction.papers.yu.labels import few_labels
from reproduction.papers.yu.number import planted
from reproduction.papers.yu.planted import planted_graph
from reproduction.papers.yu.steps import _evenness, similarities
from soffit.affinity import walk_affinity
from soffit.metrics import accuracy


def test_confusion_matrices_and_nmi(quick: Any) -> None:
    section, folder = quick("yu-confusion")
    claims = [finding.claim for finding in section.findings]
    for words in yu.METHODS.values():
        assert sum(claim.endswith(f": {words}") for claim in claims) == len(yu.SETS)
    assert (folder / "nmi.html").is_file()
    assert len(section.tables) == len(yu.SETS)


def test_hierarchy_as_pictures(quick: Any) -> None:
    section, folder = quick("yu-hierarchy")
    assert len(section.findings) == 2
    assert (folder / "hierarchy.html").is_file()


def test_similarity_after_two_and_many_steps(quick: Any) -> None:
    section, _ = quick("yu-steps")
    assert [finding.verdict for finding in section.findings][:2] == [REPRODUCED] * 2


def test_few_labels(quick: Any) -> None:
    section, folder = quick("yu-labels")
    assert {path.stem for path in folder.glob("*.html")} == {"curves", "steps_and_time"}
    assert sum("much faster" in finding.claim for finding in section.findings) == len(yu.SETS)


def test_number_of_clusters(quick: Any) -> None:
    section, _ = quick("yu-number")
    plain = [f for f in section.findings if f.setting.endswith("weights of 1")]
    assert len(plain) == 1
    assert "[label-tuned]" not in plain[0].setting


# --- parts ------------------------------------------------------------------------------------


def test_printed_tables_have_the_published_sizes() -> None:
    sizes = {"usps": [1269, 929, 824, 852], "news4": [988, 993, 992, 997]}
    for name, tables in yu.PUBLISHED.items():
        for table in tables.values():
            assert [sum(row) for row in table] == sizes[name]


def test_scores_of_the_printed_tables() -> None:
    printed = yu.printed_scores("usps", "hierarchy")
    assert printed is not None
    np.testing.assert_allclose(printed, (0.979, 0.918), atol=5e-4)
    printed = yu.printed_scores("news4", "hierarchy")
    assert printed is not None
    np.testing.assert_allclose(printed, (0.883, 0.693), atol=5e-4)
    assert yu.printed_scores("news4", "complete") is None


def test_labels_of_a_table_have_this_table() -> None:
    classes, clusters = yu.labels_of([[3, 1], [0, 2]])
    assert len(classes) == 6
    assert accuracy(classes, clusters) == pytest.approx(5 / 6)


def test_similarities_are_rows_of_the_walk() -> None:
    A, _ = planted(5113)
    rows = similarities(A, 4, [1, 2, 5])
    for t, row in zip((1, 2, 5), rows, strict=True):
        walked = walk_affinity(A, t)
        expected = walked.toarray() if sp.issparse(walked) else walked
        np.testing.assert_allclose(row, expected[4], atol=1e-12)


def test_evenness() -> None:
    assert _evenness(np.array([2.0, 2.0, 2.0])) == pytest.approx(1.0)
    assert _evenness(np.array([0.0, 5.0, 0.0, 0.0])) == pytest.approx(0.25)
    assert _evenness(np.zeros(3)) == 0.0


def test_few_labels_are_right_and_few() -> None:
    labels = np.arange(40) % 4
    y = few_labels(labels, 3, 6301)
    assert np.bincount(y[y >= 0]).tolist() == [3, 3, 3, 3]
    assert np.array_equal(y[y >= 0], labels[y >= 0])


def test_mean_images_and_their_mosaic() -> None:
    X = np.stack([np.zeros(256), np.ones(256)])
    images = yu.mean_image(X, np.array([[1.0, 1.0], [0.0, 3.0]]))
    np.testing.assert_allclose(images.mean(axis=(1, 2)), [0.0, 0.75])
    pixels = _mosaic(images, ["#ff0000", "#0000ff"], 2)
    assert pixels.shape == (22, 44, 3)
    assert pixels[0, 0].tolist() == [255, 0, 0]


def test_planted_blocks_are_found(quick: Any) -> None:
    section, _ = quick("yu-planted")
    assert section.findings[0].verdict == "met"
    A, labels = planted_graph(200, 4, 7)
    assert (A != A.T).nnz == 0
    assert not A.diagonal().any()
    inside = labels[A.nonzero()[0]] == labels[A.nonzero()[1]]
    assert inside.mean() > 0.8


def test_the_chain_of_several_papers(quick: Any) -> None:
    section, _ = quick("combination")
    assert [finding.verdict for finding in section.findings] == ["met", "met"]
