"""The invariants that every model keeps (design, section 4)."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from tests.reference.threads import printed_with_one_and_two_threads

from soffit.datasets import Sample, make_gaussians
from soffit.metrics import adjusted_rand

Make = Callable[..., Any]


def test_memberships_are_probabilities(make: Make, blobs: Sample) -> None:
    model = make(3, random_state=29).fit(blobs.X)
    memberships = model.memberships_
    assert memberships.shape == (180, 3)
    assert np.isfinite(memberships).all()
    assert (memberships >= 0).all()
    np.testing.assert_allclose(memberships.sum(axis=1), 1.0, atol=1e-9)
    np.testing.assert_array_equal(model.labels_, memberships.argmax(axis=1))
    assert ((model.entropy_ >= 0) & (model.entropy_ <= np.log(3) + 1e-9)).all()


def test_well_separated_clusters_are_found(make: Make, blobs: Sample) -> None:
    model = make(3, random_state=29).fit(blobs.X)
    assert adjusted_rand(blobs.labels, model.labels_) == 1.0


def test_objective_never_rises(make: Make, blobs: Sample) -> None:
    history = make(3, random_state=29).fit(blobs.X).objective_history_
    assert len(history) >= 2
    assert np.all(np.diff(history) <= 1e-9 * history[0])


def test_fitted_attributes(make: Make, blobs: Sample) -> None:
    model = make(3, random_state=29).fit(blobs.X)
    assert model.n_clusters_ == 3
    assert model.n_features_in_ == 2
    assert model.affinity_matrix_.shape == (180, 180)
    assert model.objective_ == model.objective_history_[-1]
    assert model.n_iter_ >= 1
    assert model.converged_
    assert model.scale_.shape == (3,)


def test_float32_is_kept_and_agrees(make: Make, blobs: Sample) -> None:
    double = make(3, random_state=29).fit(blobs.X)
    single = make(3, random_state=29).fit(blobs.X.astype(np.float32))
    assert single.memberships_.dtype == np.float32
    assert single.predict_proba(blobs.X[:3].astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(single.memberships_.sum(axis=1), 1.0, atol=1e-5)
    assert adjusted_rand(double.labels_, single.labels_) == 1.0


def test_same_seed_same_bytes(make: Make, blobs: Sample) -> None:
    first = make(3, random_state=29).fit(blobs.X)
    second = make(3, random_state=29, n_jobs=2).fit(blobs.X)
    assert first.memberships_.tobytes() == second.memberships_.tobytes()
    assert first.predict_proba(blobs.X).tobytes() == second.predict_proba(blobs.X).tobytes()


def test_inputs_and_parameters_are_left_alone(make: Make, blobs: Sample) -> None:
    X = blobs.X.copy()
    model = make(3, random_state=29)
    before = model.get_params()
    model.fit(X)
    model.predict_proba(X)
    np.testing.assert_array_equal(X, blobs.X)
    assert model.get_params() == before
    assert clone(model).get_params() == before


def test_pickle_keeps_everything(make: Make, blobs: Sample) -> None:
    model = make(3, random_state=29).fit(blobs.X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.memberships_, model.memberships_)
    np.testing.assert_array_equal(again.predict_proba(blobs.X), model.predict_proba(blobs.X))


def test_permuted_objects_give_the_permuted_clusters(make: Make, blobs: Sample) -> None:
    order = np.random.default_rng(613).permutation(180)
    straight = make(3, random_state=29).fit(blobs.X)
    permuted = make(3, random_state=29).fit(blobs.X[order])
    assert adjusted_rand(straight.labels_[order], permuted.labels_) == 1.0


def test_dense_and_sparse_similarities_agree(make: Make, blobs: Sample) -> None:
    distance = np.linalg.norm(blobs.X[:, None] - blobs.X[None], axis=2)
    A = np.where(distance < 4.0, np.exp(-(distance**2)), 0.0)
    dense = make(3, affinity="precomputed", random_state=29).fit(A)
    sparse = make(3, affinity="precomputed", random_state=29).fit(sp.csr_matrix(A))
    assert sp.issparse(sparse.affinity_matrix_)
    assert adjusted_rand(dense.labels_, sparse.labels_) == 1.0
    np.testing.assert_allclose(dense.objective_, sparse.objective_, rtol=1e-4)


def test_new_objects_agree_with_fitted_ones(make: Make, blobs: Sample) -> None:
    model = make(3, random_state=29).fit(blobs.X)
    again = model.predict_proba(blobs.X)
    np.testing.assert_allclose(again.sum(axis=1), 1.0, atol=1e-9)
    assert np.mean(again.argmax(axis=1) == model.labels_) >= 0.97
    fresh = make_gaussians(90, n_clusters=3, separation=8.0, random_state=8209)
    assert adjusted_rand(fresh.labels, model.predict(fresh.X)) == 1.0


def test_new_objects_from_a_block_of_similarities(make: Make, blobs: Sample) -> None:
    distance = np.linalg.norm(blobs.X[:, None] - blobs.X[None], axis=2)
    A = np.exp(-(distance**2))
    model = make(3, affinity="precomputed", random_state=29).fit(A)
    assert np.mean(model.predict(A[:60]) == model.labels_[:60]) >= 0.97
    assert np.mean(model.predict(sp.csr_array(A[:60])) == model.labels_[:60]) >= 0.97


def test_new_objects_from_a_block_of_distances(make: Make, blobs: Sample) -> None:
    distance = np.linalg.norm(blobs.X[:, None] - blobs.X[None], axis=2)
    model = make(3, metric="precomputed", random_state=29).fit(distance)
    assert adjusted_rand(blobs.labels, model.labels_) == 1.0
    assert np.mean(model.predict(distance[:60]) == model.labels_[:60]) >= 0.97


def test_set_output_names_the_columns(make: Make, blobs: Sample) -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    model = make(3, random_state=29).set_output(transform="pandas").fit(blobs.X)
    table = model.transform(blobs.X)
    assert list(table.columns) == [f"{type(model).__name__.lower()}{c}" for c in range(3)]


def test_one_cluster(make: Make, blobs: Sample) -> None:
    model = make(1, random_state=29).fit(blobs.X)
    np.testing.assert_allclose(model.memberships_, 1.0)
    np.testing.assert_array_equal(model.labels_, 0)
    np.testing.assert_allclose(model.predict_proba(blobs.X[:5]), 1.0)


def test_fit_predict_proba_returns_the_memberships(make: Make, blobs: Sample) -> None:
    model = make(3, random_state=29)
    memberships = model.fit_predict_proba(blobs.X)
    assert memberships is model.memberships_


_THREADS = """
import hashlib
from soffit import BaumEagon, SoF, SoftClustering
from soffit.datasets import make_gaussians
X = make_gaussians(1500, n_clusters=3, n_features=10, random_state=8191).X
digest = hashlib.sha256()
for model in (SoftClustering(3, random_state=29), SoF(3, scale="fit", random_state=29)):
    digest.update(model.fit(X).memberships_.tobytes())
    digest.update(model.predict_proba(X[:100]).tobytes())
print(digest.hexdigest())
"""


def test_bytes_do_not_depend_on_the_number_of_threads() -> None:
    assert len(printed_with_one_and_two_threads(_THREADS, blas=True)) == 1
