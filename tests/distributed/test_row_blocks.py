"""Collections of blocks as they are given: kinds, unknown sizes, refusals, samples."""

from __future__ import annotations

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from soffit import RandomWalkClassifier, SoF, SoftClustering
from soffit.distributed.engine import Engine
from soffit.distributed.row_blocks import Blocks, draw, row_hash
from soffit.fitting.monitor import Progress


def model(**parameters):
    return SoftClustering(5, **{"random_state": 3, "sample_size": 1500, **parameters})


def bytes_of(fitted, X):
    parts = (fitted.memberships_, fitted.labels_, fitted.entropy_, fitted.novelty_score(X))
    return b"".join(part.compute().tobytes() for part in parts)


# --- kinds of input -------------------------------------------------------------------------------


def test_any_chunks_give_the_same_bytes(table):
    found = set()
    for chunks in ((6000,), (1000,) * 6, (17, 1024, 3000, 1959)):
        X = da.from_array(table, chunks=(chunks, 4))
        found.add(bytes_of(model().fit(X), X))
    assert len(found) == 1


def test_chunks_do_not_matter_where_the_search_is_approximate():
    # Single precision: some distances are tied, and tied objects are searched for again.
    rng = np.random.default_rng(7)
    X = rng.normal(size=(24_000, 5)).astype(np.float32)
    fitted = SoftClustering(2, random_state=3).fit(X[:21_000])
    found = set()
    for chunks in ((3000,), (700, 1, 1299, 1000)):
        new = da.from_array(X[21_000:], chunks=(chunks, 5))
        rows, novelty = da.compute(fitted.predict_proba(new), fitted.novelty_score(new))
        found.add(rows.tobytes() + novelty.tobytes())
    assert len(found) == 1


def test_unknown_sizes_and_frames_give_the_same_bytes(table):
    X = da.from_array(table, chunks=(1000, 4))
    expected = bytes_of(model().fit(X), X)
    unknown = X[da.from_array(np.ones(6000, dtype=bool), chunks=1000)]
    assert np.isnan(unknown.shape[0])
    fitted = model().fit(unknown)
    assert fitted.memberships_.shape == (6000, 5)
    assert bytes_of(fitted, unknown) == expected
    frame = dd.from_pandas(pd.DataFrame(table, columns=list("abcd")), npartitions=5)
    fitted = model().fit(frame)
    assert bytes_of(fitted, frame) == expected
    assert list(fitted.feature_names_in_) == list("abcd")


def test_results_are_lazy_with_known_shape_and_type(table):
    X = da.from_array(table, chunks=(2000, 4))
    fitted = model().fit(X)
    rows = fitted.predict_proba(X)
    assert isinstance(fitted.memberships_, da.Array)
    assert isinstance(rows, da.Array)
    assert (rows.shape, rows.dtype, rows.chunks) == ((6000, 5), np.float64, ((2000,) * 3, (5,)))
    assert (fitted.labels_.shape, fitted.labels_.dtype) == ((6000,), np.int64)
    memberships, labels, entropy = da.compute(fitted.memberships_, fitted.labels_, fitted.entropy_)
    assert np.allclose(memberships.sum(axis=1), 1)
    assert (labels == memberships.argmax(axis=1)).all()
    assert entropy.shape == (6000,)
    assert (rows.compute() == memberships).all()


def test_no_more_rows_than_the_sample_give_the_fit_in_memory(table):
    expected = SoftClustering(5, random_state=3).fit(table)
    fitted = SoftClustering(5, random_state=3).fit(da.from_array(table, chunks=(1700, 4)))
    assert (fitted.memberships_.compute() == expected.memberships_).all()
    assert fitted.memberships_.chunks[0] == (1700, 1700, 1700, 900)
    assert (fitted.sample_indices_ == np.arange(6000)).all()


def test_the_clusters_are_found():
    from tests.distributed.conftest import separated

    X, labels = separated(6000)
    found = model().fit(da.from_array(X, chunks=(1000, 4))).labels_.compute()
    from soffit.metrics import adjusted_rand

    assert adjusted_rand(labels, found) > 0.99


