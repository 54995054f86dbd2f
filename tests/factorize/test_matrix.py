"""Every cell of solver x problem: it solves and keeps all promises, or refuses before any work."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from tests.reference.checks import assert_promises_kept
from tests.reference.factorization import problem_loss
from tests.reference.problems import (
    near,
    planted_matrix,
    planted_memberships,
    random_matrix,
    random_rows,
    stored,
)

from soffit.factorize import SOLVERS, Problem
from soffit.factorize.problem import SCALES
from soffit.factorize.support import SUPPORT, refused_fields

CELLS = [
    pytest.param(solver, fields, id="-".join(map(str, (solver, *fields))))
    for solver in SOLVERS
    for fields in product(SCALES, [False, True], [False, True], [False, True])
]


class Untouchable:
    """A start that nobody may look at."""

    def __array__(self, *args, **kwargs):
        raise AssertionError("work was done before the check")


def build(fields, storage="dense", dtype=np.float64):
    scale, diagonal, with_degrees, weighted = fields
    A = planted_matrix(16, 3, 5, noise=0.05)
    A[3] = A[:, 3] = 0.0
    return Problem(
        stored(A.astype(dtype), storage),
        3,
        scale=scale,
        diagonal=diagonal,
        degrees=A.sum(axis=1) if with_degrees else None,
        pair_weight=stored(random_matrix(16, 11, density=0.7), storage) if weighted else None,
    )


def test_the_table_and_the_registry_name_the_same_solvers():
    assert list(SUPPORT) == list(SOLVERS)


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
    ],
)
def test_refusals_name_the_field_and_the_remedy(solver, fields, message):
    with pytest.raises(ValueError, match=f"{solver!r} does not support ") as caught:
        SOLVERS[solver](Problem(np.eye(4), 2, **fields), random_rows(4, 2, 3))
    assert message in str(caught.value)


@pytest.mark.parametrize(("solver", "fields"), CELLS)
def test_cell(solver, fields):
    problem = build(fields)
    solve = SOLVERS[solver]
    refused = refused_fields(solver, problem)
    if refused:
        with pytest.raises(ValueError, match=rf"^Solver '{solver}' does not support") as caught:
            solve(problem, Untouchable())
        message = str(caught.value)
        assert all(field in message for field in refused)
        able = [name for name in SOLVERS if not refused_fields(name, problem)]
        assert all(repr(name) in message for name in able)
        assert able or "No solver does" in message
        return
    start = random_rows(16, 3, 13)
    kept = start.copy()
    dense = solve(problem, start, max_iter=100)
    assert_promises_kept(problem, dense)
    np.testing.assert_array_equal(start, kept)
    again = solve(problem, start, max_iter=100)
    assert again.factor.tobytes() == dense.factor.tobytes()
    sparse_problem = build(fields, storage="sparse")
    sparse = solve(sparse_problem, start, max_iter=100)
    assert_promises_kept(sparse_problem, sparse)
    assert sparse.objective == pytest.approx(dense.objective, rel=1e-6)
    single_problem = build(fields, dtype=np.float32)
    single = solve(single_problem, start, max_iter=100)
    assert_promises_kept(single_problem, single)
    assert single.objective == pytest.approx(dense.objective, rel=1e-2)


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
