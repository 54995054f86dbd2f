from __future__ import annotations

import signal

import numpy as np
import pytest
import scipy.sparse as sp

from soffit.factorize import SOLVERS, Factorization, Problem, solve_tuples
from soffit.factorize.descent import Descent, lowest
from soffit.factorize.nonnegative import sweeps as nonnegative

W, S = np.eye(2), np.ones(2)


def test_settles_when_the_gain_is_a_small_share_of_the_loss():
    descent = Descent(20.0, W, S, norm=100.0)
    assert not descent.has_converged(1.0)
    descent.record(10.0, W, S)
    assert not descent.has_converged(0.99)
    assert descent.has_converged(1.0)


def test_gain_is_averaged_over_several_iterations():
    descent = Descent(13.0, W, S, norm=100.0)
    for loss in (10.0, 10.0, 10.0):
        descent.record(loss, W, S)
    assert descent.has_converged(0.0)
    assert not descent.has_converged(0.09, over=3)
    assert descent.has_converged(0.11, over=3)
    assert not descent.has_converged(9.0, over=4)


def test_a_loss_of_nearly_zero_settles():
    descent = Descent(2e-20, W, S, norm=1.0)
    descent.record(1e-20, W, S)
    assert descent.has_converged(1e-5)


def test_a_nearly_exact_factorization_settles_when_it_improves_slowly():
    descent = Descent(1.01e-4, W, S, norm=100.0)
    descent.record(1.0e-4, W, S)
    assert descent.has_converged(1e-5)
    assert not descent.has_converged(1e-8)
    descent.record(0.5e-4, W, S)
    assert not descent.has_converged(1e-5)


def test_more_entries_than_pairs_settle_sooner():
    """With k = n - 10, tens of seconds went into digits that say nothing about the objects."""
    for n, settled in ((7, False), (6, True)):
        descent = Descent(1.01e-3, np.ones((n, 3)), np.ones(3), norm=1.0)
        descent.record(1.0e-3, np.ones((n, 3)), np.ones(3))
        assert descent.has_converged(1e-5) is settled
        assert not descent.has_converged(0.9e-5)


@pytest.mark.parametrize("solver", ["rows", "coordinate"])
def test_nearly_as_many_clusters_as_objects_converge_soon(solver):
    X = np.random.default_rng(61).normal(size=(40, 3))
    A = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    start = np.random.default_rng(62).dirichlet(np.ones(37), size=40)
    constraint = "simplex" if solver == "rows" else "nonnegative"
    problem = Problem(A, 37, constraint=constraint)
    found = SOLVERS[solver](problem, start, max_iter=20_000, tol=1e-5)
    assert found.stopped == "converged"
    assert found.n_iter < 1000


def test_result_holds_the_record_and_the_last_point():
    seen = []
    descent = Descent(3.0, W, S, norm=9.0, callback=lambda *item: seen.append(item))
    descent.record(2.0, 2 * W, 3 * S)
    assert not descent.running(1)
    found = descent.result()
    assert found.history.tolist() == [3.0, 2.0]
    assert (found.objective, found.n_iter, found.stopped) == (2.0, 1, "max_iter")
    assert not found.cut_short
    assert np.array_equal(found.factor, 2 * W)
    assert np.array_equal(found.scale, 3 * S)
    assert seen == [(1, 2.0)]


def test_a_history_begun_afresh_keeps_the_count_of_iterations():
    descent = Descent(3.0, W, S, norm=9.0)
    descent.record(2.0, W, S)
    descent.record(5.0, W, S, restart_history=True)
    assert not descent.has_converged(9.0)
    descent.record(4.0, W, S)
    found = descent.result()
    assert found.history.tolist() == [5.0, 4.0]
    assert found.n_iter == 3


@pytest.mark.parametrize(
    ("answer", "stopped"),
    [
        (True, "callback"),
        ("max_time", "max_time"),
        (1, None),
        ("yes", None),
        (np.ones(2), None),
        (None, None),
    ],
)
def test_only_true_or_a_reason_ends_a_run(answer, stopped):
    descent = Descent(3.0, W, S, norm=9.0, callback=lambda *_: answer)
    descent.record(2.0, W, S)
    assert descent.stopped == stopped
    assert descent.running(9) == (stopped is None)


def test_a_run_that_converges_as_it_is_stopped_has_converged():
    descent = Descent(3.0, W, S, norm=9.0, callback=lambda *_: True)
    descent.record(3.0, W, S)
    descent.stop_if_converged(1e-3)
    assert descent.result().stopped == "converged"


def test_an_interrupt_ends_the_run_at_the_last_point_and_a_second_one_is_raised():
    descent = Descent(3.0, W, S, norm=9.0)
    with descent:
        descent.record(2.0, 2 * W, S)
        raise KeyboardInterrupt
    assert descent.interrupted
    assert not descent.running(9)
    assert descent.result().objective == 2.0
    descent.record_interrupted(1.5, 4 * W, S)
    found = descent.result()
    assert (found.objective, found.stopped, found.cut_short) == (1.5, "interrupted", True)
    with pytest.raises(ValueError, match="other"), descent:
        raise ValueError("other")


def test_a_loss_noted_without_its_point_is_forgotten():
    descent = Descent(3.0, W, S, norm=9.0)
    # As if an interrupt came in the middle of `record`.
    descent.history.append(2.5)
    assert descent.result().history.tolist() == [3.0]
    descent.record_interrupted(2.0, W, S)
    assert descent.result().history.tolist() == [3.0, 2.0]


