"""Merging, splitting and naming the clusters of a fitted model."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from soffit._parameters import OrNone, WholeNumber, check_parameter
from soffit._typing import IntArray
from soffit._wording import capitalized, first_few
from soffit.fitting.fitted import Fitted
from soffit.fitting.recipe import Recipe

if TYPE_CHECKING:
    from typing_extensions import Self


class Curated:
    """Gives a clustering the methods `merge`, `split` and `rename`.

    Each returns a new fitted model of the same class and parameters; the model itself is not
    changed. Memberships, predictions, reports and saved files of the new model follow. Attributes
    that describe the former clusters, such as `factor_` and `scale_`, are left out. Another `fit`
    starts afresh.
    """

    _fitted: Fitted

    def merge(self, *clusters: Iterable[int | str], name: str | None = None) -> Self:
        """Merge clusters into one.

        The memberships of an object in the clusters are added, those of new objects as well. The
        merged cluster has the lowest of the numbers; clusters after the others move up.

        Parameters
        ----------
        *clusters : sequence of int or str
            The clusters to merge, by number or name. Several sequences are merged into one cluster
            each; all numbers are those of this model.
        name : str, optional
            Name of the merged cluster. By default the names of its parts, if they have any, joined
            by " + ".

        Returns
        -------
        model
            A new fitted model.

        Examples
        --------
        >>> from soffit import SoftClustering
        >>> from soffit.datasets import make_gaussians
        >>> X, labels, posterior = make_gaussians(300, n_clusters=4, random_state=7)
        >>> model = SoftClustering(n_clusters=4, random_state=7).fit(X)
        >>> fewer = model.merge([1, 3])
        >>> fewer.n_clusters_, fewer.predict_proba(X[:5]).shape
        (3, (5, 3))
        """
        names = _Names.of(self)
        groups = [_checked_group(names, group) for group in clusters]
        if not groups:
            raise ValueError(
                "merge needs the clusters to merge. Pass their numbers: merge([2, 5])."
            )
        merged = np.concatenate(groups)
        if len(np.unique(merged)) < len(merged):
            raise ValueError(
                f"merge: a cluster is in two of the groups {[g.tolist() for g in groups]}. Merge "
                "these groups into one."
            )
        if name is not None and len(groups) > 1:
            raise ValueError(
                "merge: name is for one merged cluster, but there are several. Rename them "
                "afterwards."
            )
        group = _numbered(names.n_clusters, groups)
        joined = names.merged(group, name)
        listed = ", ".join(str(part.tolist()) for part in groups)
        step = f"merge({listed})" if name is None else f"merge({listed}, name={name!r})"
        from soffit.fitting.curation import merged_fit

        return self._with(merged_fit(self._fitted, group, joined.published(), step))

    def split(self, cluster: int | str, n: int | None = 2) -> Self:
        """Split a cluster into parts.

        The objects of the cluster, those whose most probable one it is, are fitted again by the
        same recipe to the affinities among themselves. The membership of every object in the
        cluster, that of new ones as well, is divided among the parts. The largest part keeps the
        number of the cluster; the others get the next free numbers.

        Since a membership is divided, another cluster may become the most probable one of an object
        that was uncertain before.

        Parameters
        ----------
        cluster : int or str
            The cluster, by number or name.
        n : int or None, default 2
            Number of parts; None chooses it.

        Returns
        -------
        model
            A new fitted model.

        Raises
        ------
        ValueError
            If the cluster has fewer than `n` objects; if `n` is None and it shows no parts; or if
            the model has no affinities of pairs, as `HigherOrder`.

        Examples
        --------
        >>> from soffit import SoftClustering
        >>> from soffit.datasets import make_gaussians
        >>> X, labels, posterior = make_gaussians(300, n_clusters=4, random_state=7)
        >>> model = SoftClustering(n_clusters=3, random_state=7).fit(X)
        >>> model.split(0, n=2).n_clusters_
        4
        """
        names = _Names.of(self)
        number = names.number(cluster)
        check_parameter("n", n, OrNone(WholeNumber(2)), owner="split")
        self._check_can_split(names.called(number), number, n)
        model: Any = self
        step = f"split({number})" if n == 2 else f"split({number}, n={n})"
        with model._working() as progress:
            from soffit.fitting.curation import split_fit

            found = split_fit(
                self._fitted,
                number,
                self._recipe_of(n),
                lambda parts: names.split(number, parts).published(),
                step,
                seeds=check_random_state(model.random_state),
                progress=progress,
            )
        if found.attributes["n_clusters_"] == names.n_clusters:
            raise ValueError(
                f"Nothing indicates parts of {names.called(number)}. Pass n=2 to split it in any "
                "case."
            )
        _warn_of_empty_parts(found, names.called(number), number, names.n_clusters)
        return self._with(found)

    def rename(self, names: Mapping[int | str, str] | Sequence[str]) -> Self:
        """Name clusters.

        Names are shown wherever clusters are: in reports, figures, notebooks and files. They may
        be used instead of numbers in `merge`, `split` and `rename`.

        Parameters
        ----------
        names : mapping of int or str to str, or sequence of str
            New names by number or former name, or the names of all clusters. Each must be text,
            different from the others, and not a number. None removes a name.

        Returns
        -------
        model
            A new fitted model, with the names in `cluster_names_`.

        Examples
        --------
        >>> from soffit import SoftClustering
        >>> from soffit.datasets import make_moons
        >>> X, labels, posterior = make_moons(200, random_state=7)
        >>> model = SoftClustering(n_clusters=2, random_state=7).fit(X)
        >>> model.rename({0: "upper"}).cluster_names_.tolist()
        ['upper', '1']
        """
        known = _Names.of(self)
        mapping: Mapping[Any, Any] = names if isinstance(names, Mapping) else known.for_all(names)
        given = {known.number(cluster): name for cluster, name in mapping.items()}
        if len(given) < len(mapping):
            raise ValueError(f"rename: a cluster is named twice in {dict(mapping)!r}.")
        found = known.renamed(given)
        step = f"rename({given!r})"
        from soffit.fitting.curation import renamed_fit

        return self._with(renamed_fit(self._fitted, found.published(), step))

    def update(self, X: Any) -> Self:
        """Learn of further objects: place them, and add clusters for what fits nowhere.

        New objects are placed among the clusters as `predict_proba` does. Those that lie outside
        everything seen, with a `novelty_score` of 0.99 or more, are fitted by the same recipe if
        at least eight of them form a group that is clearly apart from all known objects; their
        number of clusters is chosen. Others stay where they were placed, and novel. Clusters keep
        their numbers and names, and old objects their memberships; new clusters get the next free
        numbers.

        Objects that fit are placed, not learnt from: the clusters do not move. Fit again from time
        to time if the data drift.

        Parameters
        ----------
        X : table, or block of shape (m, n + m)
            New objects, with the features of the fitted ones. For a model of similarities,
            distances or a graph: their rows of the matrix of all objects, the n known ones first.

        Returns
        -------
        model
            A new fitted model of all objects, the known ones first. Its `affinity_matrix_` has the
            links of new objects to known ones, and those inside new clusters.

        Raises
        ------
        ValueError
            If the model cannot tell how novel objects are, as `HigherOrder`.

        Examples
        --------
        >>> import numpy as np
        >>> from soffit import SoftClustering
        >>> from soffit.datasets import make_gaussians
        >>> X, labels, posterior = make_gaussians(300, n_clusters=3, random_state=7)
        >>> model = SoftClustering(n_clusters=3, random_state=7).fit(X)
        >>> batch = np.concatenate([X[:20] + 0.01, X[:20] + 60.0])
        >>> grown = model.update(batch)
        >>> grown.n_clusters_, np.bincount(grown.labels_[300:]).tolist()[3]
        (4, 20)
        """
        check_is_fitted(self, "memberships_")
        model: Any = self
        if "sample_indices_" in vars(self):
            # New objects are not part of the collection: they join those of the sample.
            grown: Self = model._in_memory().update(X)
            return grown
        if not self._fitted.knows_novelty:
            raise ValueError(
                f"This {type(self).__name__} cannot be updated: it knows no distances or "
                "similarities of pairs, so it cannot tell what is new. Fit it again with all "
                "objects."
            )
        table, new_names = model._further_table(X)
        with model._working() as progress:
            from soffit.fitting.update import update_fit

            found = update_fit(
                self._fitted,
                table,
                _all_names(getattr(self, "object_names_", None), new_names, table.shape[0]),
                self._recipe_of_further,
                seeds=check_random_state(model.random_state),
                progress=progress,
            )
        return self._with(found)

    def _recipe_of_further(self, n_clusters: int) -> Recipe[Any]:
        """The recipe for objects that are prepared already, too few to be sampled."""
        return self._recipe_of(n_clusters, standardize=False, n_resamples=0)

    def _recipe_of(self, n_clusters: int | None, **changed: Any) -> Recipe[Any]:
        """The recipe with another number of clusters, and changes of what parameters there are."""
        model: Any = self
        fixed = {"n_clusters": n_clusters, "levels": None, **changed}
        known = model.get_params(False)
        replica = copy(model).set_params(**{key: fixed[key] for key in fixed if key in known})
        recipe: Recipe[Any] = replica._recipe()
        return recipe

    def _with(self, fitted: Fitted) -> Self:
        """A new model with this fitted value and the same parameters."""
        model: Any = copy(self)
        model._publish(fitted, *model._of_all_blocks(fitted))
        return model

    def _check_can_split(self, called: str, number: int, n: int | None) -> None:
        attributes = self._fitted.attributes
        if "affinity_matrix_" not in attributes:
            raise ValueError(
                f"This {type(self).__name__} has no affinities of pairs, so its clusters cannot be "
                "split. Fit it again with more clusters."
            )
        size = int(np.count_nonzero(attributes["labels_"] == number))
        least = 2 if n is None else n
        if size < least:
            fewer = " or fewer parts" if least > 2 else ""
            raise ValueError(
                f"{capitalized(called)} is the most probable one of {size} "
                f"object{'' if size == 1 else 's'} and cannot be split into {least} parts. Choose "
                f"a larger cluster{fewer}."
            )


class _Names:
    """The names of clusters; empty text for those that have none."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)

    @classmethod
    def of(cls, model: Any) -> _Names:
        check_is_fitted(model, "memberships_")
        given = getattr(model, "cluster_names_", None)
        if given is None:
            return cls([""] * int(model.n_clusters_))
        return cls(["" if _is_number(str(name)) else str(name) for name in given])

    @property
    def n_clusters(self) -> int:
        return len(self._names)

    def published(self) -> NDArray[np.str_] | None:
        """Names of all clusters, numbers where there is none; None if no cluster has one."""
        if not any(self._names):
            return None
        return np.array(
            [name or str(number) for number, name in enumerate(self._names)], dtype=np.str_
        )

    def called(self, number: int) -> str:
        return f"cluster {self._names[number] or number}"

    def number(self, cluster: Any) -> int:
        """The number of a cluster given by number or name."""
        k = self.n_clusters
        if isinstance(cluster, str):
            if cluster and cluster in self._names:
                return self._names.index(cluster)
            known = first_few((repr(name) for name in self._names if name), 8)
            raise ValueError(
                f"There is no cluster named {cluster!r}. "
                + (f"The names are {known}." if known else f"Pass its number, from 0 to {k - 1}.")
            )
        if isinstance(cluster, Integral) and not isinstance(cluster, bool):
            if 0 <= int(cluster) < k:
                return int(cluster)
            raise ValueError(
                f"There is no cluster {cluster}: the model has {k} cluster{'' if k == 1 else 's'}, "
                + (f"numbered from 0 to {k - 1}." if k > 1 else "number 0.")
            )
        raise TypeError(f"A cluster is given by its number or its name, got {cluster!r}.")

    def for_all(self, names: Sequence[str]) -> dict[int, str]:
        if isinstance(names, str) or len(names) != self.n_clusters:
            raise ValueError(
                f"names must be a mapping such as {{0: 'adults'}}, or one name for each of the "
                f"{self.n_clusters} clusters, got {names!r}."
            )
        return dict(enumerate(names))

    def renamed(self, given: Mapping[int, str | None]) -> _Names:
        names = list(self._names)
        for number, name in given.items():
            names[number] = _checked_name(name)
        _check_distinct(names)
        return _Names(names)

    def merged(self, group: IntArray, name: str | None) -> _Names:
        """Names of merged clusters."""
        names = []
        for number in range(int(group.max()) + 1):
            parts = np.flatnonzero(group == number)
            if name is not None and len(parts) > 1:
                names.append(_checked_name(name))
                continue
            names.append(" + ".join(self._names[part] for part in parts if self._names[part]))
        _check_distinct(names)
        return _Names(names)

    def split(self, cluster: int, n_parts: int) -> _Names:
        """Names after a cluster was split: those of its parts are numbered."""
        name = self._names[cluster]
        taken = set(self._names)
        free = (f"{name} {count}" for count in range(1, len(taken) + n_parts + 1))
        parts = [part for part in free if part not in taken][:n_parts] if name else [""] * n_parts
        names = [*self._names, *parts[1:]]
        names[cluster] = parts[0]
        return _Names(names)


