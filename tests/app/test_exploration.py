"""`soffit.explore`: the page in a notebook."""

from __future__ import annotations

import base64
import json
import shutil
import time
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

import soffit
from soffit import SoF, SoftClustering, explore
from soffit.app.exploration import answered, explored, make_widget
from soffit.app.view import View
from soffit.app.worker import Worker
from soffit.datasets import make_gaussians
from soffit.session.session import Question

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


@pytest.fixture(scope="module")
def data() -> Any:
    X, labels, _ = make_gaussians(120, n_clusters=3, separation=4.0, random_state=7)
    frame = pd.DataFrame(X, columns=["east", "north"], index=[f"p{i}" for i in range(120)])
    return frame, SoftClustering(3, random_state=7).fit(frame), labels


def test_a_model_is_steered_and_the_given_one_stays(data):
    frame, model, _ = data
    before = model.memberships_.copy()
    shown = explore(model, frame)
    assert "120 objects" in repr(shown)
    view = shown._view
    view.do("answer", {"a": 0, "b": 1, "answer": "together"})
    view.do("answer", {"a": 0, "b": 5, "answer": "apart"})
    assert shown.must_link == [[0, 1]]
    assert shown.cannot_link == [[0, 5]]
    again = SoftClustering(3, random_state=7).fit(frame, must_link=[[0, 1]], cannot_link=[[0, 5]])
    np.testing.assert_array_equal(shown.model.memberships_, again.memberships_)
    np.testing.assert_array_equal(model.memberships_, before)
    assert shown.undo()
    assert shown.cannot_link == []
    view.worker.stop()


def test_pairs_edits_and_names_of_the_model_are_kept(data):
    frame, _, _ = data
    model = SoftClustering(3, random_state=7).fit(frame, must_link=[["p0", "p1"]])
    edited = model.merge([0, 1]).rename({0: "both"})
    session = explored(edited, frame)
    assert session.table.ids[:2] == ["p0", "p1"]
    assert session.state.together == ((0, 1),)
    assert not session.is_stale
    session.answer(0, 5, "apart")
    assert session.refit().summary.names[0] in ("both", "0")
    assert session.outcome.model.n_clusters_ == 2


@pytest.mark.parametrize("kind", ["array", "graph", "distances", "mixed"])
def test_any_data_of_a_model(kind):
    X = load_iris().data[::3]
    options: dict[str, Any] = {}
    if kind == "graph":
        import networkx as nx

        X = nx.karate_club_graph()
    elif kind == "distances":
        X = np.linalg.norm(X[:, None] - X[None], axis=2)
        options = {"metric": "precomputed"}
    elif kind == "mixed":
        X = pd.DataFrame({"size": X[:, 0], "kind": np.where(X[:, 2] > 3, "long", "short")})
        options = {"metric": "gower"}
    model = SoftClustering(2, random_state=0, **options).fit(X)
    session = explored(model, X)
    view = View(session, Worker(session), None, "data")
    state = view.get("state", {})
    json.dumps(state, allow_nan=False)
    points = np.frombuffer(view.get("array", {"name": "points"}), dtype="<f4")
    assert len(points) == 2 * len(model.memberships_)
    session.answer(0, 1, "together")
    session.refit()
    assert view.get("rows", {})["total"] == len(model.memberships_)
    assert "SoftClustering" in view.get("repeat", {})["python"]


def test_mistakes_are_explained(data):
    frame, model, _ = data
    with pytest.raises(NotFittedError):
        explore(SoftClustering(2), frame)
    with pytest.raises(ValueError, match="takes no pairs"):
        explore(SoF(2, random_state=0).fit(frame), frame)
    with pytest.raises(ValueError, match="119 objects"):
        explore(model, frame[1:])


def test_without_anywidget_it_says_how_to_get_it(data, monkeypatch):
    frame, model, _ = data
    monkeypatch.setitem(__import__("sys").modules, "anywidget", None)
    with pytest.raises(soffit.io.DataError, match=r"soffit\[notebook\]"):
        explore(model, frame)


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the path")
def test_the_widget_in_a_browser(data):
    """The script of the widget, with messages handed on as a notebook does."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    frame, model, _ = data
    session = explored(model, frame)
    worker = Worker(session).start()
    view = View(session, worker, None, "SoftClustering")

    def hand_on(text: str) -> str:
        reply, attached = answered(view, json.loads(text))
        packed = [base64.b64encode(part).decode() for part in attached]
        return json.dumps({"reply": reply, "buffers": packed})

    with sync_api.sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-dev-shm-usage", "--enable-unsafe-swiftshader"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        page = browser.new_page(viewport={"width": 1200, "height": 800})
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.expose_function("handOn", hand_on)
        page.set_content("<div id=cell></div>")
        page.add_style_tag(content=make_widget()._css)
        page.evaluate(
            """async (script) => {
              const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
              const widget = (await import(url)).default;
              const listeners = [];
              window.tell = (news) => listeners.forEach((hear) => hear({ news }, []));
              const codes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
              const bytes = (text) => new DataView(codes(text).buffer);
              widget.render({
                el: document.getElementById("cell"),
                model: {
                  on: (name, hear) => listeners.push(hear),
                  off: () => {},
                  send: async (message) => {
                    const text = await window.handOn(JSON.stringify(message));
                    const { reply, buffers } = JSON.parse(text);
                    listeners.forEach((hear) => hear(reply, buffers.map(bytes)));
                  },
                },
              });
            }""",
            make_widget()._esm,
        )
        page.wait_for_selector(".soffit-app[data-ready]")
        page.click("[data-do=together]")
        for _ in range(100):
            if not worker.is_busy:
                break
            time.sleep(0.05)
        page.evaluate("window.tell({ busy: false })")
        page.wait_for_selector(".status >> text=1 answer")
        assert len(session.state.together) == 1
        assert complaints == []
        browser.close()
    worker.stop()


def test_a_graph_is_shown_with_its_links_names_and_attributes():
    nx = pytest.importorskip("networkx")
    graph = nx.karate_club_graph()
    session = explored(SoftClustering(2, random_state=0).fit(graph), graph)
    view = View(session, Worker(session), None, "data")
    links = np.frombuffer(view.get("array", {"name": "links"}), "<u4").reshape(-1, 2)
    assert {tuple(pair) for pair in links.tolist()} == {tuple(sorted(e)) for e in graph.edges}
    state = view.get("state", {})
    assert state["map"]["names"][:3] == ["0", "1", "2"]
    assert any("club" in str(cluster) for cluster in state["clusters"])
    assert [column.name for column in session.table.columns] == ["club"]


def test_clusters_of_pixels_are_shown_as_mean_pictures():
    X = np.zeros((40, 16))
    X[:20, :8] = X[20:, 8:] = 1.0
    X += 0.01 * np.random.default_rng(7).normal(size=X.shape)
    frame = pd.DataFrame(X, columns=[f"pixel_{i}_{j}" for i in range(4) for j in range(4)])
    session = explored(SoftClustering(2, random_state=0).fit(frame), frame)
    view = View(session, Worker(session), None, "data")
    pictures = np.array([cluster["picture"] for cluster in view.get("state", {})["clusters"]])
    assert pictures.shape == (2, 16)
    np.testing.assert_allclose(pictures.sum(axis=0), 1.0, atol=0.1)
    assert view._asked(Question(0, 30, 3.0, 0.5))["columns"] == []
