"""Clusters of clusters, as a tree or as flows."""

from __future__ import annotations

from typing import Any, Literal

from soffit.figures._hierarchy_sankey import sankey
from soffit.figures._hierarchy_tree import tree


def hierarchy(
    model: Any, kind: Literal["tree", "sankey"] = "tree", *, title: str | None = None
) -> Any:
    """Show a hierarchy of soft clusters.

    The tree gives every cluster to its most probable parent, and is as wide as the expected
    number of objects below; colours are those of the top level, paler where the parent is less
    certain. The Sankey diagram shows the soft hierarchy itself: how many objects each cluster
    shares with every cluster of the level above.

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
