"""Colours, words and the common look."""

from __future__ import annotations

import numpy as np
import pytest

from soffit.figures.style import (
    PALETTE,
    blend,
    colour,
    escaped,
    new_figure,
    part_shown,
    pattern,
    symbol,
    text_on,
)


def test_thirty_clusters_have_thirty_colours():
    assert [colour(c) for c in range(10)] == list(PALETTE)
    assert len({colour(c) for c in range(30)}) == 30


def test_clusters_of_one_colour_differ_in_symbol_or_pattern():
    assert colour(3) == colour(33)
    assert symbol(3) != symbol(33)
    assert pattern(3) == "" != pattern(33)
    assert len({(colour(c), symbol(c)) for c in range(80)}) == 80


@pytest.mark.parametrize("cluster", range(30))
def test_text_on_a_colour_is_readable(cluster):
    def lightness(hexadecimal):
        parts = np.array([int(hexadecimal[i : i + 2], 16) for i in (1, 3, 5)]) / 255
        linear = np.where(parts <= 0.03928, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722]

    lights = sorted([lightness(colour(cluster)), lightness(text_on(cluster))])
    assert (lights[1] + 0.05) / (lights[0] + 0.05) > 3.0


def test_blend_reaches_white_and_the_colour():
    assert blend("#102030", 0.0) == "rgb(255,255,255)"
    assert blend("#102030", 1.0) == "rgb(16,32,48)"


def test_text_holds_no_tags_and_no_formulas(hostile):
    safe = escaped(hostile)
    assert "<" not in safe
    assert "$" not in safe
    assert safe.startswith("&lt;script&gt;")


def test_long_names_are_cut():
    assert escaped("x" * 500, 60) == "x" * 59 + "…"


def test_titles_are_plain_text(hostile):
    title = new_figure(hostile, []).layout.title
    assert title.text == escaped(hostile)
    assert title.subtitle.text is None


def test_note_only_where_something_is_left_out():
    assert part_shown(5, 5) == []
    assert part_shown(20_000, 1_000_000) == ["20,000 of 1,000,000 objects shown"]
