"""Frames, arrays and lists as numbers and codes."""

from __future__ import annotations

import numpy as np
import pytest

from soffit.mixed_columns import Column, MixedTable

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")


def test_pandas_columns_of_all_kinds():
    size = pd.Categorical(["s", None, "l"], categories=["s", "m", "l"], ordered=True)
    frame = pd.DataFrame(
        {
            "x": [1.5, np.nan, 2],
            "n": pd.array([1, None, 3], dtype="Int64"),
            "b": [True, False, True],
            "m": pd.array([True, None, False], dtype="boolean"),
            "t": ["u", None, " v "],
            "s": pd.array(["u", pd.NA, ""], dtype="string"),
            "c": pd.Categorical(["q", "p", None]),
            "size": size,
            "o": [1, 2.5, None],
        },
        index=["i", "j", "k"],
    )
    table = MixedTable.of(frame)
    values = {column.name: column.values for column in table.columns}
    assert [name for name in values if values[name] is None] == ["x", "n", "b", "m", "o"]
    assert values["t"] == ("u", "v")
    assert values["c"] == ("p", "q")
    assert [column.name for column in table.columns if column.ordered] == ["size"]
    nan = np.nan
    expected = [[1.5, nan, 2], [1, nan, 3], [1, 0, 1], [1, nan, 0], [0, nan, 1], [0, nan, nan]]
    expected += [[1, 0, nan], [0, nan, 2], [1, 2.5, nan]]
    assert np.array_equal(table.values.T, expected, equal_nan=True)
    assert table.names.tolist() == ["i", "j", "k"]


def test_polars_agrees_with_pandas():
    data = {
        "x": [1.5, None, float("nan"), 2.0],
        "n": [1, 2, None, 4],
        "b": [True, None, False, True],
        "t": ["u", None, "v", ""],
    }
    frame = pl.DataFrame(data).with_columns(
        c=pl.Series(["a", "b", None, "a"], dtype=pl.Categorical),
        e=pl.Series(["hi", "lo", None, "hi"], dtype=pl.Enum(["lo", "hi"])),
    )
    table = MixedTable.of(frame.lazy())
    nan = np.nan
    expected = [[1.5, nan, nan, 2], [1, 2, nan, 4], [1, nan, 0, 1], [0, nan, 1, nan]]
    expected += [[0, 1, nan, 0], [1, 0, nan, 1]]
    assert np.array_equal(table.values.T, expected, equal_nan=True)
    assert table.columns[-1] == Column("e", ("lo", "hi"), ordered=True)


@pytest.mark.parametrize("make", [lambda rows: np.array(rows, dtype=object), list])
def test_object_arrays_and_lists(make):
    table = MixedTable.of(make([[1, "a"], [None, "b"], [3.0, None]]))
    assert np.array_equal(table.values.T, [[1, np.nan, 3], [0, 1, np.nan]], equal_nan=True)
    assert not table.has_names
    assert [column.name for column in table.columns] == ["0", "1"]


def test_new_objects_take_the_codes_of_the_fitted_ones():
    fitted = MixedTable.of([[1, "b", "x"], [2, "c", "y"]])
    new = MixedTable.of([[3, "c", "x"], [4, "a", None]])
    assert np.array_equal(
        new.coded_as(fitted.columns), [[3, 1, 0], [4, -1, np.nan]], equal_nan=True
    )


def test_numbers_and_texts_of_the_same_values_agree():
    fitted = MixedTable.of([["1"], ["2"], ["x"]])
    assert MixedTable.of([[2.0], [7]]).coded_as(fitted.columns).ravel().tolist() == [1.0, -1.0]


def test_an_unknown_step_of_a_scale_is_missing():
    scale = (Column("size", ("s", "m", "l"), ordered=True),)
    found = MixedTable.of([["l"], ["xl"]]).coded_as(scale)
    assert np.array_equal(found, [[2.0], [np.nan]], equal_nan=True)


def test_text_in_a_column_of_numbers_is_refused():
    fitted = MixedTable.of([[1.0], [2.0]])
    with pytest.raises(ValueError, match=r"'0' held numbers .* such as 'red'"):
        MixedTable.of([["red"], ["blue"]]).coded_as(fitted.columns)


def test_dates_infinities_and_sparse_tables_are_refused():
    import scipy.sparse as sp

    with pytest.raises(ValueError, match="'d' holds dates"):
        MixedTable.of(pd.DataFrame({"d": pd.to_datetime(["2020-01-01"])}))
    with pytest.raises(ValueError, match="'d' holds Date"):
        MixedTable.of(pl.DataFrame({"d": ["2020-01-01"]}).select(pl.col("d").str.to_date()))
    with pytest.raises(ValueError, match="infinity in the columns 'x'"):
        MixedTable.of(pd.DataFrame({"x": [1.0, np.inf]}))
    with pytest.raises(ValueError, match="does not accept sparse"):
        MixedTable.of(sp.csr_array(np.eye(3)))
    with pytest.raises(ValueError, match="2D"):
        MixedTable.of(np.arange(3.0))
