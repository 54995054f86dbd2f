"""The number of clusters: evidence for every number, and a choice."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from soffit._deprecation import renamed_parameters
from soffit._threads import thread_limit
from soffit._typing import FloatArray, IntArray, Matrix
from soffit._validation import OneOf, ParameterError, check_parameters
from soffit.affinity import Settings
from soffit.affinity.given_objects import Standardize, read_objects
from soffit.selection.evidence import AHEAD, DEEP, Evidence, gather_evidence


@dataclass(frozen=True, eq=False)
class KChoice:
    r"""A number of clusters, its confidence, and the evidence for every candidate.

    Attributes
    ----------
    n_clusters : int
        The selected number.
    confidence : float
        Between 0 and 1: the credibility of the selected number.
    runner_up : int or None
        The next best number; None if only one was considered.
    ks : ndarray of shape (m,)
        The candidate numbers, ascending.
    table : dict of str to ndarray of shape (m,)
        Evidence by column, one entry per number:

        - ``"k"``: the number;
        - ``"gap"``: logarithm of the ratio of the relaxation times k and k + 1 of the random walk
          on the graph; large if the walk separates k groups for long, but not k + 1;
        - ``"edge"``: how far eigenvalue k lies above the spectral edge of a random graph;
          negative for clusters that can arise by chance;
        - ``"bound"``: the smallest normalized cut possible for k clusters, by the eigenvalues;
        - ``"cut"``: the normalized cut of the partition found, at least the bound;
        - ``"valley"``: the shallowest valley between two linked clusters: the weight cut at their
          boundary over the weight of cuts inside them, 0 for a gap and 1 for no valley; geometric
          mean over the graph and its resamples;
        - ``"stability"``: mean adjusted Rand index with the partitions of resampled graphs;
        - ``"likelihood"``: log-likelihood of held-out links in a degree-corrected block model, per
          unit of weight, relative to a model without clusters;
        - ``"lasting"``: how much longer k clusters survive a growing pruning threshold than in a
          graph without structure, as a logarithm;
        - ``"score"``: the sum by which the number is selected;
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
    _arrays: ClassVar[dict[str, str]] = {
        "n_clusters": "int",
        "confidence": "float",
        "runner_up": "int?",
        "ks": "int *",
    }

    def to_pandas(self) -> Any:
        """The table as a pandas data frame, one row per number of clusters.

        Returns
        -------
        pandas.DataFrame
            Indexed by ``k``.
        """
        # pandas has no type stubs here, and this is its only use.
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


# Larger gaps between eigenvalues add no further evidence.
_WIDE_GAP = 1.0
# The pruning path is coarse: its numbers persist in discrete steps.
_LASTING_WEIGHT = 0.5
# Score that a single cluster may reach for k clusters by chance: _CHANCE + _CHANCE_OF_FEW / k.
_CHANCE = 1.4
_CHANCE_OF_FEW = 1.5
# Difference of scores that makes one number e times as credible as another.
_TEMPERATURE = 0.4


def score_numbers(columns: Evidence, numbers: IntArray) -> FloatArray:
    r"""The score of each of the numbers of clusters, ascending, from the columns for 1, 2, ...

    .. math:: \min(g_k, 1) \sqrt{1 - v_k} + \frac12 \sum_{m=1}^2
              \log\frac{v_{k+m} + 0.05}{v_k + 0.05} + s_k + \frac12 l_k

    with the gap g of relaxation times, the shallowest valley v, the stability s and the lasting
    l on the pruning path. A gap counts only together with valleys: a single round cluster has gaps,
    too. One cluster gets the score that it might reach by chance for the best other number k,
    1.4 + 1.5 / k: a single cluster splits more easily into few parts than into many.
    """
    valley = columns["valley"]
    n = len(valley) - AHEAD
    log_valley = np.log(valley + DEEP)
    ahead = np.mean([log_valley[m : m + n] for m in range(1, AHEAD + 1)], axis=0)
    scores = np.minimum(columns["gap"][:n], _WIDE_GAP) * np.sqrt(1.0 - valley[:n])
    scores += ahead - log_valley[:n]
    scores += columns["stability"][:n] + _LASTING_WEIGHT * columns["lasting"][:n]
    scores = scores[numbers - 1]
    if numbers[0] == 1:
        rival = numbers[1:][scores[1:].argmax()] if len(numbers) > 1 else np.inf
        scores[0] = _CHANCE + _CHANCE_OF_FEW / rival
    return np.asarray(scores)


