"""Foreign, damaged and malicious model files: a clear error, or the very same model."""

from __future__ import annotations

import dataclasses
import io
import json
import pickle
import typing
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator
from tests.persistence import handmade
from tests.persistence.fitted import answers, assert_same, fitted

from soffit import _memory
from soffit.persistence.model_file import load, save
from soffit.persistence.schema import NAMES, PARTS, ModelFileError

CASE = "SoftClustering-sides-resamples"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "model.soffit"
    save(fitted(CASE), path)
    return path


# --- damage ---------------------------------------------------------------------------------------


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_bytes_never_give_another_model(data: st.DataObject, saved: Path) -> None:
    content = bytearray(saved.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] ^= data.draw(st.integers(1, 255))
    _same_or_refused(bytes(content), saved)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_directory_never_gives_another_model(data: st.DataObject, saved: Path) -> None:
    content = bytearray(saved.read_bytes())
    directory = content.index(b"PK\x01\x02")
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(directory, len(content) - 1))
        content[place] = data.draw(st.integers(0, 255))
    _same_or_refused(bytes(content), saved)


@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_cut_or_lengthened_files_never_give_another_model(data: st.DataObject, saved: Path) -> None:
    content = saved.read_bytes()
    kept = content[: data.draw(st.integers(0, len(content)))]
    _same_or_refused(kept + data.draw(st.binary(max_size=30)), saved)


@given(st.binary(max_size=200))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_noise_is_refused(saved: Path, content: bytes) -> None:
    for beginning in (b"", b"PK\x03\x04"):
        with pytest.raises(ModelFileError):
            _load_bytes(beginning + content, saved)


def _same_or_refused(content: bytes, saved: Path) -> None:
    try:
        loaded = _load_bytes(content, saved)
    except ModelFileError:
        return
    assert_same(fitted(CASE), loaded)


def _load_bytes(content: bytes, beside: Path) -> Any:
    path = beside.with_name("damaged.soffit")
    path.write_bytes(content)
    return load(path)


# --- foreign files --------------------------------------------------------------------------------


def _npz() -> bytes:
    stream = io.BytesIO()
    np.savez(stream, a=np.ones(3))
    return stream.getvalue()


class _Bomb:
    def __reduce__(self) -> Any:
        return (pytest.fail, ("a pickle was opened",))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "it is empty"),
        (b"a,b\n1,2\n", "not a soffit model"),
        (pickle.dumps(_Bomb()), "soffit never opens pickles"),
        (_npz(), "zip file without a model.json"),
        (b"PK\x05\x06" + bytes(18), "not a soffit model"),
    ],
)
def test_foreign_files_are_told_by_their_kind(content: bytes, told: str, tmp_path: Path) -> None:
    path = tmp_path / "foreign.soffit"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=told) as error:
        load(path)
    assert str(path) in str(error.value)


def test_json_of_another_program_is_refused(tmp_path: Path) -> None:
    for text in (b"{}", b"[]", b"1", b"{", b'{"format": "soffit model", "version": true}', b"\xff"):
        handmade.write(tmp_path / "other.soffit", handmade.signed({"model.json": text}))
        with pytest.raises(ModelFileError):
            load(tmp_path / "other.soffit")


# --- changed with or without new checksums ------------------------------------------------------


