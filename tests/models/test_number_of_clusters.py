"""`n_clusters=None`: every model finds the number of clusters by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from soffit import HigherOrder, SoftClustering, SoftHierarchy
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
