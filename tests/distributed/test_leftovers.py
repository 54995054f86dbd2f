"""Clusters that the sample is too small to show."""

from __future__ import annotations

import gc
import weakref

import dask.array as da
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from tests.distributed.conftest import separated

from soffit import SoftClustering
from soffit._threads import OutOfTime
from soffit.distributed.sampled_fit import _Held
from soffit.neighbors.approximate import NeighborIndex


def with_planted(sizes, *, n=15_000, seed=7):
    """Five large clusters, and small ones far from them."""
    X, labels = separated(n, seed=seed)
    rng = np.random.default_rng(seed)
    rows = rng.permutation(n)
    for number, size in enumerate(sizes):
        chosen, rows = rows[:size], rows[size:]
        X[chosen] = 25.0 * (number + 1) + 0.5 * rng.normal(size=(size, X.shape[1]))
        labels[chosen] = 5 + number
    return X, labels


def fit(X, rows=2500, **parameters):
    given = {"random_state": 3, "sample_size": 1500, **parameters}
    return SoftClustering(5, **given).fit(da.from_array(X, chunks=(rows, X.shape[1])))


def test_small_clusters_are_found_whether_the_sample_holds_some_of_them_or_none():
    X, labels = with_planted((30, 150))
    model = fit(X)
    assert 0 < model.leftover_share_ < 0.05
    assert model.n_clusters_ == 7
    found = model.labels_.compute()
    for number in (5, 6):
        own = np.bincount(found[labels == number]).argmax()
        assert own >= 5
        assert ((found == own) == (labels == number)).mean() > 0.9999
    assert (found[labels < 5] < 5).all()
    # All chunks lead to the same clusters, with the same bytes.
    again = fit(X, rows=1111)
    assert again.memberships_.compute().tobytes() == model.memberships_.compute().tobytes()
    assert (again.sample_indices_ == model.sample_indices_).all()
    assert len(model.sample_indices_) == len(model._fitted.attributes["memberships_"])


@pytest.mark.parametrize("columns", [2, 4])
def test_nothing_is_found_where_nothing_is(columns):
    rng = np.random.default_rng(11)
    X = rng.normal(size=(15_000, columns)) + 9 * rng.integers(0, 2, (15_000, 1))
    model = SoftClustering(2, random_state=3, sample_size=1500).fit(
        da.from_array(X, chunks=(4000, columns))
    )
    assert model.n_clusters_ == 2
    assert 0 <= model.leftover_share_ < 0.005


def test_they_are_not_searched_for_unless_wanted():
    X, _ = with_planted((60,))
    model = fit(X, refine=None)
    assert model.n_clusters_ == 5
    with pytest.raises(ValueError, match="refine"):
        fit(X, refine="more")


def test_most_rows_are_cleared_without_a_full_search(monkeypatch, limits):
    # As if the sample were too large to compare all pairs.
    limits(compared_objects=500)
    X, labels = with_planted((150,))
    searched = []
    full = NeighborIndex.query

    def query(self, X_new, n_neighbors, *, quick=False):
        searched.append((quick, len(X_new)))
        return full(self, X_new, n_neighbors, quick=quick)

    monkeypatch.setattr(NeighborIndex, "query", query)
    model = fit(X)
    quick = sum(rows for is_quick, rows in searched if is_quick)
    slow = sum(rows for is_quick, rows in searched if not is_quick)
    assert quick >= len(X)
    assert slow < 0.6 * len(X)
    assert model.n_clusters_ == 6
    found = model.labels_.compute()
    own = np.bincount(found[labels == 5]).argmax()
    assert ((found == own) == (labels == 5)).mean() > 0.9999
    again = fit(X, rows=1111)
    assert again.leftover_share_ == model.leftover_share_
    assert again.memberships_.compute().tobytes() == model.memberships_.compute().tobytes()


def test_the_first_fit_leaves_the_memory_while_another_is_made(monkeypatch):
    X, _ = with_planted((150,))
    gone, put_away = [], _Held.put_away

    def out_of_time(self):
        fitted = weakref.ref(self.found.fitted)
        put_away(self)
        gc.collect()
        gone.append(fitted() is None)
        raise OutOfTime

    monkeypatch.setattr(_Held, "put_away", out_of_time)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = fit(X)
    assert gone == [True]
    # It comes back as it was if there is no time for the other one.
    assert model.stop_reason_ == "max_time"
    first = fit(X, refine=None).memberships_.compute()
    assert model.memberships_.compute().tobytes() == first.tobytes()
