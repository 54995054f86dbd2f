"""Searches that share the passes over a matrix."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from tests.reference.checks import assert_promises_kept
from tests.reference.problems import planted_matrix, random_rows, stored

from reproduction.papers.sof import side_by_side
from reproduction.papers.sof.side_by_side import _SharedPasses, solve_gradients
from soffit.factorize import Problem, solve_gradient


class Counted:
    """A matrix that counts its products, and fails at one of them."""

    def __init__(self, A: Any, fails_at: int | None = None) -> None:
        self.A = A
        self.n_products = 0
        self.fails_at = fails_at

    def __matmul__(self, U: Any) -> Any:
        self.n_products += 1
        if self.n_products == self.fails_at:
            raise MemoryError("too large")
        return self.A @ U


@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("scale", ["none", "cluster"])
def test_the_same_as_one_after_the_other(storage: str, scale: Any) -> None:
    problem = Problem(stored(planted_matrix(40, 3, 53, noise=0.02), storage), 3, scale=scale)
    starts = [random_rows(40, 3, seed) for seed in (3, 5, 7)]
    together = solve_gradients(problem, starts, tol=1e-9)
    for start, result in zip(starts, together, strict=True):
        alone = solve_gradient(problem, start, tol=1e-9)
        assert_promises_kept(problem, result)
        assert result.n_iter == pytest.approx(alone.n_iter, abs=3)
        np.testing.assert_allclose(result.factor, alone.factor, atol=1e-5)


def test_the_same_bytes_every_time() -> None:
    problem = Problem(planted_matrix(50, 3, 53, noise=0.05), 3)
    starts = [random_rows(50, 3, seed) for seed in (3, 5, 7, 9)]
    runs = [solve_gradients(problem, starts, tol=1e-9) for _ in range(3)]
    for results in zip(*runs, strict=True):
        assert len({result.factor.tobytes() for result in results}) == 1


def test_single_precision_stays() -> None:
    A = planted_matrix(30, 2, 11).astype(np.float32)
    starts = [random_rows(30, 2, seed) for seed in (3, 5)]
    for result in solve_gradients(Problem(A, 2), starts):
        assert result.factor.dtype == np.float32


def test_no_start_gives_no_result() -> None:
    assert solve_gradients(Problem(planted_matrix(10, 2, 3), 2), []) == []


def test_a_start_of_the_wrong_shape_is_refused() -> None:
    with pytest.raises(ValueError, match="start"):
        solve_gradients(Problem(planted_matrix(10, 2, 3), 2), [random_rows(9, 2, 3)])


def test_one_pass_serves_all_and_each_gets_its_own_product() -> None:
    A = Counted(np.diag([1.0, 2.0]))
    passes = _SharedPasses(A, 3)  # type: ignore[arg-type]
    arrays = [np.ones((2, 1)), np.array([[3.0, 5.0], [7.0, 9.0]]), np.full((2, 1), 4.0)]
    found: dict[int, Any] = {}

    def search(number: int, n_steps: int) -> None:
        U = arrays[number]
        for _ in range(n_steps):
            U = passes.product(number, U)
        found[number] = U
        passes.leave()

    threads = [threading.Thread(target=search, args=pair) for pair in ((0, 3), (1, 1), (2, 0))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert A.n_products == 3
    np.testing.assert_array_equal(found[0], [[1.0], [8.0]])
    np.testing.assert_array_equal(found[1], [[3.0, 5.0], [14.0, 18.0]])
    np.testing.assert_array_equal(found[2], arrays[2])


def test_a_failed_product_ends_all_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_SharedPasses, "_multiply", Counted(None, fails_at=1).__matmul__)
    with pytest.raises(RuntimeError, match="failed") as caught:
        solve_gradients(
            Problem(planted_matrix(20, 2, 3), 2), [random_rows(20, 2, seed) for seed in (3, 5)]
        )
    assert isinstance(caught.value.__cause__, MemoryError)


def test_an_interrupt_ends_all_searches_without_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    began = threading.active_count()

    def interrupted(objective: Any, W: Any, **options: Any) -> Any:
        if objective._number == 0:
            raise KeyboardInterrupt
        while True:
            objective.product(W)

    monkeypatch.setattr(side_by_side, "minimise", interrupted)
    with pytest.raises(KeyboardInterrupt):
        solve_gradients(
            Problem(planted_matrix(20, 2, 3), 2), [random_rows(20, 2, seed) for seed in (3, 5)]
        )
    assert threading.active_count() == began
