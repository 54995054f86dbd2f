"""CSV and its relatives: whatever conventions a file follows, the same numbers come out."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from soffit.io import DataError, read
from soffit.io.text import delimited
from soffit.io.text import dialect as text_module

VALUES = np.array([[1.5, -2.0, 3e-7], [4.25, 5.0, 6.125], [-7.5, 8.75, 9.0], [0.5, 1.0, 2.5]])


def write(path: Path, content: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(content.encode(encoding))
    return path


def as_text(values, separator: str, comma: bool, header: str | None, end: str = "\n") -> str:
    rows = [[repr(float(value)) for value in row] for row in values]
    if comma:
        rows = [[entry.replace(".", ",") for entry in row] for row in rows]
    lines = [separator.join(row) for row in rows]
    names = [] if header is None else [separator.join(header.split())]
    return end.join([*names, *lines, ""])


@pytest.mark.parametrize(
    ("separator", "comma", "header"),
    [
        case
        for case in product([",", ";", "\t", "|", " ", "   "], [False, True], [None, "a b c"])
        if case[:2] != (",", True)
    ],
)
def test_separators_decimal_commas_and_headers(tmp_path, separator, comma, header):
    path = write(tmp_path / "t.csv", as_text(VALUES, separator, comma, header))
    source = read(path)
    np.testing.assert_array_equal(source.data, VALUES)
    assert source.columns == (("a", "b", "c") if header else ("column 1", "column 2", "column 3"))
    assert any("decimal comma" in note for note in source.notes) == comma
    assert any("no header" in note for note in source.notes) == (header is None)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_encodings_and_line_ends(tmp_path, encoding, end):
    content = f"Größe;Ort{end}1,5;Köln{end}2,5;Łódź{end}3;Köln{end}4;Łódź{end}"
    if encoding == "cp1252":
        content = content.replace("Łódź", "Genève")
    source = read(write(tmp_path / "t.csv", content, encoding))
    assert source.columns[0] == "Größe"
    assert "Ort=Köln" in source.columns
    np.testing.assert_array_equal(source.data[:, 0], [1.5, 2.5, 3, 4])


def test_quotes_hide_separators_and_line_breaks(tmp_path):
    content = 'id,x,note\n"a, b",1.5,"two\nlines"\n"c ""d""",2.5,"one, line"\n'
    source = read(write(tmp_path / "q.csv", content))
    assert source.ids.tolist() == ["a, b", 'c "d"']
    np.testing.assert_array_equal(source.data[:, 0], [1.5, 2.5])


def test_inches_are_not_quotes(tmp_path):
    content = "id,x\n" + "".join(f'{n}" pipe,{n}.5\n' for n in range(5))
    assert read(write(tmp_path / "q.csv", content)).ids[3] == '3" pipe'


def test_single_quotes(tmp_path):
    source = read(write(tmp_path / "q.csv", "name,x\n'a,b',1\n'c',2\n"))
    assert source.ids.tolist() == ["a,b", "c"]


def test_comments_blank_lines_and_blanks_around_entries(tmp_path):
    content = "# made by hand\n\nx , y\n 1.5, 2 \n\n3 ,4\n\n\n"
    source = read(write(tmp_path / "c.csv", content))
    assert source.columns == ("x", "y")
    np.testing.assert_array_equal(source.data, [[1.5, 2], [3, 4]])


def test_a_commented_header_is_a_header(tmp_path):
    source = read(write(tmp_path / "c.csv", "#x,y\n1,2\n3,4\n"))
    assert source.columns == ("x", "y")


def test_row_names_as_r_writes_them(tmp_path):
    source = read(write(tmp_path / "r.csv", "x,y\nann,1,2\nbob,3,4\n"))
    assert (source.columns, source.ids.tolist()) == (("x", "y"), ["ann", "bob"])


def test_years_are_a_header(tmp_path):
    source = read(write(tmp_path / "y.csv", "land,1990,1991,1992\nA,1,2,3\nB,4,5,6\n"))
    assert source.columns == ("1990", "1991", "1992")


def test_a_separator_at_the_end_of_each_row_makes_no_feature(tmp_path):
    source = read(write(tmp_path / "s.csv", "x,y,\n1,2,\n3,4,\n"))
    assert source.columns == ("x", "y")


def test_identifiers_keep_their_zeros(tmp_path):
    source = read(write(tmp_path / "z.csv", "code,x\n007,1\n008,2\n"), id="code")
    assert source.ids.tolist() == ["007", "008"]


def test_types_are_found_where_the_first_thousand_rows_are_empty(tmp_path):
    content = "x,y,z\n" + "1,,\n" * 1500 + "2,5.5,red\n" * 1500
    source = read(write(tmp_path / "late.csv", content), impute="median")
    assert source.columns == ("x", "y", "z=red")
    assert source.data[0, 1] == 5.5


def test_blocks_do_not_show(tmp_path, monkeypatch):
    rng = np.random.default_rng(57)
    values = rng.normal(size=(300, 3)).round(6)
    rows = [",".join(map(str, row)) + f',"w{i % 3},\n{i % 3}"' for i, row in enumerate(values)]
    path = write(tmp_path / "b.csv", "x,y,z,w\n" + "\n".join(rows))
    whole = read(path)
    blocks = text_module.TextFile.blocks
    monkeypatch.setattr(text_module.TextFile, "blocks", lambda self: blocks(self, 97))
    pieces = read(path)
    np.testing.assert_array_equal(whole.data, pieces.data)
    assert whole.columns == pieces.columns
    assert whole.data.shape == (300, 6)


def test_messages_name_lines_as_an_editor_counts_them(tmp_path):
    content = "# note\nx,y\n" + "1,2\n" * 30 + "1,two\n" + "1,2\n" * 30
    with pytest.raises(DataError, match=r"line 33 has 'two'"):
        read(write(tmp_path / "n.csv", content))


def test_only_the_chosen_columns_are_parsed(tmp_path):
    content = "x,y\n" + "1,2\n" * 30 + "1,two\n" + "1,2\n" * 30
    source = read(write(tmp_path / "n.csv", content), columns=["x"])
    assert source.data.shape == (61, 1)


@given(
    values=arrays(
        np.float64,
        st.tuples(st.integers(2, 30), st.integers(2, 5)),
        elements=st.floats(allow_nan=False, allow_infinity=False, width=64),
    ),
    separator=st.sampled_from([",", ";", "\t", "|", " "]),
    comma=st.booleans(),
)
def test_numbers_survive(tmp_path_factory, values, separator, comma):
    if comma and separator == ",":
        separator = ";"
    folder = tmp_path_factory.mktemp("numbers")
    header = " ".join(f"c{i}" for i in range(values.shape[1]))
    path = write(folder / "v.csv", as_text(values, separator, comma, header))
    np.testing.assert_array_equal(read(path, kind="table").data, values)


def test_rows_are_described_before_they_are_read(tmp_path):
    rows = delimited.DelimitedRows.open(write(tmp_path / "t.csv", "a,b,c\n1,x,true\n2,y,false\n"))
    assert dict(rows.kinds) == {"a": "number", "b": "text", "c": "boolean"}
    assert rows.n_rows == 2
