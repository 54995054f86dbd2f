"""A hierarchy as flows: how much each cluster shares with every cluster above it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soffit._typing import FloatArray, IntArray
from soffit.figures._style import colour, new_figure, see_through

# Flows below this share of a cluster are left out; all others are drawn as they are.
_LEAST = 0.02
# Clusters are labelled as long as their labels do not cover one another.
_LABELLED = 40
_GAP = 0.25


@dataclass(frozen=True, eq=False)
class Flows:
    """Nodes level by level from the top, ordered so that few flows cross, and flows between them.

    `cluster` is the number of a node's cluster inside its level, `depth` 0 at the top, and `tint`
    the cluster of the top level that it shares most objects with.
    """

    depth: IntArray
    cluster: IntArray
    size: FloatArray
    tint: IntArray
    source: IntArray
    target: IntArray
    value: FloatArray


def flows(levels: list[Any]) -> Flows:
    """The soft links of a hierarchy, given from the top to the bottom."""
    orders = _orders(levels)
    shares = np.eye(levels[0].n_clusters)
    sizes, tints, links = [], [], []
    first = 0
    for depth, level in enumerate(levels):
        size = np.asarray(level.memberships.sum(axis=0), dtype=np.float64)[orders[depth]]
        if depth:
            above = orders[depth - 1]
            parents = np.asarray(level.parents, dtype=np.float64)[orders[depth]][:, above]
            shares = parents @ shares
            child, parent = np.nonzero(parents >= _LEAST)
            passing = size[child] * parents[child, parent]
            links.append((first - len(above) + parent, first + child, passing))
        sizes.append(size)
        tints.append(orders[0][shares.argmax(axis=1)])
        first += len(size)
    none = np.empty(0, dtype=np.int64)
    links = links or [(none, none, np.empty(0))]
    source, target, value = (np.concatenate(part) for part in zip(*links, strict=True))
    return Flows(
        depth=np.repeat(np.arange(len(levels)), [len(order) for order in orders]),
        cluster=np.concatenate(orders),
        size=np.concatenate(sizes),
        tint=np.concatenate(tints),
        source=source,
        target=target,
        value=value,
    )


def sankey(model: Any, title: str) -> Any:
    """The levels from the top (left) to the bottom (right), with all flows between them."""
    import plotly.graph_objects as go

    levels = list(reversed(model.levels_))
    drawn = flows(levels)
    most = max(level.n_clusters for level in levels)
    height = min(max(420, 140 + 14 * most), 1200)
    figure = new_figure(title, _notes(levels), height=height, margin_l=24, margin_b=24)
    figure.add_trace(
        go.Sankey(
            arrangement="snap",
            node=_nodes(drawn, len(levels)),
            link={
                "source": drawn.source,
                "target": drawn.target,
                "value": drawn.value,
                "color": [see_through(colour(int(drawn.tint[i])), 0.35) for i in drawn.source],
                "customdata": np.column_stack(
                    [drawn.cluster[drawn.source], drawn.cluster[drawn.target]]
                ),
                "hovertemplate": (
                    "%{value:,.1f} objects of cluster %{customdata[1]}"
                    "<br>in cluster %{customdata[0]} above<extra></extra>"
                ),
            },
            textfont={"size": 12},
        )
    )
    return figure


def _nodes(drawn: Flows, n_levels: int) -> dict[str, Any]:
    crowd = np.bincount(drawn.depth)
    return {
        "label": [
            str(c) if crowd[d] <= _LABELLED else ""
            for c, d in zip(drawn.cluster, drawn.depth, strict=True)
        ],
        "color": [colour(int(c)) for c in drawn.tint],
        "line": {"width": 0},
        "pad": 8 if crowd.max() <= 60 else 3,
        "thickness": 16,
        # Plotly takes 0 and 1 for "not given".
        "x": np.clip(drawn.depth / max(n_levels - 1, 1), 0.001, 0.999),
        "y": np.concatenate([_heights(drawn.size[drawn.depth == d]) for d in range(n_levels)]),
        "customdata": [
            f"<b>cluster {c}</b> of level {n_levels - d}<br>expected size {s:,.1f}"
            for c, d, s in zip(drawn.cluster, drawn.depth, drawn.size, strict=True)
        ],
        "hovertemplate": "%{customdata}<extra></extra>",
    }


def _orders(levels: list[Any]) -> list[IntArray]:
    """An order of every level in which clusters lie beside their parents."""
    orders = [np.arange(levels[0].n_clusters)]
    for level in levels[1:]:
        height = np.empty(len(orders[-1]))
        height[orders[-1]] = np.arange(len(height))
        parents = np.asarray(level.parents)
        # The strongest parent first; among its children, where the others lie.
        mean, main = parents @ height, height[parents.argmax(axis=1)]
        orders.append(np.lexsort((mean, main)))
    return orders


def _heights(sizes: FloatArray) -> FloatArray:
    """Centres of clusters one below the other, between 0 and 1, with gaps between them."""
    share = (1 - _GAP) * sizes / max(float(sizes.sum()), 1e-12) + _GAP / len(sizes)
    return np.clip(np.cumsum(share) - share / 2, 0.001, 0.999)


def _notes(levels: list[Any]) -> list[str]:
    numbers = ", ".join(str(level.n_clusters) for level in levels)
    return [
        f"{numbers} clusters from left to right",
        f"flows below {_LEAST:.0%} of a cluster are left out",
    ]
