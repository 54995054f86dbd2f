"""The number of clusters: evidence for every number, and a choice."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from importlib import import_module
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from soffit._parameters import OneOf, ParameterError, check_parameters, renamed_parameters
from soffit._threads import one_blas_thread, thread_limit
from soffit._typing import FloatArray, IntArray, Matrix
from soffit.affinity import Settings
from soffit.affinity.given_objects import Standardize, read_objects
from soffit.selection.choice_model import credibility, score_numbers
from soffit.selection.density import Density
from soffit.selection.evidence import AHEAD, Evidence, gather_evidence


@dataclass(frozen=True, eq=False)
class KChoice:
    r"""A number of clusters, its confidence, and the evidence for every candidate.

    Attributes
    ----------
    n_clusters : int
        The selected number.
    confidence : float
        The probability that the selected number is right, estimated from the evidence. On kinds
        of data that its weights were not fitted to, it is on average close to the share of right
        numbers (see the documentation on uncertainty).
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
        - ``"modularity"``: the weight inside the clusters beyond that of a random graph;
        - ``"smallest"``: the size of the smallest cluster over that of an even one;
        - ``"valley"``: the shallowest valley between two linked clusters: the weight cut at their
          boundary over the weight of cuts inside them, 0 for a gap and 1 for no valley;
        - ``"depth"``, ``"link_depth"``: the depth of the valley around the k-th most prominent
          mode of the density, as the logarithm of a ratio of densities; in the second, links that
          share hardly any neighbours count as sparse. Only if distances are known;
        - ``"mixture"``: log-likelihood of the objects as k Gaussian clusters with unknown means and
          covariances, in nats per object and relative to one cluster. Skewed variables are
          transformed first. Only for tables, distances and full matrices of similarities;
        - ``"dip"``: the largest density between two neighbouring clusters, relative to that at
          their centres, along the direction that discriminates between them best; 1 or more where
          one cluster was cut. Where there is a column "mixture";
        - ``"stability"``: mean adjusted Rand index with the partitions of resampled graphs, and
        - ``"likelihood"``: log-likelihood of held-out links in a degree-corrected block model, per
          unit of weight, relative to a model without clusters. Only with `n_resamples`;
        - ``"score"``: log-odds of the number, up to a constant;
        - ``"credibility"``: its probability.

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
        "n_clusters": "count",
        "confidence": "finite",
        "runner_up": "count?",
        "ks": "int r",
        "table": "arrays r",
    }

    def at_least(self, n_clusters: int) -> KChoice:
        """The choice among numbers that are not smaller than the given one.

        Parameters
        ----------
        n_clusters : int
            The smallest number that other knowledge allows, such as known pairs. It is one of `ks`.

        Returns
        -------
        KChoice
            Smaller numbers have no credibility; the others share it in the same ratio.
        """
        possible = np.flatnonzero(self.ks >= n_clusters)
        shares = np.zeros(len(self.ks))
        scores = np.asarray(self.table["score"], dtype=np.float64)[possible]
        shares[possible] = credibility(scores)
        order = possible[np.argsort(-scores, kind="stable")]
        return replace(
            self,
            n_clusters=int(self.ks[order[0]]),
            confidence=float(shares[order[0]]),
            runner_up=int(self.ks[order[1]]) if len(order) > 1 else None,
            table=self.table | {"credibility": shares},
        )

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


# The first range of numbers, and the factors by which it grows at least and at most.
_FIRST = 20
_GROWTH = (1.5, 4.0)
# More clusters are not looked for unless `max_clusters` says so; nor smaller ones on average, apart
# from a few of at least two objects.
_MOST = 160
_LEAST_SIZE = 4
_A_FEW = 5
# The range grows while its largest numbers have valleys at most this shallow between all clusters,
_STILL_DEEP = 0.3
# and there are clear modes for this share of it; then it reaches beyond their number.
_FILLED = 0.6
_BEYOND = 1.5
# Below this dimension links are weak anywhere, and valleys must be deeper.
_THIN = 1.5
_DEEPER = 0.05


