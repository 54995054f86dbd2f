"""The result of choosing a number of clusters."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from soffit._typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class KChoice:
    r"""A number of clusters, how clear it is, and the evidence for every number considered.

    Attributes
    ----------
    n_clusters : int
        The number chosen.
    confidence : float
        Between 0 and 1: the credibility of the chosen number.
    runner_up : int or None
        The next best number; None if only one was considered.
    ks : ndarray of shape (m,)
        The numbers considered, ascending.
    table : dict of str to ndarray of shape (m,)
        Evidence by column, one entry per number:

        - ``"k"``: the number;
        - ``"gap"``: logarithm of the ratio of the relaxation times k and k + 1 of the random walk
          on the graph; large where the walk tells k groups apart for long, and no more;
        - ``"edge"``: how far eigenvalue k lies above the edge of the spectrum that a random graph
          would have, negative for clusters that chance explains;
        - ``"bound"``: the least normalized cut that k clusters can have, by the eigenvalues;
        - ``"cut"``: the normalized cut of the partition found, at least the bound;
        - ``"valley"``: the shallowest valley between two linked clusters: the weight cut at their
          boundary over the weight of cuts inside them, 0 for a gap and 1 for no valley; the
          geometric mean over the graph and its resamples;
        - ``"stability"``: mean adjusted Rand index with the partitions of resampled graphs;
        - ``"likelihood"``: log-likelihood of left-out links in a degree-corrected block model, per
          unit of weight, above that of a model without clusters;
        - ``"lasting"``: how much longer k clusters survive a growing pruning threshold than in a
          graph without structure, in logarithms;
        - ``"score"``: the sum that decides;
        - ``"credibility"``: the share of exp(score / temperature).

    Examples
    --------
    >>> from soffit.datasets import make_gaussians
    >>> from soffit.selection import choose_k
    >>> X, _, _ = make_gaussians(300, n_clusters=3, separation=6.0, random_state=7)
    >>> choice = choose_k(X, ks=range(1, 7))
    >>> choice.n_clusters, choice.table["valley"].shape
    (3, (6,))
    """

    n_clusters: int
    confidence: float
    runner_up: int | None
    ks: IntArray
    table: dict[str, FloatArray | IntArray]

    def to_pandas(self) -> Any:
        """The table as a pandas data frame, one row per number of clusters.

        Returns
        -------
        pandas.DataFrame
            Indexed by ``k``.
        """
        # pandas ships no types, and this is its only use.
        frame = import_module("pandas").DataFrame
        return frame(self.table).set_index("k")

    def __str__(self) -> str:
        runner_up = "" if self.runner_up is None else f", runner-up {self.runner_up}"
        head = f"{self.n_clusters} clusters, confidence {self.confidence:.2f}{runner_up}"
        names = list(self.table)
        lines = ["  ".join(f"{name:>{_width(name)}}" for name in names)]
        for row in range(len(self.ks)):
            cells = (_cell(name, self.table[name][row]) for name in names)
            mark = " <" if self.ks[row] == self.n_clusters else ""
            lines.append("  ".join(cells) + mark)
        return "\n".join([head, *lines])


def _width(name: str) -> int:
    return 3 if name == "k" else max(len(name), 6)


def _cell(name: str, value: Any) -> str:
    return f"{value:>{_width(name)}d}" if name == "k" else f"{value:>{_width(name)}.2f}"
