from __future__ import annotations

import pytest

from soffit._wording import (
    count_of,
    listed,
    number,
    percent,
    plural,
    short_percent,
    shorten,
    spelled,
    visible,
)


def test_items_with_commas_are_kept_apart():
    names = ["Smith, A.", "Jones, B.", "Brown, C."]
    assert listed(names) == "Smith, A.; Jones, B.; and Brown, C."
    assert listed(names, most=1) == "Smith, A.; and 2 more"
    # A comma inside brackets confuses nobody.
    assert listed(["a (90 %, overall 4 %)", "b"]) == "a (90 %, overall 4 %) and b"


def test_counts_know_singular_and_plural():
    assert count_of(1, "object") == "1 object"
    assert count_of(12000, "object") == "12,000 objects"
    assert count_of(2, "class") == "2 classes"
    assert (plural("class", 1), plural("cluster")) == ("class", "clusters")
    assert spelled(1, "pair") == "one pair"
    assert spelled(0, "object") == "no objects"
    assert spelled(40, "pair") == "40 pairs"


@pytest.mark.parametrize(
    ("items", "expected"),
    [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")],
)
def test_lists_end_with_and(items, expected):
    assert listed(items) == expected


def test_long_lists_are_cut_only_if_that_saves_something():
    names = list("abcdefgh")
    assert listed(names, most=3, noun="columns") == "a, b, c and 5 more columns"
    assert listed(names[:4], most=3, noun="columns") == "a, b, c and d"


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (0.0, "0 %"),
        (0.001, "less than 1 %"),
        (0.5, "50 %"),
        (0.999, "more than 99 %"),
        (1.0, "100 %"),
    ],
)
def test_percent_is_never_rounded_to_all_or_nothing(share, expected):
    assert percent(share) == expected
    assert short_percent(0.001) == "<1 %"


@pytest.mark.parametrize(
    ("value", "spread", "expected"),
    [
        (5.5521, 1.76, "5.6"),
        (0.2461, 0.76, "0.25"),
        (12345.6, 900.0, "12,346"),
        (2007.986, 0.8, "2007.99"),
        (9999.6, 900.0, "10,000"),
        (-3.2, 1.0, "\N{MINUS SIGN}3.2"),
        (-0.001, 1.0, "0.0"),
        (0.0, None, "0"),
        (12.7801, None, "12.8"),
        (3e12, None, "3e+12"),
        (float("inf"), None, "inf"),
    ],
)
def test_numbers_have_the_digits_that_matter(value, spread, expected):
    assert number(value, spread=spread) == expected


def test_long_names_are_shortened():
    assert shorten("short") == "short"
    assert shorten("x" * 200) == "x" * 59 + "…"
    assert shorten(" two\n lines ") == "two lines"
    assert shorten("abcdef", 4) == "abc…"


def test_names_do_not_control_the_display():
    assert visible("a\u202eb\x1b[31mc\x00") == "a\ufffdb\ufffd[31mc\ufffd"
    assert visible("two\nlines\tof naïve 文字") == "two\nlines\tof naïve 文字"
    assert shorten("a\u2066b\x07 c") == "a\ufffdb\ufffd c"
