"""Files of all format versions, made by hand, load for good: a change of layout breaks these."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from tests.persistence import handmade

import soffit
from soffit.persistence import model_file as _model_file
from soffit.persistence.migrations import FORMAT_VERSION, MIGRATIONS
from soffit.persistence.model_file import load
from soffit.persistence.schema import ModelFileError

# Two pairs of objects that are like each other.
A = np.array([[0, 2, 0, 0.5], [2, 0, 0.5, 0], [0, 0.5, 0, 2], [0.5, 0, 2, 0]])
W = np.array([[0.9, 0.1], [0.8, 0.2], [0.2, 0.8], [0.1, 0.9]])


def sof_document() -> tuple[dict[str, Any], handmade.Members]:
    """SoF fitted to given similarities."""
    return handmade.document(
        [A, W, np.ones(2), np.array([3.0, 2.0]), np.array([0, 0, 1, 1]), np.full(4, 0.3)],
        **{
            "class": "SoF",
            "parameters": {"n_clusters": 2, "affinity": "precomputed", "random_state": 7},
            "objects": [
                {"class": "Precomputed", "state": {"matrix_": {"array": 0}}},
                {
                    "class": "FittedRows",
                    "state": {
                        "rows": {"array": 1},
                        "scale": {"array": 2},
                        "mean_degree": None,
                        "memberships": {"array": 1},
                    },
                },
                {
                    "class": "Normalized",
                    "state": {"matrix": {"array": 0}, "factors": None, "beta": None},
                },
            ],
            "state": {
                "n_features_in_": 4,
                "n_clusters_": 2,
                "_affinity": {"object": 0},
                "_extension": {"object": 1},
                "_normalized": {"object": 2},
                "affinity_matrix_": {"array": 0},
                "factor_": {"array": 1},
                "scale_": {"array": 2},
                "objective_": 2.0,
                "objective_history_": {"array": 3},
                "n_iter_": 1,
                "converged_": {"scalar": ["bool", True]},
                "object_names_": {
                    "objects": {
                        "shape": [4],
                        "items": ["a", 7, {"tuple": [1, 2]}, {"float": "inf"}],
                    }
                },
                "side_information_": None,
                "memberships_": {"array": 1},
                "labels_": {"array": 4},
                "entropy_": {"array": 5},
            },
        },
    )


def soft_clustering_document() -> tuple[dict[str, Any], handmade.Members]:
    """SoftClustering fitted to four points, with a neighbour graph, a walk and a mixture."""
    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 5.0], [1.0, 5.0]])
    graph = sp.csr_array(np.where(A > 1, A, 0))
    neighbors = np.array([[1], [0], [3], [2]])
    arrays = [
        graph.data,
        graph.indices,
        graph.indptr,
        points,
        neighbors,
        np.ones(4),
        W,
        np.ones(2),
        np.array([0, 0, 1, 1]),
        np.eye(2),
        np.zeros(2),
        np.array([0, 1]),
        np.log([0.5, 0.5]),
        np.array([[0.5, 0.0], [0.5, 5.0]]),
        np.stack([np.eye(2)] * 2),
        np.empty((0, 2), dtype=np.int64),
        np.array([[0, 1]]),
    ]
    csr = {
        "shape": [4, 4],
        **{n: {"array": i} for i, n in enumerate(("data", "indices", "indptr"))},
    }
    walk = {"memberships": {"array": 6}, "seen": {"array": 6}, "steps": 1}
    graph_state = {
        "n_neighbors": 1,
        "metric": "euclidean",
        "keep": "union",
        "weights": "binary",
        "connect": False,
        "n_jobs": None,
        "_members": {"array": 4},
        "_radius": {"array": 5},
        "_local_scale": {"array": 5},
        "_search": {"object": 1},
        "matrix_": {"object": 0},
        "recall_": 1.0,
    }
    search = {"X": {"array": 3}, "metric": "euclidean", "n_jobs": None, "recall": 1.0}
    rows = {
        "rows": {"array": 6},
        "scale": {"array": 7},
        "mean_degree": 2.0,
        "memberships": {"array": 6},
    }
    mixture = {
        "projection": {"object": 6},
        "owner": {"array": 11},
        "log_weights": {"array": 12},
        "means": {"array": 13},
        "whitening": {"array": 14},
        "n_clusters": 2,
        "trust": 1.0,
    }
    side = {"must": {"array": 16}, "cannot": {"array": 15}, "n_objects": 4}
    return handmade.document(
        arrays,
        **{
            "class": "SoftClustering",
            "parameters": {"n_clusters": 2, "n_neighbors": 1},
            "objects": [
                {"csr": csr},
                {"class": "ExactSearch", "state": search},
                {"class": "FittedRows", "state": rows},
                {
                    "class": "DegreeNormalized",
                    "state": {"matrix": {"object": 0}, "factors": {"array": 5}, "beta": None},
                },
                {"class": "Walk", "state": walk},
                {"class": "Standardizer", "state": {"center": None, "spread": None}},
                {
                    "class": "Projection",
                    "state": {"center": {"array": 10}, "directions": {"array": 9}},
                },
                {"class": "SeededMixture", "state": mixture},
                {"class": "SideInformation", "state": side},
                {"class": "NeighborGraph", "state": graph_state},
            ],
            "state": {
                "n_features_in_": 2,
                "n_clusters_": 2,
                "n_steps_": 1,
                "_affinity": {"object": 9},
                "_extension": {"object": 2},
                "_normalized": {"object": 3},
                "_walk": {"object": 4},
                "_standardizer": {"object": 5},
                "_mixture": {"object": 7},
                "_features": None,
                "_side": {"object": 8},
                "affinity_matrix_": {"object": 0},
                "factor_": {"array": 6},
                "scale_": {"array": 7},
                "objective_": 0.5,
                "objective_history_": {"array": 7},
                "n_iter_": 2,
                "converged_": True,
                "object_names_": None,
                "side_information_": {"object": 8},
                "memberships_": {"array": 6},
                "labels_": {"array": 8},
                "entropy_": {"array": 5},
            },
        },
    )


def test_version_1_of_given_similarities_loads(tmp_path: Path) -> None:
    model = _load(*sof_document(), tmp_path)
    assert isinstance(model, soffit.SoF)
    assert model.get_params()["n_neighbors"] == soffit.SoF().n_neighbors, "the default"
    assert model.object_names_.tolist() == ["a", 7, (1, 2), float("inf")]
    assert model.affinity_matrix_ is model._fitted.placer.affinity.matrix_
    # The row that fits the similarities to the first two objects is at a corner of the simplex.
    np.testing.assert_array_equal(model.predict_proba([[1, 1, 0, 0]]), [[1, 0]])
    assert soffit.suggest_pairs(model, 1).shape == (1, 2)


def test_version_1_of_points_loads(tmp_path: Path) -> None:
    model = _load(*soft_clustering_document(), tmp_path)
    placed = model.predict_proba([[0.4, 0.1], [0.6, 4.9]])
    np.testing.assert_allclose(placed.sum(axis=1), 1)
    np.testing.assert_array_equal(placed.argmax(axis=1), [0, 1])
    assert model.side_information_.n_pairs == 1
    assert soffit.suggest_pairs(model, 1).shape == (1, 2)


def version_2_document() -> tuple[dict[str, Any], handmade.Members]:
    """SoF fitted to given similarities, as a fitted value."""
    document, members = handmade.document(
        [
            A,
            W,
            np.ones(2),
            np.array([3.0, 2.0]),
            np.array([0, 0, 1, 1]),
            np.full(4, 0.3),
            W.mean(axis=0),
            np.empty((0, 0)),
        ],
        **{
            "class": "SoF",
            "parameters": {"n_clusters": 2, "affinity": "precomputed", "random_state": 7},
            "objects": [
                {"class": "Precomputed", "state": {"matrix_": {"array": 0}}},
                {"class": "Normalized", "state": {"matrix": {"array": 7}}},
                {
                    "class": "FittedRows",
                    "state": {
                        "rows": {"array": 1},
                        "scale": {"array": 2},
                        "mean_degree": None,
                        "prior": {"array": 6},
                    },
                },
                {"class": "Unchanged", "state": {}},
                {"class": "Part", "state": {"diagonal": "kept"}},
                {
                    "class": "SimilarityPlacer",
                    "state": {
                        "affinity": {"object": 0},
                        "normalization": {"object": 1},
                        "extension": {"object": 2},
                        "smoothing": {"object": 3},
                        "part": {"object": 4},
                    },
                },
                {"class": "Standardizer", "state": {"center": None, "spread": None}},
            ],
            "attributes": {
                "n_features_in_": 4,
                "n_clusters_": 2,
                "affinity_matrix_": {"array": 0},
                "factor_": {"array": 1},
                "scale_": {"array": 2},
                "objective_": 2.0,
                "objective_history_": {"array": 3},
                "n_iter_": 1,
                "stop_reason_": "converged",
                "converged_": True,
                "object_names_": None,
                "side_information_": None,
                "memberships_": {"array": 1},
                "labels_": {"array": 4},
                "entropy_": {"array": 5},
            },
            "fitted": {
                "preparation": {"object": 6},
                "placer": {"object": 5},
                "stopped": "converged",
                "n_iter": 1,
            },
            "output": "pandas",
        },
    )
    return {**document, "version": 2}, members


def test_version_2_loads(tmp_path: Path) -> None:
    model = _load(*version_2_document(), tmp_path)
    old = _load(*sof_document(), tmp_path)
    np.testing.assert_array_equal(model.predict_proba(A), old.predict_proba(A))
    assert type(model.transform(A)).__name__ == "DataFrame"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"output": "json"}, "output 'json'"),
        ({"fitted": {"preparation": None, "placer": None}}, "Fitted has no preparation"),
        ({"fitted": {"preparation": {"object": 6}, "placer": None}}, "not hold its length n"),
        ({"fitted": {"preparation": {"object": 6}, "placer": {"object": 0}}}, "cannot do 'place'"),
        ({"fitted": {"preparation": {"object": 6}, "placer": {"object": 5}, "x": 1}}, "damaged"),
    ],
)
def test_version_2_with_another_fitted_value_is_refused(
    change: dict[str, Any], told: str, tmp_path: Path
) -> None:
    document, members = version_2_document()
    with pytest.raises(ModelFileError, match=told):
        _load({**document, **change}, members, tmp_path)


def test_there_is_a_way_from_every_older_version() -> None:
    assert sorted(MIGRATIONS) == list(range(1, FORMAT_VERSION))


def test_older_versions_are_migrated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def to_3(document: dict[str, Any], arrays: list[Any]) -> tuple[dict[str, Any], list[Any]]:
        parameters = {**document["parameters"], "c": 2.5}
        return {**document, "parameters": parameters}, arrays

    def to_4(document: dict[str, Any], arrays: list[Any]) -> tuple[dict[str, Any], list[Any]]:
        parameters = {**document["parameters"], "max_iter": int(2 * document["parameters"]["c"])}
        return {**document, "parameters": parameters}, arrays

    monkeypatch.setattr(_model_file, "FORMAT_VERSION", 4)
    monkeypatch.setattr(_model_file, "MIGRATIONS", {**MIGRATIONS, 2: to_3, 3: to_4})
    model = _load(*sof_document(), tmp_path)
    assert (model.c, model.max_iter) == (2.5, 5)


def test_newer_versions_ask_for_an_upgrade(tmp_path: Path) -> None:
    # Even where nothing else is as it is now.
    document = {"format": "soffit model", "version": 9, "soffit": "3.1.4", "new": {"layout": 1}}
    with pytest.raises(ModelFileError) as error:
        _load(document, {"tables/x.bin": b"?"}, tmp_path)
    assert "was written by soffit 3.1.4 with format 9, this version (" in str(error.value)
    assert str(error.value).endswith(f") reads up to {FORMAT_VERSION}: upgrade soffit.")


def test_fields_that_came_later_have_their_defaults(tmp_path: Path) -> None:
    document, members = soft_clustering_document()
    graph = document["objects"][-1]["state"]
    del graph["connect"], document["objects"][3]["state"]["beta"]
    model = _load(document, members, tmp_path)
    assert model._fitted.placer.affinity.connect is True
    assert model._fitted.placer.normalization.beta is None
    del document["objects"][2]["state"]["scale"]
    with pytest.raises(ModelFileError, match="FittedRows lacks its field scale"):
        _load(document, members, tmp_path)


def test_what_only_a_newer_soffit_knows_is_named_with_its_version(tmp_path: Path) -> None:
    document, members = sof_document()
    document["soffit"] = "99.0"
    document["parameters"]["warp"] = 9
    with pytest.raises(ModelFileError, match=r"no parameter 'warp' .* written by soffit 99.0"):
        _load(document, members, tmp_path)


def _load(document: dict[str, Any], members: handmade.Members, folder: Path) -> Any:
    path = folder / "handmade.soffit"
    text = json.dumps(document).encode()
    handmade.write(path, handmade.signed({"model.json": text, **members}))
    return load(path)
