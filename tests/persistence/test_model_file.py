"""A loaded model is the saved one: the same bytes, for every estimator and kind of input."""

from __future__ import annotations

import os
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from tests.persistence import fitted as cases
from tests.persistence.fitted import CASES, NEW, SEED, X, answers, assert_same, fitted, parts

import soffit
from soffit.affinity import CallableAffinity, NeighborGraph
from soffit.neighbors.search import ApproximateSearch, SparseSearch
from soffit.persistence.model_file import load, save
from soffit.persistence.schema import FUNCTIONS, LEFT_OUT, MODELS, NAMES, ModelFileError

every_case = pytest.mark.parametrize("case", list(CASES))


@every_case
def test_everything_comes_back(case: str, tmp_path: Path) -> None:
    model = fitted(case)
    before = pickle.dumps(model)
    save(model, tmp_path / "model.soffit")
    assert pickle.dumps(model) == before, "saving changed the model"
    loaded = load(tmp_path / "model.soffit")
    assert_same(model, loaded)
    if CASES[case][1] is not None:
        assert answers(loaded, case).tobytes() == answers(model, case).tobytes()


@every_case
def test_every_class_of_a_model_is_registered(case: str) -> None:
    plain = (type(None), bool, int, float, str, list, tuple, dict, range)
    numeric = (np.ndarray, np.generic, np.dtype, sp.csr_array, np.random.RandomState)
    for path, value in parts(fitted(case), case):
        name = path.rpartition(".")[2]
        if isinstance(value, plain + numeric) or name in LEFT_OUT or value in FUNCTIONS.values():
            continue
        assert type(value) in NAMES, (
            f"{path} is a {type(value).__module__}.{type(value).__name__}, which a model file "
            "cannot hold yet. If it is data, add the class to PARTS in persistence/schema.py and "
            "declare its arrays in the class (_arrays); if not (a lock, a callback), add the "
            "attribute to LEFT_OUT there. Then see persistence/migrations.py whether the format "
            "changes."
        )


def test_every_public_estimator_has_a_case() -> None:
    tried = {type(fitted(case)) for case in CASES}
    assert set(MODELS.values()) == tried
    public = {getattr(soffit, name) for name in soffit.__all__}
    assert {cls for cls in public if hasattr(cls, "get_params")} <= tried


def test_cases_for_many_objects_use_the_search_for_many() -> None:
    for case, kind in (
        ("SoftClustering-approximate", ApproximateSearch),
        ("SoftClustering-approximate-sparse", SparseSearch),
    ):
        assert type(fitted(case)._fitted.placer.affinity._search) is kind


def test_shared_arrays_are_written_once_and_shared_again(tmp_path: Path) -> None:
    loaded = _round_trip(fitted("SoF"), tmp_path)
    assert loaded.affinity_matrix_ is loaded._fitted.placer.affinity.matrix_
    assert loaded.memberships_ is loaded._fitted.attributes["memberships_"]
    n_bytes = loaded.affinity_matrix_.nbytes
    assert os.path.getsize(tmp_path / "model.soffit") < 1.5 * n_bytes
    walked = _round_trip(fitted("RandomWalkClassifier"), tmp_path)
    assert walked.affinity_matrix_ is walked._fitted.placer.affinity.matrix_
    assert walked.affinity_matrix_ is walked._fitted.placer.extension.walk.A


@every_case
def test_no_model_keeps_a_matrix_of_all_pairs_beside_the_affinities(case: str) -> None:
    model = fitted(case)
    n = len(getattr(model, "memberships_", getattr(model, "label_distributions_", ())))
    for path, value in parts(model, case):
        if isinstance(value, np.ndarray | sp.csr_array) and value.shape == (n, n):
            assert value is model.affinity_matrix_, path


@every_case
def test_file_is_about_as_large_as_the_arrays(case: str, tmp_path: Path) -> None:
    model = fitted(case)
    save(model, tmp_path / "model.soffit")
    arrays: dict[int, int] = {}
    for _, value in parts(model, ""):
        if isinstance(value, np.ndarray):
            arrays[id(value)] = value.nbytes
        elif sp.issparse(value):
            for part in (value.data, value.indices, value.indptr):
                arrays[id(part)] = part.nbytes
    # An array's header and its two entries in the zip take some 400 bytes.
    assert os.path.getsize(tmp_path / "model.soffit") < sum(arrays.values()) + 15_000