def credibility(scores: FloatArray) -> FloatArray:
    """Shares that sum to one: how clearly each number's score stands out."""
    weight = np.exp((scores - scores.max()) / _TEMPERATURE)
    return np.asarray(weight / weight.sum())


# The largest number considered by default, and the smallest mean cluster size.
_MOST = 20
_LEAST_SIZE = 5
_RESAMPLES = 5
_SEEDS = np.iinfo(np.int32).max


@renamed_parameters(resamples="n_resamples")
def choose_k(  # noqa: PLR0913 - every one of them is a choice of the user's
    X: Any,
    ks: Iterable[int] | None = None,
    *,
    affinity: Any = "nearest_neighbors",
    metric: Any = "euclidean",
    n_neighbors: int = 15,
    standardize: Standardize = "auto",
    n_resamples: int = _RESAMPLES,
    random_state: Any = 0,
    n_jobs: int | None = -1,
    verbose: int | bool = 0,
) -> KChoice:
    r"""Select the number of clusters, and report the evidence for every candidate.

    One graph and one set of its eigenvectors serve all candidates. A number k of clusters is good
    if a random walk separates k groups much longer than k + 1 (gap g of relaxation times); if there
    is a valley between any two clusters, while finer partitions cut through regions as dense as the
    clusters themselves (ratio v of the weight cut at a boundary and inside); if the partition is
    stable when some links are left out (stability s); and if it persists while a growing threshold
    prunes clusters (l):

    .. math:: \min(g_k, 1) \sqrt{1 - v_k} + \frac12 \sum_{m=1}^2
              \log\frac{v_{k+m} + 0.05}{v_k + 0.05} + s_k + \frac12 l_k.

    The number with the largest sum is selected. For one cluster there is no such evidence; it gets
    the score that a single cluster might reach by chance, 1.4 + 1.5 / k with the best other number
    k. The confidence is the share of exp(2.5 score); on labelled data sets it was close to the
    share of correct answers. The other columns of the table are informative only: in few
    dimensions, more clusters always predict held-out links better.

    Parameters
    ----------
    X : table, matrix or graph
        Features (NumPy, pandas, polars, SciPy sparse), similarities with
        ``affinity="precomputed"``, distances with ``metric="precomputed"``, a networkx or
        igraph graph, or an AnnData object.
    ks : iterable of int, optional
        The candidate numbers; include 1 if there may be no clusters at all. By default 1 to 20, at
        most one per five objects.
    affinity : str, callable or Affinity, default "nearest_neighbors"
        One of "nearest_neighbors", "relative", "rbf", "laplacian", "cosine", "precomputed".
    metric : str or callable, default "euclidean"
        Any metric of scikit-learn; "precomputed" means that X holds distances.
    n_neighbors : int, default 15
        Neighbours per object in the graph.
    standardize : {"auto", True, False}, default "auto"
        Whether to scale the columns of a table, as for the models.
    n_resamples : int, default 5
        Number of graphs with a fifth of the links left out.
    random_state : int, RandomState or None, default 0
        Seed of the resamples and of k-means.
    n_jobs : int or None, default -1
        Number of threads, as in scikit-learn. It does not change results.
    verbose : int, default 0
        1 shows phases on standard error.

    Returns
    -------
    KChoice
        The number, its confidence, the runner-up and the table of evidence.

    Examples
    --------
    >>> from soffit.datasets import make_moons
    >>> from soffit.selection import choose_k
    >>> X, _, _ = make_moons(400, noise=0.08, random_state=7)
    >>> choose_k(X, ks=range(1, 9)).n_clusters
    2

    References
    ----------
    The pruning column follows K. Yu, S. Yu & V. Tresp (2005), the bound M. I. Jordan's lecture
    (2004), the likelihood B. Karrer & M. E. J. Newman (2011), Phys. Rev. E 83, 016107.
    """
    check_parameters(
        "choose_k", {"standardize": standardize}, {"standardize": OneOf(("auto", True, False))}
    )
    settings = Settings(
        metric=metric,
        n_neighbors=n_neighbors,
        relative_neighbor=n_neighbors,
        standardize=standardize,
        n_jobs=n_jobs,
    )
    objects = read_objects(X, affinity=affinity, settings=settings)
    _checked_numbers(ks, objects.n_objects)
    _say(verbose, "affinities")
    with threadpool_limits(limits=1), thread_limit(n_jobs):
        A = objects.affinities().affinity.matrix_
        return choose_k_of_graph(
            A, ks, n_resamples=n_resamples, random_state=random_state, verbose=verbose
        )


