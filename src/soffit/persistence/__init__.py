"""Model files: fitted models saved without pickle, checked when they are loaded."""

from soffit.persistence.model_file import load, save
from soffit.persistence.schema import ModelFileError

__all__ = ["ModelFileError", "load", "save"]
