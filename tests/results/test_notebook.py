"""The summary of a model in a notebook."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import soffit
from soffit.affinity import NeighborGraph
from soffit.datasets import Sample
from soffit.results.fit_quality import agreement_sentence
from soffit.results.notebook import summary_html
from soffit.results.sentences import uncertainty
from soffit.results.summary import Summary

SEED = 6421
LARGEST = 20_000


class _Page(HTMLParser):
    """Tags in balance, text, and everything that would act or be loaded."""

    void = frozenset({"br", "hr", "img", "input", "meta", "link"})

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.texts: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.texts).split())


def _checked(model: Any) -> _Page:
    html = summary_html(model)
    assert len(html.encode()) < LARGEST
    page = _Page(html)
    assert set(page.tags) <= {
        "style",
        "div",
        "b",
        "span",
        "code",
        *("table", "thead", "tbody", "tr", "th", "td"),
    }
    assert {name for name, _ in page.attributes} <= {"class", "style"}
    assert "url(" not in html
    assert "http" not in html
    return page


def test_unfitted_model_shows_its_parameters() -> None:
    page = _checked(soffit.SoftClustering(3, metric="cosine"))
    assert "SoftClustering not fitted" in page.text
    assert "n_clusters=3" in page.text
    assert "metric='cosine'" in page.text
    assert "resamples" not in page.text
    assert "all parameters at their defaults" in _checked(soffit.SoF()).text


def test_fitted_model_shows_its_clusters(blobs: Sample) -> None:
    model = soffit.SoftClustering(3, n_resamples=2, random_state=SEED).fit(blobs.X)
    page = _checked(model)
    assert "SoftClustering 180 objects in 3 clusters" in page.text
    iterations = f"{model.n_iter_} iteration" + "s" * (model.n_iter_ != 1)
    assert f"Converged after {iterations}." in page.text
    assert uncertainty(Summary.of(model)) in page.text
    assert agreement_sentence(model.agreement_) in page.text
    cells = _cells(model)
    assert cells[0] == ["cluster", "size", "certainty", "stability"]
    sizes = np.bincount(model.labels_, minlength=3)
    top = model.memberships_.max(axis=1)
    for c in range(3):
        mean = top[model.labels_ == c].mean()
        stability = model.cluster_stability_[c]
        assert cells[c + 1] == [str(c), str(sizes[c]), f"{mean:.2f}", f"{stability:.2f}"]


def test_bars_are_as_long_as_the_sizes() -> None:
    model = soffit.SoF(2)
    model.memberships_ = np.array([[1.0, 0.0], [0.8, 0.2], [1.0, 0.0], [0.0, 1.0]])
    widths = [int(w) for w in re.findall(r"width:(\d+)%\"", summary_html(model))]
    assert widths == [100, 93, 33, 100]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_unconverged_model_says_so(blobs: Sample) -> None:
    model = soffit.SoF(3, max_iter=1, random_state=SEED).fit(blobs.X)
    assert "Not converged after 1 iteration: it reached max_iter=1." in _checked(model).text
    model.set_params(max_time=2.0).stop_reason_ = "max_time"
    assert "Not converged after 1 iteration: it reached max_time=2 s." in _checked(model).text


def test_chosen_number_of_clusters_is_told(blobs: Sample) -> None:
    model = soffit.SpectralClustering(None, random_state=SEED).fit(blobs.X)
    assert "The number of clusters, 3, was chosen among 1 to 20: confidence" in _checked(model).text
    assert "chosen" not in _checked(clone(model).set_params(n_clusters=3).fit(blobs.X)).text


def test_every_model_has_a_summary(blobs: Sample) -> None:
    y = np.where(np.arange(180) % 7 == 0, blobs.labels, -1)
    for model in (
        soffit.BaumEagon(3),
        soffit.CompletelyPositive(3),
        soffit.HigherOrder(3, n_tuples=2000),
        soffit.RelationFactorization(3),
        soffit.SoftHierarchy(3),
        soffit.RandomWalkClassifier(),
    ):
        model.set_params(random_state=SEED).fit(blobs.X, y)
        page = _checked(model)
        what = "classes" if hasattr(model, "classes_") else "clusters"
        assert f"{type(model).__name__} 180 objects in 3 {what}" in page.text


def test_many_clusters_are_cut_off() -> None:
    rng = np.random.default_rng(SEED)
    model = soffit.SoftClustering(3000, n_resamples=2, metric="<'&\">" * 40)
    model.memberships_ = rng.dirichlet(np.full(3000, 0.01), size=4000)
    model.cluster_stability_, model.agreement_ = rng.random(3000), 0.5
    model.converged_, model.n_iter_ = True, 10**9
    page = _checked(model)
    rows = _cells(model)[1:]
    assert len(rows) == 20
    sizes = [float(row[1].replace(",", "")) for row in rows]
    assert sizes == sorted(sizes, reverse=True)
    rest = 4000 - int(sum(sizes))
    assert f"The 20 largest. 2,980 more clusters hold {rest:,} objects." in page.text


def test_empty_cluster_and_single_object() -> None:
    model = soffit.SoF(2)
    model.memberships_ = np.array([[1.0, 0.0]])
    text = _checked(model).text
    assert "SoF 1 object in 2 clusters" in text
    assert "empty" in text


def test_everything_of_the_user_is_escaped(blobs: Sample) -> None:
    evil = "<script>alert(1)</script>"
    y = np.full(180, -1, dtype=object)
    y[:60:20], y[61:120:20] = evil, "b&c"
    model = soffit.RandomWalkClassifier(metric="euclidean").fit(blobs.X, y)
    page = _checked(model)
    assert evil in page.text
    assert "b&c" in page.text
    model = soffit.SoftClustering(3, affinity=NeighborGraph(metric=evil))
    assert "<script" not in summary_html(model)


# --- the estimators' own display ------------------------------------------------------------------


def test_display_is_the_summary_unless_text_is_wanted(blobs: Sample) -> None:
    model = soffit.SoftClustering(3, random_state=SEED)
    for state in (model, model.fit(blobs.X)):
        bundle = state._repr_mimebundle_()
        assert bundle == {"text/plain": repr(state), "text/html": summary_html(state)}
        assert state._repr_html_() == summary_html(state)
        with config_context(display="text"):
            assert state._repr_mimebundle_() == {"text/plain": repr(state)}
            assert not hasattr(state, "_repr_html_")


def test_pipelines_keep_their_diagram(blobs: Sample) -> None:
    pipeline = make_pipeline(StandardScaler(), soffit.SoftClustering(3, random_state=SEED)).fit(
        blobs.X
    )
    html = pipeline._repr_html_()
    assert "sk-container" in html
    assert "SoftClustering" in html
    assert "soffit-summary" not in html


def _cells(model: Any) -> list[list[str]]:
    rows = re.findall(r"<tr>(.*?)</tr>", summary_html(model))
    return [
        ["".join(_Page(cell).texts) for cell in re.findall(r"<t[dh]>(.*?)</t[dh]>", row)]
        for row in rows
    ]
