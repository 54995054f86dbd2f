"""Look at a result and steer it: in the browser (`soffit app`) and in a notebook (`explore`)."""

from soffit.app.exploration import explore

__all__ = ["explore"]
