"""What commands print about a clustering: clusters, uncertainty, choice of k and scores."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from soffit.cli.console import Talk

if TYPE_CHECKING:
    from soffit.results.summary import Summary

# Columns named per cluster; more do not fit on a line.
_MOST_COLUMNS = 2
# More clusters do not fit on a screen.
_MOST_ROWS = 60


def show_warnings(talk: Talk, summary: Summary) -> list[str]:
    """Warnings about the result, except those that the fit itself has issued; returns them."""
    from soffit.cli.error_messages import in_words_of_the_command
    from soffit.results.cautions import cautions

    found = [caution.message for caution in cautions(summary) if not caution.is_warned]
    said = [in_words_of_the_command(message) for message in found]
    for sentence in said:
        talk.warn(sentence)
    return said


def show_standardization(talk: Talk, summary: Summary) -> None:
    """Whether the columns were standardized."""
    from soffit.cli.error_messages import in_words_of_the_command
    from soffit.results.sentences import standardization

    sentence = standardization(summary)
    if sentence is not None:
        talk.say(in_words_of_the_command(sentence))


def show_summary(talk: Talk, summary: Summary, label: str | None = None) -> None:
    """The table of clusters, how many objects are uncertain, and scores against the labels."""
    from soffit.results.sentences import uncertainty

    _show_clusters(talk, summary)
    talk.say()
    if summary.n_clusters > 1:
        talk.say(uncertainty(summary))
    if summary.scores is not None:
        _show_scores(talk, summary.scores, label or "label")


def _show_clusters(talk: Talk, summary: Summary) -> None:
    from soffit.results.words import count_of, shorten

    rows = [
        (
            shorten(summary.names[c.cluster], 30),
            str(c.size),
            "-" if math.isnan(c.certainty) else f"{c.certainty:.2f}",
            ", ".join(difference.brief() for difference in c.apart[:_MOST_COLUMNS]),
        )
        for c in summary.clusters[:_MOST_ROWS]
    ]
    if any(c.apart for c in summary.clusters):
        talk.table((summary.noun, "size", "certainty", "set apart by"), rows)
    else:
        talk.table((summary.noun, "size", "certainty"), [row[:3] for row in rows], words=0)
    if summary.n_clusters > _MOST_ROWS:
        talk.say(f"... and {count_of(summary.n_clusters - _MOST_ROWS, f'more {summary.noun}')}.")


def _show_scores(talk: Talk, scores: dict[str, float], label: str) -> None:
    from soffit.results.summary import SCORES

    listed = ", ".join(f"{SCORES[name].short} {value:.3f}" for name, value in scores.items())
    talk.say(f"Against the column {label!r}: {listed}.")
    talk.say(
        "The labels were used for these scores only. Accuracy, ARI and NMI are best at 1; Brier "
        "and ECE (calibration error of the memberships) are best at 0."
    )


def show_choice(talk: Talk, summary: Summary) -> None:
    """Why this number of clusters, if the model chose it."""
    from soffit.results.sentences import CLEAR_CHOICE, choice_evidence, choice_made

    for sentence in (choice_made(summary), choice_evidence(summary)):
        if sentence:
            talk.say(sentence)
    choice = summary.choice
    if choice is not None and choice.runner_up is not None and choice.confidence < CLEAR_CHOICE:
        talk.say(f"Try -k {choice.runner_up} as well, and compare.")
