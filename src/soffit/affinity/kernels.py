"""Compiled loops of the affinities."""

from __future__ import annotations

import numpy as np

from soffit._compile import njit


@njit(cache=True, nogil=True)
def fill_pixel_rows(image, down, right, nearness, value_factor, least, indptr, indices, data):
    """Fill a CSR matrix with the affinities of all pairs of pixels at the given offsets.

    Offsets must be in row-major order, so that column indices come out sorted. An affinity is
    `nearness` of the offset times exp(-value_factor * squared difference), at least `least`.
    """
    height, width, channels = image.shape
    place = 0
    for y in range(height):
        for x in range(width):
            indptr[y * width + x] = place
            for o in range(len(down)):
                v, u = y + down[o], x + right[o]
                if v < 0 or v >= height or u < 0 or u >= width:
                    continue
                square = 0.0
                for c in range(channels):
                    difference = np.float64(image[y, x, c]) - np.float64(image[v, u, c])
                    square += difference * difference
                indices[place] = v * width + u
                data[place] = max(nearness[o] * np.exp(-value_factor * square), least)
                place += 1
    indptr[height * width] = place


@njit(cache=True, nogil=True)
def _enter(column, value, columns, values):
    """Insert a value into a list in descending order, if it is larger than the last one."""
    place = len(values)
    while place > 0 and value > values[place - 1]:
        place -= 1
    for later in range(len(values) - 1, place, -1):
        values[later] = values[later - 1]
        columns[later] = columns[later - 1]
    if place < len(values):
        values[place] = value
        columns[place] = column


@njit(cache=True, nogil=True)
def strongest_of_csr(indptr, indices, data, among_themselves, columns, values, first, last):
    """The largest positive entries of the rows first to last, without those of the diagonal."""
    for i in range(first, last):
        for p in range(indptr[i], indptr[i + 1]):
            if not (among_themselves and indices[p] == i):
                _enter(indices[p], data[p], columns[i], values[i])


@njit(cache=True, nogil=True)
def strongest_of_array(rows, among_themselves, columns, values, first, last):
    """The same for an array."""
    for i in range(first, last):
        for j in range(rows.shape[1]):
            if not (among_themselves and j == i):
                _enter(j, rows[i, j], columns[i], values[i])
