"""Side information: pairs of objects that belong together or apart, given by number or name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import breadth_first_order

from soffit._memory import check_allocation
from soffit._typing import IntArray, Matrix
from soffit._wording import Message, Parameter, first_few
from soffit.graph import Graph, distinct_pairs, pair_components, undirected

_SHOWN = 5
# Objects with fewer must-links than this are linked less strongly than by all their affinities.
_MANY = 6
# Groups of objects from which others that differ from them and each other are collected.
_STARTS = 32


@dataclass(frozen=True, eq=False)
class SideInformation:
    r"""Must-link and cannot-link pairs, each once and with the smaller number first.

    They define the label consistency matrix :math:`R` with 1 for pairs known to be in the same
    cluster, -1 for pairs known to be in different ones, and 0 elsewhere.

    Parameters
    ----------
    must : array of shape (p, 2)
        Pairs in the same cluster.
    cannot : array of shape (q, 2)
        Pairs in different clusters.
    n_objects : int
        Number of objects the pairs refer to.

    Examples
    --------
    >>> from soffit.affinity import SideInformation
    >>> side = SideInformation.of([(0, 1), (1, 2)], [(3, 2)], 4, transitive=True)
    >>> side.relation().toarray()
    array([[ 0.,  1.,  1., -1.],
           [ 1.,  0.,  1., -1.],
           [ 1.,  1.,  0., -1.],
           [-1., -1., -1.,  0.]])

    References
    ----------
    R. Zass, A. Shashua (2005). A unifying approach to hard and probabilistic clustering. ICCV.
    Section 2.2.
    """

    must: IntArray
    cannot: IntArray
    n_objects: int
    _arrays: ClassVar[dict[str, str]] = {
        "must": "int a 2 <n",
        "cannot": "int b 2 <n",
        "n_objects": "size n",
    }

    @classmethod
    def of(
        cls,
        must_link: Any,
        cannot_link: Any,
        n_objects: int,
        *,
        transitive: bool = False,
        names: NDArray[Any] | None = None,
    ) -> SideInformation:
        """Read pairs as passed by the user.

        Parameters
        ----------
        must_link, cannot_link : array-like of shape (p, 2), sequence of groups, or None
            Pairs of objects by number, or by name where they have names; order and repetition do
            not matter. Groups of more than two objects all belong together, or all differ.
        n_objects : int
            Number of objects.
        transitive : bool, default False
            Add implied pairs: if a is linked with b and b with c, then a with c; an object that
            must not be with one of them must not be with any.
        names : array of shape (n,), optional
            Names of the objects, by which they may be given.

        Raises
        ------
        ValueError
            If pairs are malformed, or contradict each other (with `transitive`, also indirectly).
        """
        must = read_pairs(must_link, "must_link", n_objects, names)
        cannot = read_pairs(cannot_link, "cannot_link", n_objects, names, together=False)
        both = np.isin(_keys(cannot, n_objects), _keys(must, n_objects))
        _refuse(cannot[both], names)
        side = cls(must, cannot, n_objects)
        if not transitive:
            return side
        contradiction = side.contradiction(names)
        if contradiction is not None:
            raise ValueError(Message(contradiction, " Remove one of these statements."))
        group = pair_components(must[:, 0], must[:, 1], n_objects)
        return cls(*_closure(must, cannot, group), n_objects)

    def contradiction(self, names: NDArray[Any] | None = None) -> Message | None:
        """Pairs that must not be linked but are, through others; None if there are none.

        Parameters
        ----------
        names : array of shape (n,), optional
            Names of the objects; by default their numbers.

        Returns
        -------
        str or None
            A message with the shortest chain of must-links for each of the first pairs.
        """
        group = pair_components(self.must[:, 0], self.must[:, 1], self.n_objects)
        apart = self.cannot[group[self.cannot[:, 0]] == group[self.cannot[:, 1]]]
        if not len(apart):
            return None
        chains = [_chain(self.must, self.n_objects, *pair) for pair in apart[:_SHOWN]]
        # The shortest chains first: they are the easiest to check.
        chains.sort(key=len)
        shown = "; ".join(" - ".join(map(repr, called(c, names))) for c in chains)
        more = f" (and {len(apart) - _SHOWN} more)" if len(apart) > _SHOWN else ""
        must, cannot = Parameter("must_link"), Parameter("cannot_link")
        ends = "the two ends of this chain" if len(apart) == 1 else "the two ends of these chains"
        return Message(
            *(cannot, " contradicts ", must, f" through other objects: {ends} are in ", cannot),
            *(", but ", must, f" joins them: {shown}{more}."),
        )

    @property
    def n_pairs(self) -> int:
        """Number of pairs of both kinds."""
        return len(self.must) + len(self.cannot)

    def touched(self) -> IntArray:
        """The objects of all pairs, sorted."""
        return np.unique(np.concatenate([self.must, self.cannot]))

    def only(self, chosen: NDArray[np.bool_]) -> SideInformation:
        """Chosen pairs, must-links first."""
        count = len(self.must)
        must, cannot = self.must[chosen[:count]], self.cannot[chosen[count:]]
        return SideInformation(must, cannot, self.n_objects)

    def kept_by(self, labels: IntArray) -> NDArray[np.bool_]:
        """Which pairs labels agree with, must-links first."""
        must, cannot = labels[self.must], labels[self.cannot]
        return np.concatenate([must[:, 0] == must[:, 1], cannot[:, 0] != cannot[:, 1]])

    def among(self, objects: IntArray) -> SideInformation:
        """The pairs inside a selection of objects, numbered by their position in it."""
        place = np.full(self.n_objects, -1)
        place[objects] = np.arange(len(objects))

        def inside(pairs: IntArray) -> IntArray:
            # The smaller number first, as everywhere.
            found = np.sort(place[pairs].reshape(-1, 2), axis=1)
            return found[found[:, 0] >= 0]

        return SideInformation(inside(self.must), inside(self.cannot), len(objects))

    def among_distinct(self, copies: IntArray) -> SideInformation | None:
        """The pairs of distinct objects; None if there are none.

        Parameters
        ----------
        copies : int array of shape (n,)
            The number of each object's distinct one.
        """

        def mapped(pairs: IntArray) -> IntArray:
            ends = copies[pairs].reshape(-1, 2)
            return distinct_pairs(ends[ends[:, 0] != ends[:, 1]])

        found = SideInformation(mapped(self.must), mapped(self.cannot), int(copies.max()) + 1)
        return found if found.n_pairs else None

    def n_clusters(self) -> int:
        """How many clusters the pairs need at least: groups of which any two are known to differ.

        Groups are objects joined by must-links. They are collected greedily, from each of those
        that differ from most others. A pair that contradicts its own group proves nothing.
        """
        n = self.n_objects
        group = pair_components(self.must[:, 0], self.must[:, 1], n)
        rivals = distinct_pairs(group[self.cannot].reshape(-1, 2))
        rivals = rivals[rivals[:, 0] != rivals[:, 1]]
        apart = SideInformation(rivals, self.must[:0], n).relation(np.int32)
        most = 1
        for start in np.argsort(-np.diff(apart.indptr), kind="stable")[:_STARTS]:
            found, left = 1, apart.indices[apart.indptr[start] : apart.indptr[start + 1]]
            while len(left):
                among = apart[left][:, left]
                found, left = found + 1, left[among[[int(among.sum(axis=1).argmax())]].indices]
            most = max(most, found)
        return most

    def joined(self, A: Matrix, weight: float) -> Matrix:
        r"""A with an edge for every must-link, so that linked objects count as similar.

        Pair (i, j) has weight :math:`\omega \sqrt{d_i d_j / r_i r_j}`, where d are the degrees and
        r the numbers of must-links, at least six: many of them together weigh about omega times as
        much as the object's affinities. An isolated object is treated as one of mean degree.
        """
        R = SideInformation(self.must, self.cannot[:0], self.n_objects).relation(A.dtype)
        graph = Graph.of(A)
        degrees = graph.degrees()
        degrees = np.where(degrees > 0, degrees, degrees.mean())
        counts = np.maximum(np.diff(R.indptr), _MANY)
        root = np.sqrt(weight * degrees / counts).astype(A.dtype)
        return graph.plus(sp.diags_array(root) @ R @ sp.diags_array(root)).matrix

    def relation(self, dtype: Any = np.float64) -> sp.csr_array:
        """The sparse symmetric matrix R."""
        pairs = np.concatenate([self.must, self.cannot])
        signs = np.repeat([1.0, -1.0], [len(self.must), len(self.cannot)]).astype(dtype)
        R = undirected(pairs, signs, self.n_objects)
        R.sort_indices()
        return R


def _keys(pairs: IntArray, n: int) -> IntArray:
    return pairs[:, 0] * np.int64(n) + pairs[:, 1]


def _closure(must: IntArray, cannot: IntArray, group: IntArray) -> tuple[IntArray, IntArray]:
    """All pairs inside the components of must-links, and between separate components."""
    touched = np.unique(np.concatenate([must, cannot]))
    order = touched[np.argsort(group[touched], kind="stable")]
    numbers, first, size = np.unique(group[order], return_index=True, return_counts=True)
    rivals = distinct_pairs(np.searchsorted(numbers, group[cannot]))
    n_implied = int(np.sum(size.astype(np.int64) ** 2) + np.sum(size[rivals].prod(axis=1)))
    check_allocation(
        (n_implied, 2),
        np.dtype(np.int64),
        what=Message(
            "the pairs implied by ", Parameter("must_link"), " and ", Parameter("cannot_link")
        ),
        remedy="Use transitive=False.",
    )
    members = [order[start : start + count] for start, count in zip(first, size, strict=True)]
    together = [_all_pairs(m, m) for m in members if len(m) > 1]
    apart = [_all_pairs(members[a], members[b]) for a, b in rivals]
    return _distinct(together), _distinct(apart)


def _all_pairs(a: IntArray, b: IntArray) -> IntArray:
    return np.stack([np.repeat(a, len(b)), np.tile(b, len(a))], axis=1)


def _distinct(parts: list[IntArray]) -> IntArray:
    if not parts:
        return np.empty((0, 2), dtype=np.int64)
    pairs = np.concatenate(parts)
    return distinct_pairs(pairs[pairs[:, 0] != pairs[:, 1]])


def _chain(must: IntArray, n: int, a: int, b: int) -> IntArray:
    """The shortest chain of must-links from one object to another."""
    ones = np.ones(len(must), dtype=np.int8)
    links = sp.csr_array((ones, (must[:, 0], must[:, 1])), shape=(n, n))
    _, before = breadth_first_order(links, a, directed=False)
    chain = [b]
    while chain[-1] != a:
        chain.append(int(before[chain[-1]]))
    return np.array(chain[::-1])


def _refuse(pairs: IntArray, names: NDArray[Any] | None) -> None:
    """Raise if any pair is known to be both together and apart."""
    if not len(pairs):
        return
    shown = first_few("({!r}, {!r})".format(*called(pair, names)) for pair in pairs)
    must, cannot = Parameter("must_link"), Parameter("cannot_link")
    raise ValueError(
        Message(
            *(cannot, " contradicts ", must, f": {shown} in ", cannot, " are also in ", must),
            ". Remove one of the two statements.",
        )
    )


def with_side(A: Matrix, side: SideInformation | None, constraint_weight: float) -> Matrix:
    """K' = K + alpha R, with alpha relative to the largest affinity; K itself without pairs.

    A sparse matrix stays sparse. Cannot-link pairs may become negative.
    """
    if side is None:
        return A
    R = side.relation(A.dtype)
    largest = A.max() if A.shape[0] else 0.0
    strength = A.dtype.type(constraint_weight * (float(largest) or 1.0))
    return Graph.of(A).plus(strength * R).matrix


def with_known_pairs(pair_weight: Matrix | None, side: SideInformation | None) -> Matrix | None:
    """Pair weights in which the pairs of the side information have the largest weight."""
    if pair_weight is None or side is None:
        return pair_weight
    known = abs(side.relation(pair_weight.dtype)) * pair_weight.max()
    return Graph.of(pair_weight).at_least(known).matrix


def without_negative(A: Matrix) -> Matrix:
    """A with zero in place of negative entries; A itself if there are none."""
    return Graph.of(A).without_negative().matrix


# Of a group of at most this many objects that belong together, all pairs are taken; of a larger
# one, each object is paired with this many after it in a ring, which connects the group as well.
_SMALL_GROUP = 50
_RING = 8
_NOTHING = np.empty((0, 2), dtype=np.int64)


def read_pairs(
    given: Any, name: str, n: int, names: NDArray[Any] | None = None, *, together: bool = True
) -> IntArray:
    """Distinct pairs of numbers, the smaller one first.

    Parameters
    ----------
    given : array-like of shape (p, 2), sequence of groups, or None
        Pairs, or groups of two or more objects. Integers are numbers of objects, everything else
        is the name of an object.
    name : str
        The parameter, for messages.
    n : int
        Number of objects.
    names : array of shape (n,), optional
        Names of the objects.
    together : bool
        Whether the objects of a group belong together; else all of them differ.
    """
    if given is None:
        return _NOTHING
    pairs = _as_numbers(given, name)
    if pairs is None:
        pairs = _from_groups(given, name, _Lookup(name, n, names), together)
    if not len(pairs):
        return _NOTHING
    outside = (pairs < 0) | (pairs >= n)
    if outside.any():
        raise _no_object(name, pairs[outside][0], n)
    alone = pairs[:, 0] == pairs[:, 1]
    if alone.any():
        raise ValueError(
            Message(
                Parameter(name),
                f" pairs object {pairs[alone][0, 0]} with itself. Remove such pairs.",
            )
        )
    return distinct_pairs(pairs.astype(np.int64))


def _no_object(name: str, number: Any, n: int) -> ValueError:
    return ValueError(
        Message(Parameter(name), f" names object {number}, but objects are numbered 0 to {n - 1}.")
    )


def _as_numbers(given: Any, name: str) -> IntArray | None:
    """Pairs of numbers, the usual and quick case; None for anything else."""
    is_array = isinstance(given, np.ndarray) or hasattr(given, "to_numpy")
    if not is_array and not isinstance(given, Sequence):
        return None
    try:
        pairs = np.asarray(given)
    except ValueError:
        # Groups of different sizes.
        return None
    if pairs.size == 0:
        return _NOTHING
    if pairs.dtype.kind not in "iufb" or (pairs.ndim == 2 and not is_array and pairs.shape[1] > 2):
        return None
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(
            Message(
                Parameter(name), f" must be an array of pairs, shape (p, 2), got {pairs.shape}."
            )
        )
    if pairs.dtype.kind not in "iu":
        raise TypeError(
            Message(Parameter(name), f" must hold object numbers (integers), got {pairs.dtype}.")
        )
    return pairs


def _from_groups(given: Any, name: str, lookup: _Lookup, together: bool) -> IntArray:
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise TypeError(
            Message(
                Parameter(name), f" must be a list of pairs or groups of objects, got {given!r}."
            )
        )
    rows = given.to_numpy().tolist() if hasattr(given, "to_numpy") else given
    found = []
    for group in rows:
        if isinstance(group, (str, bytes)) or not isinstance(group, Iterable):
            raise TypeError(
                Message(
                    Parameter(name),
                    f" must be a list of pairs or groups of objects, but {group!r} is none. Write "
                    "[('a', 'b')] for one pair.",
                )
            )
        # Sets have no order of their own.
        members = [lookup.number(entry) for entry in group]
        if isinstance(group, (set, frozenset)):
            members.sort()
        found.append(_pairs_of(np.array(members, dtype=np.int64), name, group, together))
    return np.concatenate([_NOTHING, *found])


def _pairs_of(members: IntArray, name: str, group: Any, together: bool) -> IntArray:
    size = len(members)
    if size < 2:
        raise ValueError(
            Message(
                Parameter(name),
                f" has a group of {size} object, {group!r}. A group needs two."
                if size
                else " has an empty group. Remove it.",
            )
        )
    if together and size > _SMALL_GROUP:
        rings = [
            np.column_stack([members, np.roll(members, -step)]) for step in range(1, _RING + 1)
        ]
        return np.concatenate(rings)
    check_allocation(
        (size * (size - 1) // 2, 2),
        np.dtype(np.int64),
        what=Message("the pairs of a group in ", Parameter(name)),
        remedy="Pass fewer objects that all differ: there are at most as many as clusters.",
    )
    first, second = np.triu_indices(size, 1)
    return np.column_stack([members[first], members[second]])


class _Lookup:
    """Numbers of objects by number or name."""

    def __init__(self, parameter: str, n: int, names: NDArray[Any] | None) -> None:
        self._parameter = parameter
        self._n = n
        self._names = None if names is None else names.tolist()
        self._by_name: dict[Any, int] = {}
        self._by_text: dict[str, int] = {}

    def number(self, entry: Any) -> int:
        """The number of an object."""
        if isinstance(entry, Integral) and not isinstance(entry, bool):
            if not 0 <= int(entry) < self._n:
                raise _no_object(self._parameter, entry, self._n)
            return int(entry)
        if isinstance(entry, (bool, float, np.bool_, np.floating)) or entry is None:
            raise TypeError(
                Message(
                    Parameter(self._parameter),
                    f" must hold object numbers (integers) or names, got {entry!r}.",
                )
            )
        if self._names is None:
            raise ValueError(
                Message(
                    Parameter(self._parameter),
                    f" names {entry!r}, but the objects have no names. Pass their numbers, from 0 "
                    f"to {self._n - 1}, or a data frame whose index holds the names.",
                )
            )
        return self._named(entry, self._names)

    def _named(self, entry: Any, names: list[Any]) -> int:
        self._by_name = self._by_name or _positions(names)
        number = self._by_name.get(entry)
        if number is None and isinstance(entry, str):
            # Names that are no text, such as numbers of nodes, may be given as text.
            self._by_text = self._by_text or _positions(map(str, names))
            number = self._by_text.get(entry)
        if number is None:
            raise ValueError(
                Message(
                    Parameter(self._parameter),
                    f" names {entry!r}, which is not the name of an object. Names are those of the "
                    f"rows or nodes, such as {names[0]!r}.",
                )
            )
        if number < 0:
            raise ValueError(
                Message(
                    Parameter(self._parameter),
                    f" names {entry!r}, but several objects have this name. Pass their numbers.",
                )
            )
        return number


def _positions(names: Iterable[Any]) -> dict[Any, int]:
    """The number of each name; -1 for one that occurs more than once."""
    found: dict[Any, int] = {}
    for number, name in enumerate(names):
        found[name] = -1 if name in found else number
    return found


def called(numbers: IntArray, names: NDArray[Any] | None) -> list[Any]:
    """What to call objects where names may be passed on: by name, or by number without names.

    Names that are integers become text, because an integer would be read as a number of an object.
    """
    if names is None:
        return [int(number) for number in numbers]
    return [
        str(name) if isinstance(name, Integral) and not isinstance(name, bool) else name
        for name in names[numbers].tolist()
    ]
