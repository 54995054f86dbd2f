from __future__ import annotations

import numpy as np
import pytest

from soffit.affinity import (
    AFFINITIES,
    Affinity,
    CallableAffinity,
    Cosine,
    Gaussian,
    Laplacian,
    NeighborGraph,
    Precomputed,
    RelativeDistance,
    Settings,
    make_affinity,
)

CLASSES = {
    "nearest_neighbors": NeighborGraph,
    "relative": RelativeDistance,
    "rbf": Gaussian,
    "laplacian": Laplacian,
    "cosine": Cosine,
    "precomputed": Precomputed,
}


def test_every_name_has_its_class():
    assert AFFINITIES.keys() == CLASSES.keys()


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_names_become_objects_that_fit(name):
    X = np.random.default_rng(3329).normal(size=(30, 2))
    built = make_affinity(name, Settings())
    assert type(built) is CLASSES[name]
    table = np.exp(-abs(X[:, :1] - X[:, 0])) if name == "precomputed" else X
    A = built.fit(table).matrix_
    assert A.shape == (30, 30)
    assert built.cross(table[:4]).shape == (4, 30)


def test_settings_reach_the_object():
    settings = Settings(metric="manhattan", n_neighbors=7, c=0.3, relative_neighbor=4, n_jobs=2)
    graph = make_affinity("nearest_neighbors", settings)
    assert (graph.n_neighbors, graph.metric, graph.n_jobs) == (7, "manhattan", 2)
    relative = make_affinity("relative", settings)
    assert (relative.neighbor, relative.c, relative.metric) == (4, 0.3, "manhattan")
    for name in ("rbf", "laplacian"):
        kernel = make_affinity(name, settings)
        assert (kernel.neighbor, kernel.metric, kernel.n_jobs) == (7, "manhattan", 2)


def test_each_call_makes_a_fresh_object():
    assert make_affinity("rbf", Settings()) is not make_affinity("rbf", Settings())


def test_function_of_two_tables():
    built = make_affinity(lambda X, Y: np.maximum(X @ Y.T, 0), Settings())
    assert isinstance(built, CallableAffinity)
    X = np.array([[1.0, 0.0], [1.0, 1.0]])
    assert built.fit(X).matrix_.tolist() == [[1.0, 1.0], [1.0, 2.0]]


def test_given_object_is_copied_so_that_fitting_leaves_it_alone():
    given = NeighborGraph(3, weights="binary")
    built = make_affinity(given, Settings(n_neighbors=50))
    assert built == given
    assert built is not given
    built.fit(np.arange(9.0)[:, None])
    assert not hasattr(given, "matrix_")


@pytest.mark.parametrize("unknown", ["gaussian", "", 3, None, ["rbf"]])
def test_unknown_affinity_is_named_with_the_choices(unknown):
    with pytest.raises(ValueError, match="affinity=") as caught:
        make_affinity(unknown, Settings())
    assert repr(unknown) in str(caught.value)
    assert all(name in str(caught.value) for name in AFFINITIES)


def test_interface_cannot_be_used_by_itself():
    with pytest.raises(TypeError, match="abstract"):
        Affinity()
