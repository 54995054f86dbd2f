"""The result in one sentence, and the few numbers that say most."""

from __future__ import annotations

from pathlib import PurePath

import numpy as np

from soffit.report._subject import BETWEEN, CLEAR, Subject
from soffit.report._words import count_of, listed, percent, spelled

_MOST_SIZES = 6


def default_title(subject: Subject) -> str:
    """A title from the name of the file, if there is one."""
    path = getattr(subject.source, "path", None)
    count = _clusters(subject)
    if path:
        return f"{PurePath(str(path)).name}: {count}"
    return f"Soft {'clustering' if subject.noun == 'cluster' else 'labels'}: {count}"


def one_sentence(subject: Subject) -> str:
    """What came out."""
    objects = count_of(subject.n_objects, "object")
    if subject.n_clusters == 1:
        verb = "forms" if subject.n_objects == 1 else "form"
        return f"The {objects} {verb} a single {subject.noun}."
    verb = "falls" if subject.n_objects == 1 else "fall"
    clear = float((subject.certainty >= CLEAR).mean())
    between = int((subject.certainty < BETWEEN).sum())
    sentence = f"{objects} {verb} into {_clusters(subject)}{_sizes(subject)}; "
    sentence += _belonging(clear)
    if between == 0:
        return f"{sentence}, and none lies between {subject.plural}."
    lie = "lies" if between == 1 else "lie"
    return f"{sentence}, and {between:,} {lie} between {subject.plural}."


def _belonging(share: float) -> str:
    if share == 0:
        return "none of them clearly belongs to one"
    return f"{'all' if share == 1 else percent(share)} of them clearly belong to one"


def _clusters(subject: Subject) -> str:
    return count_of(subject.n_clusters, subject.noun, subject.plural)


def _sizes(subject: Subject) -> str:
    sizes = sorted(subject.sizes.tolist(), reverse=True)
    if len(sizes) <= _MOST_SIZES:
        return f" of {listed([f'{size:,}' for size in sizes])}"
    return f" of {sizes[-1]:,} to {sizes[0]:,} objects each"


def key_figures(subject: Subject) -> list[tuple[str, str, str]]:
    """Value, name and meaning of the numbers at the top of the page."""
    between = int((subject.certainty < BETWEEN).sum())
    objects, clusters = count_of(subject.n_objects, "object").split(" "), _clusters(subject).split()
    figures = [(objects[0], objects[1], ""), (clusters[0], clusters[1], _how_many(subject))]
    if subject.n_clusters > 1:
        mean = f"{subject.certainty.mean():.2f}"
        figures += [
            (mean, "mean certainty", f"membership in the likeliest {subject.noun}"),
            (f"{between:,}", f"between {subject.plural}", f"no membership of {BETWEEN} or more"),
        ]
    agreement = getattr(subject.model, "agreement_", None)
    if agreement is not None:
        figures.append((f"{agreement:.2f}", "agreement", "of fits to parts of the objects"))
    if subject.truth is not None:
        figures.append((f"{_accuracy(subject):.2f}", "accuracy", "against the labels"))
    return figures


def _how_many(subject: Subject) -> str:
    if subject.model is None or subject.noun == "class":
        return ""
    asked = [getattr(subject.model, name, None) for name in ("n_clusters", "levels")]
    return "as asked for" if any(item is not None for item in asked) else "chosen from the data"


def _accuracy(subject: Subject) -> float:
    from soffit.metrics import accuracy

    assert subject.truth is not None
    known = subject.truth != ""
    return float(accuracy(subject.truth[known], subject.labels[known]))


def scores(subject: Subject) -> list[tuple[str, str, str]]:
    """Name, value and meaning of the scores against labels."""
    from soffit import metrics

    if subject.truth is None:
        return []
    known = subject.truth != ""
    truth, labels = subject.truth[known], subject.labels[known]
    memberships = subject.memberships[known]
    # Scores of probabilities are strict about sums, files round them.
    memberships = memberships / np.maximum(memberships.sum(axis=1, keepdims=True), 1e-12)
    return [
        (
            "Accuracy",
            f"{metrics.accuracy(truth, labels):.3f}",
            "share of objects whose cluster matches their label",
        ),
        (
            "Adjusted Rand index",
            f"{metrics.adjusted_rand(truth, labels):.3f}",
            "agreement on pairs beyond chance; 1 is perfect, 0 is chance",
        ),
        (
            "Mutual information",
            f"{metrics.nmi(truth, labels):.3f}",
            "shared information, normalized; 1 is perfect",
        ),
        (
            "Brier score",
            f"{metrics.brier(truth, memberships):.3f}",
            "squared error of the memberships; 0 is perfect",
        ),
        (
            "Calibration error",
            f"{metrics.calibration_error(truth, memberships):.3f}",
            "gap between certainty and accuracy; 0 is perfect",
        ),
    ]


def unknown_labels(subject: Subject) -> str:
    """A sentence on objects without a label."""
    if subject.truth is None or not (subject.truth == "").any():
        return ""
    count = int((subject.truth == "").sum())
    verb = "has" if count == 1 else "have"
    counted = "does" if count == 1 else "do"
    return f"{spelled(count, 'object').capitalize()} {verb} no label and {counted} not count here."
