"""Models to files and back: numbers and text only, so that opening a file never runs code."""

from __future__ import annotations

import os
from typing import IO, Any

from sklearn.utils.validation import check_is_fitted

from soffit._atomic import replaced
from soffit._version import __version__
from soffit.persistence.archive import ModelArchive, array_header, write_archive
from soffit.persistence.codec import Encoder, check_attributes, decode_model
from soffit.persistence.migrations import FORMAT_VERSION, MIGRATIONS, migrated
from soffit.persistence.schema import MODELS, NAMES, ModelFileError, check_shapes

FORMAT = "soffit model"


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file.

    The file is a zip of one JSON document and NumPy arrays, with a SHA-256 checksum of each. It
    holds no code: see `load`. It contains the model's parameters and what its last fit has
    published: all that `predict_proba`, `suggest_pairs` and reports need, the fitted objects
    included, so that it is about as large as these and the affinities. Attributes that you have
    set yourself are left out. A file that exists is replaced once the new one is complete.

    Parameters
    ----------
    model : fitted model
        Any estimator of soffit.
    path : str or path
        The file, by custom with the ending ``.soffit``.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    TypeError
        If it is no model of soffit.
    ModelFileError
        If it holds something that is neither numbers nor text, such as a metric that is a
        function. Functions that only watch a fit are left out.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from soffit import SoftClustering
    >>> from soffit.datasets import make_moons
    >>> from soffit import load, save
    >>> X, labels, posterior = make_moons(200, random_state=7)
    >>> model = SoftClustering(n_clusters=2, random_state=7).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, Path(folder) / "moons.soffit")
    ...     again = load(Path(folder) / "moons.soffit")
    >>> bool((again.predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    name = NAMES.get(type(model))
    if name not in MODELS:
        raise TypeError(
            f"model must be an estimator of soffit, one of {sorted(MODELS)}, got "
            f"{type(model).__name__}."
        )
    check_is_fitted(
        model, msg="This %(name)s is not fitted, so there is nothing to save. Call fit first."
    )
    model = model._in_memory()
    rest = dict(vars(model._fitted))
    attributes = rest.pop("attributes")
    check_attributes(model, attributes)
    encoder = Encoder()
    document = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "soffit": __version__,
        "class": name,
        "parameters": encoder.encode_fields(model.get_params(deep=False)),
        "attributes": encoder.encode_fields(attributes),
        "fitted": encoder.encode_fields(rest),
        "output": getattr(model, "_sklearn_output_config", {}).get("transform"),
        "objects": encoder.objects,
        "arrays": [array_header(array) for array in encoder.arrays],
    }
    check_shapes(model)
    with replaced(path) as temporary, temporary.open("wb") as stream:
        write_archive(stream, document, encoder.arrays)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote.

    No file can make it run code: there is no pickle in it, and only classes that soffit lists are
    made. Damage is found by checksums. They are no signature: a model of a stranger may be made to
    give any answers.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    model
        The fitted model. It gives the same bytes as the one that was saved.

    Raises
    ------
    ModelFileError
        If the file is no model, was damaged or changed, needs more memory than there is, or comes
        from a newer version of soffit.
    OSError
        If there is no such file, or it must not be read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from soffit import SoF
    >>> from soffit.datasets import make_moons
    >>> from soffit import load, save
    >>> X, labels, posterior = make_moons(100, random_state=7)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(SoF(2, random_state=7).fit(X), Path(folder) / "moons.soffit")
    ...     model = load(Path(folder) / "moons.soffit")
    >>> model
    SoF(n_clusters=2, random_state=7)
    """
    name = os.fspath(path)
    with open(path, "rb") as stream:
        try:
            _check_beginning(stream)
            return _read(ModelArchive(stream))
        except ModelFileError as error:
            raise ModelFileError(f"{name} cannot be loaded: {error}") from error
        except Exception as error:
            # Whatever a damaged zip, number or shape makes Python say.
            raise ModelFileError(
                f"{name} cannot be loaded: it is damaged, or was not written by soffit "
                f"({type(error).__name__}: {error})."
            ) from error


def _check_beginning(stream: IO[bytes]) -> None:
    begin = stream.read(4)
    stream.seek(0)
    if begin == b"PK\x03\x04":
        return
    if not begin:
        raise ModelFileError("it is empty.")
    if begin[:1] == b"\x80":
        raise ModelFileError(
            "it looks like a pickle. soffit never opens pickles, because they can run any code; "
            "save the model with soffit.save."
        )
    raise ModelFileError("it is not a soffit model (or its beginning is damaged).")


def _read(archive: ModelArchive) -> Any:
    document = archive.document()
    version = document.get("version")
    if document.get("format") != FORMAT or type(version) is not int or version < 1:
        raise ModelFileError("it is not a soffit model.")
    writer = str(document.get("soffit"))[:40]
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"it was written by soffit {writer} with format {version}, this version "
            f"({__version__}) reads up to {FORMAT_VERSION}: upgrade soffit."
        )
    members = archive.verified()
    arrays = archive.arrays(document["arrays"], members)
    document, arrays = migrated(document, arrays, version, target=FORMAT_VERSION, steps=MIGRATIONS)
    try:
        return decode_model(document, arrays)
    except ModelFileError as error:
        if writer == __version__:
            raise
        raise ModelFileError(
            f"{error} It was written by soffit {writer}, this is {__version__}."
        ) from error
