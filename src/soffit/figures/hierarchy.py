"""A hierarchy of soft clusters, as a tree or as flows between levels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from soffit._typing import FloatArray, IntArray
from soffit._wording import count_of
from soffit.figures.style import FAINT, INK, colour, faded, new_figure, see_through, text_on
from soffit.results.summary import level_sizes

# Flows below this share of a cluster are left out.
_LEAST = 0.02
# With more clusters, labels would overlap.
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
    notes = _notes(levels, "left to right", f"flows below {_LEAST:.0%} of a cluster are left out")
    figure = new_figure(title, notes, height=height, margin_l=24, margin_b=24)
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
    """An order of every level in which clusters are next to their parents."""
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


def _notes(levels: list[Any], where: str, more: str) -> list[str]:
    numbers = ", ".join(str(level.n_clusters) for level in levels)
    return [f"{numbers} clusters from {where}", more]


_ROW_HEIGHT = 84
# Levels with more clusters than this show only their numbers, or no text.
_WITH_SIZES, _WITH_NUMBERS = 24, 80


def tree(model: Any, title: str) -> Any:
    """The tree of the strongest links."""
    import plotly.graph_objects as go

    nodes = model.tree_
    top, belief = ancestors(nodes.parent, nodes.probability)
    n_levels = int(nodes.level.max())
    share = own_size(nodes.parent, nodes.size)
    figure = new_figure(
        title,
        _notes(model.levels_[::-1], "the top to the bottom", "pale: uncertain parent"),
        height=130 + _ROW_HEIGHT * (n_levels + 1),
        margin_l=24,
        margin_b=24,
    )
    top_cluster = nodes.cluster[top]
    figure.add_trace(
        go.Icicle(
            ids=["root", *(str(node) for node in range(len(nodes)))],
            labels=["all objects", *(str(c) for c in nodes.cluster.tolist())],
            parents=["", *("root" if p < 0 else str(p) for p in nodes.parent.tolist())],
            values=np.concatenate([[0.0], share]),
            branchvalues="remainder",
            sort=False,
            tiling={"orientation": "v", "pad": 1},
            marker={
                "colors": [
                    FAINT,
                    *(
                        faded(int(c), 0.25 + 0.75 * b)
                        for c, b in zip(top_cluster, belief, strict=True)
                    ),
                ],
                "line": {"color": "#ffffff", "width": 1},
            },
            textfont={
                "color": [
                    INK,
                    *(
                        text_on(int(c)) if b > 0.9 else INK
                        for c, b in zip(top_cluster, belief, strict=True)
                    ),
                ]
            },
            text=["<b>all objects</b>", *_texts(nodes, level_sizes(model.levels_))],
            texttemplate="%{text}",
            hovertext=["all objects", *_hovers(nodes, level_sizes(model.levels_))],
            hovertemplate="%{hovertext}<extra></extra>",
            pathbar={"visible": False},
        )
    )
    return figure


def ancestors(parent: IntArray, probability: FloatArray) -> tuple[IntArray, FloatArray]:
    """The node's ancestor at the top, and the product of the probabilities on the way."""
    top, belief = np.arange(len(parent)), np.ones(len(parent))
    # Parents have larger numbers: backwards, each parent is processed before its children.
    for node in range(len(parent) - 1, -1, -1):
        if parent[node] >= 0:
            top[node] = top[parent[node]]
            belief[node] = probability[node] * belief[parent[node]]
    return top, belief


def own_size(parent: IntArray, size: FloatArray) -> FloatArray:
    """Width of a node in addition to its children: its size if it has none, else zero."""
    has_children = np.isin(np.arange(len(parent)), parent)
    return np.where(has_children, 0.0, size)


def _texts(nodes: Any, sizes: IntArray) -> list[str]:
    crowd = np.bincount(nodes.level)[nodes.level].tolist()
    texts = []
    for count, cluster, size in zip(crowd, nodes.cluster, sizes.tolist(), strict=True):
        number = f"<b>{cluster}</b>" if count <= _WITH_NUMBERS else ""
        texts.append(f"{number}<br>{count_of(size, 'object')}" if count <= _WITH_SIZES else number)
    return texts


def _hovers(nodes: Any, sizes: IntArray) -> list[str]:
    hovers = []
    for node in range(len(nodes)):
        head = f"<b>cluster {nodes.cluster[node]}</b> of level {nodes.level[node]}"
        size = f"{count_of(int(sizes[node]), 'object')}, expected size {nodes.size[node]:,.1f}"
        parent = nodes.parent[node]
        up = (
            "top level"
            if parent < 0
            else f"parent {nodes.cluster[parent]} with probability {nodes.probability[node]:.2f}"
        )
        hovers.append(f"{head}<br>{size}<br>{up}")
    return hovers


def hierarchy(
    model: Any, kind: Literal["tree", "sankey"] = "tree", *, title: str | None = None
) -> Any:
    """Show a hierarchy of soft clusters.

    The tree shows every cluster below its most probable parent; widths are expected numbers of
    objects, and colours those of the top level, paler if the parent is less certain. The Sankey
    diagram shows the soft hierarchy itself: how many objects each cluster shares with every cluster
    of the level above.

    Parameters
    ----------
    model : SoftHierarchy
        Fitted, with `levels_` and `tree_`.
    kind : {"tree", "sankey"}, default "tree"
        The strongest links only, or all of them.
    title : str, optional
        Another title.

    Returns
    -------
    plotly.graph_objects.Figure
        One icicle, or one Sankey trace.

    Examples
    --------
    >>> from soffit import SoftHierarchy
    >>> from soffit.datasets import make_gaussians
    >>> from soffit.figures import hierarchy
    >>> X, _, _ = make_gaussians(120, n_clusters=3, separation=6.0, random_state=7)
    >>> model = SoftHierarchy(levels=[6, 3], random_state=7).fit(X)
    >>> figure = hierarchy(model)
    >>> len(figure.data[0].labels)
    10
    >>> hierarchy(model, "sankey").data[0].type
    'sankey'
    """
    draw = {"tree": tree, "sankey": sankey}.get(kind)
    if draw is None:
        raise ValueError(f"kind must be 'tree' or 'sankey', got {kind!r}.")
    if not hasattr(model, "levels_") or not hasattr(model, "tree_"):
        raise ValueError(f"{type(model).__name__} has no levels. Pass a fitted SoftHierarchy.")
    return draw(model, title or "Hierarchy of clusters")
