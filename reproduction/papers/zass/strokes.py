"""A hand-drawn outline and strokes on scikit-image's astronaut, for figure 4 of Zass & Shashua."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from soffit._typing import FloatArray, IntArray

_SIDE = 96.0
# Drawn by eye on the picture at 96 by 96 pixels: (right, down).
_OUTLINE = (
    (29, 10), (36, 5), (44, 3), (52, 6), (56, 12), (56, 18), (52, 24), (49, 31), (56, 39),
    (62, 47), (64, 55), (66, 66), (60, 69), (55, 78), (53, 96), (8, 96), (3, 84), (3, 66),
    (8, 54), (13, 46), (21, 40), (24, 32), (33, 28), (34, 23), (30, 20),
)  # fmt: skip
_FOREGROUND = (
    ((36, 10), (42, 8), (50, 10)),
    ((42, 8), (42, 26), (42, 42), (42, 60)),
    ((10, 58), (42, 60), (60, 56)),
    ((42, 60), (40, 80), (16, 80)),
)
_BACKGROUND = (
    ((20, 8), (20, 34)),
    ((62, 8), (62, 42)),
    ((90, 56), (76, 58), (70, 80)),
    ((4, 6), (4, 20), (12, 34)),
    ((78, 6), (78, 34)),
)


def outline(height: int) -> FloatArray:
    """True inside the person, by counting how often a ray to the left meets the outline."""
    down, right = (np.mgrid[:height, :height] + 0.5) * _SIDE / height
    inside = np.zeros((height, height), dtype=bool)
    corners = [*_OUTLINE, _OUTLINE[0]]
    for (x1, y1), (x2, y2) in pairwise(corners):
        if y1 != y2:
            crossed = (y1 <= down) != (y2 <= down)
            inside ^= crossed & (right < (x2 - x1) * (down - y1) / (y2 - y1) + x1)
    return np.asarray(inside)


def strokes(height: int) -> IntArray:
    """1 on the strokes of the person, 2 on those of the background, 0 elsewhere."""
    marks = np.zeros((height, height), dtype=np.int64)
    for number, lines in ((1, _FOREGROUND), (2, _BACKGROUND)):
        for line in lines:
            for begin, end in pairwise(line):
                way = np.linspace(begin, end, 4 * height) * height / _SIDE
                right, down = way.astype(np.int64).T
                marks[down, right] = number
    return marks
