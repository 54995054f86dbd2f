from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

from soffit import SoftClustering
from soffit.figures.style import _luminance, colour, on_dark
from soffit.io import Result, Source
from soffit.report import write_report
from soffit.report.html import json_block, paragraph


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
    assert hashes == [sha256(own[0].text)]
    assert policy(page).startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy(page)
    assert "script-src 'unsafe-inline'" not in policy(page)


def test_options_are_not_broken_at_the_end_of_a_line():
    words = paragraph(
        'List it in --columns, or <a title="--id">fit</a> with -k 2: two-sided &lt;--id'
    )
    assert '<span class="option">--columns</span>' in words
    assert '<span class="option">-k</span> 2' in words
    assert 'title="--id"' in words
    assert "two-sided" in words


def test_nothing_is_loaded_from_anywhere(make_page, fitted, blobs):
    page = make_page(fitted, X=blobs[0])
    for element in page.elements:
        assert element.attributes.get("src", "data:").startswith("data:")
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
    # The object, five about its clusters, certainty, entropy, label and two columns of the data.
    assert len(sortable) == 11


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
    assert {e.name for e in page.elements}.isdisjoint({"b", "iframe", "object", "embed"})
    assert not any(name.startswith("on") for e in page.elements for name in e.attributes)
    assert all(e.attributes["src"].startswith("data:image/png;") for e in page.all("img"))
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
    columns = [(column["title"], values_of(page, column)) for column in spec["columns"][1:]]
    assert spec["n"] == len(G)
    assert spec["columns"][0]["kind"] == "number"
    titles = ["Cluster", "Certainty", "Entropy", "Second", "Share", "Third", "Share"]
    assert [title for title, _ in columns] == titles
    values = [found for _, found in columns]
    np.testing.assert_array_equal(values[0], ranked[:, 0])
    np.testing.assert_allclose(values[1] / 1e4, G.max(axis=1), atol=5.1e-5)
    np.testing.assert_allclose(values[2] / 1e4, fitted.entropy_, atol=5.1e-5)
    np.testing.assert_array_equal(values[3], ranked[:, 1])
    np.testing.assert_allclose(values[6] / 1e4, np.sort(G, axis=1)[:, 0], atol=5.1e-5)


def values_of(page, column):
    return np.frombuffer(unpacked(page, column["payload"]), dtype=column["type"])


def test_the_users_columns_are_exact_where_a_few_decimals_are_enough(make_page):
    rng = np.random.default_rng(91)
    exact = np.round(rng.normal(20.0, 5.0, size=60), 2)
    single = np.round(rng.normal(size=60), 1).astype(np.float32)
    table = np.column_stack([exact, rng.normal(size=60) * 1e-7, single, np.arange(60) - 10.0])
    G = np.repeat([[0.9, 0.1], [0.2, 0.8]], 30, axis=0)
    names = ["price", "tiny", "single", "whole"]
    page = make_page(Result.from_memberships(G), X=table, columns=names)
    found = {c["title"]: c for c in json.loads(page.by_id("objects-spec").text)["columns"]}

    def read(name):
        column = found[name]
        return (values_of(page, column).astype(float) + column["offset"]) / 10 ** column["decimals"]

    np.testing.assert_allclose(read("price"), exact, rtol=1e-14)
    assert found["price"]["decimals"] == 2
    np.testing.assert_array_equal(read("whole"), table[:, 3])
    np.testing.assert_allclose(read("tiny"), table[:, 1], atol=1e-4 * np.ptp(table[:, 1]))
    assert found["price"]["typical"] == [f"{m:.1f}" for m in means_of(exact, G)]


def means_of(values, G):
    return [np.average(values, weights=column) for column in G.T]


def test_text_columns_and_gaps_are_shown_as_they_are(make_page):
    frame = pd.DataFrame(
        {
            "colour": ["red", "blue", None, "red"] * 15,
            "size": [1.5, None, 3.5, 2.0] * 15,
        }
    )
    model = SoftClustering(2, metric="gower", random_state=23).fit(frame)
    page = make_page(model, X=frame)
    found = {c["title"]: c for c in json.loads(page.by_id("objects-spec").text)["columns"]}
    colour, size = found["colour"], found["size"]
    assert [colour["names"][code] for code in values_of(page, colour)[:4]] == [
        "red",
        "blue",
        "",
        "red",
    ]
    assert values_of(page, size)[1] == size["missing"]
    assert "colour = red" in page.visible()
    assert "2 columns: colour and size" in page.visible()


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
    assert "Typical: f" in first
    assert "60 objects fall into 2 clusters: low petal length (30) and high petal length (30)" in (
        page.visible()
    )
    assert "They differ most in petal length." in page.visible()
    between = page.by_id("between").text
    assert "1 object does not clearly belong to one cluster." in between
    assert "f17" in between
    assert "51 % cluster 0, 49 % cluster 1." in between


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
    assert page.by_id("figure-calibration") is not None


