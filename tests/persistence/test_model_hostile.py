"""Foreign, damaged and malicious model files: a clear error, or the very same model."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.persistence import handmade
from tests.persistence.fitted import assert_same, fitted

from soffit.persistence import archive as _model_archive
from soffit.persistence.model_file import load, save
from soffit.persistence.state import ModelFileError

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


def _replace_array(attribute: str, by: Callable[[Any], Any]) -> Any:
    """Change an array of the model, and what the document says about it."""

    def change(document: dict[str, Any], members: handmade.Members) -> None:
        number = document["attributes"][attribute]["array"]
        name = f"arrays/{number}.npy"
        array = np.asarray(by(np.load(io.BytesIO(members[name]))))
        members[name] = handmade.npy(array)
        document["arrays"][number] = {"dtype": array.dtype.str, "shape": list(array.shape)}

    return change


def _sparse_part(part: str, by: Callable[[Any], Any]) -> Any:
    def change(document: dict[str, Any], members: handmade.Members) -> None:
        matrix = next(entry["csr"] for entry in document["objects"] if "csr" in entry)
        number = matrix[part]["array"]
        name = f"arrays/{number}.npy"
        array = np.asarray(by(np.load(io.BytesIO(members[name]))))
        members[name] = handmade.npy(array)
        document["arrays"][number] = {"dtype": array.dtype.str, "shape": list(array.shape)}

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


def _lose_array(document: dict[str, Any], members: handmade.Members) -> None:
    del members["arrays/0.npy"]


FORGERIES: dict[str, tuple[Callable[[dict[str, Any], handmade.Members], None], str]] = {
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
    "parameter twice": (_set_path("attributes", "n_clusters", to=9), "both a parameter"),
    "unknown parameter": (_set_path("parameters", "shell", to=True), "no parameter 'shell'"),
    "wrong parameter": (_set_path("parameters", "n_clusters", to=-3), "n_clusters must be"),
    "text for array": (
        _set_path("attributes", "labels_", to="0"),
        "labels_ of SoftClustering must be",
    ),
    "no memberships": (_set_path("attributes", "memberships_", to=None), "has no memberships_"),
    "flag for number": (_set_path("attributes", "n_iter_", to=True), "n_iter_ .* single int"),
    "wrong length": (
        _replace_array("entropy_", lambda a: a[:-1]),
        r"entropy_ .* has shape \(89,\), which should be \(90\)",
    ),
    "wrong width": (_replace_array("factor_", lambda a: a[:, :2]), "factor_ .* has shape"),
    "wrong rank": (_replace_array("factor_", lambda a: a[0, 0]), "factor_ .* has shape"),
    "wrong dtype": (_replace_array("factor_", lambda a: a.astype("f2")), "must be a float array"),
    "wrong kind": (_replace_array("labels_", lambda a: a * 1.0), "must be a int array"),
    "label too large": (_replace_array("labels_", lambda a: a + 1), "from 0 to 2"),
    "label negative": (_replace_array("labels_", lambda a: a - 1), "from 0 to 2"),
    "text in array": (_replace_array("factor_", lambda a: a.astype("U")), "must be a float array"),
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
}


@pytest.mark.parametrize("forgery", list(FORGERIES))
def test_forged_files_with_right_checksums(forgery: str, saved: Path, tmp_path: Path) -> None:
    change, told = FORGERIES[forgery]
    handmade.forge(saved, tmp_path / "forged.soffit", change)
    with pytest.raises(ModelFileError, match=told):
        load(tmp_path / "forged.soffit")


def _index_array(field: str, by: Callable[[Any], Any], item: int | None = None) -> Any:
    """Change an array of the neighbour index, which compiled loops follow without looking."""

    def change(document: dict[str, Any], members: handmade.Members) -> None:
        state = next(e for e in document["objects"] if e.get("class") == "NeighborIndex")["state"]
        place = state[field] if item is None else state[field]["tuple"][item]
        number = place["array"]
        name = f"arrays/{number}.npy"
        array = np.asarray(by(np.load(io.BytesIO(members[name]))))
        members[name] = handmade.npy(array)
        document["arrays"][number] = {"dtype": array.dtype.str, "shape": list(array.shape)}

    return change


def _search_dtype(document: dict[str, Any], members: handmade.Members) -> None:
    search = next(e for e in document["objects"] if e.get("class") == "ApproximateSearch")
    search["state"]["dtype"] = {"dtype": "object"}


INDEX_FORGERIES: dict[str, tuple[Callable[[dict[str, Any], handmade.Members], None], str]] = {
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
    monkeypatch.setattr(_model_archive, "available_memory", lambda: 2**23)
    with pytest.raises(ModelFileError, match=r"needs 0\.0 GiB of memory, but only"):
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
