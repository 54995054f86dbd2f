"""Memberships after answers about pairs, of which some may be wrong."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from soffit._typing import FloatArray, IntArray, Matrix, is_sparse
from soffit.affinity import SideInformation
from soffit.graph import Graph, as_array
from soffit.memberships.measures import without_traces

# Weight of an object's memberships before the answers, and of the belief about an object that was
# asked about, relative to all its neighbours together.
_PRIOR, _ANSWERED = 0.02, 30.0
# Objects of which at least a tenth of the memberships comes from corrected ones follow F alone.
_REACH = 10.0
# Share of wrong answers: expected at first, how many answers this expectation counts as, and range.
_WRONG, _COUNTS, _FEWEST_WRONG, _MOST_WRONG = 0.05, 20.0, 0.01, 0.2
# Memberships are wrong with this probability without any sign of it.
_DOUBT = 0.1
# Turns of answers and neighbours.
_TURNS = 3
# Passes of messages in each turn, damped after some, until they change no more than this.
_PASSES, _UNDAMPED, _SETTLED = 40, 8, 1e-3
# More answers than this have so many per object that beliefs themselves serve as messages.
_MANY, _FEW_PASSES = 100_000, 6
_MOST_ITERATIONS, _ACCURACY = 100, 1e-4
# Columns by which shares of own beliefs are found: so many entries, at least so many columns.
_PROBES, _FEWEST_PROBES = 100_000, 8
_MOST_OWN = 0.999
# Powers that make up for the spreading, found by so many bisections.
_LARGEST_POWER, _BISECTIONS = 32.0, 12
# A partition that follows the answers predicts them better by this many nats, and standard errors.
_CLEAR, _ERRORS = 3.0, 2.0
# Answers that are wrong with at least this probability are not built upon in new questions.
DUBIOUS = 0.2


def follow_answers(
    memberships: Any, A: Matrix, side: SideInformation, *, weight: float = 1.0
) -> Any:
    r"""Memberships that follow answers about pairs, as far as neighbours and other answers agree.

    Each answer is wrong with a small probability :math:`\varepsilon`, which is estimated. Object i
    is in cluster c with probability :math:`p_{ic}` by what its neighbours say without i itself.
    Together this is a probability of all clusters of the objects that were asked about,

    .. math:: \Pr(y) \propto \prod_i p_{i y_i} \prod_{\text{answers about } (i, j)}
              (1 - \varepsilon)^{[\text{right by } y]}\, \varepsilon^{[\text{wrong by } y]},

    and the belief :math:`q_{ic}` is its share of :math:`y_i = c`, by belief propagation: exact
    where answers form no cycle. Chains of answers count in full, and an answer that contradicts
    its surroundings and other answers is outvoted. Other objects F solve

    .. math:: \min_F \tfrac12 \sum_{ij} A_{ij} \|F_i - F_j\|^2 + \tau \sum_i d_i \|F_i - P_i\|^2
              + \omega w \sum_{i \text{ in a pair}} d_i \|F_i - q_i\|^2

    with the memberships P before the answers and the degrees d; p is F without the object's own
    belief. Beliefs, F and the share of wrong answers are computed in turn. A correction therefore
    reaches the neighbourhood of an object and fades from there. Objects that no correction reaches
    keep their memberships: the result is a mean of P and F. An object with a single answer always
    follows it; no other answer is there to outvote it.

    Parameters
    ----------
    memberships : array or CSR of shape (n, k)
        The probabilities P without the answers.
    A : array or CSR of shape (n, n)
        Affinities without a diagonal.
    side : SideInformation
        The answers.
    weight : float, default 1.0
        omega in (0, 1]: how far the answers are trusted. Towards zero nothing changes.

    Returns
    -------
    array or CSR of shape (n, k)
        Rows sum to one. Every cluster that had objects keeps some.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.affinity import SideInformation
    >>> from soffit.memberships.answers import follow_answers
    >>> before = np.array([[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]])
    >>> after = follow_answers(before, np.zeros((3, 3)), SideInformation.of([(0, 1)], None, 3))
    >>> after.argmax(axis=1).tolist(), bool(after[0, 0] > 0.8)
    ([0, 0, 1], True)
    """
    k = memberships.shape[1]
    if k == 1 or not side.n_pairs:
        return memberships
    P: FloatArray = as_array(memberships).astype(np.float64)
    found = _infer(P, A, side, weight)
    touched, beliefs, spread = found.touched, found.beliefs, found.spread
    F = _as_certain(_rows(spread.solve(P, beliefs, found.F)), P)
    reached = spread.reach(np.abs(beliefs - P[touched]).sum(axis=1) / 2.0)
    result = reached * F + (1.0 - reached) * P
    result[touched] = found.pairs.obedient(beliefs)
    result = weight * result + (1.0 - weight) * P
    result = _keeping_clusters(P, result).astype(memberships.dtype)
    return without_traces(result) if is_sparse(memberships) else result


def chances_wrong(memberships: FloatArray, A: Matrix, side: SideInformation) -> FloatArray:
    """Probability that each answer is wrong, by the neighbours of its objects and other answers.

    Parameters
    ----------
    memberships : array of shape (n, k)
        The probabilities without the answers.
    A : array or CSR of shape (n, n)
        Affinities without a diagonal.
    side : SideInformation
        The answers.

    Returns
    -------
    ndarray of shape (n_pairs,)
        Must-links first.
    """
    if memberships.shape[1] == 1 or not side.n_pairs:
        return np.zeros(side.n_pairs)
    return _infer(np.asarray(memberships, dtype=np.float64), A, side, 1.0).chances


def predicts_better(turned: IntArray, labels: IntArray, A: Matrix, side: SideInformation) -> bool:
    """Whether a partition that was made with the answers predicts them clearly better.

    The answers may ask for clusters along another direction, which no correction of single objects
    and their neighbourhoods reaches. The cluster of an object is predicted by those neighbours that
    were not asked about: a partition that follows the answers only where they are gains nothing.

    Parameters
    ----------
    turned : array of shape (n,)
        The partition made with the answers.
    labels : array of shape (n,)
        The one made without them.
    A : array or CSR of shape (n, n)
        Affinities.
    side : SideInformation
        The answers.
    """
    touched = side.touched()
    among = side.among(touched)
    k = int(max(turned.max(), labels.max())) + 1
    rest = np.ones(len(labels), dtype=bool)
    rest[touched] = False
    block = Graph.of(A).matrix[touched]

    def likelihoods(partition: IntArray) -> FloatArray:
        of_rest = np.zeros((len(partition), k))
        of_rest[np.flatnonzero(rest), partition[rest]] = 1.0
        near = as_array(block @ of_rest)
        total = near.sum(axis=1, keepdims=True)
        prior = np.where(total > 0, near / np.where(total > 0, total, 1.0), 1.0 / k)
        prior = _with_doubt(prior)
        ends = np.concatenate([among.must, among.cannot])
        same = np.einsum("pc,pc->p", prior[ends[:, 0]], prior[ends[:, 1]])
        right = np.where(np.arange(len(ends)) < len(among.must), same, 1.0 - same)
        return np.asarray(np.log(_WRONG + (1.0 - 2.0 * _WRONG) * right))

    gains = likelihoods(turned) - likelihoods(labels)
    gain = float(gains.sum())
    error = float(gains.std()) * np.sqrt(len(gains))
    return gain > max(_CLEAR, _ERRORS * error)


@dataclass(frozen=True, eq=False)
class _Inferred:
    """Beliefs about the objects of all pairs, and the probability that each answer is wrong."""

    touched: IntArray
    pairs: _Pairs
    spread: _Spreading
    beliefs: FloatArray
    chances: FloatArray
    F: FloatArray


def _infer(P: FloatArray, A: Matrix, side: SideInformation, weight: float) -> _Inferred:
    """Beliefs, neighbours and the share of wrong answers in turn."""
    touched = side.touched()
    pairs = _Pairs.of(side.among(touched))
    spread = _Spreading.of(A, touched, weight)
    prior, wrong, F = P[touched], _WRONG, P
    beliefs, chances = pairs.beliefs(_with_doubt(prior), wrong, weight)
    for _ in range(_TURNS - 1):
        wrong = _share_wrong(chances)
        F = spread.solve(P, beliefs, F)
        prior = spread.without_itself(F, beliefs)
        beliefs, chances = pairs.beliefs(_with_doubt(prior), wrong, weight)
    return _Inferred(touched, pairs, spread, beliefs, chances, F)


def _with_doubt(rows: FloatArray) -> FloatArray:
    return np.asarray((1.0 - _DOUBT) * rows + _DOUBT / rows.shape[1])


def _rows(F: FloatArray) -> FloatArray:
    F = np.maximum(F, 1e-12)
    return np.asarray(F / F.sum(axis=1, keepdims=True))


def _as_certain(F: FloatArray, P: FloatArray) -> FloatArray:
    """F, raised to the power at which it is as certain as P where both name the same cluster.

    Spreading draws rows together, and answers that confirm a cluster are no reason to doubt it.
    """
    agree = F.argmax(axis=1) == P.argmax(axis=1)
    if not agree.any():
        return F
    target, logs = float(P[agree].max(axis=1).mean()), np.log(F)
    low, high = 1.0, _LARGEST_POWER
    for _ in range(_BISECTIONS):
        middle = np.sqrt(low * high)
        certain = float(_normalized(middle * logs[agree]).max(axis=1).mean())
        low, high = (middle, high) if certain < target else (low, middle)
    return _normalized(low * logs)


def _normalized(log_rows: FloatArray) -> FloatArray:
    rows = np.exp(log_rows - log_rows.max(axis=1, keepdims=True))
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def _share_wrong(chances: FloatArray) -> float:
    """The share of wrong answers, with a prior."""
    share = (float(chances.sum()) + _WRONG * _COUNTS) / (len(chances) + _COUNTS)
    return float(np.clip(share, _FEWEST_WRONG, _MOST_WRONG))


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Answers among objects that all have one; `together` are must-links, which come first."""

    ends: IntArray
    together: NDArray[np.bool_]

    @classmethod
    def of(cls, side: SideInformation) -> _Pairs:
        ends = np.concatenate([side.must, side.cannot])
        return cls(ends, np.arange(len(ends)) < len(side.must))

    def beliefs(
        self, prior: FloatArray, wrong: float, weight: float
    ) -> tuple[FloatArray, FloatArray]:
        """The belief about each object, and the probability that each answer is wrong."""
        pass_on = self._by_objects if len(self.ends) > _MANY else self._by_messages
        beliefs, first, second = pass_on(np.log(prior), wrong, weight)
        same = np.einsum("pc,pc->p", first, second)
        right = np.where(self.together, same, 1.0 - same)
        odds = wrong * (1.0 - right)
        return beliefs, np.asarray(odds / (odds + (1.0 - wrong) * right))

    def _by_messages(
        self, log_prior: FloatArray, wrong: float, weight: float
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Belief propagation; also the beliefs about both ends of each pair without this answer."""
        m = len(self.ends)
        source, target = np.concatenate([self.ends, self.ends[:, ::-1]]).T
        entries = (np.ones(2 * m), (target, np.arange(2 * m)))
        into = sp.csr_array(entries, shape=(len(log_prior), 2 * m))
        together = np.concatenate([self.together, self.together])[:, None]
        messages: FloatArray = np.zeros((2 * m, log_prior.shape[1]))

        def without_partner() -> FloatArray:
            """What an object says to a partner leaves out what the partner said to it."""
            said = np.concatenate([messages[m:], messages[:m]])
            return _normalized((log_prior + into @ messages)[source] - said)

        for step in range(_PASSES):
            q = without_partner()
            new = weight * np.where(together, _with_them(q, wrong), _without_them(q, wrong))
            new -= new.max(axis=1, keepdims=True)
            change = float(np.abs(new - messages).max())
            messages = new if step < _UNDAMPED else 0.5 * (messages + new)
            if change < _SETTLED:
                break
        q = without_partner()
        return _normalized(log_prior + into @ messages), q[:m], q[m:]

    def _by_objects(
        self, log_prior: FloatArray, wrong: float, weight: float
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The same with the beliefs themselves as messages; also those about both ends."""
        n = len(log_prior)
        groups = [
            sp.csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n, n))
            for ends in (self.ends[self.together], self.ends[~self.together])
        ]
        together, apart = (sp.csr_array(group + group.T) for group in groups)
        evidence: FloatArray = np.zeros_like(log_prior)
        for _ in range(_FEW_PASSES):
            q = _normalized(log_prior + evidence)
            said = together @ _with_them(q, wrong) + apart @ _without_them(q, wrong)
            evidence = 0.5 * (evidence + weight * said)
        q = _normalized(log_prior + evidence)
        return q, q[self.ends[:, 0]], q[self.ends[:, 1]]

    def obedient(self, beliefs: FloatArray) -> FloatArray:
        """Beliefs in which objects with a single answer follow it."""
        count = np.bincount(self.ends.ravel(), minlength=len(beliefs))
        labels, sure = beliefs.argmax(axis=1), beliefs.max(axis=1)
        first, second = self.ends.T
        # The one with fewer answers moves; of two with one answer, the less certain.
        swap = (count[second] < count[first]) | (
            (count[second] == count[first]) & (sure[second] < sure[first])
        )
        moving, partner = np.where(swap, second, first), np.where(swap, first, second)
        broken = ((labels[first] == labels[second]) != self.together) & (count[moving] == 1)
        result = beliefs.copy()
        follow = broken & self.together
        result[moving[follow]] = beliefs[partner[follow]]
        leave = np.flatnonzero(broken & ~self.together)
        result[moving[leave], labels[partner[leave]]] = 0.0
        return _rows(result)


