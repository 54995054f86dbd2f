"""No public name of the release before the redesign is lost.

The lists are those of that release, written down once; they are not to be shortened. Whatever was
renamed or moved is also listed below as deprecated and still works, with a warning that says what
to use instead.
"""

from __future__ import annotations

import importlib
import inspect
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import soffit
from soffit.datasets import make_gaussians

PUBLIC: dict[str, str] = {
    "soffit": """
        BaumEagon CompletelyPositive HigherOrder RandomWalkClassifier RelationFactorization
        SoF SoftClustering SoftHierarchy SpectralClustering __version__ affinity datasets
        factorize figures io load memberships metrics normalize report save segment selection
        suggest_pairs
    """,
    "soffit.affinity": """
        AFFINITIES Affinity CallableAffinity Cosine FactoredAffinity Gaussian Laplacian
        NeighborGraph Precomputed RelativeDistance Settings SideInformation image_affinity
        make_affinity random_walk
    """,
    "soffit.normalize": """
        NORMALIZATIONS Normalized additive additive_observed degree normalize sinkhorn
        sinkhorn_observed unnormalized
    """,
    "soffit.factorize": """
        SOLVERS Correction Factorization GraphPartition Problem best_partition diffused_start
        graph_partition labels_start leading_eigenvectors n_fine_vectors normalized_cut
        random_start relaxed_bound solve_coordinate solve_em solve_gradient solve_gradients
        solve_growth solve_locally solve_multiplicative solve_parallel solve_penalty
        solve_rows solve_tuples spectral_start
    """,
    "soffit.memberships": """
        ClusterTree ColumnRows Ensemble Extension FittedRows Level NonnegativeRows
        SeededMixture Walk align carried_over combine entropy extension fit_seeded_mixture
        match_clusters pair_agreement pair_log_likelihood random_walk sharpen soften
        top_memberships walk_length with_pairs
    """,
    "soffit.selection": """
        KChoice choose_k choose_k_of_graph suggest_pairs
    """,
    "soffit.models": """
        BaumEagon CompletelyPositive FitEvent HigherOrder RandomWalkClassifier
        RelationFactorization Segmentation SoF SoftClustering SoftHierarchy SpectralClustering
        segment
    """,
    "soffit.metrics": """
        CalibrationCurve accuracy adjusted_rand brier calibration_curve calibration_error
        expected_ari frobenius_ari log_loss nmi posterior_distance purity rand_index
    """,
    "soffit.datasets": """
        Dataset Sample SimilaritySample data_home development_sets list_datasets load
        make_block_stochastic make_bridge make_donut make_gaussians make_lines make_moons
        make_rings make_skewed make_student_t make_unequal
    """,
    "soffit.io": """
        ColumnSummary DataError Description ModelFileError Result Source UnknownColumnError
        describe load read read_pairs read_result save write_result
    """,
    "soffit.figures": """
        calibration cluster_sizes confusion embedding entropy_map hierarchy k_selection
        membership_bars membership_heatmap objective reconstruction scatter segments
    """,
    "soffit.report": """
        write_report
    """,
}
# Old names that warn when they are imported, and what they are called now.
MOVED = {
    "soffit.affinity.random_walk": "soffit.affinity.walk_affinity",
    "soffit.io.ModelFileError": "soffit.persistence.ModelFileError",
    "soffit.io.load": "soffit.load",
    "soffit.io.save": "soffit.save",
}
# Names that can be imported and called only to hear where they went.
GONE = {
    "soffit.datasets.data_home": "benchmarks.datasets",
    "soffit.datasets.development_sets": "benchmarks.datasets",
}

PARAMETERS: dict[str, str] = {
    "BaumEagon": """
        n_clusters affinity metric n_neighbors solver n_init max_iter tol max_time warm_start
        random_state verbose callback n_jobs
    """,
    "CompletelyPositive": """
        n_clusters affinity metric n_neighbors normalization solver side_weight transitive
        start n_init max_iter tol max_time warm_start random_state verbose callback n_jobs
    """,
    "HigherOrder": """
        n_clusters order tuple_affinity width n_tuples n_init max_iter tol max_time warm_start
        random_state verbose callback n_jobs
    """,
    "RandomWalkClassifier": """
        steps on n_clusters affinity metric n_neighbors max_time random_state verbose callback
        n_jobs
    """,
    "RelationFactorization": """
        n_clusters affinity metric n_neighbors sparsity pruning n_init max_iter tol max_time
        warm_start random_state verbose callback n_jobs
    """,
    "SoF": """
        n_clusters affinity metric c relative_neighbor scale solver n_init n_neighbors
        max_iter tol max_time warm_start random_state verbose callback n_jobs
    """,
    "SoftClustering": """
        n_clusters affinity metric n_neighbors scale standardize resamples side_weight
        transitive max_iter tol max_time warm_start random_state verbose callback n_jobs
    """,
    "SoftHierarchy": """
        n_clusters levels affinity metric n_neighbors refine n_init max_iter tol max_time
        warm_start random_state verbose callback n_jobs
    """,
    "SpectralClustering": """
        n_clusters affinity metric n_neighbors variant rounding n_init max_iter tol max_time
        random_state verbose callback n_jobs
    """,
}

