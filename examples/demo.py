"""Cluster 1797 handwritten digits without their labels, and show which ones are ambiguous.

Prints a table of the clusters and writes `demo.png` to the current folder. The digits come with
scikit-learn, so nothing is downloaded. The labels are used only for the last printed line.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from sklearn.datasets import load_digits
from sklearn.manifold import TSNE
from threadpoolctl import threadpool_limits

from soffit import SoftClustering
from soffit.metrics import accuracy

N_CLUSTERS = 10
SEED = 0
UNCERTAIN = 0.6
PICTURE = Path("demo.png")
# Ten colours that colour-blind readers can distinguish (M. Petroff, 2021, arXiv:2107.02270).
COLOURS = np.array(
    [
        ["#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6"],
        ["#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd"],
    ]
).ravel()
INK = "#222222"
TEXT_COLOURS = [INK if cluster in (1, 3, 7, 9) else "white" for cluster in range(N_CLUSTERS)]
STYLE = {
    "font.size": 12,
    "text.color": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 15,
    "figure.titlesize": 15,
}


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
    figure = Figure(figsize=(16, 9), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=[1.25, 1], wspace=0.02)
    draw_map(left.subplots(), digits, memberships)
    top, bottom = right.subfigures(2, 1, height_ratios=[1, 2.2], hspace=0.04)
    draw_typical(top, digits, memberships)
    draw_uncertain(bottom, digits, memberships)
    return figure


def draw_map(axes: Axes, digits: np.ndarray, memberships: np.ndarray) -> None:
    """Map the digits: colour is the cluster, opacity the certainty; rings mark uncertain digits."""
    # The threads of t-SNE wait for each other: on a busy machine one is several times faster.
    with threadpool_limits(limits=1):
        place = TSNE(random_state=SEED, init="pca", max_iter=500).fit_transform(digits)
    labels, certainty = memberships.argmax(axis=1), memberships.max(axis=1)
    unsure = certainty < UNCERTAIN
    axes.scatter(*place.T, c=COLOURS[labels], alpha=certainty**2, s=30, linewidths=0)
    axes.scatter(*place[unsure].T, s=90, facecolors="none", edgecolors=INK, linewidths=1.2)
    for cluster in range(N_CLUSTERS):
        x, y = np.median(place[labels == cluster], axis=0)
        write_number(axes, x, y, cluster)
    axes.set_title(f"The digits, placed by t-SNE: faint is uncertain, ringed is below {UNCERTAIN}")
    axes.axis("off")


def draw_typical(panel: SubFigure, digits: np.ndarray, memberships: np.ndarray) -> None:
    """Show for each cluster the digit nearest to its mean."""
    panel.suptitle("A typical digit of each cluster", x=0.01, ha="left")
    means = (memberships.T @ digits) / memberships.sum(axis=0)[:, None]
    for cluster, axes in enumerate(panel.subplots(2, N_CLUSTERS // 2).flat):
        typical = ((digits - means[cluster]) ** 2).sum(axis=1).argmin()
        show_digit(axes, digits[typical])
        write_number(axes, 0.0, 0.5, cluster)


def draw_uncertain(panel: SubFigure, digits: np.ndarray, memberships: np.ndarray) -> None:
    """Show the dozen most uncertain digits, each above a bar of its memberships."""
    panel.suptitle("The most uncertain digits, by row, and their memberships", x=0.01, ha="left")
    grid = panel.subplots(6, 4, height_ratios=[5, 1] * 3)
    for place, row in enumerate(memberships.max(axis=1).argsort()[:12]):
        line, column = divmod(place, 4)
        show_digit(grid[2 * line, column], digits[row])
        grid[2 * line, column].text(-1.3, 0.5, str(row), color="#666666").set_in_layout(False)
        draw_bar(grid[2 * line + 1, column], memberships[row])


def write_number(axes: Axes, x: float, y: float, cluster: int) -> None:
    """Write the number of a cluster in a disc of its colour."""
    disc = {"boxstyle": "circle,pad=0.25", "fc": COLOURS[cluster], "ec": "white", "lw": 2}
    number = axes.text(x, y, str(cluster), weight="bold", ha="center", va="center", bbox=disc)
    number.set(color=TEXT_COLOURS[cluster], in_layout=False)


def show_digit(axes: Axes, digit: np.ndarray) -> None:
    image = np.pad(digit.reshape(8, 8), 1)
    axes.imshow(image, cmap="gray_r", interpolation="lanczos", vmin=1)
    axes.axis("off")


def draw_bar(axes: Axes, row: np.ndarray) -> None:
    """Stack the memberships, largest first; wide parts show the number of the cluster."""
    start = 0.0
    for cluster in row.argsort()[::-1]:
        share = row[cluster]
        axes.barh(0, share, left=start, color=COLOURS[cluster], edgecolor="white")
        if share > 0.08:
            number = axes.text(start + share / 2, 0, str(cluster), ha="center")
            number.set(color=TEXT_COLOURS[cluster], verticalalignment="center_baseline")
        start += share
    axes.set_xlim(0, 1)
    axes.axis("off")


if __name__ == "__main__":
    main()
