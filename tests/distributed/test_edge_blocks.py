"""Graphs whose edges are in blocks."""

from __future__ import annotations

import pickle

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from tests.distributed.test_cluster import kill

from soffit import RelationFactorization, save
from soffit.distributed.edge_blocks import _checked, _relations
from soffit.distributed.engine import Engine
from soffit.fitting.monitor import Progress
from soffit.metrics import adjusted_rand


def planted(n=9000, k=4, degree=14, seed=7):
    """Edges of a planted partition, three quarters of them inside a block, and the labels."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(k, size=n)
    source = rng.integers(n, size=n * degree // 2)
    target = rng.integers(n, size=len(source))
    inside = rng.random(len(source)) < 0.75
    members = [np.flatnonzero(labels == c) for c in range(k)]
    for c in range(k):
        own = inside & (labels[source] == c)
        target[own] = rng.choice(members[c], own.sum())
    weight = rng.uniform(0.5, 1.5, len(source)).astype(np.float32)
    return pd.DataFrame({"source": source, "target": target, "weight": weight}), labels


def model(**parameters):
    return RelationFactorization(4, **{"random_state": 3, **parameters})


def matrix(edges, n):
    half = sp.coo_array((edges.weight, (edges.source, edges.target)), shape=(n, n))
    return sp.csr_array(half + half.T)


@pytest.fixture(scope="module")
def graph():
    return planted()


@pytest.fixture(autouse=True)
def in_this_thread():
    """Unless a test says otherwise."""
    with dask.config.set(scheduler="synchronous"):
        yield


def test_the_clusters_are_found_as_in_memory(graph):
    edges, labels = graph
    found = model().fit(dd.from_pandas(edges, npartitions=5))
    rows = found.memberships_.compute()
    assert rows.shape == found.memberships_.shape == (9000, 4)
    assert rows.dtype == found.memberships_.dtype == np.float32
    assert np.allclose(rows.sum(axis=1), 1, atol=1e-5)
    assert adjusted_rand(labels, found.labels_.compute()) > 0.98
    expected = model(affinity="precomputed").fit(matrix(edges, 9000))
    assert found.objective_ == pytest.approx(expected.objective_, rel=5e-3)
    assert found.log_likelihood_ == pytest.approx(expected.log_likelihood_, rel=1e-3)
    assert adjusted_rand(expected.labels_, found.labels_.compute()) > 0.98
    assert found.converged_
    assert (np.diff(found.objective_history_) <= 0).all()
    assert np.allclose(found.factor_.sum(axis=0).compute(), 1, atol=1e-4)
    degrees = np.asarray(matrix(edges[edges.source != edges.target], 9000).sum(axis=1)).ravel()
    assert np.allclose(found.bipartite_.sum(axis=1).compute(), degrees, rtol=1e-3)


def test_neighbours_are_close_in_memory(graph):
    edges, labels = graph
    blocks = _checked(dd.from_pandas(edges, npartitions=3))
    numbered = [(block, number) for number, block in enumerate(blocks)]
    before = _relations(Engine.current(), numbered, 9000, Progress("test", 0))
    after = before.in_order(4)
    order, *ranges = dask.compute(after.order, *after.ranges)

    def whole(ranges):
        rows = [sp.csr_array((r.data, r.indices, r.indptr), (len(r.rows), 9000)) for r in ranges]
        return sp.vstack(rows, format="csr")

    # The same graph with other numbers, in the order of the clusters.
    again = whole(ranges)[order.position][:, order.position]
    assert abs(again - whole(dask.compute(*before.ranges))).max() == 0
    assert (np.diff(order.labels) >= 0).all()
    assert adjusted_rand(labels, order.labels[order.position]) > 0.9
    # Most edges are inside clusters: their ends are now close to each other.
    found = whole(ranges).tocoo()
    assert np.median(np.abs(found.coords[0] - found.coords[1])) < 9000 / 6


def test_blocks_and_workers_do_not_change_the_bytes(graph, cluster):
    edges, _ = graph
    mixed = edges.sample(frac=1, random_state=5)
    seen = set()
    for frame, parts, scheduler in (
        (edges, 1, "synchronous"),
        (mixed, 4, "threads"),
        (mixed, 7, cluster),
    ):
        with dask.config.set(scheduler=scheduler):
            found = model().fit(dd.from_pandas(frame, npartitions=parts))
            seen.add(found.memberships_.compute().tobytes())
    assert len(seen) == 1


def test_a_killed_worker_costs_time_only(graph, cluster):
    edges = dd.from_pandas(graph[0], npartitions=4)
    expected = model().fit(edges).memberships_.compute()
    cluster.wait_for_workers(2, timeout=60)
    once = [lambda: kill(cluster)]
    found = model(callback=lambda event: once.pop()() if event.iteration > 3 and once else None)
    with dask.config.set(scheduler=cluster):
        rows = found.fit(edges).memberships_.compute()
    assert not once
    assert (rows == expected).all()


def test_repeated_edges_add_up_and_isolated_objects_get_the_prior(graph):
    edges, _ = graph
    twice = pd.concat([edges, edges.rename(columns={"source": "target", "target": "source"})])
    double = edges.assign(weight=edges.weight * np.float32(2))
    found = [model().fit(dd.from_pandas(part, npartitions=3)) for part in (twice, double)]
    assert np.allclose(*(part.memberships_.compute() for part in found), atol=1e-4)
    edges = edges[edges.target < 8990].assign(source=edges.source % 8990)
    last = pd.DataFrame({"source": [0], "target": [8999], "weight": np.float32([0.0])})
    found = model().fit(dd.from_pandas(pd.concat([edges, last]), npartitions=3))
    rows = found.memberships_.compute()
    assert rows.shape == (9000, 4)
    assert np.allclose(rows[8999], found.lambda_ / found.lambda_.sum(), atol=1e-5)


def test_a_fit_may_be_stopped(graph):
    found = model(callback=lambda event: event.iteration == 2)
    with pytest.warns(UserWarning, match="callback"):
        found.fit(dd.from_pandas(graph[0], npartitions=2))
    assert (found.n_iter_, found.stop_reason_) == (2, "callback")
    assert found.memberships_.shape == (9000, 4)
    with pytest.raises(ValueError, match="max_time"):
        model(max_time=1e-9).fit(dd.from_pandas(graph[0], npartitions=2))


def test_mistakes_are_refused_with_the_remedy(graph, tmp_path):
    edges = graph[0]

    def fit(frame, **parameters):
        return model(**parameters).fit(dd.from_pandas(frame, npartitions=2))

    with pytest.raises(TypeError, match=r"'source', 'target'.*X has 'a', 'b'.*rename"):
        fit(pd.DataFrame({"a": [0], "b": [1]}))
    with pytest.raises(TypeError, match=r"'source' of X has the dtype.*number them"):
        fit(pd.DataFrame({"source": ["a", "b"], "target": [1, 2]}))
    bad = edges.copy()
    bad.loc[len(bad) - 1, "weight"] = np.nan
    with pytest.raises(ValueError, match=r"weights.*nan.*block 1"):
        fit(bad)
    with pytest.raises(ValueError, match=r"negative.*-1"):
        fit(pd.DataFrame({"source": [0, -1], "target": [1, 2]}))
    with pytest.raises(ValueError, match="nothing to cluster"):
        fit(pd.DataFrame({"source": [3, 4], "target": [3, 4]}))
    with pytest.raises(ValueError, match="without gaps"):
        fit(pd.DataFrame({"source": [0, 2**40], "target": [1, 2]}))
    with pytest.raises(ValueError, match="n_clusters must be given"):
        RelationFactorization(None).fit(dd.from_pandas(edges, npartitions=2))
    with pytest.raises(ValueError, match="sparsity is not supported"):
        fit(edges, sparsity=0.1)
    found = fit(edges, max_iter=2, tol=1.0)
    for use in (pickle.dumps, lambda it: save(it, tmp_path / "m.soffit")):
        with pytest.raises(TypeError, match="graph in blocks"):
            use(found)
    with pytest.raises(TypeError, match="places no new objects"):
        found.predict_proba(np.ones((1, 9000)))


def test_too_little_memory_is_refused_before_the_edges_are_sorted(graph, monkeypatch):
    monkeypatch.setenv("SOFFIT_MEMORY", "100kB")
    with pytest.raises(MemoryError, match=r"9,000 objects.*per worker.*more workers"):
        model().fit(dd.from_pandas(graph[0], npartitions=2))
