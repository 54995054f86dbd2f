"""Numbers as people write them: read as the same numbers, or refused with the option to pass."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soffit.io import DataError, describe, read


def write(folder: Path, content: str, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode())
    return path


def numbers(folder: Path, content: str, name: str = "t.csv", **options) -> list[list[float]]:
    return read(write(folder, content, name), kind="table", **options).data.tolist()


# --- units, signs, currencies ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entries", "expected", "said"),
    [
        (["80.2%", "5 %", "0"], [80.2, 5, 0], "in %"),
        (["$94,710 M", "$1,000 M", "$2 B"], [94.71e9, 1e9, 2e9], "M is 1,000,000"),
        (["3.75 kg", "4 kg", "12.5 kg"], [3.75, 4, 12.5], "in kg"),
        (["(4500)", "300", "-20"], [-4500, 300, -20], "parentheses mean negative"),
        (["94.710,00", "3,5", "1.000.000"], [94710, 3.5, 1e6], "decimal comma"),
        (["1'234.50", "20", "7\u2019000"], [1234.5, 20, 7000], "apostrophes"),
        (["1\u202f234,5", "20", "7 000,25"], [1234.5, 20, 7000.25], "blanks"),
        (["12,34,567", "1,00,000", "5"], [1234567, 100000, 5], "commas"),
        (["1.2K", "800", "3M"], [1200, 800, 3e6], "K is 1,000"),
        (["CHF 1'200.50", "CHF 3.20", "CHF 5"], [1200.5, 3.2, 5], "in CHF"),
        (["($1,234.5)", "$20", "-$3.5"], [-1234.5, 20, -3.5], "in $"),
        (["(4,7) %", "12,5 %", "0,5 %"], [-4.7, 12.5, 0.5], "in %"),
        (["$ (1,234.5)", "$ 20", "$ 3.5"], [-1234.5, 20, 3.5], "in $"),
        (["5 years", "1 year", "12 years"], [5, 1, 12], "in year"),
        (["300 K", "310 K", "290 K"], [300, 310, 290], "in K"),
        (["\u22125", "3", "+2"], [-5, 3, 2], ""),
        (["2,5 Mio. €", "3 Mio. €", "1,25 Mrd. €"], [2.5e6, 3e6, 1.25e9], "in €"),
    ],
)
def test_numbers_with_more_than_digits(tmp_path, entries, expected, said):
    rows = "".join(f"{entry}\t{row}.5\n" for row, entry in enumerate(entries))
    source = read(write(tmp_path, f"x\ty\n{rows}".replace(".5\n", "\n"), "t.tsv"))
    np.testing.assert_allclose(source.data[:, 0], expected, rtol=1e-15)
    assert said in " ".join(source.notes)


@pytest.mark.parametrize(
    "entries",
    [
        ["500 g", "1.2 kg", "3 kg"],
        ["3.75 kg", "4", "5 kg"],
        ["5%", "0.05", "3%"],
        ["$5", "€6", "$7"],
    ],
)
def test_mixed_units_are_refused_where_they_are_used(tmp_path, entries):
    path = write(tmp_path, "w,z\n" + "".join(f'"{e}",{i}\n' for i, e in enumerate(entries)))
    with pytest.raises(DataError, match=r"'w' mixes units: .*one unit.*drop=\[\"w\"\]"):
        read(path)
    assert read(path, drop=["w"]).columns == ("z",)
    assert any("mixes units" in line for line in describe(path).lines())


def test_a_unit_that_comes_later_is_refused(tmp_path):
    rows = "".join(f"{i % 7}.5 kg,{i}\n" for i in range(3000)) + "500 g,3\n"
    with pytest.raises(DataError, match=r"line 3,002 has '500 g'.*Convert it to kg"):
        read(write(tmp_path, f"w,z\n{rows}"))


@pytest.mark.parametrize(
    "entries",
    [["01.02.2020", "03.04.2021"], ["1.2.3", "1.2.4"], ["5", "7B", "9A"], ["10:30", "11:45"]],
)
def test_dates_versions_and_houses_are_not_numbers(tmp_path, entries):
    path = write(tmp_path, "d,z\n" + "".join(f"{e},{i}\n" for i, e in enumerate(entries * 2)))
    assert "d" not in read(path, text="drop").columns


def test_names_of_a_few_groups_may_begin_with_a_number(tmp_path):
    lines = ["class,sex"] + [
        f"{['1st', '2nd', '3rd'][i % 3]} class,{'fm'[i % 2]}" for i in range(60)
    ]
    path = tmp_path / "passengers.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    source = read(path)
    assert source.is_mixed or len(source.columns) > 1


def test_most_columns_look_like_numbers_that_cannot_be_read(tmp_path):
    rows = "".join(f"{i} ab~{'xyz'[i % 3]},{i} {'uvw'[i % 3]}q,{i}\n" for i in range(30))
    path = write(tmp_path, f"a,b,c\n{rows}")
    with pytest.raises(DataError, match=r"'a' looks like numbers, such as '0 ab~x'.*drop="):
        read(path)
    assert read(path, drop=["a", "b"]).columns == ("c",)
    # One such column beside others is text.
    more = "".join(f"{i} {'uvw'[i % 3]}q,{i % 7},{i % 5}\n" for i in range(30))
    assert "p" in " ".join(read(write(tmp_path, f"p,b,c\n{more}"), text="onehot").columns)


# --- decimal signs and thousands ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        # Separated by commas, so the comma in quotes is not a decimal sign.
        ('x,y\n"1,001",1\n900,2\n', [[1001, 1], [900, 2]]),
        ("x;y\n1.000,5;0\n2.000,5;1\n", [[1000.5, 0], [2000.5, 1]]),
        ("x;y\n1 000;0\n2 000;1\n", [[1000, 0], [2000, 1]]),
        ("x\n0,5\n0,7\n0,25\n", [[0.5], [0.7], [0.25]]),
        # Another entry of the column, or another column, tells which.
        ("x;y\n1,000;1\n900;2\n", [[1000, 1], [900, 2]]),
        ("x;y\n12,500;1\n9;2\n", [[12500, 1], [9, 2]]),
        # Whole numbers of the same size tell that it is about thousands.
        ("x;y\n1,001;1\n900;2\n", [[1001, 1], [900, 2]]),
        ("x;y\n1,001;1\n1500;2\n", [[1001, 1], [1500, 2]]),
        ("x;y\n1,001;1\n900;2\n1100;3\n", [[1001, 1], [900, 2], [1100, 3]]),
        ("x;y\n1.001;1\n-900;2\n0;3\n", [[1001, 1], [-900, 2], [0, 3]]),
        ("x;y\n1,001;1\n0,5;2\n", [[1.001, 1], [0.5, 2]]),
        ("x;y\n1,001;0.5\n900;2\n", [[1001, 0.5], [900, 2]]),
        ("x;y\n1.001;0,5\n900;2\n", [[1001, 0.5], [900, 2]]),
        ("x\ty\n1.234.567\t1\n900\t2\n", [[1234567, 1], [900, 2]]),
    ],
)
def test_one_reading_is_left(tmp_path, content, expected):
    assert numbers(tmp_path, content) == expected


@pytest.mark.parametrize("others", ["7", "7;2\n5000", "80000", "0"])
def test_whole_numbers_of_other_sizes_decide_nothing(tmp_path, others):
    with pytest.raises(DataError, match=r"decimal=\"\,\" or thousands=\"\,\""):
        numbers(tmp_path, f"x;y\n1,001;1\n{others};2\n")


@pytest.mark.parametrize("mark", [",", "."])
def test_where_two_readings_are_left_the_user_is_asked(tmp_path, mark):
    content = f"x;y\n1{mark}001;1\n30;2\n"
    with pytest.raises(DataError, match=rf"decimal=\"\{mark}\" or thousands=\"\{mark}\""):
        numbers(tmp_path, content)
    # The example shows the sign, wherever its entry is.
    with pytest.raises(DataError, match=rf"such as '1\{mark}001', whose "):
        numbers(tmp_path, f"x;y\n30;1\n1{mark}001;2\n")
    assert numbers(tmp_path, content, decimal=mark)[0] == [1.001, 1]
    assert numbers(tmp_path, content, thousands=mark)[0] == [1001, 1]
    assert numbers(tmp_path, content, drop=["x"]) == [[1], [2]]


def test_two_decimal_signs_in_a_column(tmp_path):
    with pytest.raises(DataError, match=r"'x' looks like numbers.*same decimal sign"):
        numbers(tmp_path, "x;y\n1,5;1\n2.5;2\n")


def test_each_column_may_have_its_own_sign(tmp_path):
    assert numbers(tmp_path, "x;y\n1,5;1.5\n2;2.5\n") == [[1.5, 1.5], [2, 2.5]]


def test_a_sign_that_shows_late_is_not_guessed(tmp_path):
    whole = "x;y\n" + "1;2\n" * 2000
    with pytest.raises(DataError, match=r"line 2,002 has '1.234'.*decimal or thousands"):
        numbers(tmp_path, whole + "1.234;5\n")
    assert numbers(tmp_path, whole + "1.234;5\n", decimal=".")[-1] == [1.234, 5]
    assert numbers(tmp_path, whole + "1.234;5\n", thousands=".")[-1] == [1234, 5]


# --- separators and headers -----------------------------------------------------------------------


def test_tabs_win_in_a_tsv(tmp_path):
    content = "patient\ttemp\theight\nA\t98.3 kg\t1.5\nB\t97.1 kg\t1.6\n"
    source = read(write(tmp_path, content, "t.tsv"), id="patient")
    assert source.columns == ("temp", "height")
    assert source.data.tolist() == [[98.3, 1.5], [97.1, 1.6]]


def test_a_row_of_missing_values_is_a_row_also_between_tabs(tmp_path):
    content = "x\ty\n1\t2\n\t\n\n3\t4\n"
    source = read(write(tmp_path, content, "t.tsv"), impute="drop")
    assert source.ids.tolist() == ["1", "3"]
    np.testing.assert_array_equal(source.data, [[1, 2], [3, 4]])


def test_blanks_do_not_shift_a_header(tmp_path):
    assert numbers(tmp_path, "temp\n98.3 kg\n97.1 kg\n") == [[98.3], [97.1]]
    assert numbers(tmp_path, "n;t\n1;98.3 kg\n5;97.1 kg\n") == [[1, 98.3], [5, 97.1]]


def test_row_names_of_r_are_said(tmp_path):
    source = read(write(tmp_path, '"x" "y"\n"a" 1 2\n"b" 3 4\n', "t.txt"), kind="table")
    assert source.ids.tolist() == ["a", "b"]
    assert any("one name fewer" in note and "R writes" in note for note in source.notes)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x,y\n1,0,5\n2,0,7\n4,0,1\n", r"header has 2 names, but most rows have 3"),
        ("x,y\na,1,5\na,2,7\nb,2,1\n", r"header has 2 names, but most rows have 3"),
        ("A title\nx,y\n1,2\n3,4\n", r"pass skip_rows=1"),
        ("x\n1,5\n2,7\n3,2\n", r"decimal=\",\" for one number.*sep=\",\" for two"),
    ],
)
def test_a_header_never_shifts_silently(tmp_path, content, message):
    with pytest.raises(DataError, match=message):
        numbers(tmp_path, content)


# --- options --------------------------------------------------------------------------------------


def test_missing_values_by_name(tmp_path):
    content = "x,y,c\n1,999,a\n2,5,unknown\nunknown,6,a\n3,999.0,b\n4,1,b\n5,1,a\n6,1,a\n"
    with pytest.raises(DataError, match=r"line 4 has 'unknown'.*na=\[\"unknown\"\]"):
        numbers(tmp_path, content)
    source = read(write(tmp_path, content), na=["unknown", 999], impute="median")
    assert source.data[:, 1].tolist() == [1, 5, 6, 1, 1, 1, 1]
    assert source.data[2, 0] == 3.5
    assert source.columns == ("x", "y", "c=a", "c=b")


def test_any_separator_encoding_and_start(tmp_path):
    content = "made by hand\nfor Zoë\nName~Größe\nJosé~1.5\nZoë~2.5\n"
    path = tmp_path / "t.dat"
    path.write_bytes(content.encode("mac-roman"))
    source = read(path, sep="~", skip_rows=2, encoding="mac-roman", kind="table")
    assert (source.columns, source.ids.tolist()) == (("Größe",), ["José", "Zoë"])
    assert source.options == {
        **{"kind": "table", "sep": "~", "skip_rows": 2},
        "encoding": "mac-roman",
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sep": "::"}, r"sep must be one character"),
        ({"decimal": ";"}, r"decimal must be one of '.', ','"),
        ({"thousands": "x"}, r"thousands must be one of"),
        ({"decimal": ",", "thousands": ","}, r"thousands must be another sign"),
        ({"skip_rows": -1}, r"skip_rows must be an integer of at least 0"),
        ({"sheet": 0}, r"sheet must be the name of a sheet"),
        ({"encoding": "klingon"}, r"encoding must be a name that Python knows"),
    ],
)
def test_options_are_checked(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        numbers(tmp_path, "x,y\n1,2\n", **options)


def test_options_that_do_not_apply_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"sheet does not apply to delimited text files"):
        numbers(tmp_path, "x,y\n1,2\n", sheet="a")
    np.save(tmp_path / "a.npy", np.eye(3))
    with pytest.raises(DataError, match=r"sep does not apply to NumPy array"):
        read(tmp_path / "a.npy", sep=";", kind="table")


def test_a_separator_that_is_not_there(tmp_path):
    with pytest.raises(DataError, match=r"separated by sep=\",\".*Try sep=\";\""):
        numbers(tmp_path, "x;y\n1;2\n", sep=",")


# --- any table in any notation --------------------------------------------------------------------


@st.composite
def tables(draw):
    """Values, and how they are written."""
    separator = draw(st.sampled_from([",", ";", "\t", "|"]))
    decimal = draw(st.sampled_from(["."] if separator == "," else [".", ","]))
    n_columns = draw(st.integers(1, 4))
    # A file of one column shows no separator: its points are decimal signs.
    possible = [",", ".", " ", "'"] if n_columns > 1 else [",", " ", "'"]
    thousands = draw(st.sampled_from(["", *(mark for mark in possible if mark != decimal)]))
    n_rows = draw(st.integers(2, 12))
    columns = []
    for _ in range(n_columns):
        digits = draw(st.sampled_from([0, 0, 1, 2, 3]))
        size = draw(st.sampled_from([5, 500, 2000, 10**7]))
        values = draw(
            st.lists(
                st.integers(-size * 10**digits, size * 10**digits),
                min_size=n_rows,
                max_size=n_rows,
            )
        )
        style = draw(st.sampled_from(["", "", "", "%", " kg", "€", "$", "()", "trim"]))
        columns.append((digits, style, values))
    return separator, decimal, thousands, columns


def written(value: int, digits: int, style: str, decimal: str, thousands: str) -> str:
    whole, rest = divmod(abs(value), 10**digits)
    text = f"{whole:,}".replace(",", thousands)
    if digits:
        fraction = f"{rest:0{digits}d}"
        if style == "trim":
            fraction = fraction.rstrip("0")
        text += decimal + fraction if fraction else ""
    if style == "()":
        return f"({text})" if value < 0 else text
    sign = "-" if value < 0 else ""
    if style == "$":
        return f"{sign}${text}"
    return f"{sign}{text}{'' if style == 'trim' else style}"


@settings(max_examples=300, deadline=None)
@given(table=tables())
def test_any_table_is_read_or_refused_but_never_misread(tmp_path_factory, table):
    separator, decimal, thousands, columns = table
    cells = [
        [written(value, digits, style, decimal, thousands) for value in values]
        for digits, style, values in columns
    ]
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=separator, lineterminator="\n")
    writer.writerow([f"c{number}" for number in range(len(cells))])
    writer.writerows(zip(*cells, strict=True))
    path = write(tmp_path_factory.mktemp("any"), buffer.getvalue())
    expected = np.column_stack([np.array(values) / 10**digits for digits, _, values in columns])
    try:
        source = read(path, kind="table")
    except DataError as error:
        asked = error.parameter
        # With what the message asks for, the table is read.
        source = read(path, kind="table", decimal=decimal, sep=separator)
        assert asked in {"decimal", "thousands", "sep"}
    assert source.columns == tuple(f"c{number}" for number in range(len(cells)))
    np.testing.assert_allclose(source.data, expected, rtol=1e-15, atol=1e-300)
