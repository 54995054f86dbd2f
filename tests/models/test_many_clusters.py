"""Memberships of very many clusters: CSR from the factorization to every output."""

from __future__ import annotations

import pickle
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from soffit import SoftClustering, io, suggest_pairs
from soffit.factorize.starts import MANY_CLUSTERS
from soffit.memberships import as_sets, entropy, top_memberships
from soffit.memberships.measures import FLOOR
from soffit.metrics import adjusted_rand
from soffit.results.summary import Summary

K = MANY_CLUSTERS + 10
N = 8 * K


@pytest.fixture(scope="module")
def table() -> np.ndarray:
    random = np.random.RandomState(5)
    centers = random.uniform(0, 60, (K, 3))
    return centers[np.arange(N) % K] + random.standard_normal((N, 3))


@pytest.fixture(scope="module")
def model(table: np.ndarray) -> SoftClustering:
    return SoftClustering(K, random_state=3).fit(table)


def check_invariants(rows: sp.csr_array, n: int, k: int, tolerance: float = 1e-6) -> None:
    assert isinstance(rows, sp.csr_array)
    assert rows.shape == (n, k)
    assert rows.has_canonical_format
    assert np.isfinite(rows.data).all()
    assert (rows.data > 0).all()
    assert abs(rows.sum(axis=1) - 1).max() < tolerance
    largest = np.repeat(rows.max(axis=1).toarray().ravel(), np.diff(rows.indptr))
    assert (rows.data >= FLOOR * largest * (1 - tolerance)).all()


def test_memberships_labels_and_entropy(model: SoftClustering) -> None:
    check_invariants(model.memberships_, N, K)
    dense = model.memberships_.toarray()
    assert np.array_equal(model.labels_, dense.argmax(axis=1))
    np.testing.assert_allclose(model.entropy_, entropy(dense), atol=1e-12)
    assert sp.issparse(model.factor_)
    assert model.factor_.shape == (N, K)


def test_up_to_the_limit_memberships_are_an_array(table: np.ndarray) -> None:
    few = SoftClustering(MANY_CLUSTERS, random_state=3, max_iter=5).fit(table[: 4 * K])
    assert isinstance(few.memberships_, np.ndarray)


def test_the_loss_never_rises(model: SoftClustering) -> None:
    history = model.objective_history_
    assert (np.diff(history) <= 1e-12 * history[0]).all()


def test_new_objects_agree_with_fitted_ones(model: SoftClustering, table: np.ndarray) -> None:
    placed = model.predict_proba(table)
    check_invariants(placed, N, K)
    assert np.mean(model.predict(table) == model.labels_) > 0.97
    far = model.predict_proba(np.full((1, 3), 1e6))
    check_invariants(far, 1, K)
    certain = model.predict(table, min_certainty=0.9)
    assert set(np.flatnonzero(certain == -1)) == set(
        np.flatnonzero(placed.max(axis=1).toarray().ravel() < 0.9)
    )


def test_same_bytes_for_any_number_of_threads(table: np.ndarray, limits: Any) -> None:
    big = np.tile(table, (2, 1)) + np.random.RandomState(9).standard_normal((2 * N, 3)) * 0.1
    # Fewer rows per range than in practice, so that there are several.
    limits(sparse_simplex_range=200)
    fits = [SoftClustering(K, random_state=3, n_jobs=jobs).fit(big) for jobs in (1, 2)]
    first, second = (fit.memberships_ for fit in fits)
    for part in ("data", "indices", "indptr"):
        assert np.array_equal(getattr(first, part), getattr(second, part))


def test_single_precision(table: np.ndarray, model: SoftClustering) -> None:
    single = SoftClustering(K, random_state=3).fit(table.astype(np.float32))
    check_invariants(single.memberships_, N, K, 1e-5)
    assert single.memberships_.dtype == np.float32 == single.predict_proba(table[:5]).dtype
    assert adjusted_rand(single.labels_, model.labels_) > 0.9


