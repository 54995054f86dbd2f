"""Draw the figure of the site's first page: soft clusters of points and their uncertainty.

Three overlapping Gaussians are clustered without labels. The true posterior of every point is
known; it is compared with the memberships on the right. Writes `docs/soft_clusters.png`.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from matplotlib.figure import Figure
from PIL import Image

from soffit import SoftClustering
from soffit.datasets import make_gaussians
from soffit.metrics import posterior_distance

SEED = 7
PICTURE = Path(__file__).resolve().parents[1] / "docs" / "soft_clusters.png"
COLOURS = np.array([to_rgb(colour) for colour in ("#0072b2", "#e69f00", "#cc3a7c")])
# Starts at white, so that only uncertain regions are coloured; never dark enough to hide a point.
DOUBT = LinearSegmentedColormap.from_list("doubt", ["white", "#fbe3b0", "#f3a25b", "#c8553d"])
INK, GREY = "#222222", "#666666"
STYLE = {
    "font.size": 15,
    "text.color": INK,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlepad": 14,
    "axes.titlesize": 18,
    "xtick.color": GREY,
    "ytick.color": GREY,
}


def main() -> None:
    sample = make_gaussians(1500, random_state=SEED)
    model = SoftClustering(n_clusters=3, random_state=SEED).fit(sample.X)
    with rc_context(STYLE):
        figure = Figure(figsize=(16, 5.6), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.15, h_pad=0.15)
        left, middle, right = figure.subplots(1, 3, width_ratios=[1, 1, 0.74])
        draw_memberships(left, sample.X, model)
        draw_entropy(middle, sample.X, model)
        draw_posterior(right, sample.posterior, model.memberships_)
        save(figure)
    distance = posterior_distance(sample.posterior, model.memberships_)
    print(f"mean total variation distance to the true posterior: {distance:.3f}")
    print(f"Picture: {PICTURE.name}, {PICTURE.stat().st_size / 1000:.0f} kB")


def save(figure: Figure) -> None:
    """Write the picture with a palette, which needs a third of the space of full colour."""
    full = BytesIO()
    figure.savefig(full, dpi=125)
    Image.open(full).convert("RGB").quantize(256).save(PICTURE, optimize=True)


def draw_memberships(axes: Axes, X: np.ndarray, model: SoftClustering) -> None:
    """Mix each point's colour from the colours of its clusters."""
    axes.scatter(*X.T, c=blend(model.memberships_), s=28, linewidths=0)
    axes.set_title("Memberships")
    plane(axes, X)


def draw_entropy(axes: Axes, X: np.ndarray, model: SoftClustering) -> None:
    """Show the entropy of `predict_proba` on a grid over the plane."""
    low, high = limits(X)
    x, y = np.meshgrid(np.linspace(low[0], high[0], 160), np.linspace(low[1], high[1], 160))
    grid = model.predict_proba(np.column_stack([x.ravel(), y.ravel()]))
    levels = np.linspace(0, np.log(3), 23)
    filled = axes.contourf(x, y, entropy(grid).reshape(x.shape), levels, cmap=DOUBT)
    axes.scatter(*X.T, c=INK, s=7, alpha=0.55, linewidths=0)
    bar = axes.figure.colorbar(filled, cax=axes.inset_axes([1.03, 0, 0.035, 1]))
    bar.set_ticks([0, 0.5, 1.0])
    bar.set_label("entropy in nats")
    bar.outline.set_visible(False)
    axes.set_title("Where the model is unsure")
    plane(axes, X)


def draw_posterior(axes: Axes, posterior: np.ndarray, memberships: np.ndarray) -> None:
    """Compare the largest membership with the true posterior of the same cluster."""
    component = (memberships.T @ posterior).argmax(axis=1)
    rows, labels = np.arange(len(posterior)), memberships.argmax(axis=1)
    truth = posterior[rows, component[labels]]
    axes.plot([0, 1], [0, 1], color=GREY, linewidth=1)
    axes.scatter(memberships.max(axis=1), truth, s=18, c=blend(memberships), alpha=0.6, lw=0)
    axes.set(xlim=(0.3, 1.02), ylim=(0.3, 1.02), aspect="equal", anchor="N")
    axes.set(xlabel="largest membership", ylabel="true posterior of that cluster")
    axes.set(xticks=[0.4, 0.6, 0.8, 1.0], yticks=[0.4, 0.6, 0.8, 1.0])
    axes.set_title("Against the truth")


def blend(memberships: np.ndarray) -> np.ndarray:
    """Mix the clusters' colours by squares, as light mixes."""
    return np.sqrt(memberships @ COLOURS**2).clip(0, 1)


def entropy(memberships: np.ndarray) -> np.ndarray:
    return -(memberships * np.log(memberships.clip(1e-12))).sum(axis=1)


def limits(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return X.min(axis=0) - 0.3, X.max(axis=0) + 0.3


def plane(axes: Axes, X: np.ndarray) -> None:
    (left, bottom), (right, top) = limits(X)
    axes.set(xlim=(left, right), ylim=(bottom, top), aspect="equal", anchor="N")
    axes.axis("off")


if __name__ == "__main__":
    main()
