from __future__ import annotations

import numpy as np

from soffit import RandomWalkClassifier, SoftClustering
from soffit.io import Source, read
from soffit.report.method import placeholders, python_lines, seed_sentence, versions
from soffit.results.summary import Summary


def test_the_python_lines_run(blobs, fitted, tmp_path):
    X = blobs[0]
    namespace = {"X": X}
    exec(python_lines(Summary.of(fitted, X)), namespace)
    np.testing.assert_array_equal(namespace["model"].memberships_, fitted.memberships_)
    path = tmp_path / "points.csv"
    np.savetxt(path, X, delimiter=",", header="u,v", comments="")
    source = Source("table", X, ("u", "v"), path=str(path))
    exec(python_lines(Summary.of(fitted, source=source)), namespace)
    np.testing.assert_allclose(namespace["model"].memberships_, fitted.memberships_)


def test_reading_is_repeated_with_its_options(blobs, tmp_path):
    path = tmp_path / "points.csv"
    rows = [f"p{i};{x:.3f};{y:.3f};{'ab'[i % 2]}" for i, (x, y) in enumerate(blobs[0])]
    rows[7] = "p7;;1.0;a"
    path.write_text("who;u;v;kind\n" + "\n".join(rows))
    source = read(path, id="who", drop=["kind"], impute="median")
    model = SoftClustering(3, random_state=23).fit(source.data)
    lines = python_lines(Summary.of(model, source=source))
    assert "drop=['kind'], id='who', impute='median')" in lines
    namespace = {}
    exec(lines, namespace)
    np.testing.assert_array_equal(namespace["model"].memberships_, model.memberships_)


def test_pairs_and_labels_are_explained(blobs):
    X, labels = blobs
    model = SoftClustering(3, random_state=23, verbose=0, n_jobs=1).fit(X, must_link=[(0, 1)])
    lines = python_lines(Summary.of(model))
    assert lines.endswith("model.fit(X, must_link=must_link)")
    assert "n_jobs" not in lines
    found = placeholders(Summary.of(model))
    assert (
        found
        == "X stands for the data that were clustered, must_link for the pairs that were given."
    )
    y = np.where(np.arange(90) < 30, labels, -1)
    assert "y for the labels" in placeholders(Summary.of(RandomWalkClassifier().fit(X, y)))


def test_seeds(fitted, blobs):
    assert "The seed is 23" in seed_sentence(Summary.of(fitted))
    model = SoftClustering(3).fit(blobs[0])
    assert "No seed was set" in seed_sentence(Summary.of(model))
    model.random_state = np.random.RandomState(5)
    assert "RandomState object, whose state is not stored" in seed_sentence(Summary.of(model))


def test_versions_name_the_libraries():
    names = [name for name, _ in versions()]
    assert names[0] == "soffit"
    assert {"numpy", "scipy", "scikit-learn"} <= set(names)