@renamed_parameters(resamples="n_resamples")
def choose_k(  # noqa: PLR0913 - every one of them is a choice of the user's
    X: Any,
    ks: Iterable[int] | None = None,
    *,
    affinity: Any = "nearest_neighbors",
    metric: Any = "euclidean",
    n_neighbors: int = 15,
    standardize: Standardize = "auto",
    max_clusters: int | None = None,
    n_resamples: int = 0,
    random_state: Any = 0,
    n_jobs: int | None = -1,
    verbose: int | bool = 0,
) -> KChoice:
    r"""Select the number of clusters, and report the evidence for every candidate.

    One graph and one set of its eigenvectors serve all candidates; a graph of more than 2500
    objects is represented by a coarser one. A number k of clusters is good if the density has k
    modes with deep valleys around them, and a (k + 1)-th only with a shallow one; if there is a
    valley between any two clusters of the partition, while finer partitions cut through regions as
    dense as the clusters themselves; if a random walk separates k groups much longer than k + 1;
    if the objects are most probable as k Gaussian clusters, which tells most if there are few of
    them; and if one cluster more would have to cut through another one. One cluster of any shape
    has no deep valleys. For networks, where distances are not known, the modularity of the
    partitions is compared with that of a random graph with the same degrees.

    A conditional logit model turns this evidence into probabilities. The most probable number is
    selected, and its probability is the confidence. The other columns of the table are informative
    only.

    The numbers 1 to 20 are considered, and more if the evidence is still strong for the largest of
    them.

    Parameters
    ----------
    X : table, matrix or graph
        Features (NumPy, pandas, polars, SciPy sparse), similarities with
        ``affinity="precomputed"``, distances with ``metric="precomputed"``, a networkx or
        igraph graph, or an AnnData object.
    ks : iterable of int, optional
        The candidate numbers; include 1 if there may be no clusters at all. By default 1 to 20, at
        most one per four objects (up to five clusters: one per two), and more while the evidence
        grows.
    affinity : str, callable or Affinity, default "nearest_neighbors"
        One of "nearest_neighbors", "relative", "rbf", "laplacian", "cosine", "precomputed".
    metric : str or callable, default "euclidean"
        Any metric of scikit-learn; "gower" for tables with text, yes/no or missing values;
        "precomputed" means that X holds distances.
    n_neighbors : int, default 15
        Neighbours per object in the graph.
    standardize : {"auto", True, False}, default "auto"
        Whether to scale the columns of a table, as for the models.
    max_clusters : int, optional
        The largest number to consider, if `ks` is not given. By default the range grows up to 160.
    n_resamples : int, default 0
        Number of graphs with a fifth of the links left out, for the columns "stability" and
        "likelihood". They do not influence the choice.
    random_state : int, RandomState or None, default 0
        Seed of the resamples and of the random graph that a network is compared with.
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
    The bound follows M. I. Jordan's lecture (2004), the likelihood B. Karrer & M. E. J. Newman
    (2011), Phys. Rev. E 83, 016107.
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
    numbers = _checked_numbers(ks, max_clusters, objects.n_objects)
    _say(verbose, "affinities")
    with one_blas_thread(), thread_limit(n_jobs):
        copies = objects.copies()
        # Each distinct object counts once, as in a fit, unless there are fewer than clusters.
        if copies is not None and copies.max() + 1 >= numbers[-1]:
            objects = objects.distinct(copies)
        found = objects.affinities()
        return choose_k_of_graph(
            found.affinity.matrix_,
            ks,
            density=Density.of(found.affinity, found.table),
            max_clusters=max_clusters,
            n_resamples=n_resamples,
            random_state=random_state,
            verbose=verbose,
        )


@renamed_parameters(resamples="n_resamples")
def choose_k_of_graph(
    A: Matrix,
    ks: Iterable[int] | None = None,
    *,
    density: Density | None = None,
    max_clusters: int | None = None,
    n_resamples: int = 0,
    random_state: Any = 0,
    verbose: int | bool = 0,
) -> KChoice:
    """Select the number of clusters of a given graph.

    Parameters
    ----------
    A : ndarray or csr_array of shape (n, n)
        Symmetric nonnegative affinities. A dense matrix of more than 1200 objects is represented
        by a random sample of 1200, a sparse one of more than 2500 by a coarser graph.
    ks, max_clusters, n_resamples, random_state, verbose
        As for :func:`choose_k`.
    density : Density, optional
        The density at every object, from the affinity: ``Density.of(affinity)``.

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
    numbers = _checked_numbers(ks, max_clusters, A.shape[0])
    if not _is_whole(n_resamples) or n_resamples < 0:
        raise ParameterError("n_resamples", n_resamples, "an integer of at least 0")
    seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    settings: dict[str, Any] = {"n_resamples": int(n_resamples), "random_state": seed}
    with one_blas_thread():
        if ks is None:
            evidence = evidence_of_range(
                A, density=density, max_clusters=max_clusters, verbose=verbose, **settings
            )
            numbers = np.arange(1, _range_of(evidence) + 1)
        else:
            _say(verbose, f"evidence for {numbers[0]} to {numbers[-1]} clusters")
            evidence = gather_evidence(A, int(numbers[-1]), density=density, **settings)
    columns = evidence.columns
    scores = score_numbers(evidence, numbers)
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