def test_tasks_are_named_on_the_dashboard(table):
    from dask.utils import key_split

    X = da.from_array(table, chunks=(3000, 4))
    fitted = model().fit(X)
    lazy = (fitted.memberships_, fitted.labels_, fitted.entropy_, fitted.novelty_score(X))
    names = [key_split(part.name) for part in lazy]
    assert names == ["soffit-memberships", "soffit-labels", "soffit-entropy", "soffit-novelty"]


def test_single_precision_stays(table):
    X = da.from_array(table.astype(np.float32), chunks=(1000, 4))
    fitted = model().fit(X)
    assert fitted.memberships_.dtype == fitted.memberships_.compute().dtype == np.float32


def test_sparse_blocks(table):
    sparse = np.where(table > 4, table, 0.0)
    X = da.from_array(sparse, chunks=(1000, 4)).map_blocks(
        sp.csr_array, meta=sp.csr_array((0, 0)), dtype=float
    )
    rows = model().fit(X).memberships_.compute()
    assert rows.shape == (6000, 5)
    assert np.allclose(rows.sum(axis=1), 1)


def test_zarr(table, tmp_path):
    zarr = pytest.importorskip("zarr")
    stored = zarr.create_array(
        str(tmp_path / "x.zarr"), shape=table.shape, chunks=(1000, 4), dtype="f8"
    )
    stored[:] = table
    X = da.from_array(table, chunks=(1000, 4))
    assert bytes_of(model().fit(stored), X) == bytes_of(model().fit(X), X)


def test_anndata_with_lazy_coordinates(table):
    anndata = pytest.importorskip("anndata")
    X = da.from_array(table, chunks=(1000, 4))
    cells = anndata.AnnData(np.zeros((6000, 1), dtype=np.float32), obsm={"X_pca": X})
    fitted = model().fit(cells)
    assert isinstance(fitted.memberships_, da.Array)
    assert bytes_of(fitted, X) == bytes_of(model().fit(X), X)


def test_xarray_with_blocks(table):
    xarray = pytest.importorskip("xarray")
    X = da.from_array(table, chunks=(1000, 4))
    found = model().fit(xarray.DataArray(X, dims=("cell", "component")))
    assert isinstance(found.memberships_, da.Array)
    assert bytes_of(found, X) == bytes_of(model().fit(X), X)
    inside = SoF(5, random_state=3).fit(xarray.DataArray(table[:300], dims=("cell", "component")))
    assert isinstance(inside.memberships_, np.ndarray)


def test_every_model_places_blocks(table):
    X = da.from_array(table, chunks=(1000, 4))
    sof = SoF(5, random_state=3).fit(table[:300])
    assert np.abs(sof.predict_proba(X).compute() - sof.predict_proba(table)).max() < 1e-9
    y = np.full(300, "", dtype=object)
    y[:] = np.where(table[:300, 0] > 4, "in", "out")
    walk = RandomWalkClassifier().fit(table[:300], y)
    assert (walk.predict(X).compute() == walk.predict(table)).all()
    assert walk.predict_proba(X).shape == (6000, 2)


def test_refusals_are_applied_block_by_block(table):
    X = da.from_array(table, chunks=(1000, 4))
    fitted = model().fit(X)
    found = fitted.predict(X, min_certainty=0.9, max_novelty=0.99).compute()
    rows, novelty = fitted.memberships_.compute(), fitted.novelty_score(X).compute()
    refused = (rows.max(axis=1) < 0.9) | (novelty > 0.99)
    assert refused.any()
    assert (found == np.where(refused, -1, rows.argmax(axis=1))).all()


# --- mistakes -------------------------------------------------------------------------------------


