"""Tables 3, 4 and 5 of Zhao, Poupart, Zhang & Lysy (2015), as printed."""

from __future__ import annotations

# The sets in the order of the columns, and how the paper calls them.
SETS = {
    "blood_transfusion": "blood",
    "breast_tissue": "breast tissue",
    "glass": "glass",
    "iris": "iris",
    "ecoli": "ecoli",
    "satimage": "satimage",
    "pendigits": "pendigits",
}
# Name of a score in the results: its name in a text.
SCORES = {"purity": "purity", "rand_index": "Rand index", "accuracy": "accuracy"}
TABLES = {"purity": 3, "rand_index": 4, "accuracy": 5}

PUBLISHED: dict[str, dict[str, tuple[float, ...]]] = {
    "purity": {
        "k-means": (0.76, 0.43, 0.56, 0.87, 0.80, 0.70, 0.71),
        "spherical k-means": (0.76, 0.43, 0.57, 0.92, 0.76, 0.63, 0.71),
        "GMM": (0.77, 0.46, 0.52, 0.89, 0.81, 0.74, 0.70),
        "SP-NC": (0.78, 0.42, 0.38, 0.86, 0.81, 0.30, 0.11),
        "SP-NJW": (0.76, 0.40, 0.38, 0.59, 0.80, 0.48, 0.13),
        "NMF": (0.76, 0.43, 0.58, 0.79, 0.73, 0.57, 0.47),
        "RNMF": (0.76, 0.28, 0.52, 0.84, 0.70, 0.56, 0.45),
        "GNMF": (0.76, 0.44, 0.55, 0.85, 0.77, 0.71, 0.71),
        "SymNMF": (0.76, 0.47, 0.60, 0.88, 0.81, 0.77, 0.76),
        "SoF": (0.76, 0.51, 0.64, 0.95, 0.85, 0.75, 0.82),
    },
    "rand_index": {
        "k-means": (0.60, 0.71, 0.69, 0.86, 0.81, 0.81, 0.91),
        "spherical k-means": (0.52, 0.76, 0.69, 0.92, 0.78, 0.81, 0.91),
        "GMM": (0.57, 0.76, 0.64, 0.88, 0.85, 0.83, 0.91),
        "SP-NC": (0.64, 0.74, 0.43, 0.85, 0.81, 0.32, 0.11),
        "SP-NJW": (0.51, 0.71, 0.53, 0.60, 0.80, 0.74, 0.41),
        "NMF": (0.56, 0.65, 0.71, 0.81, 0.81, 0.80, 0.86),
        "RNMF": (0.59, 0.38, 0.65, 0.85, 0.78, 0.79, 0.86),
        "GNMF": (0.60, 0.68, 0.70, 0.85, 0.80, 0.77, 0.91),
        "SymNMF": (0.62, 0.77, 0.70, 0.88, 0.83, 0.83, 0.91),
        "SoF": (0.64, 0.79, 0.73, 0.93, 0.85, 0.86, 0.94),
    },
    "accuracy": {
        "k-means": (0.73, 0.34, 0.51, 0.86, 0.60, 0.63, 0.68),
        "spherical k-means": (0.61, 0.39, 0.52, 0.90, 0.56, 0.61, 0.67),
        "GMM": (0.66, 0.43, 0.46, 0.86, 0.68, 0.69, 0.67),
        "SP-NC": (0.73, 0.41, 0.37, 0.85, 0.61, 0.28, 0.11),
        "SP-NJW": (0.56, 0.42, 0.33, 0.56, 0.58, 0.37, 0.12),
        "NMF": (0.68, 0.39, 0.50, 0.79, 0.66, 0.53, 0.44),
        "RNMF": (0.71, 0.27, 0.51, 0.84, 0.59, 0.52, 0.41),
        "GNMF": (0.72, 0.36, 0.44, 0.81, 0.56, 0.54, 0.67),
        "SymNMF": (0.76, 0.42, 0.46, 0.87, 0.66, 0.68, 0.67),
        "SoF": (0.76, 0.48, 0.47, 0.94, 0.74, 0.71, 0.82),
    },
}


def published(score: str, method: str, name: str) -> float | None:
    """A cell of the tables; None for a method that they do not have."""
    row = PUBLISHED[score].get(method)
    return None if row is None else row[list(SETS).index(name)]
