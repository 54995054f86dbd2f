"""The models under their names on the command line, and what each of them accepts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from soffit.catalogue import MODELS
from soffit.cli.console import usage_error
from soffit.cli.options import MODEL, OptionGroup, Standardization, at_least, choice

# The choices of --method.
METHODS = {entry.method: entry for entry in MODELS.values() if entry.method is not None}
DEFAULT_METHOD = "soft"


def known_method(value: str) -> str:
    """A name of a method, if there is such a method."""
    if value not in METHODS:
        choices = ", ".join(METHODS)
        raise usage_error(f"There is no method {value!r}. Choose one of {choices}.", "--method")
    return value


@dataclass(frozen=True)
class Settings(OptionGroup):
    """The settings of a model."""

    clusters: int | None = choice(
        "-k --clusters K",
        MODEL,
        "The number of clusters. By default soffit chooses it and shows the evidence.",
        callback=at_least(1),
    )
    max_clusters: int | None = choice(
        "--max-clusters K",
        MODEL,
        "The largest number of clusters to consider without -k. By default 20, and more while "
        "the evidence grows.",
        callback=at_least(1),
    )
    neighbors: int | None = choice(
        "--neighbors N",
        MODEL,
        "The number of neighbours per object. A larger number gives smoother clusters.",
        callback=at_least(1),
    )
    standardize: Standardization = choice(
        "--standardize HOW",
        MODEL,
        "Scale the columns of a table to a common spread: yes, no or auto, which does so if "
        "their units differ so much that one column would decide alone.",
        default=Standardization.auto,
    )
    resamples: int = choice(
        "--resamples N",
        MODEL,
        "Refit the model on N subsamples, which gives better-calibrated probabilities and "
        "shows where the clusters are unstable. 10 is enough.",
        callback=at_least(0),
        default=0,
    )
    seed: int = choice(
        "--seed N",
        MODEL,
        "The random seed. The same seed gives the same result.",
        callback=at_least(0, 2**32 - 1),
        default=0,
    )
    jobs: int | None = choice(
        "--jobs N",
        MODEL,
        "The number of processor cores; all of them by default. The result does not depend on it.",
        callback=at_least(1),
    )
    max_time: float | None = choice(
        "--max-time SECONDS", MODEL, "Stop after this many seconds and keep the best result so far."
    )

    def check(self, name: str, *, pairs: bool = False) -> None:
        """Reject options that the method does not support."""
        method = METHODS[name]
        if self.max_time is not None and not self.max_time > 0:
            raise usage_error("The time must be more than 0 seconds.", "--max-time")
        if self.neighbors is not None and not method.neighbors:
            raise usage_error(f"--method {name} does not use neighbours.", "--neighbors")
        if self.max_clusters is not None:
            if self.clusters is not None:
                raise usage_error(
                    "-k sets the number of clusters. Omit one of them.", "--max-clusters"
                )
            if not method.chooses:
                raise usage_error(
                    f"--method {name} has its own rule for the number of clusters. Use "
                    f"{_those('chooses')}.",
                    "--max-clusters",
                )
        if self.resamples and not method.resamples:
            raise usage_error(
                f"Only --method {_those('resamples')} supports subsamples.", "--resamples"
            )
        if self.resamples == 1:
            raise usage_error(
                "A single subsample cannot be compared with others. Pass 0, or at least 2; 10 is "
                "enough.",
                "--resamples",
            )
        if pairs and not method.takes_pairs:
            raise usage_error(
                f"--method {name} does not accept pairs. Use {_those('takes_pairs')}.",
                "--must-link, --cannot-link",
            )


def make_model(
    name: str, settings: Settings, kind: str, *, is_mixed: bool = False, **extra: Any
) -> Any:
    """The model, not yet fitted, for input of this kind; `is_mixed` if it has text or gaps."""
    method = METHODS[name]
    if method.tables_only and kind != "table":
        raise ValueError(
            f"--method {name} needs a table of numbers, but the file holds {a(kind)}. "
            "Omit --method to use the default."
        )
    given: dict[str, Any] = dict(extra)
    given["random_state"] = settings.seed
    if settings.jobs is not None:
        given["n_jobs"] = settings.jobs
    given |= {"max_time": settings.max_time}
    given |= matrix_parameters(kind, is_mixed=is_mixed)
    if settings.neighbors is not None:
        given |= dict.fromkeys(method.neighbors, settings.neighbors)
    if settings.max_clusters is not None:
        given["max_clusters"] = settings.max_clusters
    if settings.resamples:
        given["n_resamples"] = settings.resamples
    if settings.standardize != "auto":
        if kind != "table":
            raise ValueError(f"--standardize needs a table, but the file holds {a(kind)}. Omit it.")
        if is_mixed and settings.standardize == "no":
            raise ValueError(
                "--standardize no is for tables of numbers. In a table with text or gaps all "
                "columns count alike. Omit it."
            )
        given["standardize"] = settings.standardize == "yes"
    return method.load()(settings.clusters, **given)


def matrix_parameters(kind: str, *, is_mixed: bool = False) -> dict[str, str]:
    """The parameters of a model whose input is a matrix, or a table with text or gaps."""
    if is_mixed:
        return {"metric": "gower"}
    if kind == "distances":
        return {"metric": "precomputed"}
    return {} if kind == "table" else {"affinity": "precomputed"}


def a(kind: str) -> str:
    """The kind with its article."""
    return f"a {kind}" if kind in ("table", "graph") else kind


def _those(ability: str) -> str:
    able = [name for name, method in METHODS.items() if getattr(method, ability)]
    return " or ".join(able)