def _all_names(known: Any, new: Any, n_new: int) -> NDArray[Any] | None:
    """Names of known and new objects; new ones without a name are called by their numbers."""
    if known is None:
        return None
    further = range(len(known), len(known) + n_new) if new is None else new
    names = np.empty(len(known) + n_new, dtype=object)
    names[:] = [*known, *further]
    return names


def _warn_of_empty_parts(found: Fitted, called: str, number: int, n_before: int) -> None:
    sizes = np.bincount(found.attributes["labels_"], minlength=found.attributes["n_clusters_"])
    empty = int(np.count_nonzero(sizes[[number, *range(n_before, len(sizes))]] == 0))
    if empty:
        parts = len(sizes) - n_before + 1
        warnings.warn(
            f"{empty} of the {parts} parts of {called} {'is' if empty == 1 else 'are'} empty: no "
            "object has it as its most probable cluster. Split it into fewer parts.",
            UserWarning,
            stacklevel=3,
        )


def _checked_group(names: _Names, clusters: Any) -> IntArray:
    """The numbers of clusters to merge, in ascending order."""
    if isinstance(clusters, (str, Integral)) or not isinstance(clusters, (Iterable, np.ndarray)):
        raise TypeError(
            f"merge takes sequences of clusters, got {clusters!r}. Write merge([2, 5])."
        )
    numbers = sorted({names.number(cluster) for cluster in clusters})
    if len(numbers) < 2:
        raise ValueError(
            f"merge needs at least two different clusters, got {list(clusters)!r}. Pass the "
            "numbers of two or more."
        )
    return np.array(numbers)


def _numbered(n_clusters: int, groups: list[IntArray]) -> IntArray:
    """The new number of each cluster."""
    lowest = np.arange(n_clusters)
    for group in groups:
        lowest[group] = group.min()
    return np.unique(lowest, return_inverse=True)[1]


def _checked_name(name: Any) -> str:
    if name is None:
        return ""
    if not isinstance(name, str):
        raise TypeError(f"The name of a cluster must be text, got {name!r}.")
    if not name.strip():
        raise ValueError("The name of a cluster must not be empty. Pass None to remove a name.")
    if _is_number(name):
        raise ValueError(
            f"The name {name!r} could be mistaken for the number of a cluster. Add a word to it."
        )
    return name


def _is_number(name: str) -> bool:
    return name.strip().lstrip("+-").isdecimal()


def _check_distinct(names: list[str]) -> None:
    seen: set[str] = set()
    for name in filter(None, names):
        if name in seen:
            raise ValueError(f"Two clusters would be named {name!r}. Names must be different.")
        seen.add(name)
