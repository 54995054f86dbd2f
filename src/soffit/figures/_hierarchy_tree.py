"""A hierarchy as an icicle: every cluster below its most probable parent."""

from __future__ import annotations

from typing import Any

import numpy as np

from soffit._typing import FloatArray, IntArray
from soffit.figures._style import FAINT, INK, faded, new_figure, text_on

_ROW_HEIGHT = 84
# Levels with more clusters than this show their numbers only, or leave them to the mouse.
_WITH_SIZES, _WITH_NUMBERS = 24, 80


def tree(model: Any, title: str) -> Any:
    """The tree of the strongest links."""
    import plotly.graph_objects as go

    nodes = model.tree_
    top, belief = ancestors(nodes.parent, nodes.probability)
    n_levels = int(nodes.level.max())
    share = own_size(nodes.parent, nodes.size)
    figure = new_figure(
        title, _notes(model), height=130 + _ROW_HEIGHT * (n_levels + 1), margin_l=24, margin_b=24
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
                "color": [INK, *(_ink(int(c), b) for c, b in zip(top_cluster, belief, strict=True))]
            },
            text=["<b>all objects</b>", *_texts(nodes)],
            texttemplate="%{text}",
            hovertext=["all objects", *_hovers(nodes)],
            hovertemplate="%{hovertext}<extra></extra>",
            pathbar={"visible": False},
        )
    )
    return figure


def ancestors(parent: IntArray, probability: FloatArray) -> tuple[IntArray, FloatArray]:
    """The node's ancestor at the top, and the product of the probabilities on the way."""
    top, belief = np.arange(len(parent)), np.ones(len(parent))
    # Parents have larger numbers: from the last node on, each finds its parent done.
    for node in range(len(parent) - 1, -1, -1):
        if parent[node] >= 0:
            top[node] = top[parent[node]]
            belief[node] = probability[node] * belief[parent[node]]
    return top, belief


def own_size(parent: IntArray, size: FloatArray) -> FloatArray:
    """Width of a node beside that of its children: its size if it has none, else nothing."""
    has_children = np.isin(np.arange(len(parent)), parent)
    return np.where(has_children, 0.0, size)


def _ink(cluster: int, belief: float) -> str:
    return text_on(cluster) if belief > 0.9 else INK


def _texts(nodes: Any) -> list[str]:
    crowd = np.bincount(nodes.level)[nodes.level].tolist()
    texts = []
    for count, cluster, size in zip(crowd, nodes.cluster, nodes.size, strict=True):
        number = f"<b>{cluster}</b>" if count <= _WITH_NUMBERS else ""
        texts.append(f"{number}<br>{size:,.0f} objects" if count <= _WITH_SIZES else number)
    return texts


def _notes(model: Any) -> list[str]:
    numbers = ", ".join(str(level.n_clusters) for level in reversed(model.levels_))
    return [
        f"{numbers} clusters from the top to the bottom",
        "pale: the cluster has ties to other parents",
    ]


def _hovers(nodes: Any) -> list[str]:
    hovers = []
    for node in range(len(nodes)):
        head = f"<b>cluster {nodes.cluster[node]}</b> of level {nodes.level[node]}"
        size = f"expected size {nodes.size[node]:,.1f}"
        parent = nodes.parent[node]
        up = (
            "top level"
            if parent < 0
            else f"parent {nodes.cluster[parent]} with probability {nodes.probability[node]:.2f}"
        )
        hovers.append(f"{head}<br>{size}<br>{up}")
    return hovers
