"""Tables whose columns are the pixels of small pictures."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from soffit._typing import FloatArray, IntArray

_NAMED = re.compile(r"(?:pixel|pix|px|p|r|row|x)?[ _.-]?(\d+)[ _.x,-]+(?:c|col|y)?(\d+)", re.I)
_NUMBERED = re.compile(r"(?:pixel|pix|px|feature|column|col|x|v)?[ _.-]?(\d+)", re.I)
_SMALLEST, _LARGEST = 6, 128
# Neighbouring pixels of a picture are alike: their mean correlation is at least this.
_ALIKE = 0.3
_SAMPLE = 1000


@dataclass(frozen=True, eq=False)
class PixelGrid:
    """Which column is which pixel."""

    columns: IntArray  # (height, width): position of each pixel in the table.
    # The range of the values.
    low: float
    high: float

    @classmethod
    def of(cls, table: FloatArray, names: tuple[str, ...]) -> PixelGrid | None:
        """The grid, if the columns are the pixels of a picture; else None.

        The columns are named by row and column, as in ``pixel_0_7``, or numbered row by row, as in
        ``pixel63``; and neighbouring pixels are correlated.
        """
        if len(table) < 2:
            return None
        columns = _named_grid(names)
        if columns is None:
            columns = _numbered_grid(names)
        if columns is None or not _is_smooth(table, columns):
            return None
        return cls(columns, float(np.min(table)), float(np.max(table)))

    def picture(self, row: FloatArray) -> FloatArray:
        """One row of the table as a picture of values from 0 to 1."""
        values = np.asarray(row, dtype=np.float64)[self.columns]
        return np.asarray(np.clip((values - self.low) / (self.high - self.low), 0.0, 1.0))


def _named_grid(names: tuple[str, ...]) -> IntArray | None:
    found = [_NAMED.fullmatch(name) for name in names]
    places = np.array([(int(m[1]), int(m[2])) for m in found if m is not None])
    if len(places) != len(names) or not len(names):
        return None
    places = places - places.min(axis=0)
    height, width = (int(size) for size in places.max(axis=0) + 1)
    if height * width != len(names) or not _fits(height) or not _fits(width):
        return None
    columns = np.full((height, width), -1)
    columns[places[:, 0], places[:, 1]] = np.arange(len(names))
    return columns if (columns >= 0).all() else None


def _numbered_grid(names: tuple[str, ...]) -> IntArray | None:
    side = round(len(names) ** 0.5)
    if side * side != len(names) or not _fits(side):
        return None
    found = [_NUMBERED.fullmatch(name) for name in names]
    numbers = [int(m[1]) for m in found if m is not None]
    if len(numbers) != len(names) or np.ptp(np.diff(numbers)) != 0 or numbers[1] != numbers[0] + 1:
        return None
    return np.arange(len(names)).reshape(side, side)


def _fits(side: int) -> bool:
    return _SMALLEST <= side <= _LARGEST


def _is_smooth(table: FloatArray, columns: IntArray) -> bool:
    """Whether neighbouring pixels are alike, across and down."""
    step = max(1, len(table) // _SAMPLE)
    pictures = np.asarray(table[::step], dtype=np.float64)[:, columns]
    pictures = pictures - pictures.mean(axis=0)
    spread = pictures.std(axis=0)
    for here, there in ((np.s_[:, :, :-1], np.s_[:, :, 1:]), (np.s_[:, :-1], np.s_[:, 1:])):
        both = spread[here[1:]] * spread[there[1:]]
        product = (pictures[here] * pictures[there]).mean(axis=0)
        varied = both > 0
        if not varied.any() or float((product[varied] / both[varied]).mean()) < _ALIKE:
            return False
    return True
