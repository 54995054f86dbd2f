"""Public names, imported when they are first asked for.

`soffit --help` then loads none of scikit-learn, which takes most of a second. `__init__.pyi` tells
type checkers and editors the same names.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

_PACKAGE = __name__.partition(".")[0]

PACKAGES = (
    "affinity",
    "datasets",
    "factorize",
    "figures",
    "inputs",
    "io",
    "memberships",
    "metrics",
    "models",
    "normalize",
    "persistence",
    "report",
    "selection",
)
# Where a name is defined.
HOMES = {
    "BaumEagon": "models",
    "CompletelyPositive": "models",
    "HigherOrder": "models",
    "RandomWalkClassifier": "models",
    "RelationFactorization": "models",
    "SoF": "models",
    "SoftClustering": "models",
    "SoftHierarchy": "models",
    "SpectralClustering": "models",
    "load": "persistence",
    "save": "persistence",
    "segment": "models",
    "suggest_pairs": "selection",
}


def __getattr__(name: str) -> Any:
    """The package's attribute of this name, which it has from now on."""
    if name in PACKAGES:
        return import_module(f"{_PACKAGE}.{name}")
    if name not in HOMES:
        raise AttributeError(f"module {_PACKAGE!r} has no attribute {name!r}")
    value = getattr(import_module(f"{_PACKAGE}.{HOMES[name]}"), name)
    setattr(sys.modules[_PACKAGE], name, value)
    return value


def __dir__() -> list[str]:
    """What the package has, asked for or not."""
    return sorted({*vars(sys.modules[_PACKAGE]), *PACKAGES, *HOMES})
