"""metric="gower" in every model: numbers, text, yes/no and gaps."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import soffit
from soffit import (
    BaumEagon,
    CompletelyPositive,
    RandomWalkClassifier,
    RelationFactorization,
    SoF,
    SoftClustering,
    SoftHierarchy,
    SpectralClustering,
)
from soffit.affinity import NeighborGraph
from soffit.metrics import adjusted_rand
from soffit.selection import choose_k

pd = pytest.importorskip("pandas")

MODELS = (
    SoftClustering,
    SoF,
    SpectralClustering,
    RelationFactorization,
    SoftHierarchy,
    BaumEagon,
    CompletelyPositive,
)


def customers(n=240, seed=0, gaps=0.04):
    """Three kinds of customers, of whom numbers, a city and a yes/no tell; sex does not."""
    rng = np.random.default_rng(seed)
    kind = np.arange(n) % 3
    frame = pd.DataFrame(
        {
            "age": 20.0 + 18 * kind + 4 * rng.normal(size=n),
            "income": np.exp(10 + 0.9 * (kind == 2) + 0.2 * rng.normal(size=n)),
            "visits": 3.0 + 5 * (kind == 0) + rng.normal(size=n),
            "city": np.where(rng.random(n) < 0.8, np.array(["Bern", "Ulm", "Lyon"])[kind], "Rome"),
            "sex": rng.choice(["f", "m"], n),
            "member": (rng.random(n) < np.array([0.1, 0.5, 0.9])[kind]),
        }
    ).astype({"member": object})
    hidden = rng.random(frame.shape) < gaps
    return frame.mask(hidden), kind


@pytest.mark.parametrize("model", MODELS)
def test_every_model_clusters_mixed_tables(model):
    X, kind = customers()
    fitted = model(3, metric="gower", random_state=0).fit(X)
    assert adjusted_rand(kind, fitted.labels_) > 0.9
    assert fitted.feature_names_in_.tolist() == list(X.columns)
    again = fitted.predict_proba(X)
    assert (again.argmax(axis=1) == fitted.labels_).mean() > 0.97
    assert np.allclose(again.sum(axis=1), 1)


def test_new_objects_may_have_gaps_and_unknown_categories(tmp_path):
    X, _ = customers()
    new, kind = customers(60, seed=1, gaps=0.15)
    new.loc[:5, "city"] = "Oslo"
    model = SoftClustering(3, metric="gower", random_state=0, n_resamples=2).fit(X)
    placed = model.predict_proba(new)
    assert adjusted_rand(kind, placed.argmax(axis=1)) > 0.8
    nothing = new.iloc[:1].astype(object).where([[False] * 6], None)
    assert np.isfinite(model.predict_proba(nothing)).all()
    assert model.novelty_score(new).shape == (60,)
    soffit.save(model, tmp_path / "m.soffit")
    loaded = soffit.load(tmp_path / "m.soffit")
    assert np.array_equal(loaded.predict_proba(new), placed)
    assert np.array_equal(loaded.memberships_, model.memberships_)


@pytest.mark.parametrize("model", [SoF, CompletelyPositive, SoftHierarchy])
def test_saved_models_of_distances_keep_gaps(model, tmp_path):
    X, _ = customers(90)
    fitted = model(3, metric="gower", random_state=0).fit(X)
    soffit.save(fitted, tmp_path / "m.soffit")
    loaded = soffit.load(tmp_path / "m.soffit")
    assert np.array_equal(loaded.predict_proba(X), fitted.predict_proba(X))


def test_frames_and_object_arrays_agree():
    pl = pytest.importorskip("polars")
    X, _ = customers(120)
    rows = [[None if pd.isna(value) else value for value in row] for row in X.to_numpy(object)]
    inputs = [
        X,
        X.astype({"city": "category", "sex": "string"}),
        pl.DataFrame(rows, schema=list(X.columns), orient="row"),
        np.array(rows, dtype=object),
        rows,
    ]
    fits = [SoftClustering(3, metric="gower", random_state=0).fit(given) for given in inputs]
    for other in fits[1:]:
        assert np.array_equal(other.memberships_, fits[0].memberships_)


def test_permutation_and_refit():
    X, _ = customers(150)
    order = np.random.default_rng(0).permutation(150)
    model = SoftClustering(3, metric="gower", random_state=0)
    first = model.fit(X).memberships_
    assert np.array_equal(model.fit(X).memberships_, first)
    moved = model.fit(X.iloc[order].reset_index(drop=True))
    assert adjusted_rand(moved.labels_, first.argmax(axis=1)[order]) > 0.98


def test_numbers_alone_may_have_gaps():
    rng = np.random.default_rng(0)
    kind = np.arange(120) % 2
    X = rng.normal(size=(120, 4)) + 6 * kind[:, None]
    X[rng.random(X.shape) < 0.1] = np.nan
    model = SpectralClustering(2, metric="gower", random_state=0).fit(X)
    assert adjusted_rand(kind, model.labels_) > 0.95
    single = SpectralClustering(2, metric="gower", random_state=0).fit(X.astype(np.float32))
    assert np.array_equal(single.labels_, model.labels_)


def test_an_affinity_may_name_the_metric():
    X, _ = customers()
    by_affinity = SoftClustering(3, affinity=NeighborGraph(15, metric="gower"), random_state=0)
    by_metric = SoftClustering(3, metric="gower", random_state=0)
    assert np.array_equal(by_affinity.fit(X).memberships_, by_metric.fit(X).memberships_)
    assert by_affinity.affinity.metric == "gower"


def test_the_number_of_clusters_and_the_classifier():
    X, kind = customers()
    assert choose_k(X, metric="gower", ks=range(1, 8)).n_clusters == 3
    y = np.where(np.arange(len(kind)) % 5 == 0, kind, -1)
    classifier = RandomWalkClassifier(metric="gower").fit(X, y)
    assert (classifier.predict(X) == kind).mean() > 0.95


def test_update_takes_mixed_objects():
    X, _ = customers()
    new, _ = customers(30, seed=5)
    model = SoftClustering(3, metric="gower", random_state=0).fit(X)
    grown = model.update(new)
    assert grown.memberships_.shape[0] == 270


def test_names_of_rows_link_pairs():
    X, _ = customers(90)
    X.index = [f"r{number}" for number in range(90)]
    model = SoftClustering(3, metric="gower", random_state=0)
    model.fit(X, must_link=[("r0", "r3")], cannot_link=[("r0", "r1")])
    assert model.labels_[0] == model.labels_[3] != model.labels_[1]


def test_threads_do_not_change_the_result():
    X, _ = customers()
    one, two = (
        SoftClustering(3, metric="gower", random_state=0, n_jobs=n).fit(X).memberships_
        for n in (1, 2)
    )
    assert np.array_equal(one, two)


def test_other_metrics_name_the_columns_and_the_remedy():
    X, _ = customers(60)
    for given, column in ((X, "'city'"), (X.to_numpy(object), "3"), (X.values.tolist(), "3")):
        with pytest.raises(ValueError, match=f'not numeric: {column}.*metric="gower"'):
            SoftClustering(3).fit(given)
    with pytest.raises(ValueError, match=r"missing values.*'age'.*metric=\"gower\""):
        SoftClustering(3).fit(X[["age", "visits"]])


def test_new_objects_must_have_the_same_columns():
    X, _ = customers(60)
    model = SoftClustering(3, metric="gower", random_state=0).fit(X)
    with pytest.raises(ValueError, match="'sex' is missing"):
        model.predict_proba(X.drop(columns="sex"))
    with pytest.raises(ValueError, match="features"):
        model.predict_proba(X.to_numpy(object)[:, :4])


def test_many_objects_take_the_approximate_search():
    X, kind = customers(21_000, gaps=0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SoftClustering(3, metric="gower", random_state=0, max_iter=5).fit(X)
    assert model.neighbor_recall_ > 0.8
    assert adjusted_rand(kind, model.labels_) > 0.9
    assert adjusted_rand(kind[:200], model.predict(X.iloc[:200])) > 0.9


def test_complex_numbers_are_refused():
    with pytest.raises(ValueError, match=r"complex numbers.*real and imaginary parts"):
        SoftClustering(2, metric="gower").fit([[1j, "a"], [2.0, "b"], [3.0, "a"]])
