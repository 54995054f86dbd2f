"""All models: the one place where a model is registered.

The command line, the report, model files and the tests read this list. It imports nothing, so that
`soffit --help` stays fast.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module


@dataclass(frozen=True)
class ModelEntry:
    """A model and its properties that the rest of the package uses.

    Parameters
    ----------
    name : str
        Name of the class, in Python and in model files.
    module : str
        Where the class is defined.
    words : str
        A description of the model for the report, in one or two sentences.
    method : str, optional
        Its name for ``--method`` on the command line; None if it is not offered there.
    neighbors : tuple of str
        The parameters that ``--neighbors`` sets; empty if there are none.
    takes_pairs, resamples : bool
        Whether `fit` accepts must-link and cannot-link pairs, and whether it supports subsamples.
    chooses : bool
        Whether the number of clusters is chosen by `soffit.selection.choose_k_of_graph` if it is
        not given, up to ``max_clusters``; else the model has its own rule.
    tables_only : bool
        Whether the model accepts tables only, not matrices and graphs.
    parts : tuple of str
        Classes of the same module whose objects a fitted model holds, so that it can be saved.

    Examples
    --------
    >>> from soffit.catalogue import MODELS
    >>> MODELS["SoF"].method
    'sof'
    >>> MODELS["SoF"].load()
    <class 'soffit.models.sof.SoF'>
    """

    name: str
    module: str
    words: str
    method: str | None = None
    neighbors: tuple[str, ...] = ("n_neighbors",)
    takes_pairs: bool = False
    resamples: bool = False
    chooses: bool = True
    tables_only: bool = False
    parts: tuple[str, ...] = ()

    def load(self) -> type:
        """The class."""
        model: type = getattr(import_module(self.module), self.name)
        return model

    def load_parts(self) -> list[type]:
        """The classes of the parts."""
        return [getattr(import_module(self.module), part) for part in self.parts]


_ENTRIES = (
    ModelEntry(
        name="SoftClustering",
        module="soffit.models.soft_clustering",
        method="soft",
        words="It factorizes the neighbour graph into soft clusters with one scale per cluster. "
        "Memberships are smoothed along the graph.",
        takes_pairs=True,
        resamples=True,
        parts=("WalkAndMixture",),
    ),
    ModelEntry(
        name="SoF",
        module="soffit.models.sof",
        method="sof",
        words="Its memberships approximate similarities that are computed from relative distances "
        "(Zhao et al. 2015).",
        neighbors=("n_neighbors", "relative_neighbor"),
    ),
    ModelEntry(
        name="BaumEagon",
        module="soffit.models.baum_eagon",
        method="baum-eagon",
        words="The products of its memberships approximate the similarities up to a common "
        "factor (Rota Bulò & Pelillo 2010).",
    ),
    ModelEntry(
        name="CompletelyPositive",
        module="soffit.models.completely_positive",
        method="completely-positive",
        words="It factorizes the normalized similarities into nonnegative factors, one per "
        "cluster (Zass & Shashua 2005).",
        takes_pairs=True,
    ),
    ModelEntry(
        name="RelationFactorization",
        module="soffit.models.relation_factorization",
        method="relation",
        chooses=False,
        words="It models links as steps of a random walk through latent clusters "
        "(Yu, Yu & Tresp 2005).",
    ),
    ModelEntry(
        name="SoftHierarchy",
        module="soffit.models.soft_hierarchy",
        method="hierarchy",
        chooses=False,
        words="It groups objects into many small clusters, these into fewer, and so on to the "
        "top (Yu, Yu & Tresp 2005). This page describes the top level.",
        parts=("Upward",),
    ),
    ModelEntry(
        name="SpectralClustering",
        module="soffit.models.spectral_clustering",
        method="spectral",
        words="It computes clusters from the leading eigenvectors of the normalized similarities.",
    ),
    ModelEntry(
        name="HigherOrder",
        module="soffit.models.higher_order",
        method="higher-order",
        words="It computes clusters from the similarities of small groups of objects instead of "
        "pairs (Zass & Shashua 2005).",
        neighbors=(),
        tables_only=True,
        parts=("TuplePlacer",),
    ),
    ModelEntry(
        name="RandomWalkClassifier",
        module="soffit.models.random_walk_classifier",
        words="It propagates the labels of a few objects to all others by a random walk on the "
        "graph (Yu, Yu & Tresp 2005).",
        parts=("ClassArrival", "ClusterWalk", "PointWalk"),
    ),
    ModelEntry(
        name="PixelClustering",
        module="soffit.models.segmentation",
        words="It factorizes the pixel graph into soft segments with one scale per segment. "
        "Memberships are smoothed along the graph.",
    ),
)
MODELS: dict[str, ModelEntry] = {entry.name: entry for entry in _ENTRIES}
