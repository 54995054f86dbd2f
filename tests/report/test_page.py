from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from itertools import pairwise

import numpy as np
import pytest

from soffit import SoftClustering
from soffit.io import Result, Source
from soffit.report import write_report
from soffit.report.html import json_block


def unpacked(page, identifier):
    return gzip.decompress(base64.b64decode(page.by_id(identifier).text))


def policy(page):
    meta = next(e for e in page.all("meta") if "http-equiv" in e.attributes)
    return meta.attributes["content"]


def sha256(text):
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_policy_allows_exactly_the_scripts_of_the_page(make_page, fitted, blobs):
    page = make_page(fitted, X=blobs[0])
    own = [e for e in page.all("script") if "type" not in e.attributes]
    assert len(own) == 1
    hashes = re.findall(r"'sha256-([^']+)'", policy(page))
    assert hashes == [sha256(own[0].text), sha256(unpacked(page, "plotly").decode())]
    assert policy(page).startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy(page)
    assert "script-src 'unsafe-inline'" not in policy(page)


def test_nothing_is_loaded_from_anywhere(make_page, fitted, blobs):
    page = make_page(fitted, X=blobs[0])
    for element in page.elements:
        assert "src" not in element.attributes
        assert element.attributes.get("href", "#").startswith("#")
        assert not any(name.startswith("on") for name in element.attributes)


def test_structure_is_accessible(make_page, fitted, blobs):
    page = make_page(fitted, X=blobs[0], truth=blobs[1])
    levels = [int(e.name[1]) for e in page.elements if re.fullmatch(r"h[1-6]", e.name)]
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert all(e.attributes.get("lang") == "en" for e in page.all("html"))
    assert len(page.all("caption")) == len(page.all("table"))
    identifiers = [e.attributes["id"] for e in page.elements if "id" in e.attributes]
    assert len(identifiers) == len(set(identifiers))
    targets = {e.attributes["href"][1:] for e in page.all("a")}
    targets |= {e.attributes["aria-labelledby"] for e in page.all("section")}
    assert targets <= set(identifiers)
    sortable = [e for e in page.all("th") if e.attributes.get("aria-sort") == "none"]
    assert len(sortable) == 9


def test_names_from_the_data_are_only_text(make_page, blobs, hostile_names):
    X = blobs[0]
    ids = [hostile_names[i % 6] + f" {i}" for i in range(90)]
    truth = [hostile_names[i % 6] for i in range(90)]
    model = SoftClustering(3, random_state=23).fit(X)
    source = Source(
        "table",
        X,
        columns=hostile_names[:2],
        ids=np.array(ids),
        id_name=hostile_names[2],
        truth=np.array(truth),
        notes=(hostile_names[3],),
        path=f"/{hostile_names[0]}.csv",
    )
    page = make_page(model, source=source, command=hostile_names[4], title=hostile_names[5])
    kinds = [e.attributes.get("type") for e in page.all("script")]
    assert kinds.count(None) == 1
    assert set(kinds) == {None, "text/plain", "application/json"}
    assert {e.name for e in page.elements}.isdisjoint({"img", "svg", "b", "iframe", "object"})
    assert page.all("h1")[0].text == hostile_names[5]
    assert hostile_names[0] in page.visible()
    assert json.loads(unpacked(page, "objects-column-0")) == ids


def test_control_characters_and_broken_text_do_no_harm(make_page, fitted):
    ids = [f"a\x00b\x1b[31m\ud800{i}" for i in range(90)]
    page = make_page(fitted, ids=ids, title="null \x00 and \ud800")
    assert "\x00" not in page.content
    shown = [f"a\ufffdb\ufffd[31m\ufffd{i}" for i in range(90)]
    assert json.loads(unpacked(page, "objects-column-0")) == shown


def test_json_cannot_leave_its_element():
    value = ["</script>", "<!--", "]]>", "&amp;"]
    block = json_block("x", value)
    inside = block.removeprefix('<script type="application/json" id="x">').removesuffix("</script>")
    assert not set("<>&") & set(inside)
    assert json.loads(inside) == value


def test_table_holds_all_objects_exactly(make_page, fitted):
    page = make_page(fitted)
    spec = json.loads(page.by_id("objects-spec").text)
    G = fitted.memberships_
    ranked = np.argsort(-G, axis=1, kind="stable")
    columns = {}
    for number, column in enumerate(spec["columns"][1:], start=1):
        columns[number] = np.frombuffer(unpacked(page, column["payload"]), dtype=column["type"])
    assert spec["n"] == len(G)
    assert spec["columns"][0]["kind"] == "number"
    np.testing.assert_array_equal(columns[1], ranked[:, 0])
    np.testing.assert_allclose(columns[2] / 1e4, G.max(axis=1), atol=5.1e-5)
    np.testing.assert_allclose(columns[3] / 1e4, fitted.entropy_, atol=5.1e-5)
    np.testing.assert_array_equal(columns[4], ranked[:, 1])
    np.testing.assert_allclose(columns[7] / 1e4, np.sort(G, axis=1)[:, 0], atol=5.1e-5)


def test_clusters_are_described_by_columns_and_members(make_page, blobs):
    X = np.column_stack([np.repeat([1.0, 5.0], 30), np.tile([0.0, 1.0], 30)])
    X[:, 0] += np.random.default_rng(91).normal(scale=0.3, size=60)
    G = np.repeat([[0.97, 0.03], [0.04, 0.96]], 30, axis=0)
    G[17] = [0.51, 0.49]
    page = make_page(
        Result.from_memberships(G),
        X=X,
        columns=["petal length", "odd"],
        ids=[f"f{i}" for i in range(60)],
    )
    first = page.all("article")[0].text
    assert "petal length is low (mean 1." in first
    assert "odd" not in first
    assert "f17 (51 % here, 49 % cluster 1)" in first
    assert "every member has a membership of 0.96 or more" in page.all("article")[1].text
    assert "60 objects fall into 2 clusters of 30 and 30" in page.visible()


def test_the_same_input_gives_the_same_bytes(tmp_path, fitted, blobs):
    for name in ("a.html", "b.html"):
        write_report(tmp_path / name, fitted, X=blobs[0], truth=blobs[1])
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_labels_are_compared_where_they_are_known(make_page, fitted, blobs):
    truth = [str(label) if i > 3 else None for i, label in enumerate(blobs[1])]
    page = make_page(fitted, truth=truth)
    text = page.by_id("labels").text
    assert "Four objects have no label and do not count here." in text
    assert "Adjusted Rand index" in text
    assert page.by_id("figure-confusion") is not None


def test_a_figure_that_fails_is_explained(make_page, fitted, monkeypatch):
    def fail(*args, **options):
        raise ValueError("no <b>room</b>")

    monkeypatch.setattr("soffit.figures.objective", fail)
    text = make_page(fitted).by_id("warnings").text
    assert "“Objective by iteration” could not be drawn: no <b>room</b>" in text


def test_arguments_are_not_changed(tmp_path, fitted, blobs):
    X, before = blobs[0], blobs[0].copy()
    state = {name: value for name, value in vars(fitted).items()}
    write_report(tmp_path / "a.html", fitted, X=X)
    np.testing.assert_array_equal(X, before)
    assert all(vars(fitted)[name] is value for name, value in state.items())


def test_a_bad_argument_leaves_no_file(tmp_path, fitted):
    with pytest.raises(ValueError, match="ids has 1 entries"):
        write_report(tmp_path / "a.html", fitted, ids=["only one"])
    assert list(tmp_path.iterdir()) == []
