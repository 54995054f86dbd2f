"""The invariants that every estimator keeps (design, section 5).

Refits, failed fits and `set_params` (number 9) are in test_refit.py. Three fixtures say for whom an
invariant makes sense: `case` is every estimator, `clustering` leaves out the classifier, `of_pairs`
leaves out HigherOrder, which reads points only.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from tests.reference.estimators import (
    CASES,
    Array,
    Case,
    few_labels,
    most_probable,
    probabilities,
    together,
)
from tests.reference.threads import printed_with_one_and_two_threads

import soffit
from soffit import SoF, _threads, metrics
from soffit.affinity import Gaussian
from soffit.datasets import Sample, make_gaussians
from soffit.metrics import adjusted_rand

Fitted = Callable[[Case], Any]


def distances(X: Array) -> Array:
    return np.linalg.norm(X[:, None] - X[None], axis=2)


def similarities(X: Array) -> Array:
    """Similarities of which those between clusters are exactly zero."""
    D = distances(X)
    return np.where(D < 4.0, np.exp(-(D**2)), 0.0)


def test_all_estimators_are_tested() -> None:
    tested = {type(case.model()).__name__ for case in CASES.values()}
    public = {name for name in soffit.__all__ if hasattr(getattr(soffit, name), "predict_proba")}
    assert tested == public
    assert len(public) == 9


# --- 1 and 2: memberships and labels --------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "atol"), [(np.float64, 1e-6), (np.float32, 1e-5)])
def test_memberships_are_probabilities(
    case: Case, blobs: Sample, y: Array, dtype: Any, atol: float
) -> None:
    model = case.fit(blobs.X.astype(dtype), y)
    for rows in (probabilities(model), model.predict_proba(blobs.X[:50].astype(dtype))):
        assert rows.dtype == dtype
        assert rows.shape[1] == 3
        assert np.isfinite(rows).all()
        assert (rows >= 0).all()
        np.testing.assert_allclose(rows.sum(axis=1, dtype=np.float64), 1.0, rtol=0, atol=atol)
    assert len(probabilities(model)) == 180


def test_labels_are_the_most_probable(case: Case, fitted_to_blobs: Fitted) -> None:
    model = fitted_to_blobs(case)
    # The classes of the classifier are 0, 1 and 2 here.
    np.testing.assert_array_equal(most_probable(model), probabilities(model).argmax(axis=1))


def test_well_separated_clusters_are_found(
    case: Case, fitted_to_blobs: Fitted, blobs: Sample
) -> None:
    assert adjusted_rand(blobs.labels, most_probable(fitted_to_blobs(case))) == 1.0


# Classifiers are no transformers, and have no entropy_.
def test_entropy_is_that_of_the_memberships(clustering: Case, fitted_to_blobs: Fitted) -> None:
    model = fitted_to_blobs(clustering)
    rows = np.clip(model.memberships_, 1e-300, 1.0)
    np.testing.assert_allclose(model.entropy_, -(rows * np.log(rows)).sum(axis=1), atol=1e-9)
    assert ((model.entropy_ >= 0) & (model.entropy_ <= np.log(3) + 1e-9)).all()


def test_shortcuts_of_fit_return_what_it_publishes(
    clustering: Case, fitted_to_blobs: Fitted, blobs: Sample
) -> None:
    expected = fitted_to_blobs(clustering)
    model = clustering.model()
    rows = model.fit_transform(blobs.X)
    np.testing.assert_array_equal(rows, model.memberships_)
    np.testing.assert_array_equal(rows, expected.memberships_)
    assert model.fit_predict_proba(blobs.X) is model.memberships_
    np.testing.assert_array_equal(model.fit_predict(blobs.X), expected.labels_)


# --- 3: the objective -----------------------------------------------------------------------------


# Every solver of a clustering promises it, on easy data and on clusters that overlap. A classifier
# has no objective: its walk has a given length.
@pytest.mark.parametrize("separation", [8.0, 3.0])
def test_objective_never_rises(clustering: Case, separation: float) -> None:
    X = make_gaussians(120, n_clusters=3, separation=separation, random_state=8191).X
    model = clustering.fit(X, np.empty(0))
    history = model.objective_history_
    assert len(history) >= 2
    assert np.all(np.diff(history) <= 1e-9 * history[0])
    assert model.objective_ == history[-1]
    assert model.n_iter_ >= 1
    assert model.converged_


def test_fitted_attributes(clustering: Case, fitted_to_blobs: Fitted) -> None:
    model = fitted_to_blobs(clustering)
    assert model.n_clusters_ == 3
    assert model.n_features_in_ == 2
    assert model.stop_reason_ == "converged"
    if clustering.name == "HigherOrder":
        assert model.tuples_.shape == (len(model.tuple_values_), 3)
    else:
        assert model.affinity_matrix_.shape == (180, 180)
        assert model.scale_.shape == (3,)


# --- 4: order, scale and names --------------------------------------------------------------------

# The result itself is compared, not the labels. Starts follow the order of the objects, so every
# solver has to come close to its optimum; what the objective sees are pairs of objects, and more is
# not determined (W and W R have the same objective in SoF if the rotation R keeps the rows on the
# simplex). Published solvers need very many steps for that, and have spectral starts.
_CLOSE_TO_THE_OPTIMUM: dict[str, dict[str, Any]] = {
    "SoF-penalty": {},
    "BaumEagon-growth": {"tol": 1e-8, "max_iter": 20_000},
    "RandomWalkClassifier": {},
    "RandomWalkClassifier-clusters": {},
    # All tuples and a given width, because both are sampled in the order of the objects; one start,
    # from eigenvectors.
    "HigherOrder": {"n_tuples": 10**6, "bandwidth": 2.0, "n_init": 1, "tol": 1e-9},
}


def test_permuted_objects_give_the_permuted_result(case: Case) -> None:
    n = 40 if case.name == "HigherOrder" else 180
    sample = make_gaussians(n, n_clusters=3, separation=8.0, random_state=8191)
    order = np.random.default_rng(613).permutation(n)
    options = _CLOSE_TO_THE_OPTIMUM.get(case.name, {"tol": 1e-10, "max_iter": 20_000})
    known = few_labels(sample)
    straight = case.fit(sample.X, known, **options)
    permuted = case.fit(sample.X[order], known[order], **options)
    assert adjusted_rand(most_probable(straight)[order], most_probable(permuted)) == 1.0
    np.testing.assert_allclose(
        together(straight)[np.ix_(order, order)], together(permuted), rtol=0, atol=5e-4
    )


# Clusters that overlap: several partitions are nearly as good, and where a search starts decides.
@pytest.mark.parametrize(
    "model",
    [
        soffit.SoftClustering(4, random_state=3),
        soffit.SoftClustering(4, affinity="rbf", random_state=3),
        soffit.SoF(4, random_state=3),
        soffit.BaumEagon(4, random_state=3),
        soffit.CompletelyPositive(4, n_init=1, random_state=3),
        soffit.SpectralClustering(4, random_state=3),
    ],
    ids=lambda model: f"{type(model).__name__}, {model.affinity}",
)
@pytest.mark.parametrize("seed", [3, 5, 7, 9])
def test_rows_in_another_order_have_the_same_clusters_where_these_overlap(
    model: Any, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    X = 1.5 * rng.normal(size=(4, 3))[rng.integers(4, size=150)] + rng.normal(size=(150, 3))
    straight = clone(model).fit(X)
    order = rng.permutation(150)
    permuted = clone(model).fit(X[order])
    assert adjusted_rand(straight.labels_[order], permuted.labels_) == 1.0
    np.testing.assert_allclose(
        together(straight)[np.ix_(order, order)], together(permuted), rtol=0, atol=5e-4
    )


# Tables in which some objects have the same links, so that the graph does not tell them apart.
@pytest.mark.parametrize(
    ("seed", "n", "p", "k"), [(463, 120, 2, 4), (530, 278, 4, 5), (1130, 195, 4, 7)]
)
def test_objects_with_the_same_links_are_told_apart_by_their_features(
    seed: int, n: int, p: int, k: int
) -> None:
    rng = np.random.default_rng([zlib.crc32(b"row order"), seed])
    assert (n, p, k) == (rng.integers(40, 300), rng.integers(2, 8), rng.integers(2, 8))
    X = 1.5 * rng.normal(size=(k, p))[rng.integers(k, size=n)] + rng.normal(size=(n, p))
    order = rng.permutation(n)
    straight = soffit.SoftClustering(k, random_state=1).fit(X)
    permuted = soffit.SoftClustering(k, random_state=1).fit(X[order])
    assert adjusted_rand(straight.labels_[order], permuted.labels_) == 1.0


# Every default affinity is relative: neighbours, distances over those to a neighbour, or a width
# that comes from the data. Multiplying by a power of two is exact.
def test_scaled_features_give_the_same_result(
    case: Case, fitted_to_blobs: Fitted, blobs: Sample, y: Array
) -> None:
    model = fitted_to_blobs(case)
    doubled = case.fit(4.0 * blobs.X, y)
    np.testing.assert_array_equal(probabilities(doubled), probabilities(model))
    np.testing.assert_array_equal(
        doubled.predict_proba(4.0 * blobs.X[:20]), model.predict_proba(blobs.X[:20])
    )
    scaled = case.fit(3.0 * blobs.X, y)
    np.testing.assert_allclose(probabilities(scaled), probabilities(model), rtol=0, atol=1e-8)


def test_scaled_distances_give_the_same_result(of_pairs: Case, blobs: Sample, y: Array) -> None:
    D = distances(blobs.X)
    straight = of_pairs.fit(D, y, metric="precomputed")
    scaled = of_pairs.fit(4.0 * D, y, metric="precomputed")
    np.testing.assert_array_equal(probabilities(scaled), probabilities(straight))
    np.testing.assert_array_equal(scaled.predict_proba(4.0 * D[:9]), straight.predict_proba(D[:9]))


# Similarities of a given bandwidth are not relative: who gives it means these distances.
def test_a_given_bandwidth_is_not_relative(blobs: Sample) -> None:
    def fitted(X: Array) -> Array:
        return SoF(3, affinity=Gaussian(bandwidth=2.0), random_state=29).fit(X).affinity_matrix_

    assert np.abs(fitted(blobs.X) - fitted(4.0 * blobs.X)).max() > 0.1


def test_relabelling_clusters_changes_no_score(
    clustering: Case, fitted_to_blobs: Fitted, blobs: Sample
) -> None:
    model = fitted_to_blobs(clustering)
    rows, names = model.memberships_, np.array([2, 0, 1])
    for score in ("accuracy", "adjusted_rand", "nmi", "purity", "rand_index"):
        function = getattr(metrics, score)
        before = function(blobs.labels, model.labels_)
        assert function(blobs.labels, names[model.labels_]) == pytest.approx(before, abs=1e-12)
    for score in ("frobenius_ari", "posterior_distance"):
        function = getattr(metrics, score)
        before = function(blobs.posterior, rows)
        assert function(blobs.posterior, rows[:, names]) == pytest.approx(before, abs=1e-9)
    # It draws labels: only those of certain memberships are always the same.
    certain = np.eye(3)[model.labels_]
    drawn = [
        metrics.expected_ari(part, blobs.labels, n_draws=2) for part in (certain, certain[:, names])
    ]
    assert drawn[0] == drawn[1]


# --- 5: storage and precision ---------------------------------------------------------------------


def test_dense_and_sparse_similarities_agree(of_pairs: Case, blobs: Sample, y: Array) -> None:
    A = similarities(blobs.X)
    dense = of_pairs.fit(A, y, affinity="precomputed")
    assert isinstance(dense.affinity_matrix_, np.ndarray)
    for storage in (sp.csr_array, sp.csr_matrix, sp.coo_array):
        sparse = of_pairs.fit(storage(A), y, affinity="precomputed")
        assert sp.issparse(sparse.affinity_matrix_)
        np.testing.assert_allclose(probabilities(sparse), probabilities(dense), rtol=0, atol=1e-7)
    if hasattr(dense, "objective_"):
        np.testing.assert_allclose(dense.objective_, sparse.objective_, rtol=1e-4)
    np.testing.assert_allclose(
        sparse.predict_proba(sp.csr_array(A[:20])), dense.predict_proba(A[:20]), atol=1e-7
    )


def test_tuples_of_points_need_a_dense_table(blobs: Sample) -> None:
    with pytest.raises(TypeError, match="does not take sparse features"):
        CASES["HigherOrder"].model().fit(sp.csr_array(blobs.X))


def test_float32_agrees_with_float64(
    case: Case, fitted_to_blobs: Fitted, blobs: Sample, y: Array
) -> None:
    double, single = fitted_to_blobs(case), case.fit(blobs.X.astype(np.float32), y)
    np.testing.assert_array_equal(most_probable(double), most_probable(single))
    # A thousand times the precision of float32: rounding moves the iteration that ends a search.
    np.testing.assert_allclose(probabilities(single), probabilities(double), rtol=0, atol=1e-4)


# --- 6: bytes -------------------------------------------------------------------------------------


def test_same_seed_same_bytes(case: Case, fitted_to_blobs: Fitted, blobs: Sample, y: Array) -> None:
    first, second = fitted_to_blobs(case), case.fit(blobs.X, y, n_jobs=2)
    assert probabilities(first).tobytes() == probabilities(second).tobytes()
    assert first.predict_proba(blobs.X).tobytes() == second.predict_proba(blobs.X).tobytes()


# The classifier has a test of its own in test_random_walk_classifier.py.
_THREADS = """
import hashlib
import warnings
from soffit import *
from soffit.datasets import make_gaussians
warnings.simplefilter("ignore")
# Large enough for two blocks of a dense matrix.
X = make_gaussians(1500, n_clusters=3, n_features=10, random_state=8191).X
models = [
    SoftClustering(3, random_state=29), SoF(3, scale="fit", random_state=29),
    BaumEagon(3, random_state=29), CompletelyPositive(3, n_init=2, max_iter=20, random_state=29),
    RelationFactorization(3, n_init=2, random_state=29),
    SoftHierarchy(3, n_init=2, random_state=29), SpectralClustering(3, random_state=29),
    HigherOrder(3, tuple_affinity="point", n_tuples=5000, max_iter=20, random_state=29),
]
for model in models:
    digest = hashlib.sha256(model.fit(X).memberships_.tobytes())
    digest.update(model.predict_proba(X[:100]).tobytes())
    print(type(model).__name__, digest.hexdigest())