def test_gaps_are_named_by_block_and_row(table):
    bad = table.copy()
    bad[4007, 2] = np.nan
    with pytest.raises(ValueError, match=r"block 4, rows 4007 \(columns 2\)"):
        model().fit(da.from_array(bad, chunks=(1000, 4)))
    fitted = model().fit(da.from_array(table, chunks=(1000, 4)))
    with pytest.raises(ValueError, match="rows 7 of block 4"):
        fitted.predict_proba(da.from_array(bad, chunks=(1000, 4))).compute()


def test_gaps_of_frames_are_named_by_column_and_masks_are_gaps(table):
    frame = pd.DataFrame(table, columns=list("abcd")).convert_dtypes()
    frame.iloc[4007, 2] = pd.NA
    with pytest.raises(ValueError, match=r"block 2, rows 4007 \(columns 'c'\)"):
        model().fit(dd.from_pandas(frame, npartitions=3))
    masked = da.ma.masked_greater(da.from_array(table, chunks=(1000, 4)), np.sort(table, None)[-2])
    with pytest.raises(ValueError, match=r"missing or infinite values in block"):
        model().fit(masked)


def test_values_too_large_to_be_squared_are_named_by_row(table):
    large = table.copy()
    large[5003, 1] = -1e200
    X = da.from_array(large, chunks=(1000, 4))
    with pytest.raises(ValueError, match=r"above 1e\+140 in block 5, rows 5003 \(columns 1\)"):
        model().fit(X)
    sparse = X.map_blocks(sp.csr_array, meta=sp.csr_array((0, 0)), dtype=float)
    with pytest.raises(ValueError, match=r"above 1e\+140 in block 5, rows 5003 \(columns 1\)"):
        model().fit(sparse)


def test_collections_that_are_no_tables_are_refused_with_the_remedy(table):
    frame = dd.from_pandas(pd.DataFrame(table, columns=list("abcd")), npartitions=2)
    for wrong, remedy in (
        (frame["a"], r"Series.*to_frame"),
        (dask.delayed(table), r"Delayed.*from_delayed"),
        (frame.to_bag(), r"Bag.*to_dataframe"),
    ):
        with pytest.raises(TypeError, match=remedy):
            model().fit(wrong)


def test_what_cannot_work_is_refused_before_the_fit(table):
    X = da.from_array(table, chunks=(1000, 4))
    with pytest.raises(ValueError, match=r"4 fitted objects .* n_clusters=5 .* sample_size"):
        model(sample_size=4).fit(X)
    with pytest.raises(TypeError, match="metric='gower' cannot place"):
        model(metric="gower").fit(X)


def test_what_cannot_be_read_is_refused_with_the_remedy(table):
    X = da.from_array(table, chunks=(1000, 2))
    with pytest.raises(ValueError, match=r"2 chunks of columns.*rechunk"):
        model().fit(X)
    with pytest.raises(TypeError, match="object"):
        model().fit(da.from_array(table.astype(object), chunks=(1000, 4)))
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
    with pytest.raises(ValueError, match="'b'"):
        model().fit(dd.from_pandas(frame, npartitions=1))
    with pytest.raises(ValueError, match="two dimensions"):
        model().fit(da.ones(10, chunks=5))
    with pytest.raises(TypeError, match=r"SoF is fitted in memory.*SoftClustering"):
        SoF(5).fit(da.from_array(table, chunks=(1000, 4)))
    whole = da.from_array(table, chunks=(1000, 4))
    with pytest.raises(TypeError, match="all pairs"):
        model(affinity="precomputed").fit(whole)
    with pytest.raises(ValueError, match="must_link is not supported"):
        model().fit(whole, must_link=[(0, 1)])
    fitted = model().fit(whole)
    with pytest.raises(ValueError, match="3 features"):
        fitted.predict_proba(whole[:, :3])


def test_too_little_memory_is_refused_before_the_start(table, monkeypatch):
    monkeypatch.setenv("SOFFIT_MEMORY", "100kB")
    with pytest.raises(MemoryError, match=r"per worker.*100 kB.*sample_size"):
        model().fit(da.from_array(table, chunks=(1000, 4)))


