"""Tables: roles of columns, text, gaps, precision, and what is said about them."""

from __future__ import annotations

import numpy as np
import pytest

from soffit import SoftClustering, _memory
from soffit.io import DataError, Source, read

PEOPLE = """name,age,city,member,joined,remark
Ann,31,Rome,true,2020-01-05,likes tea
Bob,45,Oslo,false,2021-03-09,
Cyd,28,Rome,yes,2019-11-30,comes late on Mondays
Dee,52,Oslo,no,2022-07-14,quiet
Eve,39,Rome,true,2020-02-02,hums
Fay,61,Rome,false,2023-05-21,laughs
"""


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(PEOPLE)
    return path


def save(tmp_path, content, name="t.csv"):
    path = tmp_path / name
    path.write_text(content)
    return path


def test_text_becomes_columns_or_is_left_out_and_said_aloud(people):
    source = read(people)
    assert source.columns == ("age", "city=Oslo", "city=Rome", "member")
    np.testing.assert_array_equal(source.data[1], [45, 1, 0, 0])
    assert source.ids.tolist() == ["Ann", "Bob", "Cyd", "Dee", "Eve", "Fay"]
    assert source.id_name == "name"
    said = " ".join(source.notes)
    for expected in (
        "'name', identifies",
        "'joined': it holds dates",
        "'remark'",
        "'city' (2 values)",
    ):
        assert expected in said
    assert "True and false became 1 and 0 in 'member'" in said


def test_text_can_be_dropped_or_kept(people):
    assert read(people, text="drop").columns == ("age", "member")
    kept = read(people, text="onehot", drop=["remark"])
    assert "joined=2020-01-05" in kept.columns


def test_columns_drop_id_and_label(people):
    source = read(people, columns=["age", "member"], label="city", id="joined")
    assert source.columns == ("age", "member")
    assert source.truth.tolist() == ["Rome", "Oslo", "Rome", "Oslo", "Rome", "Rome"]
    assert source.ids[0] == "2020-01-05"
    assert read(people, drop=["age", "remark", "joined"]).columns[0] == "city=Oslo"


def test_missing_labels_are_empty(tmp_path):
    path = save(tmp_path, "x,kind\n1,a\n2,\n3,b\n")
    assert read(path, label="kind").truth.tolist() == ["a", "", "b"]


@pytest.mark.parametrize(
    ("name", "values", "found"),
    [
        ("id", "abc", True),
        ("patient_id", "123", True),
        ("customerId", "xyz", True),
        ("", "123", True),
        ("key", "aab", False),
        ("acid", "123", False),
        ("size", "123", False),
    ],
)
def test_the_first_column_may_identify(tmp_path, name, values, found):
    rows = "".join(f"{value},{number}\n" for number, value in enumerate(values))
    source = read(save(tmp_path, f"{name},x\n{rows}"), kind="table")
    assert (source.ids is not None) == found
    if found:
        assert source.ids.tolist() == list(values)
        assert source.columns == ("x",)


def test_a_number_of_groups_is_a_feature_and_said_so(tmp_path):
    source = read(save(tmp_path, "id,x\n1,1\n1,2\n1,5\n2,7\n2,8\n"))
    assert source.columns == ("id", "x")
    np.testing.assert_array_equal(source.data[:, 0], [1, 1, 1, 2, 2])
    assert "values are not unique" in " ".join(map(str, source.notes))


def test_an_identifier_that_sometimes_repeats_is_left_out_and_said_so(tmp_path):
    path = save(tmp_path, "ID,x,y\n1000025,1,2\n1002945,2,3\n1002945,5,4\n1015425,7,5\n")
    source = read(path)
    assert source.ids is None
    assert source.columns == ("x", "y")
    assert "Left out the first column, 'ID'" in " ".join(map(str, source.notes))
    assert read(path, columns=["ID", "x"]).columns == ("ID", "x")


def test_fractions_identify_nothing(tmp_path):
    source = read(save(tmp_path, "index,x\n1.5,1\n2.5,2\n3.5,5\n"))
    assert source.ids is None
    assert source.columns == ("index", "x")


@pytest.mark.parametrize(("impute", "value"), [("median", 2.5), ("mean", 3.75)])
def test_gaps_are_filled(tmp_path, impute, value):
    path = save(tmp_path, "x,y,c\n1,1,a\n2,inf,a\n9,2,\n,3,b\n3,4,a\n")
    source = read(path, impute=impute)
    assert source.data[3, 0] == value
    assert source.data[1, 1] == 2.5
    assert source.data[2, 2:].tolist() == [0.75, 0.25]
    said = " ".join(source.notes)
    assert f"set to the {impute} in 'x' (1), 'y' (1)" in said
    assert "Infinite values count as missing in 'y' (1)" in said
    assert "replaced by the frequencies of the values in 'c' (1)" in said


def test_rows_with_gaps_are_left_out_and_the_others_keep_their_numbers(tmp_path):
    path = save(tmp_path, "x,y,t\n1,2,a\n,3,b\n4,5,c\n")
    source = read(path, impute="drop", label="t")
    np.testing.assert_array_equal(source.data, [[1, 2], [4, 5]])
    assert source.ids.tolist() == ["1", "3"]
    assert source.id_name == "row"
    assert source.truth.tolist() == ["a", "c"]


