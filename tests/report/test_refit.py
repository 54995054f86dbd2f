"""A report is about the last fit, whatever an earlier one has left on the model."""

from __future__ import annotations

from typing import Any

import pytest

import soffit
from soffit.figures import k_selection


def test_a_number_that_was_specified_is_not_called_chosen(make_page: Any, blobs: Any) -> None:
    X = blobs[0]
    model = soffit.SoF(None, random_state=23).fit(X)
    chosen = model.n_clusters_
    first = make_page(model, X=X)
    assert f"The number of clusters, {chosen}, was chosen" in first.visible()
    assert first.by_id("detail-selection") is not None
    model.set_params(n_clusters=chosen + 1).fit(X)
    page = make_page(model, X=X)
    text = page.visible()
    assert "was chosen" not in text
    assert "chosen from the data" not in text
    assert "as specified" in text
    assert "confidence" not in text
    assert not any(e.attributes.get("id") == "detail-selection" for e in page.elements)
    with pytest.raises(ValueError, match="KChoice or a model fitted with n_clusters=None"):
        k_selection(model)


def test_a_fit_without_resamples_does_not_claim_any(make_page: Any, blobs: Any) -> None:
    X = blobs[0]
    model = soffit.SoftClustering(3, n_resamples=2, random_state=23).fit(X)
    first = make_page(model, X=X).visible()
    assert "The fit was repeated 2 times" in first
    assert "Two fits on subsamples agree" in first
    model.set_params(n_resamples=0).fit(X)
    text = make_page(model, X=X).visible()
    for claim in (
        "was repeated",
        "subsamples",
        "agreement",
        "Stability is",
        "Overlap",
        "instability",
    ):
        assert claim not in text
    assert "Stability under resampling: needs n_resamples=10." in text