def test_changed_members_are_found_by_their_checksums(saved: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(saved) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for name in ("model.json", "arrays/0.npy", "manifest.json"):
        changed = dict(members)
        text = members[name]
        changed[name] = text.replace(b"0", b"1") if name.endswith("json") else text[:-1] + b"\x7f"
        handmade.write(tmp_path / "changed.soffit", changed)
        with pytest.raises(ModelFileError, match="changed"):
            load(tmp_path / "changed.soffit")
    for name in ("arrays/0.npy", "manifest.json"):
        handmade.write(tmp_path / "changed.soffit", {k: v for k, v in members.items() if k != name})
        with pytest.raises(ModelFileError, match=name):
            load(tmp_path / "changed.soffit")


def _set_path(*path: Any, to: Any) -> Callable[[dict[str, Any], handmade.Members], None]:
    def change(document: dict[str, Any], members: handmade.Members) -> None:
        place = document
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = to

    return change


Change = Callable[[dict[str, Any], handmade.Members], None]


def _rewrite(
    document: dict[str, Any], members: handmade.Members, reference: Any, by: Callable[[Any], Any]
) -> None:
    """Change an array, and what the document says about it."""
    number = reference["array"]
    name = f"arrays/{number}.npy"
    array = np.asarray(by(np.load(io.BytesIO(members[name]))))
    members[name] = handmade.npy(array)
    document["arrays"][number] = {"dtype": array.dtype.str, "shape": list(array.shape)}


def _replace_array(attribute: str, by: Callable[[Any], Any]) -> Change:
    """Change an array that the model publishes."""
    return lambda document, members: _rewrite(
        document, members, document["attributes"][attribute], by
    )


def _sparse_part(part: str, by: Callable[[Any], Any]) -> Change:
    def change(document: dict[str, Any], members: handmade.Members) -> None:
        matrix = next(entry["csr"] for entry in document["objects"] if "csr" in entry)
        _rewrite(document, members, matrix[part], by)

    return change


def _state(document: dict[str, Any], name: str) -> dict[str, Any]:
    """What the file says about the first object of a class."""
    found: dict[str, Any] = next(e for e in document["objects"] if e.get("class") == name)["state"]
    return found


def _part_array(name: str, field: str, by: Callable[[Any], Any], item: int | None = None) -> Change:
    """Change an array of a part of the model; a copy of its own where several share it."""

    def change(document: dict[str, Any], members: handmade.Members) -> None:
        state = _state(document, name)
        place: Any = state if item is None else state[field]["tuple"]
        key: Any = field if item is None else item
        number, new = place[key]["array"], len(document["arrays"])
        members[f"arrays/{new}.npy"] = members[f"arrays/{number}.npy"]
        document["arrays"].append(dict(document["arrays"][number]))
        place[key] = {"array": new}
        _rewrite(document, members, place[key], by)

    return change


def _huge_header(document: dict[str, Any], members: handmade.Members) -> None:
    stream = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": (10**9, 10**9)}
    np.lib.format.write_array_header_1_0(stream, header)
    members["arrays/0.npy"] = stream.getvalue() + bytes(80)
    document["arrays"][0] = {"dtype": "<f8", "shape": [10**9, 10**9]}


def _pickled_array(document: dict[str, Any], members: handmade.Members) -> None:
    stream = io.BytesIO()
    np.save(stream, np.array([_Bomb()], dtype=object), allow_pickle=True)
    members["arrays/0.npy"] = stream.getvalue()
    document["arrays"][0] = {"dtype": "|O", "shape": [1]}


def _sparse_parameter(document: dict[str, Any], members: handmade.Members) -> None:
    number = next(i for i, entry in enumerate(document["objects"]) if "csr" in entry)
    document["parameters"]["affinity"] = {"object": number}


def _part_parameter(document: dict[str, Any], members: handmade.Members) -> None:
    classes = [entry.get("class") for entry in document["objects"]]
    document["parameters"]["affinity"] = {"object": classes.index("Walk")}


def _lose_array(document: dict[str, Any], members: handmade.Members) -> None:
    del members["arrays/0.npy"]


FORGERIES: dict[str, tuple[Change, str]] = {
    "unknown model": (_set_path("class", to="Popen"), "no model of this version"),
    "part as model": (_set_path("class", to="Walk"), "no model of this version"),
    "unknown class": (
        _set_path("objects", 0, to={"class": "os.system", "state": {}}),
        "does not read",
    ),
    "unknown kind": (_set_path("attributes", "n_iter_", to={"eval": "1"}), "unknown kind 'eval'"),
    "unknown object": (_set_path("objects", 0, to={"module": "os"}), "unknown kind 'module'"),
    "unknown function": (
        _set_path("attributes", "n_iter_", to={"function": "print"}),
        "none of soffit's",
    ),
    "unknown scalar": (
        _set_path("attributes", "n_iter_", to={"scalar": ["object", 1]}),
        "type 'object'",
    ),
    "wrong scalar": (_set_path("attributes", "n_iter_", to={"scalar": ["int8", 999]}), "damaged"),
    "wrong float": (_set_path("attributes", "objective_", to={"float": "1e9"}), "no number"),
    "missing array": (_set_path("attributes", "labels_", to={"array": 10**6}), "refers to array"),
    "negative array": (_set_path("attributes", "labels_", to={"array": -1}), "refers to array"),
    "circle": (_set_path("attributes", "labels_", to={"object": 10**6}), "refers to object"),
    "hidden method": (_set_path("attributes", "predict", to=1), "cannot have an attribute"),
    "hidden class": (_set_path("attributes", "__class__", to="x"), "cannot have an attribute"),
    "no identifier": (_set_path("attributes", "a b", to="x"), "cannot have an attribute"),
    "unknown attribute": (_set_path("attributes", "extra_", to=9), "cannot have an attribute"),
    "negative membership": (_replace_array("memberships_", lambda a: a - 0.5), "nonnegative"),
    "rows beyond one": (_replace_array("memberships_", lambda a: 2 * a), "must sum to 1"),
    "parameter twice": (_set_path("attributes", "n_clusters", to=9), "cannot have an attribute"),
    "unknown parameter": (_set_path("parameters", "shell", to=True), "no parameter 'shell'"),
    "wrong parameter": (_set_path("parameters", "n_clusters", to=-3), "n_clusters must be"),
    "text for array": (
        _set_path("attributes", "labels_", to="0"),
        "labels_ of SoftClustering must be",
    ),
    "no memberships": (_set_path("attributes", "memberships_", to=None), "has no memberships_"),
    "flag for number": (_set_path("attributes", "n_iter_", to=True), "n_iter_ .* single natural"),
    "wrong length": (
        _replace_array("entropy_", lambda a: a[:-1]),
        r"entropy_ .* has shape \(89,\), which should be \(90\)",
    ),
    "wrong width": (_replace_array("factor_", lambda a: a[:, :2]), "factor_ .* has shape"),
    "wrong rank": (_replace_array("factor_", lambda a: a[0, 0]), "factor_ .* has shape"),
    "wrong dtype": (_replace_array("factor_", lambda a: a.astype("f2")), "be a nonnegative array"),
    "wrong kind": (_replace_array("labels_", lambda a: a * 1.0), "must be a int array"),
    "label too large": (_replace_array("labels_", lambda a: a + 1), "from 0 to 2"),
    "label negative": (_replace_array("labels_", lambda a: a - 1), "from 0 to 2"),
    "text in array": (_replace_array("factor_", lambda a: a.astype("U")), "be a nonnegative array"),
    "records": (
        _replace_array("factor_", lambda a: np.zeros(3, dtype="i4,f8")),
        "neither numbers nor text",
    ),
    "index too large": (_sparse_part("indices", lambda a: a + 90), "do not fit together"),
    "index negative": (_sparse_part("indices", lambda a: a - 1), "do not fit together"),
    "index fractional": (_sparse_part("indices", lambda a: a * 1.0), "do not fit together"),
    "pointers fall": (_sparse_part("indptr", lambda a: a[::-1]), "do not fit together"),
    "pointers too long": (_sparse_part("indptr", lambda a: a * 2), "do not fit together"),
    "pointers too few": (_sparse_part("indptr", lambda a: a[:-1]), "do not fit together"),
    "data too short": (_sparse_part("data", lambda a: a[:-1]), "do not fit together"),
    "huge header": (_huge_header, "not the length"),
    "pickled array": (_pickled_array, "neither numbers nor text"),
    "absolute path": (lambda d, m: m.update({"/etc/passwd": b"x"}), "'/etc/passwd', which no"),
    "parent path": (lambda d, m: m.update({"arrays/../../x.npy": b"x"}), "which no model"),
    "code": (lambda d, m: m.update({"__init__.py": b"raise SystemExit"}), "'__init__.py'"),
    "spare array": (lambda d, m: m.update({"arrays/9999.npy": b"x"}), "different arrays"),
    "lost array": (_lose_array, "different arrays"),
    "private attribute": (_set_path("attributes", "_fitted", to=1), "cannot have an attribute"),
    "no fitted attribute": (_set_path("attributes", "extra", to=1), "cannot have an attribute"),
    "unknown output": (_set_path("output", to={"dict": {}}), "the output .* is none of"),
    "sparse matrix as parameter": (_sparse_parameter, "affinity cannot be a csr_array"),
    "part as parameter": (_part_parameter, "affinity cannot be a Walk"),
    "long range": (
        _set_path("parameters", "n_neighbors", to={"range": [10**9, 0, -1]}),
        "longer than any parameter",
    ),
}


@pytest.mark.parametrize("forgery", list(FORGERIES))
def test_forged_files_with_right_checksums(forgery: str, saved: Path, tmp_path: Path) -> None:
    change, told = FORGERIES[forgery]
    handmade.forge(saved, tmp_path / "forged.soffit", change)
    with pytest.raises(ModelFileError, match=told):
        load(tmp_path / "forged.soffit")


def _index_array(field: str, by: Callable[[Any], Any], item: int | None = None) -> Change:
    """Change an array of the neighbour index, which compiled loops follow without looking."""
    return _part_array("NeighborIndex", field, by, item)


def _search_dtype(document: dict[str, Any], members: handmade.Members) -> None:
    _state(document, "ApproximateSearch")["dtype"] = {"dtype": "object"}


INDEX_FORGERIES: dict[str, tuple[Change, str]] = {
    "neighbour too large": (_index_array("members", lambda a: a + 90), "from -1 to 89"),
    "neighbour too small": (_index_array("members", lambda a: a - 2), "from -1 to 89"),
    "too few lists": (_index_array("members", lambda a: a[:-1]), "has shape"),
    "order too large": (_index_array("order", lambda a: a + 1), "from 0 to 89"),
    "order fractional": (_index_array("order", lambda a: a * 1.0), "must be a int array"),
    "leaf too large": (_index_array("tree", lambda a: a + 1, 2), "from 0 to 90"),
    "too few leaves": (_index_array("tree", lambda a: a[:-1], 2), "has shape"),
    "too many planes": (
        _index_array("tree", lambda a: np.vstack([a, a, a]), 0),
        r"tree\.[01] of NeighborIndex has shape|tree\.2 .* has shape",
    ),
    "planes too narrow": (_index_array("tree", lambda a: a[:, 1:], 0), "has shape"),
    "points too narrow": (_index_array("points", lambda a: a[:, :3]), "has shape"),
    "shift too short": (_index_array("shift", lambda a: a[:1]), "has shape"),
    "no such type": (_search_dtype, "'object' is no type"),
}


@pytest.fixture(scope="module")
def saved_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("index") / "model.soffit"
    save(fitted("SoftClustering-approximate"), path)
    return path


@pytest.mark.parametrize("forgery", list(INDEX_FORGERIES))
def test_forged_neighbour_index(forgery: str, saved_index: Path, tmp_path: Path) -> None:
    change, told = INDEX_FORGERIES[forgery]
    handmade.forge(saved_index, tmp_path / "forged.soffit", change)
    with pytest.raises(ModelFileError, match=told):
        load(tmp_path / "forged.soffit")


# --- parts that do not fit together ---------------------------------------------------------------


def _set_part(name: str, field: str, to: str) -> Change:
    """Put the first object of another class in the place of a part."""

    def change(document: dict[str, Any], members: handmade.Members) -> None:
        number = next(n for n, e in enumerate(document["objects"]) if e.get("class") == to)
        _state(document, name)[field] = {"object": number}

    return change


def _all_of(*changes: Change) -> Change:
    def change(document: dict[str, Any], members: handmade.Members) -> None:
        for one in changes:
            one(document, members)

    return change


def _set_state(name: str, field: str, to: Any) -> Change:
    def change(document: dict[str, Any], members: handmade.Members) -> None:
        _state(document, name)[field] = to

    return change


def _cut(a: Any) -> Any:
    return a[:-1]


def _narrow(a: Any) -> Any:
    return a[..., :-1]


def _not_a_number(a: Any) -> Any:
    return np.full_like(a, np.nan)


SIDES, MANY = CASE, "SoftClustering-approximate-sparse"
# Each is sound in itself; the model as a whole is not.
PART_FORGERIES: dict[str, tuple[str, Change, str]] = {
    "rows cut": (SIDES, _part_array("FittedRows", "rows", _cut), "rows .* has shape"),
    "prior cut": (SIDES, _part_array("FittedRows", "prior", _cut), "prior .* has shape"),
    "fewer clusters": (
        SIDES,
        _all_of(
            *(_part_array("FittedRows", f, _narrow) for f in ("rows", "scale")),
            _part_array("FittedRows", "prior", lambda a: _narrow(a) / _narrow(a).sum()),
        ),
        r"rows of FittedRows has shape \(90, 2\), which should be \(90, 3\)",
    ),
    "rows not finite": (SIDES, _part_array("FittedRows", "rows", _not_a_number), "finite"),
    "scale not finite": (SIDES, _part_array("FittedRows", "scale", _not_a_number), "finite"),
    "walk cut": (SIDES, _part_array("Walk", "seen", _cut), "has shape"),
    "correction cut": (SIDES, _part_array("Corrected", "correction", _cut), "has shape"),
    "owner too large": (SIDES, _part_array("SeededMixture", "owner", lambda a: a + 3), "0 to 2"),
    "whitening cut": (SIDES, _part_array("SeededMixture", "whitening", _narrow), "has shape"),
    "center cut": (SIDES, _part_array("Projection", "center", _cut), "has shape"),
    "pair too large": (SIDES, _part_array("SideInformation", "must", lambda a: a + 90), "0 to 89"),
    "pair negative": (SIDES, _part_array("SideInformation", "cannot", lambda a: a - 90), "0 to 89"),
    "factors cut": (SIDES, _part_array("DegreeNormalized", "factors", _cut), "has shape"),
    "lists cut": (SIDES, _part_array("NeighborGraph", "_members", _cut), "has shape"),
    "reach cut": (SIDES, _part_array("NeighborGraph", "_radius", _cut), "has shape"),
    "points cut": (SIDES, _part_array("ExactSearch", "X", _cut), "X .* has shape"),
    "points not finite": (SIDES, _part_array("ExactSearch", "X", _not_a_number), "finite"),
    "index not finite": (
        "SoftClustering-approximate",
        _part_array("NeighborIndex", "points", _not_a_number),
        "finite",
    ),
    "unsigned owner": (
        SIDES,
        _part_array("SeededMixture", "owner", lambda a: a.astype("u8")),
        "must be a int array",
    ),
    "normalization as affinity": (
        SIDES,
        _set_part("SimilarityPlacer", "affinity", "DegreeNormalized"),
        "cannot do 'fit'",
    ),
    "points narrow": (SIDES, _part_array("ExactSearch", "X", _narrow), "has shape"),
    "all of the graph cut": (
        "SoftClustering-distances",
        _all_of(
            *(_part_array("NeighborGraph", f, _cut) for f in ("_members", "_radius")),
            _part_array("NeighborGraph", "_local_scale", _cut),
        ),
        r"should be \(89, 89\)",
    ),
    "neighbour too large": (MANY, _part_array("SparseSearch", "_found", lambda a: a + 90, 0), "89"),
    "lists narrow": (MANY, _part_array("SparseSearch", "_found", _narrow, 0), "has shape"),
    "columns cut": ("RelationFactorization", _part_array("ColumnRows", "factor", _cut), "shape"),
    "columns narrow": ("RelationFactorization", _part_array("ColumnRows", "prior", _cut), "shape"),
    "base too large": (
        "HigherOrder",
        _part_array("TupleRows", "bases", lambda a: a + 99),
        "from 0",
    ),
    "base negative": ("HigherOrder", _part_array("TupleRows", "bases", lambda a: a - 1), "from 0"),
    "bases cut": ("HigherOrder", _part_array("TupleRows", "bases", _cut), "has shape"),
    "tuples too large": (
        "HigherOrder",
        _replace_array("tuples_", lambda a: a + 80),
        "from 0 to 79",
    ),
    "chain cut": ("SoftHierarchy-coarse", _part_array("Upward", "chain", _cut), "has shape"),
    "level cut": ("SoftHierarchy-coarse", _part_array("Level", "memberships", _cut), "has shape"),
    "parent too large": (
        "SoftHierarchy-coarse",
        _part_array("ClusterTree", "parent", lambda a: a + 99),
        "from -1",
    ),
    "walked cut": (
        "RandomWalkClassifier",
        _part_array("ClassArrival", "walked", _cut),
        "has shape",
    ),
    "degrees cut": ("RandomWalkClassifier", _part_array("PointWalk", "degrees", _cut), "has shape"),
    "means cut": (
        "CompletelyPositive-additive",
        _part_array("AdditiveNormalized", "means", _cut),
        "has shape",
    ),
    "no affinity": (
        SIDES,
        _set_part("SimilarityPlacer", "affinity", "Standardizer"),
        "is a Standardizer, which cannot do 'cross'",
    ),
    "no extension": (
        SIDES,
        _set_part("SimilarityPlacer", "extension", "SeededMixture"),
        "cannot do 'place'",
    ),
    "search as affinity": (
        SIDES,
        _set_part("SimilarityPlacer", "affinity", "ExactSearch"),
        "cannot do 'cross'",
    ),
    "unfitted affinity": (
        SIDES,
        _all_of(
            *(
                _set_state("NeighborGraph", f, None)
                for f in ("matrix_", "_members", "_radius", "_local_scale", "_search")
            )
        ),
        "a NeighborGraph, has no matrix_",
    ),
    "text as part": (SIDES, _set_state("SimilarityPlacer", "part", "kept"), "must be an object"),
    "no smoothing": (SIDES, _set_state("SimilarityPlacer", "smoothing", None), "has no smoothing"),
    "own rules": (SIDES, _set_state("FittedRows", "_arrays", {"dict": {}}), "cannot have an attr"),
    "own method": (SIDES, _set_state("Walk", "arrive", 1), "cannot have an attribute"),
}


@pytest.mark.parametrize("forgery", list(PART_FORGERIES))
def test_parts_of_a_model_agree(forgery: str, tmp_path: Path) -> None:
    case, change, told = PART_FORGERIES[forgery]
    save(fitted(case), tmp_path / "sound.soffit")
    handmade.forge(tmp_path / "sound.soffit", tmp_path / "forged.soffit", change)
    with pytest.raises(ModelFileError, match=told):
        load(tmp_path / "forged.soffit")


# What can be done to any array; a file that passes all the same must not harm anyone.
ASSAULTS: dict[str, Callable[[Any], Any]] = {
    "cut": _cut,
    "twice": lambda a: np.concatenate([a, a]),
    "empty": lambda a: a[:0],
    "deeper": lambda a: a[None],
    "large": lambda a: a + a.dtype.type(100) if a.dtype.kind in "if" else a,
    "negative": lambda a: -a - a.dtype.type(1) if a.dtype.kind in "if" else a,
    "nan": lambda a: _not_a_number(a) if a.dtype.kind == "f" else a,
}


@pytest.mark.parametrize(
    "case",
    [SIDES, "SoftClustering-approximate", "RelationFactorization", "HigherOrder"],
)
def test_no_forged_array_reaches_beyond_the_others(case: str, tmp_path: Path) -> None:
    """Every array, forged in every way: the file is refused, or the model answers or complains."""
    path, forged = tmp_path / "sound.soffit", tmp_path / "forged.soffit"
    save(fitted(case), path)
    refused = passed = 0
    for number in range(len(json.loads(handmade.read(path)["model.json"])["arrays"])):
        for assault in ASSAULTS.values():

            def change(
                document: Any, members: Any, number: int = number, by: Any = assault
            ) -> None:
                _rewrite(document, members, {"array": number}, by)

            handmade.forge(path, forged, change)
            try:
                model = load(forged)
            except ModelFileError:
                refused += 1
                continue
            passed += 1
            # NumPy's errstate would not reach the threads.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                try:
                    placed = answers(model, case)
                except (ValueError, ZeroDivisionError):
                    continue
            assert placed.shape == answers(fitted(case), case).shape
    assert refused > passed


@pytest.mark.parametrize(
    "text",
    [
        b"1" * 5000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"tuple":[' * 400 + b"]}" * 400,
        b'"\xff"',
    ],
    ids=["long number", "deep list", "deep tuple", "no UTF-8"],
)
def test_text_that_is_hard_to_parse(text: bytes, saved: Path, tmp_path: Path) -> None:
    members = handmade.read(saved)
    before = members["model.json"]
    members["model.json"] = before.replace(b'"n_iter_":', b'"extra_":' + text + b',"n_iter_":')
    assert members["model.json"] != before
    handmade.write(tmp_path / "forged.soffit", handmade.signed(members))
    with pytest.raises(ModelFileError):
        load(tmp_path / "forged.soffit")


def test_forged_state_of_random_numbers(tmp_path: Path) -> None:
    save(fitted("SoF"), tmp_path / "a.soffit")

    def change(document: dict[str, Any], members: handmade.Members) -> None:
        entry = next(entry for entry in document["objects"] if "random_state" in entry)
        entry["random_state"]["state"]["dict"]["pos"] = 10**6

    handmade.forge(tmp_path / "a.soffit", tmp_path / "b.soffit", change)
    with pytest.raises(ModelFileError, match="random numbers"):
        load(tmp_path / "b.soffit")


# --- bombs ----------------------------------------------------------------------------------------


def test_bomb_is_refused_before_it_is_unpacked(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = handmade.read(saved)
    members["arrays/0.npy"] = bytes(2**24)
    path = tmp_path / "bomb.soffit"
    handmade.write(path, handmade.signed(members), zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 2**18
    monkeypatch.setattr(_memory, "available_memory", lambda: 2**23)
    with pytest.raises(ModelFileError, match=r"MB of memory, but only 7 MB can be used"):
        load(path)


def test_bomb_that_lies_about_its_size_is_refused(saved: Path, tmp_path: Path) -> None:
    members = handmade.read(saved)
    members["model.json"] = b" " * 2**24
    path = tmp_path / "bomb.soffit"
    handmade.write(path, handmade.signed(members), zipfile.ZIP_DEFLATED)
    content = path.read_bytes()
    # The sizes in both headers, little-endian.
    path.write_bytes(content.replace((2**24).to_bytes(4, "little"), (100).to_bytes(4, "little")))
    with pytest.raises(ModelFileError):
        load(path)


def test_two_members_of_one_name_are_refused(saved: Path, tmp_path: Path) -> None:
    path = tmp_path / "twice.soffit"
    members = handmade.signed(handmade.read(saved))
    handmade.write(path, members)
    with (
        zipfile.ZipFile(path, "a") as archive,
        pytest.warns(UserWarning, match="Duplicate name"),
    ):
        archive.writestr("model.json", json.dumps({}))
    with pytest.raises(ModelFileError, match="same name"):
        load(path)


def test_packing_of_other_kinds_is_refused(saved: Path, tmp_path: Path) -> None:
    path = tmp_path / "packed.soffit"
    handmade.write(path, handmade.signed(handmade.read(saved)), zipfile.ZIP_BZIP2)
    with pytest.raises(ModelFileError, match="packed in a way"):
        load(path)


# --- what a file may restore ----------------------------------------------------------------------


_LINKS = ("_doc_link_module", "_doc_link_template", "_doc_link_url_param_generator")


@pytest.mark.parametrize("name", [*_LINKS, "extra_", "_private", "fit", "__class__"])
@pytest.mark.parametrize("place", ["attributes", "NeighborGraph", "Walk", "Standardizer"])
def test_only_declared_attributes_are_restored(
    name: str, place: str, saved: Path, tmp_path: Path
) -> None:
    """The documentation links of scikit-learn, for example, write any text into a diagram."""

    def change(document: dict[str, Any], members: handmade.Members) -> None:
        target = document[place] if place == "attributes" else _state(document, place)
        target[name] = "<script>alert(1)</script>"

    handmade.forge(saved, tmp_path / "forged.soffit", change)
    with pytest.raises(ModelFileError, match=f"cannot have an attribute '{name}'"):
        load(tmp_path / "forged.soffit")


def test_every_class_declares_all_that_its_objects_hold() -> None:
    """What a class of the registry does not declare could not be saved."""
    missing = {}
    for name, cls in PARTS.items():
        declared = {path.partition(".")[0] for path in getattr(cls, "_arrays", {})}
        fields = set()
        if dataclasses.is_dataclass(cls):
            fields = {field.name for field in dataclasses.fields(cls)}
        elif issubclass(cls, BaseEstimator):
            fields = set(cls().get_params(deep=False))
        if fields - declared:
            missing[name] = fields - declared
    assert not missing


def test_every_part_can_do_all_that_its_owner_may_ask() -> None:
    """A part of another class that has one of the methods would fail later, at another one."""
    gaps = []
    for cls, name in NAMES.items():
        hints = typing.get_type_hints(cls)
        for path, text in getattr(cls, "_arrays", {}).items():
            words = text.split()
            if words[0].rstrip("?") != "part" or path not in hints:
                continue
            expected = typing.get_args(hints[path]) or [hints[path]]
            for part in NAMES:
                if not _admits(words, part):
                    continue
                lacks = [_lacking(part, kind) for kind in expected if kind not in (Any, type(None))]
                if lacks and all(lacks):
                    gaps.append((name, path, NAMES[part], lacks))
    assert not gaps


def _admits(words: list[str], part: type) -> bool:
    named = [word[1:].split("|") for word in words if word.startswith(":")]
    methods = [word[:-2] for word in words if word.endswith("()")]
    return all(NAMES[part] in names for names in named) and not _absent(part, methods)


def _lacking(part: type, kind: type) -> list[str]:
    return _absent(part, [name for name in vars(kind) if callable(getattr(kind, name))])


def _absent(part: type, names: list[str]) -> list[str]:
    public = [name for name in names if not name.startswith("_")]
    return [name for name in public if not callable(getattr(part, name, None))]


@pytest.mark.parametrize(
    ("part", "field", "value", "told"),
    [
        ("NeighborGraph", "n_neighbors", 0, "must be a single count"),
        ("NeighborGraph", "n_jobs", [1], "must be a single int"),
        ("NeighborGraph", "metric", 3, "must be a single metric"),
        ("NeighborGraph", "connect", "x", "must be a single bool"),
        ("ExactSearch", "X", None, "ExactSearch has no X"),
        ("ExactSearch", "recall", {"float": "nan"}, "must be a single finite"),
        ("Walk", "steps", -1, "must be a single natural"),
        ("SeededMixture", "tails", 2**70, "must be a single positive"),
        ("Part", "diagonal", "none", "must be one of kept, dropped, raised"),
    ],
)
def test_every_value_has_its_type_and_range(
    part: str, field: str, value: Any, told: str, *, saved: Path, tmp_path: Path
) -> None:
    def change(document: dict[str, Any], members: handmade.Members) -> None:
        _state(document, part)[field] = value

    handmade.forge(saved, tmp_path / "forged.soffit", change)
    with pytest.raises(ModelFileError, match=told):
        load(tmp_path / "forged.soffit")
