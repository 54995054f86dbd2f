from __future__ import annotations

import numpy as np

from soffit import SoF, SoftClustering
from soffit.results.fit_quality import settings


def test_changed_settings_are_marked():
    found = {s.name: s for s in settings(SoftClustering(8, n_neighbors=20, standardize=True))}
    assert not found["n_clusters"].is_changed
    assert found["n_neighbors"].is_changed
    assert found["n_neighbors"].default == "15"
    assert found["standardize"].value == "True"


def test_values_of_any_kind_have_a_name():
    def my_distance(a, b):
        return 0.0

    seed = np.random.RandomState(3)
    found = {s.name: s for s in settings(SoF(np.int64(8), metric=my_distance, random_state=seed))}
    assert not found["n_clusters"].is_changed
    assert found["metric"].value == "my_distance"
    assert found["random_state"].value == "RandomState object"
