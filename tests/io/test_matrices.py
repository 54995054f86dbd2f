"""Matrices over pairs, NumPy and Matrix Market files."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from soffit import _memory
from soffit.io import DataError, UnknownColumnError, read

D = np.array([[0, 1, 2, 3], [1, 0, 4, 5], [2, 4, 0, 6], [3, 5, 6, 0]], dtype=float)
NAMES = ["ann", "bob", "cyd", "dee"]


def matrix_text(corner: str | None, names, down: bool) -> str:
    lines = [] if names is None else [",".join([*([corner] if down else []), *names])]
    for position, row in enumerate(D):
        start = [names[position]] if down else []
        lines.append(",".join([*start, *map(str, row)]))
    return "\n".join([*lines, ""])


@pytest.mark.parametrize("kind", ["distances", "similarities", "graph"])
@pytest.mark.parametrize(
    ("corner", "names", "down"),
    [
        (None, None, False),
        (None, NAMES, False),
        ("", NAMES, True),
        ("name", NAMES, True),
        ("who", NAMES, True),
        ("", ["1", "2", "3", "4"], True),
    ],
)
def test_matrices_with_and_without_names(tmp_path, kind, corner, names, down):
    path = tmp_path / "d.csv"
    path.write_text(matrix_text(corner, names, down))
    with pytest.raises(DataError, match='kind="distances", kind="similarities" or kind="graph"'):
        read(path)
    source = read(path, kind=kind)
    assert source.kind == kind
    found = source.data.toarray() if kind == "graph" else source.data
    np.testing.assert_array_equal(found, D)
    assert (None if source.ids is None else source.ids.tolist()) == names


def test_as_a_table_it_is_a_table(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text(matrix_text(None, NAMES, False))
    assert read(path, kind="table").columns == tuple(NAMES)


def test_orders_must_agree(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text(matrix_text("", NAMES, True).replace(",ann,bob", ",bob,ann"))
    with pytest.raises(DataError, match=r"row 1 is 'ann', but column 1 is 'bob'"):
        read(path, kind="distances")


def test_rounding_is_no_asymmetry(tmp_path):
    A = D.copy()
    A[0, 1] += 1e-9
    np.save(tmp_path / "d.npy", A)
    found = read(tmp_path / "d.npy", kind="distances").data
    assert np.array_equal(found, found.T)


# --- NumPy ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u1", "?", ">f8", "f2"])
def test_arrays_keep_single_precision(tmp_path, dtype):
    X = (np.arange(24).reshape(8, 3) % 5).astype(dtype)
    np.save(tmp_path / "x.npy", X)
    source = read(tmp_path / "x.npy")
    np.testing.assert_array_equal(source.data, X.astype(float))
    assert source.data.dtype == (np.float32 if dtype in ("f4", "f2") else np.float64)
    assert source.data.flags.c_contiguous


def test_vectors_and_gaps(tmp_path):
    np.save(tmp_path / "x.npy", np.array([1.0, np.nan, 4.0]))
    with pytest.raises(DataError, match=r"missing in 'column 1' \(1\)"):
        read(tmp_path / "x.npy")
    assert read(tmp_path / "x.npy", impute="mean").data[1, 0] == 2.5
    assert read(tmp_path / "x.npy", impute="drop").ids.tolist() == ["0", "2"]


def test_archives_with_names_and_labels(tmp_path):
    X = np.arange(12.0).reshape(4, 3)
    np.savez(
        tmp_path / "x.npz", X=X, ids=np.array(NAMES), y=[0, 1, 0, 1], columns=np.array(list("abc"))
    )
    source = read(tmp_path / "x.npz", label="y", drop=["b"])
    assert source.ids.tolist() == NAMES
    assert source.truth.tolist() == ["0", "1", "0", "1"]
    assert source.columns == ("a", "c")
    np.testing.assert_array_equal(source.data, X[:, [0, 2]])
    with pytest.raises(UnknownColumnError, match=r"no such column"):
        read(tmp_path / "x.npz", label="z")


def test_named_distances_need_no_question(tmp_path):
    np.savez(tmp_path / "d.npz", distances=D)
    assert read(tmp_path / "d.npz").kind == "distances"


@pytest.mark.parametrize("storage", ["csr", "csc", "coo"])
def test_sparse_archives(tmp_path, storage):
    X = sp.random_array(
        (20, 6), density=0.3, random_state=np.random.default_rng(73), format=storage
    )
    sp.save_npz(tmp_path / "s.npz", X)
    source = read(tmp_path / "s.npz")
    assert source.kind == "table"
    np.testing.assert_allclose(source.data.toarray(), X.toarray())


def test_edges_in_an_archive(data_home):
    source = read(data_home / "graph_karate.npz")
    assert (source.kind, source.data.shape) == ("graph", (34, 34))
    assert abs(source.data - source.data.T).nnz == 0


def test_an_archive_that_does_not_fit_is_not_unpacked(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "big.npz", X=np.zeros((100_000, 40)))
    monkeypatch.setattr(_memory, "available_memory", lambda: 2**24)
    with pytest.raises(DataError, match=r"unpacking it needs 32 MB"):
        read(tmp_path / "big.npz")


# --- Matrix Market --------------------------------------------------------------------------------


def test_matrix_market(tmp_path):
    X = sp.random_array((9, 4), density=0.4, random_state=np.random.default_rng(29), format="coo")
    scipy.io.mmwrite(tmp_path / "x.mtx", X)
    np.testing.assert_allclose(read(tmp_path / "x.mtx").data.toarray(), X.toarray())
    scipy.io.mmwrite(tmp_path / "d.mtx", D)
    np.testing.assert_array_equal(read(tmp_path / "d.mtx", kind="distances").data, D)
    scipy.io.mmwrite(tmp_path / "g.mtx", sp.coo_array(D), symmetry="symmetric")
    with pytest.raises(DataError, match=r"square matrix, 4 x 4"):
        read(tmp_path / "g.mtx")
    source = read(tmp_path / "g.mtx", kind="graph")
    np.testing.assert_array_equal(source.data.toarray(), D)


@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric"])
@pytest.mark.parametrize("field", ["real", "integer", "pattern"])
@pytest.mark.parametrize("sparse", [True, False])
def test_matrix_market_agrees_with_scipy(tmp_path, symmetry, field, sparse):
    A = np.random.default_rng(37).integers(-3, 4, size=(7, 7)).astype(float)
    A = {"general": A, "symmetric": A + A.T, "skew-symmetric": A - A.T}[symmetry]
    if not sparse and field == "pattern":
        pytest.skip("a dense matrix has values")
    path = tmp_path / "a.mtx"
    scipy.io.mmwrite(path, sp.coo_array(A) if sparse else A, field=field, symmetry=symmetry)
    if symmetry == "skew-symmetric" and field == "pattern":
        A = np.tril(A != 0).astype(float)
        A -= A.T
    elif field == "pattern":
        A = (A != 0).astype(float)
    found = read(path, kind="table").data
    np.testing.assert_array_equal(found.toarray() if sparse else found, A)