"""


def test_bytes_do_not_depend_on_the_number_of_threads() -> None:
    printed = printed_with_one_and_two_threads(_THREADS, blas=True)
    assert len(printed) == 1
    assert len(printed.pop().splitlines()) == 8


# BLAS may add in another order for other numbers of rows. Rounding is all that differs, as far as
# the solver of a row magnifies it.
def test_new_objects_do_not_depend_on_each_other(
    case: Case, fitted_to_blobs: Fitted, blobs: Sample
) -> None:
    model = fitted_to_blobs(case)
    at_once = model.predict_proba(blobs.X)
    parts = [model.predict_proba(blobs.X[i : i + 50]) for i in range(0, 180, 50)]
    np.testing.assert_allclose(np.vstack(parts), at_once, rtol=0, atol=1e-8)


# Blocks depend on the shape of a matrix alone, so that users cannot change them.
def test_the_size_of_blocks_matters_by_rounding_only(
    case: Case,
    fitted_to_blobs: Fitted,
    blobs: Sample,
    y: Array,
    limits: Any,
) -> None:
    model = fitted_to_blobs(case)
    expected = model.predict_proba(blobs.X)
    limits(block_entries=64)
    assert len(list(_threads.row_blocks((180, 180)))) == 12
    np.testing.assert_allclose(
        probabilities(case.fit(blobs.X, y)), probabilities(model), rtol=0, atol=1e-9
    )
    np.testing.assert_allclose(model.predict_proba(blobs.X), expected, rtol=0, atol=1e-12)


# --- 7: new objects -------------------------------------------------------------------------------


def test_new_objects_agree_with_fitted_ones(
    case: Case, fitted_to_blobs: Fitted, blobs: Sample
) -> None:
    model = fitted_to_blobs(case)
    assert np.mean(model.predict(blobs.X) == most_probable(model)) >= 0.97
    fresh = make_gaussians(90, n_clusters=3, separation=8.0, random_state=8209)
    assert adjusted_rand(fresh.labels, model.predict(fresh.X)) == 1.0


def test_new_objects_from_a_block_of_similarities(of_pairs: Case, blobs: Sample, y: Array) -> None:
    A = np.exp(-(distances(blobs.X) ** 2))
    model = of_pairs.fit(A, y, affinity="precomputed")
    for block in (A[:60], sp.csr_array(A[:60])):
        assert np.mean(model.predict(block) == most_probable(model)[:60]) >= 0.97


def test_new_objects_from_a_block_of_distances(of_pairs: Case, blobs: Sample, y: Array) -> None:
    D = distances(blobs.X)
    model = of_pairs.fit(D, y, metric="precomputed")
    assert adjusted_rand(blobs.labels, most_probable(model)) == 1.0
    assert np.mean(model.predict(D[:60]) == most_probable(model)[:60]) >= 0.97


# --- 8: scikit-learn's habits ---------------------------------------------------------------------


def test_inputs_and_parameters_are_left_alone(case: Case, blobs: Sample, y: Array) -> None:
    X, known = blobs.X.copy(), y.copy()
    model = case.model()
    before = model.get_params()
    case.fit_model(model, X, known)
    model.predict_proba(X)
    np.testing.assert_array_equal(X, blobs.X)
    np.testing.assert_array_equal(known, y)
    assert model.get_params() == before
    assert clone(model).get_params() == before


@pytest.mark.parametrize("storage", [np.array, sp.csr_array])
def test_similarities_are_left_alone(
    of_pairs: Case, blobs: Sample, y: Array, storage: Callable[..., Any]
) -> None:
    A = storage(similarities(blobs.X))
    entries = A if isinstance(A, np.ndarray) else A.data
    before = entries.copy()
    # Writing to it would raise.
    entries.flags.writeable = False
    model = of_pairs.fit(A, y, affinity="precomputed")
    model.predict_proba(A[:20])
    np.testing.assert_array_equal(entries, before)


def test_pickle_keeps_everything(case: Case, fitted_to_blobs: Fitted, blobs: Sample) -> None:
    model = fitted_to_blobs(case)
    again = pickle.loads(pickle.dumps(model))
    assert vars(again).keys() == vars(model).keys()
    np.testing.assert_array_equal(probabilities(again), probabilities(model))
    np.testing.assert_array_equal(again.predict_proba(blobs.X), model.predict_proba(blobs.X))


# A classifier is no transformer.
def test_set_output_names_the_columns(clustering: Case, blobs: Sample) -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    model = clustering.model().set_output(transform="pandas")
    names = [f"{type(model).__name__.lower()}{c}" for c in range(3)]
    assert list(model.fit_transform(blobs.X).columns) == names
    assert list(model.transform(blobs.X).columns) == names
    assert list(model.get_feature_names_out()) == names


# --- the simplest clusterings ---------------------------------------------------------------------


# A classifier has as many classes as y.
def test_one_cluster(clustering: Case, blobs: Sample) -> None:
    model = clustering.model(1).fit(blobs.X)
    np.testing.assert_allclose(model.memberships_, 1.0)
    np.testing.assert_array_equal(model.labels_, 0)
    np.testing.assert_allclose(model.predict_proba(blobs.X[:5]), 1.0)
