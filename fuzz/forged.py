"""Forged model files with right checksums: refused, or a model whose answers are sound."""

from __future__ import annotations

import copy
import hashlib
import io
import json
import zipfile
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import soffit
from fuzz.outcome import check_rows, refused, require
from fuzz.tables import Generator, clear_clusters

# Whatever shows a model must not let this through.
EVIL = "<script>soffit_was_here()</script>"
_VALUES: tuple[Any, ...] = (
    *(None, True, 0, 1, -1, 3, 2**31, 2**70, 0.5, -1e308, "", "x", EVIL, [], [1, 2], {}),
    *({"tuple": []}, {"dict": {}}, {"float": "nan"}, {"float": "-inf"}, {"dtype": "float32"}),
    *({"array": 0}, {"array": 1}, {"object": 0}, {"object": 1}, {"range": [0, 5, 1]}),
    *({"scalar": ["int64", 3]}, {"scalar": ["str", EVIL]}, {"function": "point_deviation"}),
)
_ATTRIBUTES = (
    *("_doc_link_module", "_doc_link_template", "_doc_link_url_param_generator", "evil_", "_evil"),
    *("predict_proba", "__class__", "_sklearn_output_config", "_repr_html_", "_fitted", "tags_"),
)


@cache
def _table() -> Any:
    return clear_clusters(np.random.default_rng(3), 60, 3, 3)


def _models() -> dict[str, Any]:
    X, labels = _table()
    y = np.where(np.arange(len(X)) % 3 == 0, labels, -1)
    shared: dict[str, Any] = {"random_state": 5, "n_jobs": 1}
    return {
        "SoftClustering": soffit.SoftClustering(3, **shared).fit(X),
        "resampled": soffit.SoftClustering(3, n_resamples=2, **shared).fit(X),
        "pairs": soffit.SoftClustering(3, **shared).fit(X, must_link=[(0, 3)]),
        "SoF": soffit.SoF(3, **shared).fit(X),
        "BaumEagon": soffit.BaumEagon(3, **shared).fit(X),
        "CompletelyPositive": soffit.CompletelyPositive(3, **shared).fit(X),
        "additive": soffit.CompletelyPositive(3, normalization="additive", **shared).fit(X),
        "RelationFactorization": soffit.RelationFactorization(3, **shared).fit(X),
        "SoftHierarchy": soffit.SoftHierarchy(levels=[9, 3], **shared).fit(X),
        "SpectralClustering": soffit.SpectralClustering(3, **shared).fit(X),
        "HigherOrder": soffit.HigherOrder(3, tuple_affinity="point", **shared).fit(X),
        "RandomWalkClassifier": soffit.RandomWalkClassifier(**shared).fit(X, y),
        "on clusters": soffit.RandomWalkClassifier(on="clusters", n_clusters=9, **shared).fit(X, y),
        "chosen": soffit.SoftClustering(None, **shared).fit(X),
        "mixed": soffit.SoftClustering(3, metric="gower", **shared).fit(_mixed()),
        "copies": soffit.SoftClustering(3, **shared).fit(
            np.round(X), sample_weight=1.0 + np.arange(len(X)) % 3
        ),
        **_edited(soffit.SoftClustering(3, **shared).fit(X), X),
    }


def _edited(model: Any, X: Any) -> dict[str, Any]:
    """Models after steps that people take."""
    return {
        "merged": model.merge([0, 1], name="both"),
        "split": model.split(0, 2).rename({0: "first"}),
        "updated": model.update(X[:5] + 40.0),
    }


@cache
def _mixed() -> Any:
    import pandas as pd

    X, labels = _table()
    words = np.array(["red", "green", "blue"], dtype=object)[labels]
    return pd.DataFrame({"size": X[:, 0], "colour": words, "large": X[:, 1] > 0})


@cache
def _sound() -> tuple[dict[str, bytes], ...]:
    """The members of the files of all models."""
    found = []
    with TemporaryDirectory() as folder:
        for name, model in _models().items():
            path = Path(folder) / name
            soffit.save(model, path)
            with zipfile.ZipFile(path) as archive:
                members = {name: archive.read(name) for name in archive.namelist()}
            del members["manifest.json"]
            found.append(members)
    return tuple(found)


