"""All models: the one place where a model is registered.

The command line, the report, model files and the tests read this list. It imports nothing, so that
`soffit --help` stays quick.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module


@dataclass(frozen=True)
class ModelEntry:
    """A model and what the rest of the package needs to know about it.

    Parameters
    ----------
    name : str
        Name of the class, in Python and in model files.
    module : str
        Where the class is defined.
    words : str
        What the model does, in a sentence or two for the report.
    method : str, optional
        Its name for ``--method`` on the command line; None if it is not offered there.
    neighbors : tuple of str
        The parameters that ``--neighbors`` sets; empty if there are none.
    takes_pairs, resamples : bool
        Whether `fit` takes must-link and cannot-link pairs, and whether there are subsamples.
    tables_only : bool
        Whether the model takes tables only, not matrices and graphs.
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
        words="The graph of neighbours was divided into soft clusters by a factorization with one "
        "scale for each cluster. Memberships were smoothed along the graph.",
        takes_pairs=True,
        resamples=True,
        parts=("WalkAndMixture",),
    ),
    ModelEntry(
        name="SoF",
        module="soffit.models.sof",
        method="sof",
        words="Memberships were sought that explain how near objects are, relative to their "
        "neighbourhoods (Zhao et al. 2015).",
        neighbors=("n_neighbors", "relative_neighbor"),
    ),
    ModelEntry(
        name="BaumEagon",
        module="soffit.models.baum_eagon",
        method="baum-eagon",
        words="Memberships were sought whose products explain the similarities up to a common "
        "factor (Rota Bulò & Pelillo 2010).",
    ),
    ModelEntry(
        name="CompletelyPositive",
        module="soffit.models.completely_positive",
        method="completely-positive",
        words="The normalized similarities were factorized into nonnegative parts, one for each "
        "cluster (Zass & Shashua 2005).",
        takes_pairs=True,
    ),
    ModelEntry(
        name="RelationFactorization",
        module="soffit.models.relation_factorization",
        method="relation",
        words="Links were read as steps of a random walk through hidden clusters "
        "(Yu, Yu & Tresp 2005).",
    ),
    ModelEntry(
        name="SoftHierarchy",
        module="soffit.models.soft_hierarchy",
        method="hierarchy",
        words="Objects were grouped into many small clusters, these into fewer, and so on to the "
        "top (Yu, Yu & Tresp 2005). This page describes the top level.",
        parts=("Upward",),
    ),
    ModelEntry(
        name="SpectralClustering",
        module="soffit.models.spectral_clustering",
        method="spectral",
        words="Clusters were read from the leading eigenvectors of the normalized similarities.",
    ),
    ModelEntry(
        name="HigherOrder",
        module="soffit.models.higher_order",
        method="higher-order",
        words="Clusters were found from the similarities of small groups of objects rather than "
        "of pairs (Zass & Shashua 2005).",
        neighbors=(),
        tables_only=True,
        parts=("TuplePlacer",),
    ),
    ModelEntry(
        name="RandomWalkClassifier",
        module="soffit.models.random_walk_classifier",
        words="The labels of a few objects were carried to all others by a random walk along the "
        "graph (Yu, Yu & Tresp 2005).",
        parts=("ClassArrival", "ClusterWalk", "PointWalk"),
    ),
    ModelEntry(
        name="PixelClustering",
        module="soffit.models.segmentation",
        words="The graph of pixels was divided into soft segments by a factorization with one "
        "scale for each segment. Memberships were smoothed along the graph.",
    ),
)
MODELS: dict[str, ModelEntry] = {entry.name: entry for entry in _ENTRIES}