def test_the_heat_map_has_the_means_and_their_colours(make_page, fitted, blobs):
    page = make_page(fitted, X=blobs[0], columns=["east", "north"])
    cells = [e for e in page.all("td") if "heatcell" in e.attributes.get("class", "")]
    assert len(cells) == 6
    overall, spread = blobs[0].mean(axis=0), blobs[0].std(axis=0)
    for cell in cells:
        name, cluster, mean = re.match(
            r"(\w+) in cluster (\d): ([\d.\u2212]+),", cell.attributes["title"]
        ).groups()
        j = ["east", "north"].index(name)
        expected = np.average(blobs[0][:, j], weights=fitted.memberships_[:, int(cluster)])
        assert float(mean.replace("\u2212", "-")) == pytest.approx(expected, abs=0.1)
        level = (expected - overall[j]) / spread[j]
        strength = int(cell.attributes["style"].removeprefix("--d:"))
        assert strength == pytest.approx(100 * np.clip(level / 2, -1, 1), abs=1)


def test_nothing_unusual_is_said_only_of_what_was_checked(make_page, fitted, blobs):
    text = make_page(fitted, X=blobs[0]).by_id("account").text
    assert "Nothing unusual was found in convergence" in text
    assert "far outliers" in text
    assert "Stability under resampling: needs n_resamples=10." in text
    assert "the number of clusters" in text
    assert "it was specified" not in text
    alone = make_page(Result.of(fitted)).by_id("account").text
    assert "Convergence: it is not recorded how the result was computed." in alone
    assert "Far outliers: no table was given." in alone


def test_a_report_of_a_command_names_options(make_page, fitted, blobs):
    page = make_page(fitted, X=blobs[0], command="soffit fit blobs.csv -k 3")
    text = page.by_id("account").text
    assert "Stability under resampling: needs --resamples 10." in text
    assert "n_resamples=10" not in text


def test_long_names_can_be_broken(make_page, fitted, blobs):
    names = ["total_phenols_of_diluted_wine", "<b>" + "x" * 30]
    page = make_page(fitted, X=blobs[0], columns=names)
    assert "total_<wbr>phenols_<wbr>of_" in page.content
    assert "&lt;b&gt;x" in page.content
    assert names[1] in page.by_id("columns").text


def test_objects_with_the_same_values_are_shown_once(make_page):
    X = np.repeat([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]], 10, axis=0)
    G = np.repeat([[0.95, 0.05], [0.05, 0.95], [0.55, 0.45]], 10, axis=0)
    page = make_page(Result.from_memberships(G), X=X, columns=["a", "b"])
    assert page.by_id("between").text.count("Object ") == 1
    assert "10 objects do not clearly belong" in page.by_id("between").text


def test_colours_are_the_same_everywhere_for_many_clusters(make_page):
    G = np.repeat(np.eye(25) * 0.9 + 0.1 / 25, 4, axis=0)
    page = make_page(Result.from_memberships(G))
    style = page.all("style")[0].text
    light, dark = re.findall(r":root\{((?:--c\d+:#[0-9a-f]{6};)+)\}", style)
    for shades in (light, dark):
        assert len(set(re.findall(r"#\w+", shades))) == 25
    assert all(f".c{number}{{background:var(--c{number})}}" in style for number in range(25))


def test_colours_can_be_told_from_a_dark_background():
    assert on_dark("#ffa90e") == "#ffa90e"
    assert on_dark("#bd1f01") != "#bd1f01"
    assert all(_luminance(on_dark(colour(number))) > 0.144 for number in range(30))


def test_pixels_are_shown_as_pictures(make_page):
    digits = load_digits()
    X = digits.data[:300]
    model = SoftClustering(5, random_state=23).fit(X)
    page = make_page(model, X=X, columns=digits.feature_names)
    cards = [e for e in page.all("img") if e.attributes["alt"].startswith("Mean picture of")]
    assert len(cards) == 5
    assert "pixel_" not in page.by_id("clusters").text
    assert "picture" in [
        column["kind"] for column in json.loads(page.by_id("objects-spec").text)["columns"]
    ]


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
