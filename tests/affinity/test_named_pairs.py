"""Pairs and groups by number and by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soffit.affinity.side_information import called, read_pairs

NAMES = np.array(["ann", "bob", "cyd", "dan"], dtype=object)


def read(given: Any, names: Any = NAMES, **options: Any) -> Any:
    return read_pairs(given, "must_link", 4, names, **options).tolist()


@pytest.mark.parametrize(
    "given",
    [
        [("ann", "bob"), ("dan", "bob")],
        np.array([["bob", "ann"], ["bob", "dan"]]),
        np.array([["bob", "ann"], ["bob", "dan"]], dtype=object),
        [{"ann", "bob"}, frozenset(("dan", "bob"))],
        [(0, 1), (3, 1)],
        [("ann", 1), (np.int32(3), "bob")],
        np.array([[1, 0], [1, 3]], dtype=np.uint8),
        (pair for pair in [("ann", "bob"), ("bob", "dan")]),
    ],
)
def test_pairs_in_many_forms(given: Any) -> None:
    assert read(given) == [[0, 1], [1, 3]]


def test_frames() -> None:
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for frame in (pd.DataFrame, pl.DataFrame):
        assert read(frame({"a": ["ann", "bob"], "b": ["bob", "dan"]})) == [[0, 1], [1, 3]]
        assert read(frame({"a": [0, 1], "b": [1, 3]})) == [[0, 1], [1, 3]]


def test_groups() -> None:
    everything = [[0, 1], [0, 2], [1, 2]]
    assert read([{"ann", "bob", "cyd"}]) == everything
    assert read([[0, 1, 2]]) == everything
    assert read([("ann", 1, "cyd")], together=False) == everything
    assert read([["ann", "bob"], ["bob", "cyd", "dan"]]) == [[0, 1], [1, 2], [1, 3], [2, 3]]


def test_large_groups_are_connected_by_few_pairs() -> None:
    pairs = read_pairs([range(5000)], "must_link", 5000)
    assert len(pairs) == 8 * 5000
    assert (np.bincount(pairs.ravel()) == 16).all()
    # Objects that all differ need all pairs.
    assert len(read_pairs([range(60)], "cannot_link", 60, together=False)) == 60 * 59 // 2


def test_integers_are_numbers_and_text_is_a_name() -> None:
    # Nodes whose names are integers, in another order.
    nodes = np.array([3, 2, 1, 0], dtype=object)
    assert read([(0, 1)], nodes) == [[0, 1]]
    assert read([("0", "1")], nodes) == [[2, 3]]
    tuples = np.empty(4, dtype=object)
    tuples[:] = [("x", i) for i in range(4)]
    assert read([(("x", 1), ("x", 3)), (0, 1)], tuples) == [[0, 1], [1, 3]]
    # A name that is text wins over the text of another.
    assert read([("1", "2")], np.array(["2", "1", 1, 0], dtype=object)) == [[0, 1]]


def test_what_is_called_can_be_read_again() -> None:
    numbers = np.array([2, 0])
    for names in (None, NAMES, np.array([7, 8, 9, 0], dtype=object), np.array([7, 8, 9, 0])):
        again = read([tuple(called(numbers, names))], names)
        assert again == [[0, 2]]
    assert called(numbers, np.array([7, 8, 9, 0])) == ["9", "7"]
    assert called(numbers, None) == [2, 0]


@pytest.mark.parametrize(
    ("given", "names", "error", "message"),
    [
        ([("ann", "zoe")], NAMES, ValueError, "'zoe', which is not the name.* such as 'ann'"),
        ([("ann", "bob")], None, ValueError, "'ann', but the objects have no names"),
        ([("ann", 9)], NAMES, ValueError, "object 9, but objects are numbered 0 to 3"),
        ([("ann", -1)], NAMES, ValueError, "object -1"),
        ([(0, 1.5)], NAMES, TypeError, "must hold object numbers"),
        ([("ann", 1.5)], NAMES, TypeError, r"object numbers \(integers\) or names, got 1.5"),
        ([("ann", None)], NAMES, TypeError, "or names, got None"),
        ([("ann", True)], NAMES, TypeError, "or names, got True"),
        ([("ann", "ann")], NAMES, ValueError, "pairs object 0 with itself"),
        ([{"ann"}], NAMES, ValueError, "a group of 1 object"),
        ([("ann", "bob"), ()], NAMES, ValueError, "an empty group"),
        (("ann", "bob"), NAMES, TypeError, r"'ann' is none. Write \[\('a', 'b'\)\] for one pair"),
        ("ann", NAMES, TypeError, "must be a list of pairs or groups"),
        (7, NAMES, TypeError, "must be a list of pairs or groups of objects, got 7"),
        (np.zeros((2, 3), dtype=int), NAMES, ValueError, r"shape \(p, 2\), got \(2, 3\)"),
        ([("b", "c")], np.array(["a", "b", "b", "c"]), ValueError, "several objects have this"),
    ],
)
def test_mistakes(given: Any, names: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        read(given, names)
