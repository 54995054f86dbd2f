"""Every cell of solver x problem: it solves and keeps its promises, or refuses before any work.

A problem has a family (loss and constraint), a scale, a rule for the diagonal, and may have
degrees, pair weights and side information. `SUPPORT` says which of them a solver handles.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from tests.reference.checks import assert_promises_kept
from tests.reference.factorization import dense, problem_loss
from tests.reference.nonnegative import assert_nonnegative_promises
from tests.reference.problems import (
    near,
    planted_matrix,
    planted_memberships,
    random_matrix,
    random_rows,
    stored,
)
from tests.reference.relations import divergence

from soffit.factorize import SOLVERS, Problem
from soffit.factorize.problem import FAMILIES, SCALES, SUPPORT, refused_fields

N_OBJECTS, N_CLUSTERS = 16, 3


class Cell(NamedTuple):
    """The fields of a problem that decide which solvers handle it."""

    family: tuple[str, str]
    scale: str
    diagonal: bool
    degrees: bool
    pair_weight: bool
    side: bool

    def __str__(self) -> str:
        given = [name for name, value in self._asdict().items() if value is True]
        return "-".join([*self.family, self.scale, *given])


YES_OR_NO = (False, True)
CELLS = [Cell(*fields) for fields in product(FAMILIES, SCALES, *4 * [YES_OR_NO])]


def build(cell, storage="dense", dtype=np.float64):
    """A problem of this cell; one of its objects has no similarity to any other."""
    A = planted_matrix(N_OBJECTS, N_CLUSTERS, 5, noise=0.05)
    A[3] = A[:, 3] = 0.0
    loss, constraint = cell.family
    return Problem(
        stored(A.astype(dtype), storage),
        N_CLUSTERS,
        scale=cell.scale,
        diagonal=cell.diagonal,
        degrees=A.sum(axis=1) if cell.degrees else None,
        pair_weight=(
            stored(random_matrix(N_OBJECTS, 11, density=0.7), storage) if cell.pair_weight else None
        ),
        side=some_pairs() if cell.side else None,
        loss=loss,
        constraint=constraint,
    )


def some_pairs():
    """Side information: three pairs that belong together and three that do not."""
    rows, columns = np.array([0, 1, 2, 0, 4, 5]), np.array([6, 7, 8, 1, 9, 10])
    S = sp.coo_array((np.repeat([0.4, -0.4], 3), (rows, columns)), shape=(N_OBJECTS, N_OBJECTS))
    return sp.csr_array(S + S.T)


def is_supported(solver, cell):
    """What the table says, read independently of `refused_fields`."""
    support = SUPPORT[solver]
    return (
        cell.family == support.family
        and cell.scale in support.scales
        and cell.diagonal in support.diagonal
        and cell.degrees <= support.degrees
        and cell.pair_weight <= support.pair_weight
        and cell.side <= support.side
        and (cell.degrees and cell.pair_weight) <= support.weighted_degrees
        and (cell.side and cell.pair_weight) <= support.weighted_side
    )


SUPPORTED = [
    pytest.param(solver, cell, id=f"{solver}-{cell}")
    for solver in SOLVERS
    for cell in CELLS
    if is_supported(solver, cell)
]


class Untouchable:
    """A start that nobody may look at."""

    def __array__(self, *args, **kwargs):
        raise AssertionError("work was done before the check")


def assert_divergence_promises(problem, found):
    A, dtype = dense(problem.matrix).astype(float), problem.matrix.dtype
    rounding = float(np.finfo(dtype).eps) * A.sum()
    H = found.factor
    assert H.shape == (problem.n_objects, problem.n_clusters)
    assert H.dtype == dtype
    assert np.isfinite(H).all()
    assert H.min() >= 0.0
    np.testing.assert_allclose(H.sum(axis=0), 1.0, atol=50 * np.finfo(dtype).eps)
    np.testing.assert_allclose(found.scale.sum(), A.sum(), atol=50 * rounding)
    np.testing.assert_allclose((H * found.scale).sum(axis=1), A.sum(axis=1), atol=50 * rounding)
    assert len(found.history) == found.n_iter + 1
    assert np.diff(found.history).max(initial=0.0) <= 50 * rounding
    assert found.objective == found.history[-1]
    expected = divergence(A, H.astype(float), found.scale.astype(float))
    assert abs(found.objective - expected) <= 100 * rounding
    assert found.converged == (found.stopped == "converged")


ASSERT_PROMISES = {
    "simplex": assert_promises_kept,
    "nonnegative": assert_nonnegative_promises,
    "columns": assert_divergence_promises,
}


def assert_scale_is_as_asked(cell, found):
    assert found.scale.shape == (N_CLUSTERS,)
    if cell.scale == "none":
        np.testing.assert_array_equal(found.scale, 1.0)
    elif cell.scale == "single":
        assert len(np.unique(found.scale)) == 1
        assert found.scale[0] != 1.0
    else:
        assert len(np.unique(found.scale)) == N_CLUSTERS


def test_the_table_and_the_registry_name_the_same_solvers():
    assert list(SUPPORT) == list(SOLVERS)


def test_other_pairs_of_loss_and_constraint_are_no_problem():
    pairs = set(product(("l2", "kl"), ("simplex", "nonnegative", "columns"))) - set(FAMILIES)
    assert len(pairs) == 3
    for loss, constraint in pairs:
        with pytest.raises(ValueError, match="loss and constraint must be one of the pairs"):
            Problem(np.eye(4), 2, loss=loss, constraint=constraint)


def test_every_family_has_a_solver():
    assert {support.family for support in SUPPORT.values()} == set(FAMILIES)


@pytest.mark.parametrize(
    ("solver", "fields", "message"),
    [
        ("rows", {"diagonal": True}, "diagonal=True. Use solver 'gradient' or 'penalty' or"),
        ("penalty", {"scale": "single", "diagonal": True}, "scale='single'. Use solver 'gradient'"),
        (
            "growth",
            {"scale": "cluster", "diagonal": True},
            "scale='cluster'. Use solver 'gradient'",
        ),
        ("growth", {"degrees": np.ones(4)}, "diagonal=False, degrees. Use solver 'rows' or"),
        ("gradient", {"pair_weight": np.eye(4)}, "pair_weight. Use solver 'rows'."),
        (
            "rows",
            {"pair_weight": np.eye(4), "degrees": np.ones(4)},
            "degrees together with pair_weight. No solver does: change one of these fields.",
        ),
        (
            "em",
            {"constraint": "nonnegative"},
            "loss='l2' with constraint='nonnegative', scale='none', diagonal=False. "
            "Use solver 'multiplicative' or 'parallel' or 'coordinate'.",
        ),
    ],
)
def test_refusals_name_the_field_and_the_remedy(solver, fields, message):
    with pytest.raises(ValueError, match=f"{solver!r} does not support ") as caught:
        SOLVERS[solver](Problem(np.eye(4), 2, **fields), random_rows(4, 2, 3))
    assert message in str(caught.value)


@pytest.mark.parametrize("solver", SOLVERS)
def test_cells_that_the_table_leaves_out_are_refused_before_any_work(solver):
    left_out = [cell for cell in CELLS if not is_supported(solver, cell)]
    assert left_out
    for cell in left_out:
        problem = build(cell)
        with pytest.raises(ValueError, match=rf"^Solver '{solver}' does not support") as caught:
            SOLVERS[solver](problem, Untouchable())
        reasons, remedy = str(caught.value).split(". ", 1)
        refused = refused_fields(solver, problem)
        assert refused
        assert all(field in reasons for field in refused)
        able = [repr(name) for name in SOLVERS if is_supported(name, cell)]
        assert remedy == (
            f"Use solver {' or '.join(able)}."
            if able
            else "No solver does: change one of these fields."
        )


@pytest.mark.parametrize("solver", SOLVERS)
def test_as_many_cells_solve_as_the_table_says(solver):
    support = SUPPORT[solver]
    unweighted = (1 + support.degrees) * (1 + support.side)
    weighted = support.pair_weight * ((1 + support.weighted_degrees) * (1 + support.weighted_side))
    expected = len(support.scales) * len(support.diagonal) * (unweighted + weighted)
    start, solved = random_rows(N_OBJECTS, N_CLUSTERS, 13), 0
    for cell in CELLS:
        try:
            found = SOLVERS[solver](build(cell), start, max_iter=1)
        except ValueError:
            continue
        solved += found.factor.shape == start.shape
    assert solved == expected
    assert solved == sum(param.values[0] == solver for param in SUPPORTED) > 0


@pytest.mark.parametrize(("solver", "cell"), SUPPORTED)
def test_a_supported_cell_solves_and_keeps_its_promises(solver, cell):
    solve, assert_promises = SOLVERS[solver], ASSERT_PROMISES[cell.family[1]]
    start = random_rows(N_OBJECTS, N_CLUSTERS, 13)
    kept = start.copy()
    found = {}
    for storage, dtype in product(("dense", "sparse"), (np.float64, np.float32)):
        problem = build(cell, storage, dtype)
        result = found[storage, dtype] = solve(problem, start, max_iter=100)
        assert_promises(problem, result)
        assert_scale_is_as_asked(cell, result)
        assert result.n_iter >= 1
        assert result.objective < result.history[0]
        assert result.stopped in {"converged", "max_iter"}
        again = solve(problem, start, max_iter=100)
        assert again.factor.tobytes() == result.factor.tobytes()
        np.testing.assert_array_equal(start, kept)
    exact = found["dense", np.float64].objective
    assert found["sparse", np.float64].objective == pytest.approx(exact, rel=1e-6)
    assert found["dense", np.float32].objective == pytest.approx(exact, rel=1e-2)
    assert found["sparse", np.float32].objective == pytest.approx(exact, rel=1e-2)


@pytest.mark.parametrize("diagonal", [False, True])
def test_all_solvers_agree_on_a_planted_problem(diagonal):
    problem = Problem(planted_matrix(40, 3, 53, noise=0.02), 3, diagonal=diagonal)
    start = near(planted_memberships(40, 3, 53), 5)
    losses = {
        name: solve(problem, start).objective
        for name, solve in SOLVERS.items()
        if not refused_fields(name, problem)
    }
    assert len(losses) >= 2
    least = min(losses.values())
    assert least < 0.2 * problem_loss(problem, start, np.ones(3))
    assert all(value <= 1.02 * least for value in losses.values()), losses
