"""Why this number of clusters: the evidence of a choice in words."""

from __future__ import annotations

import math
from typing import Any

# Confidence from which a choice is called clear, and likely.
_CLEAR = 0.8
_LIKELY = 0.5


def explain_choice(model: Any) -> list[str]:
    """Sentences about a number of clusters that the model has chosen itself."""
    choice = getattr(model, "k_choice_", None)
    if choice is None:
        return _explain_path(model)
    evidence = {
        name: values[choice.ks == choice.n_clusters][0] for name, values in _columns(choice)
    }
    sentences = [_headline(choice)]
    sentences.append(_single() if choice.n_clusters == 1 else _evidence(evidence))
    if choice.runner_up is not None and choice.confidence < _CLEAR:
        sentences.append(f"Try -k {choice.runner_up} as well, and compare.")
    return sentences


def choice_as_dict(model: Any) -> dict[str, Any] | None:
    """For JSON: the number, its confidence, the runner-up and the whole table of evidence."""
    choice = getattr(model, "k_choice_", None)
    if choice is None:
        return None
    return {
        "n_clusters": choice.n_clusters,
        "confidence": choice.confidence,
        "runner_up": choice.runner_up,
        "table": dict(choice.table),
    }


def _columns(choice: Any) -> Any:
    return choice.table.items()


def _headline(choice: Any) -> str:
    chosen = f"{choice.n_clusters} cluster" + ("" if choice.n_clusters == 1 else "s")
    if choice.runner_up is None:
        return f"{chosen}: with so few objects no other number was considered."
    how = "clear" if choice.confidence >= _CLEAR else "likely"
    how = how if choice.confidence >= _LIKELY else "a close call"
    return (
        f"{chosen}, chosen among {choice.ks[0]} to {choice.ks[-1]}. This is {how}: confidence "
        f"{choice.confidence:.2f}, runner-up {choice.runner_up}."
    )


def _single() -> str:
    return "Nothing speaks for a division: no valley between dense regions is deep enough."


def _evidence(evidence: dict[str, Any]) -> str:
    longer = math.exp(min(float(evidence["gap"]), 9.0))
    k = int(evidence["k"])
    valley = float(evidence["valley"])
    depth = "There is a gap" if valley < 0.05 else f"The density falls to {valley:.0%}"
    return (
        f"Evidence: a random walk from object to object tells {k} groups apart {longer:.1f} times "
        f"as long as {k + 1}. {depth} between the two clusters that are nearest to each other. "
        f"Leaving out a fifth of the links keeps the clusters the same to {_share(evidence)} "
        "(adjusted Rand index)."
    )


def _share(evidence: dict[str, Any]) -> str:
    return f"{float(evidence['stability']):.2f}"


def _explain_path(model: Any) -> list[str]:
    """Models on graphs have a rule of their own, with a path of thresholds."""
    k = model.n_clusters_
    path = getattr(model, "threshold_path_", None)
    if path is None or not len(path):
        return [f"{k} clusters, found by the model's own rule."]
    lasted = int((path[:, 1] == k).sum())
    return [
        f"{k} clusters. They survive {lasted} of {len(path)} growing thresholds at which light "
        "clusters vanish, and a random walk on the graph tells them apart for long."
    ]
