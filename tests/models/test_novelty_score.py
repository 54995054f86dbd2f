"""How far outside objects lie, and refusal to assign them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from tests.reference.estimators import Array, Case
from tests.reference.threads import printed_with_one_and_two_threads

import soffit
from soffit import HigherOrder, SoftClustering
from soffit.datasets import Sample, make_gaussians

Fitted = Callable[[Case], Any]
FAR = np.array([[90.0, 90.0], [-200.0, 0.0]])


def distances(X: Array, Y: Array) -> Array:
    return np.linalg.norm(X[:, None] - Y[None], axis=2)


def test_every_model_of_pairs_knows_what_is_far(
    of_pairs: Case, fitted_to_blobs: Fitted, blobs: Sample
) -> None:
    model = fitted_to_blobs(of_pairs)
    assert (model.novelty_score(FAR) > 0.999).all()
    near = model.novelty_score(blobs.X)
    fitted = model.novelty_score()
    for scores in (near, fitted):
        assert scores.dtype == np.float64
        assert scores.shape == (180,)
        assert ((scores >= 0) & (scores <= 1)).all()
    assert np.mean(near >= 0.99) <= 0.02
    assert np.mean(fitted >= 0.95) == pytest.approx(0.05, abs=0.01)


@pytest.mark.parametrize("kind", ["distances", "similarities", "sparse", "graph"])
def test_blocks_of_matrices_and_graphs(kind: str, blobs: Sample) -> None:
    D, far = distances(blobs.X, blobs.X), distances(FAR, blobs.X)
    near = D[:40]
    options: dict[str, Any] = {"random_state": 29}
    if kind == "distances":
        X, options["metric"] = D, "precomputed"
    else:
        A, near, far = (np.where(M < 4.0, np.exp(-M), 0.0) for M in (D, near, far))
        X = sp.csr_array(A) if kind == "sparse" else A
        options["affinity"] = "precomputed"
    if kind == "graph":
        X = nx.from_numpy_array(np.where(np.eye(180), 0.0, A))
        del options["affinity"]
    model = SoftClustering(3, **options).fit(X)
    assert (model.novelty_score(far) > 0.999).all()
    assert np.median(model.novelty_score(near)) < 0.9


@pytest.mark.filterwarnings("ignore::soffit.exceptions.EmptyClusterWarning")
def test_sparse_tables_and_cosine(blobs: Sample) -> None:
    X = sp.csr_array(np.maximum(blobs.X, 0.0))
    model = SoftClustering(3, random_state=29).fit(X)
    assert model.novelty_score(sp.csr_array(FAR[:1]))[0] > 0.999
    text = np.abs(np.random.default_rng(7).normal(size=(80, 6))) * np.repeat(
        [[1, 1, 1, 0, 0, 0]], 80, 0
    )
    model = SoftClustering(2, affinity="cosine", random_state=29).fit(text)
    assert model.novelty_score(np.array([[0, 0, 0, 1.0, 1, 1]]))[0] > 0.99


def test_single_precision(blobs: Sample) -> None:
    double = SoftClustering(3, random_state=29).fit(blobs.X)
    single = SoftClustering(3, random_state=29).fit(blobs.X.astype(np.float32))
    scores = single.novelty_score(FAR.astype(np.float32))
    assert scores.dtype == np.float64
    np.testing.assert_allclose(scores, double.novelty_score(FAR), atol=1e-6)
    np.testing.assert_allclose(single.novelty_score(), double.novelty_score(), atol=0.02)


def test_units_do_not_matter_and_blocks_may_be_any(blobs: Sample) -> None:
    new = np.concatenate([blobs.X[:30] + 0.3, FAR])
    model = SoftClustering(3, random_state=29).fit(blobs.X)
    scores = model.novelty_score(new)
    scaled = SoftClustering(3, random_state=29).fit(1024.0 * blobs.X)
    np.testing.assert_array_equal(scaled.novelty_score(1024.0 * new), scores)
    parts = [model.novelty_score(new[i : i + 5]) for i in range(0, len(new), 5)]
    np.testing.assert_allclose(np.concatenate(parts), scores, atol=1e-12)


_THREADS = """
import hashlib
from soffit import SoF, SoftClustering
from soffit.datasets import make_gaussians
X = make_gaussians(1500, n_clusters=3, n_features=10, random_state=8191).X
for model in (SoftClustering(3, random_state=29), SoF(3, random_state=29, max_iter=20)):
    model.fit(X[:1200])
    for scores in (model.novelty_score(), model.novelty_score(X[1200:])):
        print(hashlib.sha256(scores.tobytes()).hexdigest())
