"""Names of the benchmark sets."""

from __future__ import annotations

_REAL = (
    "blood_transfusion",
    "breast_tissue",
    "ecoli",
    "glass",
    "iris",
    "pbmc68k_reduced",
    "pendigits",
    "satimage",
    "usps",
)
_TOY = ("zp1", "zp2", "zp3", "zp4", "zp5", "zp6")
_SUITES = {
    "fcps": ("atom", "engytime", "lsun", "tetra", "wingnut"),
    "graves": ("fuzzyx", "parabolic", "ring_noisy", "zigzag", "zigzag_outliers"),
    "other": ("chameleon_t5_8k", "chameleon_t8_8k", "square"),
    "sipu": ("a2", "aggregation", "d31", "jain", "r15", "s2", "s4", "unbalance"),
    "uci": ("sonar", "wdbc", "yeast"),
    "wut": (
        "cross",
        "isolation",
        "mk1",
        "mk3",
        "olympic",
        "stripes",
        "trapped_lovers",
        "windows",
        "x2",
        "z1",
        "z3",
    ),
}


def development_sets() -> tuple[str, ...]:
    """Return the names of the 50 sets on which the defaults of the library were chosen.

    Nine real sets, six toy sets, and 35 sets of the collection of M. Gagolewski. From `usps`
    3000 random rows were used: ``load("usps", n_samples=3000, random_state=...)``. In the last 35
    label 0 is noise and is not scored; where a set has several label vectors the best score counts,
    each with its own number of clusters.

    Returns
    -------
    tuple of str
        Names for :func:`load`.

    Examples
    --------
    >>> from benchmarks.datasets import development_sets
    >>> len(development_sets()), development_sets()[4]
    (50, 'iris')
    """
    suites = (f"{suite}__{name}" for suite, names in _SUITES.items() for name in names)
    return (*_REAL, *_TOY, *suites)
