"""Patterns of dots like those of Zass & Shashua, and their kernel."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from soffit._typing import FloatArray, IntArray
from soffit.datasets import make_donut, make_gaussians, make_moons, make_rings

# The paper shows its patterns and gives no coordinates; these are ours.
PATTERNS = {"donut": 2, "rim and four": 5, "moons": 2, "two rings": 2, "five clouds": 5}
_RIM_NOISE, _CLOUD_NOISE, _CLOUD_PLACE = 0.04, 0.08, 0.4


@lru_cache(maxsize=4)
def dots(name: str, n: int, seed: int) -> tuple[FloatArray, IntArray]:
    """Points of a pattern and their groups."""
    if name == "rim and four":
        return _rim_and_four(n, seed)
    if name == "donut":
        sample = make_donut(n, random_state=seed)
    elif name == "moons":
        sample = make_moons(n, noise=0.07, random_state=seed)
    elif name == "two rings":
        sample = make_rings(n, radii=(0.4, 1.0), noise=0.05, random_state=seed)
    else:
        sample = make_gaussians(n, n_clusters=5, separation=5.0, random_state=seed)
    # Every pattern about as large as the donut, so that one grid of widths serves all.
    return sample.X / np.abs(sample.X - sample.X.mean(axis=0)).max(), sample.labels


def kernel(X: FloatArray, width: float) -> FloatArray:
    """exp(-d^2 / width^2), the paper's example of an affinity."""
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=-1)
    return np.asarray(np.exp(-squares / width**2))


def _rim_and_four(n: int, seed: int) -> tuple[FloatArray, IntArray]:
    """Four clouds inside a circle, a fifth of the points each (figure 2, c and d)."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 5
    angle = rng.uniform(0, 2 * np.pi, n)
    rim = np.column_stack([np.cos(angle), np.sin(angle)])
    centres = _CLOUD_PLACE * np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]])
    noise = rng.standard_normal((n, 2))
    outer = (labels == 0)[:, None]
    X = np.where(outer, rim + _RIM_NOISE * noise, centres[labels] + _CLOUD_NOISE * noise)
    return X, labels