def test_dense_and_sparse_storage_agree() -> None:
    random = np.random.RandomState(7)
    places = 8.0 * np.array([(i % 13, i // 13) for i in range(K)])
    points = places[np.arange(4 * K) % K] + random.standard_normal((4 * K, 2))
    A = np.exp(-((points[:, None] - points) ** 2).sum(-1))
    A[A < 1e-6] = 0.0
    fits = [
        SoftClustering(K, affinity="precomputed", random_state=3).fit(matrix)
        for matrix in (A, sp.csr_array(A))
    ]
    for model in fits:
        check_invariants(model.memberships_, 4 * K, K)
        check_invariants(model.predict_proba(A[:20]), 20, K)
    assert adjusted_rand(fits[0].labels_, fits[1].labels_) > 0.9


def test_isolated_objects_get_the_mean_membership() -> None:
    blocks = [np.ones((4, 4)) - np.eye(4) for _ in range(K)]
    A = sp.block_diag([*blocks, np.zeros((3, 3))], format="csr")
    model = SoftClustering(K, affinity="precomputed", random_state=3).fit(sp.csr_array(A))
    check_invariants(model.memberships_, 4 * K + 3, K)
    assert np.diff(model.memberships_.indptr)[-3:].min() > 1


@pytest.mark.filterwarnings("ignore::soffit.exceptions.EmptyClusterWarning")
def test_pairs_resamples_and_warm_starts(table: np.ndarray, model: SoftClustering) -> None:
    a, b = np.flatnonzero(model.labels_ == model.labels_[0])[:2]
    other = np.flatnonzero(model.labels_ != model.labels_[0])[0]
    known = SoftClustering(K, random_state=3).fit(
        table, must_link=[(a, b)], cannot_link=[(a, other)]
    )
    check_invariants(known.memberships_, N, K)
    assert known.labels_[a] == known.labels_[b] != known.labels_[other]
    again = SoftClustering(K, random_state=3, n_resamples=2).fit(table)
    check_invariants(again.memberships_, N, K)
    check_invariants(again.predict_proba(table[:7]), 7, K)
    np.testing.assert_allclose(again.overlap_ + again.instability_, again.entropy_, atol=1e-9)
    warm = SoftClustering(K, random_state=3, warm_start=True).fit(table).fit(table)
    check_invariants(warm.memberships_, N, K)


def test_curation_and_update(table: np.ndarray, model: SoftClustering) -> None:
    before = model.memberships_.toarray()
    merged = model.merge([0, 1])
    check_invariants(merged.memberships_, N, K - 1)
    check_invariants(model.memberships_, N, K)
    np.testing.assert_array_equal(model.memberships_.toarray(), before)
    check_invariants(merged.predict_proba(table[:5]), 5, K - 1)
    split = model.split(int(np.bincount(model.labels_).argmax()), 2)
    check_invariants(split.memberships_, N, K + 1)
    check_invariants(split.predict_proba(table[:5]), 5, K + 1)
    further = model.update(table[:9] + 0.01)
    assert further.memberships_.shape == (N + 9, further.n_clusters_)
    check_invariants(further.memberships_, N + 9, further.n_clusters_)


def test_saved_and_pickled_models(tmp_path: Path, model: SoftClustering, table: np.ndarray) -> None:
    from soffit.persistence import load, save

    save(model, tmp_path / "model.soffit")
    for again in (load(tmp_path / "model.soffit"), pickle.loads(pickle.dumps(model))):
        assert (again.memberships_ != model.memberships_).nnz == 0
        assert (again.predict_proba(table[:50]) != model.predict_proba(table[:50])).nnz == 0
    assert (tmp_path / "model.soffit").stat().st_size < 8 * N * K


def test_top_memberships_and_sets_without_a_dense_array(model: SoftClustering) -> None:
    dense = model.memberships_.toarray()
    tracemalloc.start()
    top, sets = top_memberships(model.memberships_, 3), as_sets(model)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < dense.nbytes / 2
    assert abs(top - top_memberships(dense, 3)).max() < 1e-12
    assert sets == as_sets(dense)
    assert as_sets(model, 0.3) == as_sets(dense, 0.3)


def test_summary_report_and_figures(
    tmp_path: Path, model: SoftClustering, table: np.ndarray
) -> None:
    from soffit import figures

    truth = [f"class {i % K}" for i in range(N)]
    found, dense = Summary.of(model, table, truth=truth), model.memberships_.toarray()
    same = Summary.of(dense, table, truth=truth)
    assert [c.size for c in found.clusters] == [c.size for c in same.clusters]
    for name, value in found.scores.items():
        assert value == pytest.approx(same.scores[name])
    model.report(tmp_path / "page.html", table, truth=truth)
    assert (tmp_path / "page.html").stat().st_size > 10_000
    figures.membership_heatmap(model)
    figures.membership_bars(model, [0, 1, 2])
    figures.scatter(model, table)
    assert model._repr_mimebundle_()["text/html"]


@pytest.mark.parametrize("ending", ["csv", "parquet", "npz", "json"])
def test_written_results(tmp_path: Path, model: SoftClustering, ending: str) -> None:
    path = tmp_path / f"result.{ending}"
    io.write_result(io.Result.of(model), path)
    again = io.read_result(path)
    np.testing.assert_allclose(again.memberships, model.memberships_.toarray(), atol=1e-9)
    assert np.array_equal(again.labels, model.labels_)


def test_pandas_output_names_the_remedy(model: SoftClustering, table: np.ndarray) -> None:
    pandas_like = SoftClustering(K, random_state=3).set_output(transform="pandas")
    with pytest.raises(ValueError, match="set_output"):
        pandas_like.fit_transform(table)


@pytest.mark.filterwarnings("ignore::soffit.exceptions.EmptyClusterWarning")
def test_questions_and_sessions(tmp_path: Path, table: np.ndarray) -> None:
    from soffit.session.session import Session

    np.savetxt(tmp_path / "table.csv", table, delimiter=",", header="a,b,c", comments="")
    session = Session(io.read(tmp_path / "table.csv"), SoftClustering(K, random_state=3))
    outcome = session.refit()
    assert suggest_pairs(outcome.model, 3).shape == (3, 2)
    session.freeze(0)
    session.refit()
    session.merge([0, 1])
    session.refit()
    assert session.outcome is not None
    assert session.outcome.model.memberships_.shape == (N, K - 1)