def test_same_model_gives_the_same_file(tmp_path: Path) -> None:
    model = fitted("SoftClustering-k-chosen")
    save(model, tmp_path / "a.soffit")
    save(load(tmp_path / "a.soffit"), tmp_path / "b.soffit")
    assert (tmp_path / "a.soffit").read_bytes() == (tmp_path / "b.soffit").read_bytes()


def test_loaded_model_is_a_full_citizen(tmp_path: Path) -> None:
    model = fitted("SoftClustering-sides-resamples")
    loaded = _round_trip(model, tmp_path)
    pairs = soffit.suggest_pairs(loaded, 5)
    np.testing.assert_array_equal(pairs, soffit.suggest_pairs(model, 5))
    assert clone(loaded).get_params() == model.get_params()
    assert_same(model, pickle.loads(pickle.dumps(loaded)))
    frame = loaded.set_output(transform="pandas").transform(NEW)
    assert list(frame.columns) == ["softclustering0", "softclustering1", "softclustering2"]
    refitted = clone(loaded).fit(X, **cases.PAIRS)
    assert refitted.memberships_.tobytes() == model.memberships_.tobytes()


def test_output_setting_is_kept(tmp_path: Path) -> None:
    model = clone(fitted("SoftClustering")).set_output(transform="pandas").fit(X)
    assert type(_round_trip(model, tmp_path).transform(NEW)).__name__ == "DataFrame"


def test_relabelling_goes_on_after_loading(tmp_path: Path) -> None:
    model = clone(fitted("RandomWalkClassifier")).fit(X, cases.LABELS)
    loaded = _round_trip(model, tmp_path)
    y = np.where(np.arange(len(X)) % 9 == 0, cases.LABELS, -1)
    ours, theirs = model.relabel(y), loaded.relabel(y)
    assert ours.label_distributions_.tobytes() == theirs.label_distributions_.tobytes()


def test_special_values_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("soffit.persistence.codec.check_declared", lambda *_: None)
    extra_ = {
        "numbers": [float("nan"), float("inf"), -float("inf"), -0.0, 2**80, 0.1],
        "nested": ((), [], {}, None, True),
        "scalars": (np.float32(0.1), np.int8(-3), np.bool_(True), np.str_("é"), np.float64("nan")),
        "arrays": [np.array(3.5), np.zeros((0, 4)), np.array(["a", "bcd"]), np.array([b"x"])],
        "dates": np.array(["2024-02-29"], dtype="datetime64[D]"),
        "text": 'quotes " and \\ and \ud800 and \x00',
        "big end": np.arange(3, dtype=">f8"),
    }
    extra = _round_trip(_with_attributes(extra_=extra_), tmp_path).extra_
    assert extra["big end"].tolist() == [0.0, 1.0, 2.0]
    extra_["big end"] = np.arange(3, dtype="f8")
    loaded = dict(parts(extra, ""))
    for path, value in parts(extra_, ""):
        found = loaded[path]
        assert type(found) is type(value), path
        assert repr(found) == repr(value), path


# --- what cannot be saved -------------------------------------------------------------------------


def _city(a: Any, b: Any) -> float:
    return float(np.abs(a - b).sum())


def _products(a: Any, b: Any) -> Any:
    return np.exp(a @ b.T / 100)


@pytest.mark.filterwarnings("ignore::soffit.exceptions.EmptyClusterWarning")
@pytest.mark.parametrize(
    ("parameters", "named", "remedy"),
    [
        ({"metric": _city}, "metric, the function _city", "metric='precomputed'"),
        ({"affinity": _products}, "affinity, the function _products", "affinity='precomputed'"),
        (
            {"affinity": CallableAffinity(_products)},
            "affinity.function, the function _products",
            "affinity='precomputed'",
        ),
        (
            {"affinity": NeighborGraph(metric=_city)},
            "affinity.metric, the function _city",
            "metric='precomputed'",
        ),
    ],
)
def test_functions_are_refused_by_name(
    parameters: dict[str, Any], named: str, remedy: str, tmp_path: Path
) -> None:
    model = soffit.SoftClustering(3, random_state=SEED, **parameters).fit(X)
    with pytest.raises(ModelFileError, match="never runs code") as error:
        save(model, tmp_path / "model.soffit")
    assert str(error.value).startswith(named)
    assert remedy in str(error.value)
    assert os.listdir(tmp_path) == []


