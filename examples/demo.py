"""Cluster 1797 handwritten digits without their labels, and show which ones are ambiguous.

Prints a table of the clusters and writes `demo.png` to the current folder; the README shows it, at
half its size, as `docs/digits.png`. The digits come with scikit-learn, so nothing is downloaded.
The labels are used only for the last printed line.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure, SubFigure
from matplotlib.offsetbox import AnnotationBbox, OffsetImage
from sklearn.datasets import load_digits
from sklearn.manifold import TSNE
from threadpoolctl import threadpool_limits

from soffit import SoftClustering
from soffit.metrics import accuracy

N_CLUSTERS = 10
SEED = 0
UNCERTAIN = 0.6
N_SHOWN = 6
PICTURE = Path("demo.png")
# Ten colours that colour-blind readers can distinguish (M. Petroff, 2021, arXiv:2107.02270).
COLOURS = np.array(
    [
        ["#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6"],
        ["#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd"],
    ]
).ravel()
INK = "#222222"
# Glyphs on light colours are dark.
ON_COLOURS = [INK if cluster in (1, 3, 7, 9) else "white" for cluster in range(N_CLUSTERS)]
STYLE = {"font.size": 17, "text.color": INK, "figure.titlesize": 20}


def main() -> None:
    digits, true_labels = load_digits(return_X_y=True)
    model = SoftClustering(n_clusters=N_CLUSTERS, random_state=SEED).fit(digits)
    print(f"{len(digits)} handwritten digits, {digits.shape[1]} pixels each, no labels used\n")
    print_clusters(model.memberships_)
    with rc_context(STYLE):
        draw(digits, model.memberships_).savefig(PICTURE, dpi=100)
    print(f"Picture: {PICTURE}")
    score = accuracy(true_labels, model.labels_)
    print(f"Evaluation only: accuracy {score:.3f} against the labels, after matching clusters.")


def print_clusters(memberships: np.ndarray) -> None:
    labels, certainty = memberships.argmax(axis=1), memberships.max(axis=1)
    print("cluster  size  certainty  most uncertain digits: row (its two most probable clusters)")
    for cluster in range(N_CLUSTERS):
        members = np.flatnonzero(labels == cluster)
        unsure = members[certainty[members].argsort()[:2]]
        listed = "  ".join(f"{row:4d} ({likeliest_two(memberships[row])})" for row in unsure)
        mean = certainty[members].mean()
        print(f"{cluster:7d}  {members.size:4d}  {mean:9.2f}  {listed}")
    n_uncertain = np.count_nonzero(certainty < UNCERTAIN)
    print(f"\n{n_uncertain} of {len(labels)} digits have no cluster above {UNCERTAIN}.")


def likeliest_two(row: np.ndarray) -> str:
    first, second = row.argsort()[::-1][:2]
    return f"{first}: {row[first]:.2f}, {second}: {row[second]:.2f}"


def draw(digits: np.ndarray, memberships: np.ndarray) -> Figure:
    figure = Figure(figsize=(7, 4.6), layout="constrained")
    top, bottom = figure.subfigures(2, 1, height_ratios=[1.75, 1])
    typical = typical_digits(digits, memberships)
    top.suptitle("1,797 digits, no labels used; rings: uncertain", x=0.01, ha="left")
    draw_map(top.subplots(), digits, memberships, typical)
    bottom.suptitle("The most uncertain ones: what each may be", x=0.01, ha="left")
    draw_uncertain(bottom, digits, memberships, typical)
    return figure


def typical_digits(digits: np.ndarray, memberships: np.ndarray) -> np.ndarray:
    """The digit nearest to the mean of each cluster."""
    means = (memberships.T @ digits) / memberships.sum(axis=0)[:, None]
    return digits[[((digits - mean) ** 2).sum(axis=1).argmin() for mean in means]]


def draw_map(axes: Axes, digits: np.ndarray, memberships: np.ndarray, typical: np.ndarray) -> None:
    """Map the digits: colour is the cluster, opacity the certainty; rings mark uncertain digits."""
    # The threads of t-SNE wait for each other: on a busy machine one is several times faster.
    with threadpool_limits(limits=1):
        place = TSNE(random_state=SEED, init="pca", max_iter=500).fit_transform(digits)
    labels, certainty = memberships.argmax(axis=1), memberships.max(axis=1)
    unsure = certainty < UNCERTAIN
    axes.scatter(*place.T, c=COLOURS[labels], alpha=certainty**2, s=18, linewidths=0)
    axes.scatter(*place[unsure].T, s=90, facecolors="none", edgecolors=INK, linewidths=1.4)
    for cluster, digit in enumerate(typical):
        x, y = np.median(place[labels == cluster], axis=0)
        frame = {"boxstyle": "round,pad=0.1", "fc": "white", "ec": COLOURS[cluster], "lw": 2.5}
        sign = AnnotationBbox(glyph(digit, INK, zoom=2.7), (x, y), bboxprops=frame)
        sign.set_in_layout(False)
        axes.add_artist(sign)
    axes.axis("off")


def draw_uncertain(
    panel: SubFigure, digits: np.ndarray, memberships: np.ndarray, typical: np.ndarray
) -> None:
    """Show the most uncertain digits, each above a bar of its memberships."""
    grid = panel.subplots(2, N_SHOWN, height_ratios=[3, 1])
    for column, row in enumerate(memberships.max(axis=1).argsort()[:N_SHOWN]):
        axes = grid[0, column]
        axes.imshow(padded(digits[row]), cmap="gray_r", interpolation="lanczos", vmin=1)
        axes.axis("off")
        draw_bar(grid[1, column], memberships[row], typical)


def draw_bar(axes: Axes, row: np.ndarray, typical: np.ndarray) -> None:
    """Stack the memberships, largest first; wide parts show the digit of the cluster."""
    start = 0.0
    for cluster in row.argsort()[::-1]:
        share = row[cluster]
        axes.barh(0, share, left=start, color=COLOURS[cluster], edgecolor="white")
        if share > 0.15:
            sign = glyph(typical[cluster], ON_COLOURS[cluster], zoom=2.0)
            middle = (start + share / 2, 0.0)
            box = AnnotationBbox(sign, middle, frameon=False, pad=0)
            box.set_in_layout(False)
            axes.add_artist(box)
        start += share
    axes.set_xlim(0, 1)
    axes.set_ylim(-0.4, 0.4)
    axes.axis("off")


def glyph(digit: np.ndarray, colour: str, zoom: float) -> OffsetImage:
    """A digit as a mask of one colour."""
    image = np.empty((10, 10, 4))
    image[:] = to_rgba(colour)
    image[..., 3] = padded(digit) / digit.max()
    return OffsetImage(image, zoom=zoom, interpolation="lanczos")


def padded(digit: np.ndarray) -> np.ndarray:
    return np.pad(digit.reshape(8, 8), 1)


if __name__ == "__main__":
    main()