def test_gaps_in_text_count_too(tmp_path):
    with pytest.raises(DataError, match=r"missing in 'c' \(1\), of 4.*drop=\[.c.\]"):
        read(save(tmp_path, "x,c\n1,a\n2,\n3,b\n4,a\n"))


def test_constant_and_empty_columns_are_mentioned(tmp_path):
    source = read(save(tmp_path, "x,same,none\n1,7,\n2,7,\n3,7,\n"))
    assert source.columns == ("x", "same")
    said = " ".join(source.notes)
    assert "without effect: 'same'" in said
    assert "Left out 'none': no values." in said


def test_thousands_are_read_and_said(tmp_path):
    path = save(tmp_path, 'x,sum\n1,"1,234"\n2,"5,678"\n3,"9,012"\n4,"3,456.5"\n5,"7,890"\n')
    source = read(path)
    np.testing.assert_array_equal(source.data[:, 1], [1234, 5678, 9012, 3456.5, 7890])
    assert "Thousands are separated by commas in 'sum', as in '1,234'." in source.notes


def test_square_but_not_symmetric_is_a_table(tmp_path):
    assert read(save(tmp_path, "a,b,c\n0,1,2\n3,4,5\n6,7,9\n")).kind == "table"


def test_single_precision_where_double_does_not_fit(tmp_path, monkeypatch):
    path = save(tmp_path, "x,y\n" + "1.5,2.5\n" * 999 + "3,4\n")
    assert read(path).data.dtype == np.float64
    monkeypatch.setattr(_memory, "available_memory", lambda: 15_000)
    source = read(path)
    assert source.data.dtype == np.float32
    assert "single precision" in " ".join(source.notes)
    monkeypatch.setattr(_memory, "available_memory", lambda: 8_000)
    with pytest.raises(DataError, match=r"needs 8 kB of memory.*Choose fewer columns"):
        read(path)
    assert read(path, columns=["x"]).data.shape == (1000, 1)


def test_options_are_checked(people):
    with pytest.raises(ValueError, match=r"kind must be one of .*'tabel'"):
        read(people, kind="tabel")
    with pytest.raises(TypeError, match=r"pass \['age'\]"):
        read(people, columns="age")
    with pytest.raises(DataError, match=r"Did you mean 'member'"):
        read(people, drop=["membr"])


def test_new_objects_get_the_columns_of_the_fitted_ones(tmp_path, people):
    fitted = read(people)
    new = save(tmp_path, "age,city,member,extra\n30,Oslo,true,1\n40,Bonn,false,2\n", "new.csv")
    source = read(new, text="onehot").with_columns(fitted.columns)
    np.testing.assert_array_equal(source.data, [[30, 1, 0, 1], [40, 0, 0, 0]])
    assert "'extra'" in source.notes[-1]
    with pytest.raises(DataError, match=r"lacks the columns 'height'"):
        source.with_columns(["height"])
    with pytest.raises(DataError, match=r"no named columns"):
        Source("graph", np.eye(3)).with_columns(["x"])


