"""Affinities as scikit-learn estimators."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import soffit
from soffit import SoF, SoftClustering
from soffit.affinity import (
    CallableAffinity,
    Cosine,
    Gaussian,
    Laplacian,
    NeighborGraph,
    Precomputed,
    RelativeDistance,
    Settings,
    make_affinity,
    walk_affinity,
)


def products(X, Y):
    return np.abs(X @ Y.T)


ALL = [
    NeighborGraph(5, keep="union"),
    RelativeDistance(c=2.0),
    Gaussian(bandwidth=1.5),
    Laplacian(neighbor=3),
    Cosine(),
    Precomputed(),
    CallableAffinity(products),
]


@pytest.fixture
def X():
    return np.random.default_rng(8243).normal(size=(40, 3))


@pytest.mark.parametrize("affinity", ALL, ids=lambda affinity: type(affinity).__name__)
def test_parameters_come_back_from_clones_and_pickles(affinity):
    copy = clone(affinity)
    assert copy is not affinity
    assert copy.get_params() == affinity.get_params()
    assert copy == affinity
    assert pickle.loads(pickle.dumps(affinity)) == affinity
    assert type(affinity)(**affinity.get_params()) == affinity


def test_affinities_differ_by_class_and_parameters():
    assert NeighborGraph(5) == NeighborGraph(n_neighbors=5)
    assert NeighborGraph(5) != NeighborGraph(6)
    assert Gaussian() != Laplacian()


def test_the_repr_names_what_was_changed():
    assert repr(NeighborGraph(5)) == "NeighborGraph(n_neighbors=5)"
    assert repr(Precomputed()) == "Precomputed()"


def test_a_wrong_parameter_is_refused():
    with pytest.raises(ValueError, match="n_neighbours"):
        NeighborGraph().set_params(n_neighbours=3)


def test_nested_parameters_reach_the_affinity(X):
    model = SoftClustering(2, affinity=NeighborGraph(5), random_state=0)
    assert model.get_params()["affinity__n_neighbors"] == 5
    few = model.fit(X).affinity_matrix_
    many = model.set_params(affinity__n_neighbors=12).fit(X).affinity_matrix_
    assert many.nnz > few.nnz
    assert (many != NeighborGraph(12).fit(X).matrix_).nnz == 0


def test_a_clone_of_a_model_has_an_affinity_of_its_own():
    model = SoF(2, affinity=Gaussian(bandwidth=2.0))
    other = clone(model)
    assert other.affinity == model.affinity
    assert other.affinity is not model.affinity
    other.set_params(affinity__bandwidth=3.0)
    assert model.affinity.bandwidth == 2.0


@pytest.mark.parametrize("affinity", [NeighborGraph(5), Gaussian(), CallableAffinity(products)])
def test_a_model_leaves_the_given_affinity_as_it_was(X, affinity):
    before = set(vars(affinity))
    SoftClustering(2, affinity=affinity, random_state=0).fit(X)
    assert set(vars(affinity)) == before


def test_a_fitted_affinity_is_begun_anew(X):
    fitted = NeighborGraph(5).fit(X)
    made = make_affinity(fitted, Settings())
    assert made == fitted
    assert not hasattr(made, "matrix_")
    assert hasattr(fitted, "matrix_")


def test_the_old_name_of_walk_affinity_warns():
    with pytest.warns(FutureWarning, match="use soffit.affinity.walk_affinity"):
        old = soffit.affinity.random_walk
    assert old is walk_affinity
    assert soffit.memberships.random_walk is not walk_affinity