def found_with(objective, stopped):
    return Factorization(W, S, objective, np.array([objective]), 1, stopped)


def test_lowest_ends_with_the_first_search_that_was_cut_short():
    first, cut = found_with(1.0, "converged"), found_with(2.0, "max_time")

    def searches():
        yield first
        yield cut
        raise AssertionError("no search may follow")

    best = lowest(searches())
    assert (best.objective, best.stopped) == (1.0, "max_time")
    assert lowest([first, found_with(1.0, "max_iter")]) is first
    with pytest.raises(ValueError, match="at least one"):
        lowest([])


# --- every solver ---------------------------------------------------------------------------------


def blocks(n=30):
    rng = np.random.RandomState(8209)
    A = np.kron(np.eye(3), np.ones((n // 3, n // 3))) + 0.2 * rng.rand(n, n)
    return (A + A.T) / 2


PROBLEMS = {
    "rows": {},
    "gradient": {"diagonal": True},
    "penalty": {"diagonal": True},
    "growth": {"diagonal": True},
    "multiplicative": {"constraint": "nonnegative"},
    "parallel": {"constraint": "nonnegative"},
    "coordinate": {"constraint": "nonnegative"},
    "em": {"loss": "kl", "constraint": "columns", "scale": "cluster", "diagonal": True},
    "em-priors": {
        "loss": "kl",
        "constraint": "columns",
        "scale": "cluster",
        "diagonal": True,
        "sparsity": 0.01,
    },
    "rows-weighted": {"pair_weight": np.ones((30, 30))},
}


def solve(name, *, sparse=False, **settings):
    A = sp.csr_array(blocks()) if sparse else blocks()
    problem = Problem(A, 3, **PROBLEMS[name])
    start = np.random.RandomState(3301).dirichlet(np.ones(3), size=30)
    settings = {"tol": 0.0, "max_iter": 40} | settings
    return problem, SOLVERS[name.split("-")[0]](problem, start, **settings)


def true_loss(problem, found):
    model = (found.factor * found.scale) @ found.factor.T
    misfit = (np.asarray(problem.matrix) - model) ** 2
    if not problem.diagonal:
        np.fill_diagonal(misfit, 0.0)
    return misfit.sum()


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("how", ["callback", "max_time", "interrupted"])
def test_every_solver_ends_when_told_to(name, how):
    def tell(number, loss):
        if number < 3:
            return None
        if how == "interrupted":
            signal.raise_signal(signal.SIGINT)
        return True if how == "callback" else how

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        problem, found = solve(name, callback=tell)
    finally:
        signal.signal(signal.SIGINT, before)
    assert found.stopped == how
    assert not found.converged
    # A solver that works in place measures the loss once more.
    assert found.n_iter in ((3, 4) if how == "interrupted" else (3,))
    assert found.objective == found.history[-1]
    if problem.loss == "l2":
        assert found.objective == pytest.approx(true_loss(problem, found), rel=1e-9)
    if problem.constraint == "simplex":
        np.testing.assert_allclose(found.factor.sum(axis=1), 1.0, atol=1e-12)


def test_tuples_end_when_told_to():
    tuples = np.random.RandomState(31).randint(9, size=(60, 3))
    values = (np.ptp(tuples // 3, axis=1) == 0).astype(float)
    start = np.random.RandomState(33).dirichlet(np.ones(3), size=9)

    def interrupt(number, loss):
        raise KeyboardInterrupt

    found = solve_tuples(tuples, values, 9, start, tol=0.0, callback=interrupt)
    assert (found.stopped, found.n_iter) == ("interrupted", 2)
    assert found.history[2] == found.history[1]
    found = solve_tuples(tuples, values, 9, start, tol=0.0, callback=lambda *_: True)
    assert (found.stopped, found.n_iter) == ("callback", 1)


def test_an_interrupt_inside_a_sweep_leaves_a_factor_with_its_own_loss(monkeypatch, limits):
    from soffit.factorize.nonnegative import kernels

    limits(nonnegative_rows=8)
    sweep_block, calls = kernels.sweep_block, []

    def interrupted(*args):
        calls.append(args)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return sweep_block(*args)

    monkeypatch.setattr(kernels, "sweep_block", interrupted)
    problem, found = solve("coordinate")
    # Four blocks a sweep: the second sweep ended after its first block.
    assert (found.stopped, found.n_iter) == ("interrupted", 2)
    assert found.objective == pytest.approx(true_loss(problem, found), rel=1e-9)
    assert found.history[2] <= found.history[1]


def test_a_second_interrupt_is_raised(monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    measured = nonnegative._measured_loss
    calls = []

    def measure(*args):
        calls.append(args)
        return measured(*args) if len(calls) == 1 else interrupt()

    monkeypatch.setattr(nonnegative, "_measured_loss", measure)
    with pytest.raises(KeyboardInterrupt):
        solve("coordinate", callback=interrupt)


# For the penalty method max_iter counts the steps of a round.
@pytest.mark.parametrize("name", [name for name in PROBLEMS if name != "penalty"])
def test_no_iteration_returns_the_start(name):
    _, found = solve(name, max_iter=0)
    assert (found.stopped, found.n_iter, len(found.history)) == ("max_iter", 0, 1)
