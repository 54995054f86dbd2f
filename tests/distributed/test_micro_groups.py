"""Centres of small groups of all rows instead of a sample."""

from __future__ import annotations

from itertools import pairwise

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from distributed import wait
from soffit import SoftClustering
from soffit.distributed.engine import Engine
from soffit.distributed.micro_groups import swept
from soffit.distributed.row_blocks import Blocks, over_pieces
from soffit.fitting.monitor import Progress
from soffit.io import read_blocks
from soffit.memberships import fit_seeded_mixture
from soffit.memberships.em_steps import Sums
from soffit.metrics import accuracy, calibration_error


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


def sent(client):
    counts = client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total)
    return sum(counts.values())


def totals(blocks, bounds):
    """Sums of the rows of pieces."""

    def total(block, place):
        return place.first, float(block.sum())

    return over_pieces(total, blocks, bounds, Engine.current(), Progress("test", 0))


@pytest.mark.parametrize("kind", ["npy", "parquet", "computed"])
def test_no_rows_travel_that_can_be_read(cluster, tmp_path, kind):
    X = np.ones((60_000, 16), dtype=np.float32)
    if kind == "parquet":
        pytest.importorskip("pyarrow")
        frame = pd.DataFrame(X, columns=[f"c{number}" for number in range(16)])
        for number in range(3):
            part = frame[20_000 * number : 20_000 * (number + 1)]
            part.to_parquet(tmp_path / f"part-{number}.parquet")
        table = read_blocks(tmp_path / "part-*.parquet")
    else:
        np.save(tmp_path / "x.npy", X)
        table = read_blocks(tmp_path / "x.npy", block_rows=20_000)
        if kind == "computed":
            table = (table + np.float32(3.0)) / np.float32(4.0)
    blocks = Blocks.of(table).counted(Engine.current(), Progress("test", 0))
    # Blocks begin at 20,000 and 40,000: two of the seven pieces have rows of two blocks.
    before, bounds = sent(cluster), np.linspace(0, 60_000, 8).astype(np.int64)
    assert totals(blocks, bounds) == [(a, 16.0 * (b - a)) for a, b in pairwise(bounds.tolist())]
    assert sent(cluster) - before < 0.01 * X.nbytes


def test_only_rows_of_pieces_of_two_blocks_travel_from_memory(cluster):
    X = da.ones((60_000, 16), chunks=(20_000, 16), dtype=np.float32).persist()
    wait(X)
    before, bounds = sent(cluster), np.linspace(0, 60_000, 8).astype(np.int64)
    found = totals(Blocks.of(X), bounds)
    assert found == [(a, 16.0 * (b - a)) for a, b in pairwise(bounds.tolist())]
    assert sent(cluster) - before < 1.05 * X.nbytes * 2 / 7


def test_memberships_are_as_certain_as_right(monkeypatch):
    # Clusters that overlap: centres of groups lie closer together than rows.
    rng = np.random.default_rng(7)
    labels = rng.integers(8, size=24_000)
    X = (1.6 * rng.normal(size=(8, 4))[labels] + rng.normal(size=(24_000, 4))).astype(np.float32)
    found = []
    for sweep in (lambda fitted, *_: fitted, swept):
        monkeypatch.setattr("soffit.distributed.sampled_fit.swept", sweep)
        model = SoftClustering(8, refine="micro", sample_size=400, random_state=3)
        found.append(model.fit(da.from_array(X, chunks=(5000, 4))).memberships_.compute())
    errors = [calibration_error(labels, rows) for rows in found]
    right = [accuracy(labels, rows.argmax(axis=1)) for rows in found]
    assert errors[1] < 0.03
    assert errors[0] > 0.06
    assert right[1] > right[0] - 0.002


def test_a_step_with_sums_of_pieces_is_a_step_of_em():
    rng = np.random.default_rng(3)
    labels = rng.integers(3, size=3000)
    X = 3.0 * rng.normal(size=(3, 4))[labels] + rng.normal(size=(3000, 4))
    mixture = fit_seeded_mixture(X, labels, 3, random_state=0, n_steps=0)
    parts = [mixture.sums(part) for part in np.array_split(X, 4)]
    stepped = mixture.stepped(Sums(*(np.sum([part[a] for part in parts], axis=0) for a in (0, 1))))
    shares = mixture.memberships(X)[:, mixture.owner]
    assert mixture.tails is None
    assert len(mixture.owner) == 3
    Z = mixture.projection.apply(X)
    means = (shares.T @ Z) / shares.sum(axis=0)[:, None]
    assert np.allclose(stepped.means, means)
    assert np.allclose(np.exp(stepped.log_weights), shares.mean(axis=0))


def test_scatter_widens_by_what_averages_took_away():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(8000, 2))
    X[4000:] += [9.0, 0.0]
    groups = X.reshape(400, 20, 2)
    centers, scatter = groups.mean(axis=1), groups.var(axis=1)
    labels = np.repeat([0, 1], 200)
    mixture = fit_seeded_mixture(centers, labels, 2, random_state=0)
    wide = mixture.widened(centers, np.full(400, 20.0), scatter)

    def deviation(found):
        factors = np.linalg.inv(found.whitening)
        unit = np.linalg.inv(found.projection.directions)
        return np.sqrt([np.diag(unit.T @ f @ f.T @ unit) for f in factors]).mean()

    assert deviation(mixture) == pytest.approx(1 / np.sqrt(20), rel=0.2)
    assert deviation(wide) == pytest.approx(1.0, rel=0.05)


def test_the_doubt_about_centres_is_not_that_about_rows():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(8000, 2))
    X[4000:] += [5.0, 0.0]
    truth = np.repeat([0, 1], 4000)
    groups = X.reshape(400, 20, 2)
    centers, scatter = groups.mean(axis=1), groups.var(axis=1)
    labels = np.repeat([0, 1], 200)
    labels[[3, 9, 250, 300]] = [1, 1, 0, 0]
    # The centres are so far apart that only a low power is as uncertain as labels are wrong.
    mixture = fit_seeded_mixture(centers, labels, 2, random_state=0)
    assert mixture.power < 0.2
    rows = mixture.widened(centers, np.full(400, 20.0), scatter)
    rows = rows.stepped(rows.sums(X))
    found = rows.memberships(X)
    assert accuracy(truth, found.argmax(axis=1)) > 0.99
    assert calibration_error(truth, found) < 0.01
