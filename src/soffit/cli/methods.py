"""The models under their names on the command line, and what each of them accepts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from soffit.cli.error_messages import usage_error


class MethodName(str, Enum):
    """The choices of --method."""

    soft = "soft"
    sof = "sof"
    baum_eagon = "baum-eagon"
    completely_positive = "completely-positive"
    relation = "relation"
    hierarchy = "hierarchy"
    spectral = "spectral"
    higher_order = "higher-order"


@dataclass(frozen=True)
class Method:
    """A model and what it accepts.

    Attributes
    ----------
    model : str
        Name of the class in `soffit`.
    neighbors : tuple of str
        The parameters that --neighbors sets; empty if there are none.
    takes_pairs, resamples : bool
        Whether it accepts must-link and cannot-link pairs, and subsamples.
    tables_only : bool
        Whether it accepts tables only, not matrices and graphs.
    """

    model: str
    neighbors: tuple[str, ...] = ("n_neighbors",)
    takes_pairs: bool = False
    resamples: bool = False
    tables_only: bool = False


METHODS = {
    MethodName.soft: Method("SoftClustering", takes_pairs=True, resamples=True),
    MethodName.sof: Method("SoF", neighbors=("n_neighbors", "relative_neighbor")),
    MethodName.baum_eagon: Method("BaumEagon"),
    MethodName.completely_positive: Method("CompletelyPositive", takes_pairs=True),
    MethodName.relation: Method("RelationFactorization"),
    MethodName.hierarchy: Method("SoftHierarchy"),
    MethodName.spectral: Method("SpectralClustering"),
    MethodName.higher_order: Method("HigherOrder", neighbors=(), tables_only=True),
}


@dataclass(frozen=True)
class Settings:
    """The settings of a model, from the options."""

    clusters: int | None = None
    neighbors: int | None = None
    resamples: int = 0
    seed: int = 0
    jobs: int | None = None
    max_time: float | None = None

    def check(self, name: MethodName, *, pairs: bool = False) -> None:
        """Reject options that the method does not support."""
        method = METHODS[name]
        if self.max_time is not None and not self.max_time > 0:
            raise usage_error("The time must be more than 0 seconds.", "--max-time")
        if self.neighbors is not None and not method.neighbors:
            raise usage_error(f"--method {name.value} does not use neighbours.", "--neighbors")
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
                f"--method {name.value} does not accept pairs. Use {_those('takes_pairs')}.",
                "--must-link, --cannot-link",
            )


def make_model(name: MethodName, settings: Settings, kind: str, **extra: Any) -> Any:
    """The model, not yet fitted, for input of this kind."""
    import soffit

    method = METHODS[name]
    if method.tables_only and kind != "table":
        raise ValueError(
            f"--method {name.value} needs a table of numbers, but the file holds {a(kind)}. "
            "Omit --method to use the default."
        )
    given: dict[str, Any] = dict(extra)
    given |= {"random_state": settings.seed, "n_jobs": settings.jobs}
    given |= {"max_time": settings.max_time}
    given |= matrix_parameters(kind)
    if settings.neighbors is not None:
        given |= dict.fromkeys(method.neighbors, settings.neighbors)
    if settings.resamples:
        given["resamples"] = settings.resamples
    return getattr(soffit, method.model)(settings.clusters, **given)


def matrix_parameters(kind: str) -> dict[str, str]:
    """The parameters of a model whose input is a matrix."""
    if kind == "distances":
        return {"metric": "precomputed"}
    return {} if kind == "table" else {"affinity": "precomputed"}


def a(kind: str) -> str:
    """The kind with its article."""
    return f"a {kind}" if kind in ("table", "graph") else kind


def _those(ability: str) -> str:
    able = [name.value for name, method in METHODS.items() if getattr(method, ability)]
    return " or ".join(able)
