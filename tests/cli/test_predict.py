"""`soffit predict`: new objects, with their columns in any order."""

from __future__ import annotations

import numpy as np
import pytest
from tests.cli.csv_files import rows_of, write_csv


@pytest.fixture
def model(soffit, flowers, tmp_path):
    path = tmp_path / "model.soffit"
    soffit("fit", flowers, "-k", 3, "--id", "flower", "--drop", "species", "--save", path)
    return path


def test_the_fitted_objects_are_placed_as_they_were(soffit, answer, model, flowers, tmp_path):
    out = tmp_path / "new.csv"
    found = answer("predict", model, flowers, "--id", "flower", "-o", out)
    assert (found["n_objects"], found["n_clusters"]) == (150, 3)
    rows = rows_of(out)
    assert rows[7]["flower"] == "F007"
    assert sum(float(rows[7][f"p{c}"]) for c in range(3)) == pytest.approx(1, abs=1e-5)
    text = soffit("predict", model, flowers, "--label", "species").stdout
    assert "150 new objects among 3 clusters of SoftClustering" in text
    assert "accuracy 0." in text


def test_columns_may_come_in_any_order_with_others_between(answer, model, flowers, tmp_path):
    rows = rows_of(flowers)
    names = ["petal_width", "remark", "petal_length", "sepal_width", "sepal_length"]
    shuffled = tmp_path / "shuffled.csv"
    write_csv(shuffled, names, [[row.get(name, "") for name in names] for row in rows])
    found = answer("predict", model, shuffled)
    assert found["clusters"] == answer("predict", model, flowers)["clusters"]


def test_a_missing_column_is_named(soffit, model, tmp_path):
    path = tmp_path / "short.csv"
    write_csv(path, ["sepal_length", "sepal_width"], [[5.1, 3.5], [4.9, 3.0]])
    text = soffit("predict", model, path, code=1).output
    assert "petal_length" in text


def test_missing_values_follow_the_same_rule_as_in_fit(soffit, answer, model, flowers, tmp_path):
    path = tmp_path / "gaps.csv"
    text = flowers.read_text(encoding="utf-8").replace("5.1,3.5,1.4,0.2", "5.1,,1.4,0.2")
    path.write_text(text, encoding="utf-8")
    assert "--impute" in soffit("predict", model, path, code=1).output
    assert answer("predict", model, path, "--impute", "median")["n_objects"] == 150


def test_text_columns_are_encoded_as_in_the_fit(soffit, answer, tmp_path):
    rng = np.random.default_rng(331)
    path, new, model = tmp_path / "old.csv", tmp_path / "new.csv", tmp_path / "m.soffit"
    colours = ["red", "green", "blue"]
    rows = [[f"{rng.normal(8 * (i % 2)):.3f}", colours[i % 3]] for i in range(60)]
    write_csv(path, ["size", "colour"], rows)
    soffit("fit", path, "-k", 2, "--text", "onehot", "--save", model)
    write_csv(new, ["colour", "size"], [["red", 8.1], ["pink", 0.2], ["red", 7.9]])
    found = answer("predict", model, new)
    assert found["n_objects"] == 3
    assert any("pink" in note for note in found["notes"])


def test_a_broken_model_is_bad_data(soffit, model, flowers):
    model.write_bytes(model.read_bytes()[:500])
    text = soffit("predict", model, flowers, code=1).output
    assert "cannot be loaded" in text


def test_something_else_is_no_model(soffit, flowers):
    assert "model" in soffit("predict", flowers, flowers, code=1).output


def test_a_model_of_distances_takes_a_block(soffit, answer, tmp_path):
    rng = np.random.default_rng(557)
    points = np.concatenate([rng.normal(0, 1, (20, 2)), rng.normal(9, 1, (20, 2))])
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    whole, block, model = (tmp_path / name for name in ("d.csv", "b.csv", "m.soffit"))
    np.savetxt(whole, distances, delimiter=",", fmt="%.17g")
    np.savetxt(block, distances[:5], delimiter=",", fmt="%.17g")
    soffit("fit", whole, "--kind", "distances", "-k", 2, "--save", model)
    assert answer("predict", model, block)["n_objects"] == 5
    np.savetxt(block, distances[:5, :30], delimiter=",", fmt="%.17g")
    assert "40 columns" in soffit("predict", model, block, code=1).output


def test_new_documents_are_placed_by_the_words_of_the_model(soffit, answer, tmp_path):
    sports = ["the team won the match", "a goal in the last match", "the team lost by a goal"]
    cooking = ["boil the rice and the salt", "salt and pepper for the soup", "a soup of rice"]
    texts = [f"{text}, on day {i}" for i in range(6) for text in (*sports, *cooking)]
    old, new, model = tmp_path / "old.csv", tmp_path / "new.csv", tmp_path / "m.soffit"
    write_csv(old, ["text"], [[text] for text in texts])
    assert answer("fit", old, "-k", 2, "--save", model)["columns"][0].isalpha()
    write_csv(new, ["note", "text"], [["x", texts[0]], ["y", "pepper and salt for the last soup"]])
    out = tmp_path / "placed.csv"
    answer("predict", model, new, "-o", out)
    first, second = rows_of(out)
    assert (first["note"], first["cluster"] != second["cluster"]) == ("x", True)
    numbers = tmp_path / "numbers.csv"
    write_csv(numbers, ["x", "y"], [[1, 2], [2, 3]])
    text = soffit("predict", model, numbers, code=1).output
    assert "no column holds documents, which the model was fitted to" in text
    text = soffit("fit", old, "--method", "higher-order", code=1).output
    assert "cannot read sparse tables" in text