def test_text_as_categories_and_gaps_as_they_are(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,city,ok\n1.5,Ulm,yes\n,Bonn,no\n3,,yes\n4,Ulm,\n", encoding="utf-8")
    source = read(path, text="category", impute="none")
    assert source.columns == ("x", "city", "ok")
    assert source.categories == {"city": ("Bonn", "Ulm")}
    nan = np.nan
    expected = [[1.5, 1, 1], [nan, 0, 0], [3, nan, 1], [4, 1, nan]]
    assert np.array_equal(source.data, expected, equal_nan=True)
    assert source.is_mixed
    fewer = source.with_columns(["city", "x"])
    assert fewer.categories == {"city": ("Bonn", "Ulm")}
    assert read(path, text="drop", impute="drop").is_mixed is False


def test_a_source_with_categories_fits_a_model(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "t.csv"
    rows = [f"{rng.normal() + 9 * (i % 2):.3f},{'ab'[i % 2]}" for i in range(60)]
    path.write_text("x,c\n" + "\n".join(rows) + "\n", encoding="utf-8")
    source = read(path, text="category")
    model = SoftClustering(2, metric="gower", random_state=0).fit(source)
    assert model.feature_names_in_.tolist() == ["x", "c"]
    assert np.bincount(model.labels_).tolist() == [30, 30]
    assert model.predict_proba(source).shape == (60, 2)


def test_columns_that_number_the_rows_are_left_out(tmp_path):
    path = tmp_path / "t.csv"
    rows = "\n".join(f"{i % 7},{i + 1},{1000 + 3 * i},{i}" for i in range(40))
    path.write_text(f"x,row,customer_id,z\n{rows}\n", encoding="utf-8")
    source = read(path)
    assert source.columns == ("x",)
    assert any("'row', 'customer_id', 'z': they number" in str(note) for note in source.notes)
    assert read(path, columns=["x", "row"]).columns == ("x", "row")


def test_few_rows_in_order_are_measurements(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"{i},{i % 3}\n" for i in range(10)), encoding="utf-8")
    assert read(path).columns == ("x", "y")


STATES = "murder,state,region\n" + "".join(
    f"{i}.5,{name},{'east' if i % 2 else 'west'}\n"
    for i, name in enumerate(["Alabama", "New York", "Ohio", "Texas", "Utah", "Iowa"])
)


def test_text_that_differs_in_every_row_names_the_objects(tmp_path):
    path = save(tmp_path, STATES)
    source = read(path)
    assert source.columns == ("murder", "region=east", "region=west")
    assert source.ids[1] == "New York"
    assert source.id_name == "state"
    assert "'state' names the objects" in " ".join(map(str, source.notes))
    assert read(path, columns=["murder"]).ids[0] == "Alabama"
    assert read(path, id="murder").ids[0] == "0.5"
    assert read(path, drop=["state"]).ids is None
    assert "state=Ohio" in read(path, text="onehot").columns


def test_names_are_different_short_and_complete(tmp_path):
    repeated = save(tmp_path, STATES.replace("Iowa", "Utah"))
    assert read(repeated).ids is None
    assert read(save(tmp_path, STATES.replace("Iowa", ""))).ids is None
    assert read(save(tmp_path, STATES.replace("Iowa", 101 * "x"))).ids is None
    days = save(tmp_path, "x,day\n" + "".join(f"{i},2020-01-{i:02d}\n" for i in range(1, 9)))
    assert read(days).ids is None


SPORTS = ["the team won the match", "a goal in the last match", "the team lost by a goal at home"]
COOKING = ["boil the rice and the salt", "salt and pepper for the soup", "a soup of rice and leek"]


def documents(tmp_path, *, head="text", row='"{text}, yes"', copies=5):
    texts = [f"{text} of day {i}" for i in range(copies) for text in (*SPORTS, *COOKING)]
    # A comma needs quotes, and shows that blanks do not separate entries.
    lines = [row.format(i=i, text=text) for i, text in enumerate(texts)]
    return save(tmp_path, "\n".join([head, *lines, ""]), "documents.csv")


def test_documents_become_words(tmp_path):
    source = read(documents(tmp_path))
    assert source.data.shape == (30, len(source.columns))
    assert {"team", "goal", "soup"} <= set(source.columns)
    # Words that most documents have tell nothing, nor do single letters and numbers.
    assert not {"the", "of", "day", "a"} & set(source.columns)
    np.testing.assert_allclose(source.data.power(2).sum(axis=1), 1)
    assert "compared by their words" in " ".join(map(str, source.notes))


def test_lines_of_words_may_be_documents(tmp_path):
    lines = [f"{text} of day {i}" for i in range(5) for text in (*SPORTS, *COOKING)]
    path = save(tmp_path, "\n".join(["text", *lines, ""]))
    with pytest.raises(DataError, match=r"If each line is one entry.*sep=\",\""):
        read(path)
    assert "goal" in read(path, sep=",").columns


def test_documents_beside_other_columns_are_words_if_asked_for(tmp_path):
    path = documents(tmp_path, head="year,text,title", row="{i}5,{text},story {i}")
    plain = read(path)
    assert plain.columns == ("year",)
    assert 'pass text="words"' in " ".join(map(str, plain.notes))
    words = read(path, text="words")
    assert "goal" in words.columns
    assert words.ids[3] == "story 3"
    assert "'year': only words" in " ".join(map(str, words.notes))
    with pytest.raises(DataError, match=r"no column holds documents. Columns of text: 'title'"):
        read(path, text="words", drop=["text"], id="year")


def test_documents_without_words_are_left_out(tmp_path):
    path = documents(tmp_path, head="id,text", row="n{i},{text}")
    path.write_text(path.read_text() + "n30,12 34 56 78 90 12\nn31,\n")
    source = read(path)
    assert source.n_objects == 30
    assert source.ids[-1] == "n29"
    assert "Left out 2 documents" in " ".join(map(str, source.notes))


def test_new_documents_get_the_words_and_weights_of_the_model(tmp_path):
    path = documents(tmp_path)
    fitted = read(path)
    model = SoftClustering(2, random_state=17).fit(fitted)
    again = read(path, text=model)
    assert again.columns == fitted.columns
    np.testing.assert_allclose(again.data.toarray(), fitted.data.toarray(), atol=1e-12)
    new = save(tmp_path, 'note\n"salt in the soup, which is good"\n', "new.csv")
    placed = model.predict(read(new, text=model))
    assert placed[0] == model.labels_[4]
    other = save(tmp_path, 'note\n"nichts davon, was hier steht, kommt vor"\n', "other.csv")
    with pytest.raises(DataError, match="none of the words of the model"):
        read(other, text=model)
    numbers = SoftClustering(2, random_state=17).fit(np.random.default_rng(3).normal(size=(30, 2)))
    with pytest.raises(ValueError, match=r"not fitted to the words.*text=\"words\""):
        read(new, text=numbers)