def forged_model(rng: Generator, folder: Path) -> str:
    """Change a model file in one or two places, make its checksums right, load it and use it."""
    members = dict(_sound()[int(rng.integers(len(_sound())))])
    document = json.loads(members["model.json"])
    for _ in range(int(rng.integers(1, 3))):
        if rng.random() < 0.4 and document["arrays"]:
            _forge_array(rng, document, members)
        else:
            _forge_document(rng, document)
    members["model.json"] = json.dumps(document).encode()
    path = folder / "forged.soffit"
    _write(path, members)
    try:
        model = soffit.load(path)
    except Exception as error:
        return refused(error)
    return use(model)


def use(model: Any) -> str:
    """Ask a loaded model everything."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.utils import estimator_html_repr

    X: Any = _table()[0] + 0.05
    if hasattr(model, "feature_names_in_"):
        X = _mixed()
    pages = []
    outcome = "loaded"
    try:
        check_rows(model.predict_proba(X[:9]), "predict_proba of a forged model")
    except Exception as error:
        outcome = f"loaded, predict {refused(error)}"
    for show in (
        model._repr_html_,
        lambda: estimator_html_repr(make_pipeline(StandardScaler(), model)),
        lambda: repr(model),
        lambda: model.novelty_score(X[:3]) if hasattr(model, "novelty_score") else "",
    ):
        try:
            pages.append(str(show()))
        except Exception as error:
            refused(error)
    require(not any(EVIL in page for page in pages[:2]), "a forged model put a script into a page")
    return outcome


def _forge_document(rng: Generator, document: dict[str, Any]) -> None:
    value = copy.deepcopy(_VALUES[int(rng.integers(len(_VALUES)))])
    parts: list[Any] = [document["attributes"], document["fitted"], document["parameters"]]
    parts += [entry["state"] for entry in document["objects"] if "state" in entry]
    parts += [entry["csr"] for entry in document["objects"] if "csr" in entry]
    place = parts[int(rng.integers(len(parts)))]
    how = rng.random()
    if how < 0.15:
        place[_ATTRIBUTES[int(rng.integers(len(_ATTRIBUTES)))]] = value
    elif place:
        name = list(place)[int(rng.integers(len(place)))]
        if how < 0.25:
            del place[name]
        elif how < 0.4:
            other = list(place)[int(rng.integers(len(place)))]
            place[name], place[other] = place[other], place[name]
        else:
            place[name] = value


def _forge_array(rng: Generator, document: dict[str, Any], members: dict[str, bytes]) -> None:
    number = int(rng.integers(len(document["arrays"])))
    name = f"arrays/{number}.npy"
    array = np.load(io.BytesIO(members[name]), allow_pickle=False)
    changed = _changed_array(rng, array)
    stream = io.BytesIO()
    np.save(stream, changed, allow_pickle=False)
    members[name] = stream.getvalue()
    if rng.random() < 0.9:
        document["arrays"][number] = {"dtype": changed.dtype.str, "shape": list(changed.shape)}


def _changed_array(rng: Generator, array: Any) -> Any:
    how = rng.random()
    if how < 0.55 and array.size and array.dtype.kind in "iuf":
        array = array.copy()
        whole = (-1, 2**30, -(2**30), 0, 7, len(array))
        real = (np.nan, np.inf, -1.0, 0.0, 1e308, -1e308, 1e-320)
        drawn = rng.choice(whole if array.dtype.kind in "iu" else real)
        with np.errstate(all="ignore"):
            if rng.random() < 0.3:
                array[...] = np.array(drawn).astype(array.dtype)
            else:
                array.flat[rng.integers(array.size)] = np.array(drawn).astype(array.dtype)
        return array
    if how < 0.7:
        return array[: len(array) // 2] if array.ndim else array
    if how < 0.8:
        return np.concatenate([array, array]) if array.ndim else array
    if how < 0.9 and array.dtype.kind in "biuf":
        return array.astype(rng.choice([np.float32, np.float64, np.int64, np.int32, np.int8, bool]))
    return array.reshape(-1) if rng.random() < 0.5 else array.T


def _write(path: Path, members: dict[str, bytes]) -> None:
    table = {
        name: {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
        for name, data in sorted(members.items())
    }
    text = json.dumps(table, separators=(",", ":")).encode()
    manifest = {"members": table, "checksum": hashlib.sha256(text).hexdigest()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        archive.writestr("manifest.json", json.dumps(manifest))