@renamed_parameters(resamples="n_resamples")
def choose_k_of_graph(
    A: Matrix,
    ks: Iterable[int] | None = None,
    *,
    n_resamples: int = _RESAMPLES,
    random_state: Any = 0,
    verbose: int | bool = 0,
) -> KChoice:
    """Select the number of clusters of a given graph.

    Parameters
    ----------
    A : ndarray or csr_array of shape (n, n)
        Symmetric nonnegative affinities. A dense matrix of more than 1200 objects is represented
        by a random sample of 1200.
    ks, n_resamples, random_state, verbose
        As for :func:`choose_k`.

    Returns
    -------
    KChoice
        The number, its confidence, the runner-up and the table of evidence.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.selection import choose_k_of_graph
    >>> A = np.kron(np.eye(4), np.ones((20, 20))) + 0.01
    >>> choose_k_of_graph(A, ks=range(1, 8)).n_clusters
    4
    """
    numbers = _checked_numbers(ks, A.shape[0])
    if not _is_whole(n_resamples) or n_resamples < 1:
        raise ParameterError("n_resamples", n_resamples, "an integer of at least 1")
    seed = int(check_random_state(random_state).randint(_SEEDS))
    _say(verbose, f"evidence for {numbers[0]} to {numbers[-1]} clusters")
    with threadpool_limits(limits=1):
        columns = gather_evidence(
            A, int(numbers[-1]), n_resamples=int(n_resamples), random_state=seed
        )
    scores = score_numbers(columns, numbers)
    shares = credibility(scores)
    table: dict[str, Any] = {"k": numbers}
    table |= {name: column[numbers - 1] for name, column in columns.items()}
    table |= {"score": scores, "credibility": shares}
    order = np.argsort(-scores, kind="stable")
    choice = KChoice(
        n_clusters=int(numbers[order[0]]),
        confidence=float(shares[order[0]]),
        runner_up=int(numbers[order[1]]) if len(numbers) > 1 else None,
        ks=numbers,
        table=table,
    )
    _say(verbose, str(choice))
    return choice


def _checked_numbers(ks: Iterable[int] | None, n_objects: int) -> IntArray:
    """The candidate numbers, ascending and distinct."""
    if ks is None:
        return np.arange(1, max(min(_MOST, n_objects // _LEAST_SIZE), 1) + 1)
    given: list[Any] = list(ks) if isinstance(ks, Iterable) else [ks]
    if not given:
        raise ValueError("ks is empty. Pass at least one number of clusters, or None for 1 to 20.")
    wrong = [k for k in given if not _is_whole(k) or k < 1]
    if wrong:
        raise ValueError(f"ks must be integers of at least 1, got {wrong[0]!r}.")
    if max(given) > n_objects:
        raise ValueError(
            f"ks contains {max(given)}, which is larger than the number of objects, {n_objects}. "
            f"Pass numbers of at most {n_objects}."
        )
    return np.unique(np.array(given, dtype=np.int64))


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _say(verbose: int | bool, text: str) -> None:
    if verbose:
        sys.stderr.write(f"[choose_k] {text}\n")
        sys.stderr.flush()