def test_a_failed_fit_leaves_the_model(table):
    X = da.from_array(table, chunks=(1000, 4))
    fitted = model().fit(X)
    before = fitted.memberships_
    with pytest.raises(ValueError, match="chunks of columns"):
        fitted.fit(da.from_array(table, chunks=(1000, 2)))
    assert fitted.memberships_ is before


def test_time_may_end_before_the_sample(table):
    X = da.from_array(table, chunks=(10, 4))
    with pytest.raises(ValueError, match=r"max_time=1e-09.*sample of"):
        model(max_time=1e-9).fit(X)


# --- afterwards -----------------------------------------------------------------------------------


def test_a_copy_on_disk_is_the_model_of_the_sample(table, tmp_path):
    import pickle

    from soffit import load, save

    X = da.from_array(table, chunks=(1000, 4))
    fitted = model().fit(X)
    save(fitted, tmp_path / "model.soffit")
    for again in (pickle.loads(pickle.dumps(fitted)), load(tmp_path / "model.soffit")):
        assert again.memberships_.shape == (1500, 5)
        rows = again.predict_proba(X).compute()
        assert (rows == fitted.memberships_.compute()).all()


def test_a_refit_in_memory_forgets_the_blocks(table):
    fitted = model().fit(da.from_array(table, chunks=(1000, 4))).fit(table[:300])
    fresh = model().fit(table[:300])
    assert set(vars(fitted)) == set(vars(fresh))
    assert (fitted.memberships_ == fresh.memberships_).all()


def test_clusters_are_merged_and_named_for_all_objects(table):
    X = da.from_array(table, chunks=(1000, 4))
    for size in (1500, 6000):
        fitted = model(sample_size=size).fit(X)
        rows = fitted.memberships_.compute()
        merged = fitted.merge([0, 1]).rename({0: "both"})
        found = merged.memberships_.compute()
        assert isinstance(merged.labels_, da.Array)
        assert np.allclose(found[:, 0], rows[:, 0] + rows[:, 1])
        assert np.allclose(found[:, 1:], rows[:, 2:])
        assert merged.cluster_names_[0] == "both"
        # The model before is as it was.
        assert fitted.memberships_.shape == (6000, 5)


def test_new_objects_join_those_of_the_sample(table):
    fitted = model().fit(da.from_array(table, chunks=(1000, 4)))
    grown = fitted.update(table[:20] + 100.0)
    assert grown.n_clusters_ == 6
    assert grown.memberships_.shape == (1520, 6)


def test_reports_and_notebooks_show_the_sample_and_count_all(table, tmp_path):
    frame = dd.from_pandas(pd.DataFrame(table, columns=list("abcd")), npartitions=4)
    fitted = model().fit(frame)
    fitted.report(tmp_path / "page.html", frame)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "1,500 of 6,000 objects" in page
    sizes = np.bincount(fitted.labels_.compute())
    assert all(f"{size:,} (" in page for size in sizes)
    assert "1,500" in fitted._repr_mimebundle_()["text/html"]


# --- samples --------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 40), min_size=1, max_size=8), st.integers(0, 2**31), st.data())
def test_a_sample_has_its_size_and_ignores_the_chunks(lengths, salt, data):
    n = sum(lengths)
    if n == 0:
        return
    size = data.draw(st.integers(1, n))
    X = np.arange(2.0 * n).reshape(n, 2)

    def numbers(chunks):
        blocks = Blocks(da.from_array(X, chunks=(chunks, 2)))
        found = draw(blocks, size, salt, Engine(), Progress("test", 0))
        assert (found.table == X[found.numbers]).all()
        return found.numbers.tolist()

    found = numbers(tuple(length for length in lengths if length) or (n,))
    assert len(found) == size
    assert found == sorted(set(found)) == numbers((n,))


def test_hashes_are_spread_evenly():
    values = row_hash(np.arange(100_000), salt=7) / 2.0**64
    assert abs(values.mean() - 0.5) < 0.01
    assert np.histogram(values, bins=20)[0].std() < 200
    assert abs(np.corrcoef(values[1:], values[:-1])[0, 1]) < 0.02
