"""Which public names belong together: pages of the API without a "See also" get one from here."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from typing import Any

from sphinx.application import Sphinx

# Every name is shown on the pages of the others of its line; names without a module are `soffit`'s.
RELATED = """
SoftClustering choose_k suggest_pairs save
SoF BaumEagon CompletelyPositive SoftClustering
RelationFactorization SoftHierarchy SoftClustering SpectralClustering
SpectralClustering SoftClustering factorize.relaxed_bound
HigherOrder SoftClustering
RandomWalkClassifier SoftClustering affinity.walk_affinity
choose_k selection.choose_k_of_graph selection.KChoice figures.k_selection
explore suggest_pairs
load save persistence.ModelFileError
segment models.Segmentation affinity.image_affinity figures.segments
suggest_pairs explore io.read_pairs
warmup SoftClustering
models.FitEvent SoftClustering
exceptions.ContradictoryPairsWarning exceptions.EmptyClusterWarning exceptions.UnstableResultWarning
affinity.Affinity affinity.CallableAffinity affinity.Precomputed affinity.make_affinity
affinity.Cosine affinity.Gaussian affinity.Laplacian affinity.RelativeDistance
affinity.NeighborGraph affinity.RelativeDistance affinity.Precomputed
affinity.Settings affinity.make_affinity affinity.AFFINITIES affinity.Standardizer
affinity.FactoredAffinity affinity.walk_affinity
affinity.SideInformation memberships.with_pairs io.read_pairs
affinity.image_affinity affinity.NeighborGraph
datasets.load datasets.list_datasets datasets.data_home datasets.development_sets
datasets.Dataset datasets.Sample datasets.SimilaritySample
datasets.make_gaussians datasets.make_student_t datasets.make_skewed datasets.make_unequal
datasets.make_moons datasets.make_rings datasets.make_donut datasets.make_bridge datasets.make_lines
datasets.make_block_stochastic datasets.SimilaritySample
factorize.Problem factorize.Factorization factorize.SOLVERS factorize.Correction
factorize.solve_rows factorize.solve_gradient factorize.solve_gradients factorize.solve_growth
factorize.solve_penalty factorize.solve_locally factorize.solve_rows
factorize.solve_coordinate factorize.solve_multiplicative factorize.solve_parallel
factorize.solve_em factorize.solve_tuples
factorize.random_start factorize.labels_start factorize.spectral_start factorize.diffused_start
factorize.GraphPartition factorize.graph_partition factorize.best_partition
factorize.leading_eigenvectors factorize.n_fine_vectors factorize.graph_partition
factorize.normalized_cut factorize.relaxed_bound SpectralClustering
figures.scatter figures.embedding figures.entropy_map
figures.calibration figures.confusion metrics.calibration_curve metrics.accuracy
figures.cluster_sizes figures.membership_bars figures.membership_heatmap figures.hierarchy
figures.objective figures.reconstruction
report.write_report SoftClustering.report io.read_result
inputs.Input inputs.read_input inputs.read_new_objects inputs.check_columns
inputs.lazy_part inputs.read_attributes inputs.read_graph_of_cells inputs.weights_of_source
io.read io.describe io.read_blocks io.Source
io.Description io.ColumnSummary io.describe
io.Result io.read_result io.write_result
io.DataError io.UnknownColumnError
memberships.entropy memberships.as_sets memberships.top_memberships
memberships.to_networkx memberships.to_igraph memberships.as_sets
memberships.align memberships.match_clusters
memberships.combine memberships.soften memberships.sharpen memberships.pair_agreement
memberships.Ensemble memberships.carried_over memberships.combine
memberships.random_walk memberships.walk_length memberships.Walk
memberships.fit_seeded_mixture memberships.SeededMixture
memberships.extension memberships.Extension memberships.FittedRows memberships.ColumnRows
memberships.NonnegativeRows memberships.extension
memberships.ClusterTree memberships.Level SoftHierarchy
memberships.with_pairs memberships.pair_log_likelihood
metrics.accuracy metrics.purity metrics.nmi metrics.adjusted_rand metrics.rand_index
metrics.expected_ari metrics.frobenius_ari metrics.adjusted_rand
metrics.brier metrics.log_loss metrics.calibration_error metrics.posterior_distance
metrics.calibration_curve metrics.CalibrationCurve metrics.calibration_error
normalize.normalize normalize.Normalized normalize.NORMALIZATIONS
normalize.additive normalize.sinkhorn normalize.degree normalize.unnormalized
normalize.additive_observed normalize.sinkhorn_observed
scanpy.soft_clusters scanpy.place scanpy.report scanpy.model_of scanpy.set_model
"""


def groups() -> Iterator[list[str]]:
    """Lines of the table as full names."""
    for line in RELATED.strip().splitlines():
        yield [f"soffit.{name}" for name in line.split()]


def related(name: str) -> list[str]:
    """Names that belong to this one, in the order of the table."""
    found = [other for line in groups() if name in line for other in line if other != name]
    return list(dict.fromkeys(found))


def value_of(name: str) -> Any:
    """The object of a full name."""
    module, own, rest = name, None, []
    while own is None:
        module, _, last = module.rpartition(".")
        rest.insert(0, last)
        try:
            own = importlib.import_module(module)
        except ModuleNotFoundError:
            continue
    for part in rest:
        own = getattr(own, part)
    return own


def add_see_also(app: Sphinx, what: str, name: str, *rest: Any) -> None:
    """Append the section, which numpydoc puts in its place."""
    lines = rest[-1]
    others = related(name) if what in ("class", "exception", "function") else []
    if not others or "See Also" in lines:
        return
    lines += ["", "See Also", "--------"]
    for other in others:
        value = value_of(other)
        words = (inspect.getdoc(value) or "").partition("\n")[0] if callable(value) else ""
        lines += [f"{other} : {words}"]


def setup(app: Sphinx) -> dict[str, Any]:
    # Before numpydoc reads the docstring.
    app.connect("autodoc-process-docstring", add_see_also, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