ATTRIBUTES: dict[str, str] = {
    "BaumEagon": """
        affinity_matrix_ converged_ entropy_ factor_ labels_ memberships_ n_clusters_
        n_features_in_ n_iter_ object_names_ objective_ objective_history_ scale_
        side_information_ stopped_
    """,
    "CompletelyPositive": """
        affinity_matrix_ converged_ entropy_ factor_ labels_ memberships_ n_clusters_
        n_features_in_ n_iter_ object_names_ objective_ objective_history_ scale_
        side_information_ stopped_
    """,
    "HigherOrder": """
        converged_ entropy_ factor_ labels_ memberships_ n_clusters_ n_features_in_ n_iter_
        object_names_ objective_ objective_history_ stopped_ tuple_values_ tuples_ width_
    """,
    "RandomWalkClassifier": """
        affinity_matrix_ class_prior_ classes_ label_distributions_ n_features_in_
        neighbor_recall_ object_names_ transduction_
    """,
    "RelationFactorization": """
        affinity_matrix_ bipartite_ converged_ entropy_ factor_ labels_ lambda_
        log_likelihood_ memberships_ n_clusters_ n_features_in_ n_iter_ neighbor_recall_
        object_names_ objective_ objective_history_ scale_ side_information_ stopped_
    """,
    "SoF": """
        affinity_matrix_ converged_ entropy_ factor_ labels_ memberships_ n_clusters_
        n_features_in_ n_iter_ object_names_ objective_ objective_history_ scale_
        side_information_ stopped_
    """,
    "SoftClustering": """
        affinity_matrix_ converged_ entropy_ factor_ labels_ memberships_ n_clusters_
        n_features_in_ n_iter_ n_steps_ neighbor_recall_ object_names_ objective_
        objective_history_ scale_ side_information_ stopped_
    """,
    "SoftHierarchy": """
        affinity_matrix_ converged_ entropy_ factor_ labels_ lambda_ levels_ memberships_
        n_clusters_ n_features_in_ n_iter_ neighbor_recall_ object_names_ objective_
        objective_history_ scale_ side_information_ stopped_ tree_
    """,
    "SpectralClustering": """
        affinity_matrix_ converged_ cut_ eigenvalues_ embedding_ entropy_ factor_ labels_
        memberships_ n_clusters_ n_features_in_ n_iter_ neighbor_recall_ object_names_
        objective_ objective_history_ relaxed_bound_ scale_ side_information_ stopped_
    """,
}

OLD_NAMES = [f"{module}.{name}" for module, names in PUBLIC.items() for name in names.split()]


def look_up(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def test_the_lists_are_complete() -> None:
    assert len(OLD_NAMES) == len(set(OLD_NAMES)) == 172
    assert MOVED.keys() | GONE.keys() <= set(OLD_NAMES)
    assert PARAMETERS.keys() == ATTRIBUTES.keys()
    assert len(PARAMETERS) == 9


@pytest.mark.parametrize("path", [path for path in OLD_NAMES if path not in MOVED])
def test_a_public_name_is_where_it_was(path: str) -> None:
    # Warnings are errors in all tests: a deprecated name belongs into the list above.
    assert look_up(path) is not None


@pytest.mark.parametrize(("old", "new"), MOVED.items())
def test_a_moved_name_still_works_and_says_where_it_went(old: str, new: str) -> None:
    with pytest.warns(FutureWarning, match=f"{old} is deprecated: use {new} instead") as caught:
        found = look_up(old)
    assert caught[0].filename == __file__
    assert found is look_up(new)


@pytest.mark.parametrize(("old", "place"), GONE.items())
def test_a_name_that_left_the_library_says_where_it_went(old: str, place: str) -> None:
    with pytest.raises(RuntimeError, match=rf"{old} has moved\..*{place}"):
        look_up(old)()


@pytest.mark.parametrize("module", PUBLIC)
def test_all_lists_what_is_public(module: str) -> None:
    package = importlib.import_module(module)
    current = {f"{module}.{name}" for name in package.__all__}
    kept = {f"{module}.{name}" for name in PUBLIC[module].split()} - MOVED.keys()
    assert kept <= current
    # A star import brings no deprecated names, and warns of none.
    assert not current & MOVED.keys()
    namespace: dict[str, Any] = {}
    exec(f"from {module} import *", namespace)
    assert set(package.__all__) <= namespace.keys()


# Functions that are deprecated but not renamed.
def test_solve_gradients_says_what_to_call_instead() -> None:
    problem = soffit.factorize.Problem(np.kron(np.eye(2), np.ones((3, 3))), 2, diagonal=True)
    starts = np.random.default_rng(5).dirichlet(np.ones(2), size=(1, 6))
    with pytest.warns(FutureWarning, match=r"call solve_gradient\(problem, start\)"):
        (found,) = soffit.factorize.solve_gradients(problem, starts)
    assert found.converged


@pytest.mark.parametrize("name", PARAMETERS)
def test_an_estimator_takes_the_parameters_that_it_took(name: str) -> None:
    estimator = getattr(soffit, name)
    signature = inspect.signature(estimator)
    for parameter in set(PARAMETERS[name].split()) - signature.parameters.keys():
        # A former name: `tests/test_parameters.py` has the list.
        with pytest.warns(FutureWarning, match=f"{parameter} is deprecated: it is now called"):
            estimator(**{parameter: None})
    positional = [
        parameter.name
        for parameter in signature.parameters.values()
        if parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    ]
    assert positional == ([] if name == "RandomWalkClassifier" else ["n_clusters"])


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_a_fit_publishes_what_it_published(name: str) -> None:
    X, labels, _ = make_gaussians(60, n_clusters=3, separation=8.0, random_state=8191)
    estimator = getattr(soffit, name)
    assert issubclass(estimator, BaseEstimator)
    options = {} if name == "RandomWalkClassifier" else {"n_clusters": 3}
    model = estimator(random_state=29, **options).fit(X, np.where(labels < 2, labels, -1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        lost = [
            attribute for attribute in ATTRIBUTES[name].split() if not hasattr(model, attribute)
        ]
    assert not lost
