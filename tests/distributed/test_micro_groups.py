"""Centres of small groups of all rows instead of a sample."""

from __future__ import annotations

from itertools import pairwise

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

from soffit import SoftClustering
from soffit.distributed.engine import Engine
from soffit.distributed.row_blocks import Blocks, over_pieces
from soffit.fitting.monitor import Progress
from soffit.io import read_blocks
from soffit.metrics import accuracy


@pytest.fixture(autouse=True)
def small_pieces(limits):
    limits(micro_piece=8192)


def many(n=24_000, k=40):
    rng = np.random.default_rng(7)
    labels = rng.integers(k, size=n)
    X = 3.0 * rng.normal(size=(k, 6))[labels] + rng.normal(size=(n, 6))
    return X.astype(np.float32), labels


def fit(X, rows=5000, **parameters):
    given = {"random_state": 3, "sample_size": 400, **parameters}
    return SoftClustering(40, **given).fit(da.from_array(X, chunks=(rows, X.shape[1])))


def test_many_clusters_are_separated_better_than_by_a_sample():
    X, labels = many()
    model = fit(X, refine="micro")
    m = len(model.sample_indices_)
    # 60 rows per group would make 400 of them; the number of groups may be half as large.
    assert 200 < m <= 400
    assert model.memberships_.shape == (24_000, 40)
    sample = fit(X, refine=None, sample_size=m)
    gain = [accuracy(labels, found.labels_.compute()) for found in (model, sample)]
    assert gain[0] > gain[1] + 0.02
    # Other chunks, same bytes.
    again = fit(X, rows=7777, refine="micro")
    assert again.memberships_.compute().tobytes() == model.memberships_.compute().tobytes()
    assert (again.sample_indices_ == model.sample_indices_).all()
    assert np.isnan(model.leftover_share_)


def test_the_numbers_are_those_of_rows_near_the_centres():
    X, _ = many()
    model = fit(X, refine="micro")
    centers = model._fitted.placer.fitted_rows(np.arange(len(model.sample_indices_)))
    away = np.linalg.norm(X[model.sample_indices_] - centers, axis=1)
    assert np.median(away) < 1.5


def test_no_more_rows_than_the_sample_are_fitted_as_they_are():
    X, _ = many(600)
    model = fit(X, refine="micro", sample_size=1000)
    assert (model.sample_indices_ == np.arange(600)).all()


def test_fewer_groups_than_clusters_are_refused():
    X, _ = many(3000)
    with pytest.raises(ValueError, match=r"fitted objects .* n_clusters=40 .* sample_size"):
        fit(X, refine="micro", sample_size=45)


def test_sparse_blocks_are_refused():
    X, _ = many(3000)
    blocks = da.from_array(X, chunks=(1000, 6)).map_blocks(
        sp.csr_array, meta=sp.csr_array((0, 0)), dtype=X.dtype
    )
    with pytest.raises(ValueError, match="refine='micro' needs dense blocks"):
        SoftClustering(5, refine="micro", sample_size=500, random_state=3).fit(blocks)


def test_only_rows_of_pieces_of_two_blocks_travel(cluster, tmp_path):
    X = np.ones((60_000, 16), dtype=np.float32)
    np.save(tmp_path / "x.npy", X)
    blocks = Blocks.of(read_blocks(tmp_path / "x.npy", block_rows=20_000))

    def sent():
        counts = cluster.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total)
        return sum(counts.values())

    def total(block, place):
        return place.first, float(block.sum())

    before, bounds = sent(), np.linspace(0, 60_000, 8).astype(np.int64)
    found = over_pieces(total, blocks, bounds, Engine.current(), Progress("test", 0))
    assert found == [(a, 16.0 * (b - a)) for a, b in pairwise(bounds.tolist())]
    # Blocks begin at 20,000 and 40,000: two of the seven pieces have rows of two blocks, which two
    # workers may read.
    assert sent() - before < 1.05 * X.nbytes * 2 / 7
