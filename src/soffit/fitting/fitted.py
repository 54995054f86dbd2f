"""The result of a fit: one frozen value, used to predict and to save."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
import scipy.sparse as sp

from soffit._typing import FloatArray, IntArray, Matrix, is_sparse
from soffit.affinity import Affinity, SideInformation
from soffit.affinity.distinct import DistinctColumns
from soffit.affinity.given_objects import Preparation, is_matrix_affinity
from soffit.affinity.isolation import Surroundings
from soffit.affinity.side_information import with_side, without_negative
from soffit.factorize.problem import Stop
from soffit.graph import Graph, as_array, stacked
from soffit.memberships import Extension, carried_over
from soffit.memberships.measures import on_simplex
from soffit.normalize import Normalized

# Entries of one dense block of affinities between new and fitted objects.
_BLOCK_ENTRIES = 2**23
# New objects placed at once among very many clusters.
_MANY_ROWS = 2**16


class Smoothing(Protocol):
    """Turns the factor rows of new objects into memberships, as in the fit."""

    def place(self, rows: Any, table: Any, block: Matrix) -> Any:
        """Memberships of new objects with these rows, features and affinities."""
        ...


class Placer(Protocol):
    """Places new objects among the fitted ones."""

    def place(self, table: Any) -> Any:
        """Memberships of new objects; rows sum to one."""
        ...

    def explained(self, table: Any) -> tuple[float, float]:
        """Squared affinities of new objects: the part that the factor explains, and the total."""
        ...


@dataclass(frozen=True, eq=False)
class Part:
    r"""The part of the affinities that a model factorizes, before normalization."""

    # Self-similarities: as they are, left out, or raised where they are zero.
    diagonal: Literal["kept", "dropped", "raised"] = "kept"
    # Number of clusters; edges inside components too small to be one of them are left out.
    strays_of: int | None = None
    # Weight with which must-link and cannot-link pairs change their affinities.
    constraint_weight: float | None = None
    # (n,): degrees d of the fitted objects, if affinities count only as far as they exceed those
    # that the degrees alone predict, :math:`d_i d_j / \\sum d`.
    degrees: FloatArray | None = None
    _arrays: ClassVar[dict[str, str]] = {
        "diagonal": "text kept|dropped|raised",
        "strays_of": "count?",
        "constraint_weight": "finite?",
        "degrees": "finite? n",
    }

    def of(self, A: Matrix, side: SideInformation | None = None) -> Matrix:
        """The part of A; A itself if it is the whole."""
        if self.constraint_weight is not None:
            A = with_side(A, side, self.constraint_weight)
        graph = Graph.of(without_negative(A) if self.diagonal == "raised" else A)
        if self.diagonal == "dropped":
            graph = graph.without_diagonal()
        elif self.diagonal == "raised":
            graph = graph.with_positive_diagonal()
        if self.degrees is not None:
            graph = graph.above_expected(self.degrees, self.degrees)
        return (graph if self.strays_of is None else graph.without_strays(self.strays_of)).matrix

    def cross(self, block: Matrix) -> Matrix:
        """The same part of the affinities between new and fitted objects."""
        if self.degrees is None:
            return block
        graph = Graph.of(block)
        return graph.above_expected(graph.degrees(), self.degrees).matrix


@dataclass(frozen=True, eq=False)
class Unchanged:
    """The rows of the factor are the memberships."""

    _arrays: ClassVar[dict[str, str]] = {"": "same j k"}

    def place(self, rows: Any, table: Any, block: Matrix) -> Any:
        """The rows as they are."""
        return rows


@dataclass(frozen=True, eq=False)
class Corrected:
    """A smoothing, and what was added to the memberships of the fitted objects afterwards."""

    smoothing: Smoothing
    correction: Matrix
    _arrays: ClassVar[dict[str, str]] = {
        "smoothing": "part place() n? p? j k",
        "correction": "matrix n k",
    }

    def place(self, rows: Any, table: Any, block: Matrix) -> Any:
        """Memberships of new objects, corrected like those of the fitted objects they resemble."""
        return carried_over(self.smoothing.place(rows, table, block), block, self.correction)


@dataclass(frozen=True, eq=False)
class SimilarityPlacer:
    """Places new objects by their affinities to the fitted ones: the stages of a fit, in order."""

    affinity: Affinity  # Fitted; computes the affinities between new and fitted objects.
    normalization: Normalized  # The rule that normalizes these affinities, without a matrix.
    extension: Extension  # Solves the problem of each new row.
    smoothing: Smoothing  # From rows to memberships.
    part: Part = Part()  # The part of the affinities that was normalized and factorized.
    # How isolated the fitted objects are. Files of earlier versions lack it; it is then computed
    # when it is needed.
    surroundings: Surroundings | None = None
    # (n,): what weights of the fitted objects multiply affinities to them by.
    masses: FloatArray | None = None
    # The factor has j columns, the memberships k.
    _arrays: ClassVar[dict[str, str]] = {
        "affinity": "part cross() fit() matrix_! n p?",
        "normalization": "part cross() n?",
        "smoothing": "part place() n? p? j k",
        "extension": "part place() profiles() n k=j",
        "part": "part :Part n?",
        "surroundings": "part? :Surroundings n",
        "masses": "finite? n",
    }

    def factorized(self, side: SideInformation | None = None) -> Matrix:
        """The factorized matrix, computed again from the affinities."""
        A = self.affinity.matrix_
        if self.masses is not None:
            A = Graph.of(A).scaled(self.masses, self.masses).matrix
        return self.normalization.cross(self.part.of(A, side))

    def place(self, table: Any) -> Any:
        """Memberships of new objects, in blocks where affinities are dense."""
        return stacked([self._place(part) for part in self._parts(table)])

    def explained(self, table: Any) -> tuple[float, float]:
        """Squared normalized affinities of new objects: explained part and total."""
        profiles = self.extension.profiles().astype(np.float64, copy=False)
        gram = as_array(profiles.T @ profiles)
        explained = total = 0.0
        for part in self._parts(table):
            block, degrees = self._block(part)
            block = self.normalization.cross(block)
            rows = as_array(self.extension.place(block, degrees)).astype(np.float64, copy=False)
            values = np.asarray(block.data if is_sparse(block) else block, dtype=np.float64)
            total += float(np.vdot(values, values))
            explained += explained_squares(as_array(block @ profiles), rows, gram)
        return explained, total

    def tail(self, table: Any, *, quick: bool = False) -> FloatArray:
        """Probability that an ordinary object is as isolated as each new one.

        `quick`: from distances that may be too large.
        """
        known = self.surroundings or Surroundings.of(self.affinity)
        found = [known.tail(self.affinity, part, quick=quick) for part in self._parts(table)]
        return np.concatenate(found)

    def inner_tail(self) -> FloatArray:
        """The same for the fitted objects, each compared with the others."""
        return (self.surroundings or Surroundings.of(self.affinity)).inner_tail()

    def nearest(self, table: Any) -> tuple[FloatArray, IntArray]:
        """Distance of new objects to the closest fitted one, in any unit, and which it is."""
        found = [self.affinity.neighborhood(part) for part in self._parts(table)]
        numbers = np.concatenate([part.neighbors[:, 0] for part in found])
        return np.concatenate([np.asarray(part.nearest) for part in found]), numbers

    def fitted_rows(self, numbers: IntArray) -> Any:
        """Some of the fitted objects, as new ones would be given."""
        return self.affinity.fitted_rows(numbers)

    def links(self, table: Any) -> Matrix:
        """Affinities of new objects to the fitted ones."""
        block = self.affinity.cross(table)
        if self.masses is None:
            return block
        return Graph.of(block).scaled(np.ones(block.shape[0]), self.masses).matrix

    def with_surroundings(self) -> SimilarityPlacer:
        """The same with what is needed to judge how isolated new objects are."""
        return replace(self, surroundings=Surroundings.of(self.affinity))

    def _parts(self, table: Any) -> list[Any]:
        m, n = table.shape[0], self.affinity.matrix_.shape[0]
        step = max(m if sp.issparse(self.affinity.matrix_) else _BLOCK_ENTRIES // n, 1)
        if is_sparse(getattr(self.extension, "rows", None)):
            step = min(step, _MANY_ROWS)
        return [table[first : first + step] for first in range(0, m, step)] or [table]

    def _place(self, table: Any) -> Any:
        block, degrees = self._block(table)
        rows = self.extension.place(self.normalization.cross(block), degrees)
        return self.smoothing.place(rows, table, block)

    def _block(self, table: Any) -> tuple[Matrix, FloatArray]:
        block = self.part.cross(self.links(table))
        return block, Graph.of(block).degrees()


def explained_squares(products: FloatArray, rows: FloatArray, gram: FloatArray) -> float:
    """Squared affinities that the profiles explain, with the best size for each object.

    `products` (m, k): affinities of new objects times the profiles of the clusters.
    `rows` (m, k): rows of the new objects in the factor.
    `gram` (k, k): products of the profiles with each other.
    """
    along = np.maximum((products * rows).sum(axis=1), 0.0)
    size = ((rows @ gram) * rows).sum(axis=1)
    return float(np.divide(along**2, size, out=np.zeros_like(along), where=size > 0).sum())


@dataclass(frozen=True, eq=False)
class Fitted:
    """The complete result of a fit. Never changed after construction."""

    # The public attributes of the model, `memberships_` and the like.
    attributes: Mapping[str, Any]
    preparation: Preparation | DistinctColumns  # Of a table, or of distances with copies.
    placer: Placer | None  # Places new objects; None for a model that cannot.
    stopped: Stop = "converged"  # Why the search ended.
    n_iter: int = 0  # Its iterations.
    # Those of the attributes are declared by the model that publishes them.
    _arrays: ClassVar[dict[str, str]] = {
        "preparation": "part :Standardizer|MixedPreparation|DistinctColumns p?",
        "placer": "part? place() explained() n? p? k",
        "stopped": "text",
        "n_iter": "natural",
    }

    def prepared(self, table: Any) -> Any:
        """New objects, stored and scaled as the fitted ones are."""
        affinity = getattr(self.placer, "affinity", None)
        if is_sparse(table) and affinity is not None and not is_matrix_affinity(affinity):
            fitted = affinity.fitted_rows(np.zeros(1, dtype=np.int64))
            table = table if is_sparse(fitted) else table.toarray()
        return self.preparation.apply(table)

    def place(self, table: Any) -> Any:
        """Memberships of new objects: the stages of the fit, in the same order."""
        assert self.placer is not None
        return on_simplex(self.placer.place(self.prepared(table)))

    def explained(self, table: Any) -> float:
        """Share of the squared affinities of new objects that the factor explains."""
        assert self.placer is not None
        explained, total = self.placer.explained(self.prepared(table))
        return explained / total if total > 0 else 0.0

    @property
    def knows_novelty(self) -> bool:
        """Whether the model can tell how far outside objects lie."""
        return hasattr(self.placer, "tail")

    def novelty(self, table: Any = None) -> FloatArray:
        """How far outside new objects lie, or the fitted ones; see `Surroundings`."""
        placer: Any = self.placer
        if table is not None:
            return np.asarray(1.0 - placer.tail(self.prepared(table)))
        # Equal objects may have been fitted as one.
        index = self.attributes.get("copies_")
        p = placer.inner_tail()
        return np.asarray(1.0 - (p if index is None else p[index]))

    def warm_factor(self, n: int, k: int) -> Any:
        """The factor as a start for the next fit, if it has the right shape."""
        factor = self.attributes.get("factor_")
        return factor if factor is not None and factor.shape == (n, k) else None


def with_surroundings(fitted: Fitted) -> Fitted:
    """A fitted value that can tell how far outside new objects lie, if it knows similarities."""
    if not isinstance(fitted.placer, SimilarityPlacer):
        return fitted
    return replace(fitted, placer=fitted.placer.with_surroundings())


def rule_only(normalized: Normalized) -> Normalized:
    """A normalization without its matrix, which predictions do not need."""
    matrix = normalized.matrix
    if is_sparse(matrix):
        return replace(normalized, matrix=sp.csr_array((0, 0), dtype=matrix.dtype))
    return replace(normalized, matrix=np.empty((0, 0), dtype=matrix.dtype))
