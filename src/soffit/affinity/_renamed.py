"""Old names of `soffit.affinity`, which still work with a warning."""

from __future__ import annotations

from soffit._deprecation import moved_names

__getattr__ = moved_names("soffit.affinity", {"random_walk": "soffit.affinity.walk_affinity"})