def _with_them(q: FloatArray, wrong: float) -> FloatArray:
    return np.asarray(np.log(wrong + (1.0 - 2.0 * wrong) * q))


def _without_them(q: FloatArray, wrong: float) -> FloatArray:
    return np.asarray(np.log1p(-wrong - (1.0 - 2.0 * wrong) * q))


@dataclass(frozen=True, eq=False)
class _Spreading:
    """Memberships of all objects from those before the answers and the beliefs about some."""

    graph: Graph
    root: FloatArray
    diagonal: FloatArray
    touched: IntArray
    own: FloatArray
    strength: float

    @classmethod
    def of(cls, A: Matrix, touched: IntArray, weight: float) -> _Spreading:
        graph = Graph.of(A)
        degrees = np.asarray(graph.degrees(), dtype=np.float64)
        root = np.sqrt(np.where(degrees > 0, degrees, 1.0))
        strength = weight * _ANSWERED
        diagonal = np.full(len(root), 1.0 + _PRIOR)
        diagonal[touched] += strength
        found = cls(graph, root, diagonal, touched, np.zeros(len(touched)), strength)
        return replace(found, own=found._own_share())

    def _own_share(self) -> FloatArray:
        """How much of F at each touched object is its own belief, also by way of its neighbours.

        The diagonal of an inverse matrix: objects share columns with random signs if there are more
        of them than columns.
        """
        n, t = len(self.root), len(self.touched)
        columns = min(t, max(_PROBES // n, _FEWEST_PROBES))
        random = np.random.default_rng(0)
        group, sign = random.permutation(t) % columns, random.choice([-1.0, 1.0], t)
        right = np.zeros((n, columns))
        right[self.touched, group] = sign * self.strength
        found = self._minimum(right, np.zeros_like(right))
        least = self.strength / self.diagonal[self.touched]
        return np.clip(sign * found[self.touched, group], least, _MOST_OWN)

    def solve(self, P: FloatArray, beliefs: FloatArray, start: FloatArray) -> FloatArray:
        """The minimum F, by conjugate gradients in each column."""
        right = _PRIOR * P
        right[self.touched] += self.strength * beliefs
        return self._minimum(right, start)

    def reach(self, moved: FloatArray) -> FloatArray:
        """How far each object is reached by touched objects that moved so much, as a column."""
        right = np.zeros((len(self.root), 1))
        right[self.touched, 0] = self.strength * moved
        return np.clip(_REACH * self._minimum(right, np.zeros_like(right)), 0.0, 1.0)

    def _minimum(self, right: FloatArray, start: FloatArray) -> FloatArray:
        root = self.root[:, None]
        X, B = start * root, right * root
        residual = B - self._times(X)
        scaled = residual / self.diagonal[:, None]
        direction, energy = scaled, np.einsum("nc,nc->c", residual, scaled)
        enough = _ACCURACY**2 * np.maximum(np.einsum("nc,nc->c", B, B), 1e-300)
        for _ in range(_MOST_ITERATIONS):
            if np.all(np.einsum("nc,nc->c", residual, residual) <= enough):
                break
            moved = self._times(direction)
            step = energy / np.maximum(np.einsum("nc,nc->c", direction, moved), 1e-300)
            X = X + step * direction
            residual = residual - step * moved
            scaled = residual / self.diagonal[:, None]
            before, energy = energy, np.einsum("nc,nc->c", residual, scaled)
            direction = scaled + energy / np.maximum(before, 1e-300) * direction
        return np.asarray(X / root)

    def _times(self, X: FloatArray) -> FloatArray:
        half = (X / self.root[:, None]).astype(self.graph.dtype)
        return np.asarray(
            self.diagonal[:, None] * X - self.graph.product(half) / self.root[:, None]
        )

    def without_itself(self, F: FloatArray, beliefs: FloatArray) -> FloatArray:
        """What F would be at the touched objects without their own beliefs."""
        own = self.own[:, None]
        return _rows((F[self.touched] - own * beliefs) / np.maximum(1.0 - own, 1e-9))


def _keeping_clusters(before: FloatArray, after: FloatArray) -> FloatArray:
    """The memberships after the answers; the objects surest of a cluster that vanished stay."""
    for cluster in np.setdiff1d(before.argmax(axis=1), after.argmax(axis=1)):
        surest = int(before[:, cluster].argmax())
        after[surest] = before[surest]
    return after