def evidence_of_range(
    A: Matrix,
    *,
    density: Density | None,
    max_clusters: int | None = None,
    n_resamples: int = 0,
    random_state: int = 0,
    verbose: int | bool = 0,
) -> Evidence:
    """Evidence for 1, 2, ... clusters, up to a number that grows while the evidence does."""
    n = A.shape[0]
    limit = max(min(max_clusters or _MOST, max(n // _LEAST_SIZE, min(n // 2, _A_FEW))), 1)
    most = min(_FIRST, limit)
    while True:
        _say(verbose, f"evidence for 1 to {most} clusters")
        evidence = gather_evidence(
            A, most, density=density, n_resamples=n_resamples, random_state=random_state
        )
        if most == limit or not _is_rising(evidence):
            return evidence
        least, largest = (int(factor * most) for factor in _GROWTH)
        most = min(max(int(_BEYOND * evidence.n_modes), least), largest, limit)


def _range_of(evidence: Evidence) -> int:
    return len(evidence.columns["valley"]) - AHEAD


def _is_rising(evidence: Evidence) -> bool:
    """Whether the largest numbers of the range have as much evidence as smaller ones."""
    columns = evidence.columns
    most = _range_of(evidence)
    is_thin = evidence.dimension is not None and evidence.dimension < _THIN
    if float(columns["valley"][most - 1 :].min()) > (_DEEPER if is_thin else _STILL_DEEP):
        return False
    if evidence.dimension is None:
        return bool(columns["edge"][most - 1] > 0)
    return evidence.n_modes >= _FILLED * most


def _checked_numbers(
    ks: Iterable[int] | None, max_clusters: int | None, n_objects: int
) -> IntArray:
    """The candidate numbers, ascending and distinct; the first of them if none are given."""
    if max_clusters is not None and (not _is_whole(max_clusters) or max_clusters < 1):
        raise ParameterError("max_clusters", max_clusters, "an integer of at least 1, or None")
    if ks is None:
        return np.arange(1, 2)
    given: list[Any] = list(ks) if isinstance(ks, Iterable) else [ks]
    if not given:
        raise ValueError(
            "ks is empty. Pass at least one number of clusters, or None to consider 1 to 20 and "
            "more while the evidence grows."
        )
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
