"""`n_clusters=None`: every model finds the number of clusters by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from soffit import (
    BaumEagon,
    CompletelyPositive,
    HigherOrder,
    SoF,
    SoftClustering,
    SoftHierarchy,
    SpectralClustering,
)
from soffit.datasets import Sample, make_gaussians, make_lines
from soffit.selection import choose_k_of_graph

Make = Callable[..., Any]


def test_every_model_finds_three_clear_clusters(make: Make, blobs: Sample) -> None:
    model = make(None, random_state=3).fit(blobs.X)
    assert model.n_clusters_ == 3
    assert model.n_clusters is None
    assert model.memberships_.shape == (180, 3)
    assert model.predict_proba(blobs.X[:4]).shape == (4, 3)


def test_the_hierarchy_ends_with_them(blobs: Sample) -> None:
    assert SoftHierarchy(random_state=3).fit(blobs.X).n_clusters_ == 3


def test_lines_are_counted() -> None:
    X = make_lines(300, random_state=5).X
    assert HigherOrder(None, random_state=3).fit(X).n_clusters_ == 3


def test_one_blob_is_one_cluster() -> None:
    X = np.random.default_rng(59).normal(size=(300, 3))
    model = SoftClustering(None, random_state=3).fit(X)
    assert model.n_clusters_ == 1
    assert np.array_equal(model.memberships_, np.ones((300, 1)))


def test_the_choice_is_kept_and_is_that_of_the_graph(blobs: Sample) -> None:
    model = SoftClustering(None, random_state=3).fit(blobs.X)
    chosen = choose_k_of_graph(model.affinity_matrix_)
    assert model.k_choice_.n_clusters == chosen.n_clusters == 3


def test_resamples_keep_the_number() -> None:
    X = make_gaussians(200, separation=8.0, random_state=31).X
    model = SoftClustering(None, n_resamples=3, random_state=3).fit(X)
    assert model.n_clusters_ == 3
    assert model.cluster_stability_.shape == (3,)


PAIR_MODELS = (SoftClustering, SoF, BaumEagon, CompletelyPositive, SpectralClustering)


@pytest.mark.parametrize("model", PAIR_MODELS)
def test_the_range_ends_at_the_largest_number_allowed(model: Make, blobs: Sample) -> None:
    found = model(None, max_clusters=2, random_state=3).fit(blobs.X)
    assert found.n_clusters_ <= 2
    assert found.k_choice_.ks.tolist() == [1, 2]


@pytest.mark.parametrize("model", PAIR_MODELS)
def test_a_wrong_largest_number_is_named(model: Make, blobs: Sample) -> None:
    with pytest.raises(ValueError, match="max_clusters"):
        model(None, max_clusters=0).fit(blobs.X)


@pytest.mark.parametrize("model", PAIR_MODELS)
def test_kernels_do_not_hide_that_there_is_one_cluster(model: Make) -> None:
    # A kernel of all distances has valleys anywhere; the choice is made on a neighbour graph.
    X = np.random.default_rng(2).normal(size=(200, 2))
    assert model(None, random_state=3).fit(X).n_clusters_ == 1