def test_tuple_function_is_refused_by_name(tmp_path: Path) -> None:
    def near(points: Any) -> Any:
        return np.exp(-points.var(axis=(1, 2)))

    model = soffit.HigherOrder(2, tuple_affinity=near, random_state=SEED).fit(X)
    with pytest.raises(ModelFileError, match=r"^tuple_affinity, the function near"):
        save(model, tmp_path / "model.soffit")


def test_odd_names_of_objects_are_refused(tmp_path: Path) -> None:
    names = np.array([frozenset([i]) for i in range(len(X))], dtype=object)
    with pytest.raises(ModelFileError, match=r"^object_names_\[0\], of type builtins.frozenset"):
        save(_with_attributes(object_names_=names), tmp_path / "model.soffit")


@pytest.mark.parametrize("value", [np.array([(1, 2.0)], dtype="i4,f8"), np.longdouble(1), {1: 2}])
def test_odd_values_are_refused(value: Any, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="extra_"):
        save(_with_attributes(extra_=value), tmp_path / "model.soffit")


@pytest.mark.parametrize("name", ["n_clusters", "predict", "_fitted", "extra", "_extra_"])
def test_attributes_that_no_fit_publishes_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=name):
        save(_with_attributes(**{name: 1}), tmp_path / "model.soffit")


def test_attributes_set_after_the_fit_are_left_out(tmp_path: Path) -> None:
    model = clone(fitted("SoftClustering")).fit(X)
    model.extra_ = 1
    model.labels_ = model.labels_[::-1]
    loaded = _round_trip(model, tmp_path)
    assert not hasattr(loaded, "extra_")
    np.testing.assert_array_equal(loaded.labels_, fitted("SoftClustering").labels_)


def test_unfitted_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError, match=r"SoftClustering is not fitted.*Call fit first"):
        save(soffit.SoftClustering(3), tmp_path / "model.soffit")


def test_strangers_are_refused(tmp_path: Path) -> None:
    class Mine(soffit.SoftClustering):
        pass

    for stranger in (object(), {"a": 1}, Mine(3).fit(X)):
        with pytest.raises(TypeError, match=f"one of .* got {type(stranger).__name__}"):
            save(stranger, tmp_path / "model.soffit")


# --- the file ---------------------------------------------------------------------------------


def test_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.soffit"
    save(fitted("SoF"), path)
    old = path.read_bytes()

    def fail(*_: Any, **__: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("soffit.persistence.archive.np.lib.format.write_array", fail)
    with pytest.raises(OSError, match="no space"):
        save(fitted("SoftClustering"), path)
    assert path.read_bytes() == old
    assert os.listdir(tmp_path) == ["model.soffit"]


def test_saving_replaces_a_file_and_follows_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.soffit").write_text("old")
    (tmp_path / "link.soffit").symlink_to("real.soffit")
    save(fitted("SoF"), str(tmp_path / "link.soffit"))
    assert (tmp_path / "link.soffit").is_symlink()
    assert_same(load(str(tmp_path / "real.soffit")), fitted("SoF"))
    assert sorted(os.listdir(tmp_path)) == ["link.soffit", "real.soffit"]


def test_folders_and_missing_files_say_so(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match="Give the name of a file"):
        save(fitted("SoF"), tmp_path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing.soffit")


def _with_attributes(**attributes: Any) -> Any:
    """A model whose fit has published these attributes, too."""
    model = clone(fitted("SoftClustering"))
    known = fitted("SoftClustering")._fitted
    model._fitted = replace(known, attributes={**known.attributes, **attributes})
    for name, value in model._fitted.attributes.items():
        if name not in model.get_params() and name not in ("_fitted", "predict"):
            setattr(model, name, value)
    return model


def _round_trip(model: Any, folder: Path) -> Any:
    save(model, folder / "model.soffit")
    return load(folder / "model.soffit")
