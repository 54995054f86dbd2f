"""The user's own columns beside the objects."""

from __future__ import annotations

import numpy as np

from soffit.io import read
from soffit.session.object_table import ObjectTable


def table_of(tmp_path, text, **options):
    path = tmp_path / "people.csv"
    path.write_text(text, encoding="utf-8")
    return ObjectTable.of(read(path, **options))


PEOPLE = (
    "name;size;town;photo;words\n"
    "ann;1,5;Ulm;a.png;likes long walks and short books\n"
    "bob;2,5;Bonn;b.png;\n"
    "cyd;;Ulm;c.png;writes about clusters all day long\n"
    "dan;9,5;Ulm;d.png;hardly ever speaks of anything at all\n"
)


def test_columns_are_those_of_the_file_with_those_left_out(tmp_path):
    table = table_of(tmp_path, PEOPLE, impute="mean")
    kinds = {column.name: column.kind for column in table.columns}
    assert kinds == {"size": "number", "town": "category", "photo": "picture", "words": "text"}
    assert table.ids == ["ann", "bob", "cyd", "dan"]
    size = table.columns[0]
    np.testing.assert_array_equal(size.values, [1.5, 2.5, np.nan, 9.5])
    assert size.shown(0) == "1,5"
    assert table.columns[1].categories == ("Ulm", "Bonn")


def test_what_a_person_looks_at_first_comes_first(tmp_path):
    table = table_of(tmp_path, PEOPLE, impute="mean")
    compared = table.compared(0, 3)
    assert [column.name for column, _ in compared][:2] == ["photo", "words"]
    differences = {column.name: difference for column, difference in compared}
    assert differences["town"] == 0
    assert differences["size"] > 2


def test_rows_are_sorted_and_searched(tmp_path):
    table = table_of(tmp_path, PEOPLE, impute="mean")
    assert table.order("size", {}).tolist() == [0, 1, 3, 2]
    assert table.order("size", {}, descending=True).tolist() == [3, 1, 0, 2]
    assert table.order("certainty", {"certainty": np.array([3, 1, 2, 0])}).tolist() == [3, 1, 2, 0]
    assert np.flatnonzero(table.containing("ULM")).tolist() == [0, 2, 3]
    assert np.flatnonzero(table.containing("clusters")).tolist() == [2]


def test_only_pictures_named_in_the_data_are_found(tmp_path):
    (tmp_path / "a.png").write_bytes(b"x")
    table = table_of(tmp_path, PEOPLE, impute="mean")
    photo = [column.name for column in table.columns].index("photo")
    assert table.picture(0, photo) == tmp_path / "a.png"
    assert table.picture(1, photo) is None
    assert table.picture(0, 0) is None


def test_pictures_outside_the_folder_of_the_data_are_not_found(tmp_path):
    (tmp_path / "data").mkdir()
    outside = tmp_path / "secret.png"
    outside.write_bytes(b"x")
    (tmp_path / "data" / "link.png").symlink_to(outside)
    named = f"name,size,photo\na,1,{outside}\nb,2,../secret.png\nc,3,link.png\nd,4,e.png\n"
    table = table_of(tmp_path / "data", named)
    assert [table.picture(row, 1) for row in range(4)] == [None] * 4


def test_graphs_have_links(tmp_path):
    path = tmp_path / "net.edges"
    path.write_text("a b\nb c\n", encoding="utf-8")
    table = ObjectTable.of(read(path))
    assert [column.name for column in table.columns] == ["linked to", "links"]
    assert [table.columns[0].shown(row) for row in range(3)] == ["b", "a, c", "b"]
    assert [table.columns[1].shown(row) for row in range(3)] == ["1", "2", "1"]
