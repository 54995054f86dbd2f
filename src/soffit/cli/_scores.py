"""Scores against true groups: how right the clusters are, and how honest the memberships."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from soffit.cli.console import Talk

if TYPE_CHECKING:
    from soffit._typing import FloatArray

NAMES = {
    "accuracy": "accuracy",
    "adjusted_rand": "ARI",
    "nmi": "NMI",
    "brier": "Brier",
    "calibration_error": "ECE",
}


def score(truth: Any, memberships: FloatArray) -> dict[str, float] | None:
    """All scores of these memberships over the objects whose group is known; None without any."""
    from soffit import metrics

    if truth is None:
        return None
    # A gap in the column of labels is read as empty text.
    known = np.asarray(truth, dtype=str) != ""
    if not known.any():
        return None
    truth, memberships = np.asarray(truth)[known], memberships[known]
    labels = memberships.argmax(axis=1)
    return {
        "accuracy": metrics.accuracy(truth, labels),
        "adjusted_rand": metrics.adjusted_rand(truth, labels),
        "nmi": metrics.nmi(truth, labels),
        "brier": metrics.brier(truth, memberships),
        "calibration_error": metrics.calibration_error(truth, memberships),
    }


def show_scores(talk: Talk, scores: dict[str, float], label: str) -> None:
    """The scores in a line, and what the labels were used for."""
    listed = ", ".join(f"{NAMES[name]} {value:.3f}" for name, value in scores.items())
    talk.say(f"Against the column {label!r}: {listed}.")
    talk.say(
        "The labels were used for these scores only. Accuracy, ARI and NMI are best at 1, Brier "
        "and ECE (are the memberships honest?) at 0."
    )
