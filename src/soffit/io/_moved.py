"""Names of model files, which now live in `soffit` and `soffit.persistence`."""

from __future__ import annotations

from soffit._deprecation import moved_names

__getattr__ = moved_names(
    "soffit.io",
    {
        "ModelFileError": "soffit.persistence.ModelFileError",
        "load": "soffit.load",
        "save": "soffit.save",
    },
)