"""


def test_bytes_do_not_depend_on_the_number_of_threads() -> None:
    printed = printed_with_one_and_two_threads(_THREADS, blas=True)
    assert len(printed) == 1
    assert len(printed.pop().splitlines()) == 4


def test_a_standardized_table_is_compared_in_its_common_unit() -> None:
    generator = np.random.default_rng(3)
    X = generator.normal(size=(200, 2)) * [1.0, 1000.0]
    model = SoftClustering(2, standardize=True, random_state=29).fit(X)
    # Ten standard deviations of the small column: 0.3 % of the large one.
    assert model.novelty_score([[10.0, 0.0]])[0] > 0.999
    assert model.novelty_score([[0.0, 100.0]])[0] < 0.99


def test_files_of_earlier_versions_know_it_too(tmp_path: Path) -> None:
    folder = Path(__file__).parents[1] / "persistence" / "version1"
    model = soffit.load(folder / "SoftClustering.soffit")
    assert model._fitted.placer.surroundings is None
    far = np.full((1, model.n_features_in_), 1e4)
    assert model.novelty_score(far)[0] > 0.999
    soffit.save(model, tmp_path / "again.soffit")
    again = soffit.load(tmp_path / "again.soffit")
    np.testing.assert_array_equal(again.novelty_score(), model.novelty_score())


def test_it_is_saved(tmp_path: Path, blobs: Sample) -> None:
    model = SoftClustering(3, random_state=29).fit(blobs.X)
    soffit.save(model, tmp_path / "model.soffit")
    again = soffit.load(tmp_path / "model.soffit")
    assert again._fitted.placer.surroundings is not None
    np.testing.assert_array_equal(again.novelty_score(FAR), model.novelty_score(FAR))
    np.testing.assert_array_equal(again.novelty_score(), model.novelty_score())


def test_tuples_tell_no_novelty(blobs: Sample) -> None:
    model = HigherOrder(3, tuple_affinity="point", random_state=29).fit(blobs.X)
    with pytest.raises(ValueError, match=r"HigherOrder cannot tell how novel.*model of pairs"):
        model.novelty_score(FAR)


def test_mistakes(blobs: Sample) -> None:
    with pytest.raises(NotFittedError):
        SoftClustering(3).novelty_score()
    model = SoftClustering(3, random_state=29).fit(blobs.X)
    with pytest.raises(ValueError, match="NaN"):
        model.novelty_score([[np.nan, 0.0]])
    with pytest.raises(ValueError, match="3 features"):
        model.novelty_score(np.zeros((1, 3)))


def test_one_object_and_one_cluster(blobs: Sample) -> None:
    alone = SoftClustering(1, random_state=29).fit([[1.0, 2.0]])
    np.testing.assert_array_equal(alone.novelty_score(), [0.0])
    np.testing.assert_allclose(alone.novelty_score([[1.0, 2.0], [7.0, 2.0]]), [0.0, 0.5])
    one = SoftClustering(1, random_state=29).fit(blobs.X)
    assert one.novelty_score(FAR).min() > 0.999
    equal = SoftClustering(1, random_state=29).fit(np.ones((40, 2)))
    np.testing.assert_array_equal(equal.novelty_score(), 0.0)


# --- refusal --------------------------------------------------------------------------------------


def test_uncertain_objects_are_refused(clustering: Case, fitted_to_blobs: Fitted) -> None:
    model = fitted_to_blobs(clustering)
    new = make_gaussians(60, n_clusters=3, separation=4.0, random_state=11).X
    rows = model.predict_proba(new)
    labels = model.predict(new, min_certainty=0.9)
    sure = rows.max(axis=1) >= 0.9
    np.testing.assert_array_equal(labels[sure], rows.argmax(axis=1)[sure])
    assert (labels[~sure] == -1).all()
    np.testing.assert_array_equal(model.predict(new, min_certainty=0.0), model.predict(new))


def test_novel_objects_are_refused(blobs: Sample) -> None:
    model = SoftClustering(3, random_state=29).fit(blobs.X)
    new = np.concatenate([FAR, blobs.X[:30]])
    assert model.predict_proba(FAR).max() > 0.9
    labels = model.predict(new, max_novelty=0.999)
    np.testing.assert_array_equal(labels[:2], -1)
    np.testing.assert_array_equal(labels[2:], model.labels_[:30])


def test_a_certainty_in_single_precision_is_not_below_itself() -> None:
    from soffit.memberships.assignment import assigned

    rows = np.array([[0.7, 0.3]], dtype=np.float32)
    assert assigned(rows, min_certainty=0.7)[0] == 0
    assert assigned(rows, min_certainty=0.71)[0] == -1


@pytest.mark.parametrize("name", ["min_certainty", "max_novelty"])
@pytest.mark.parametrize("value", [-0.1, 1.1, np.nan, "high", True])
def test_limits_are_shares(name: str, value: Any, blobs: Sample) -> None:
    model = SoftClustering(3, random_state=29).fit(blobs.X)
    with pytest.raises(ValueError, match=rf"{name} must be None or a number of at least 0"):
        model.predict(blobs.X, **{name: value})
