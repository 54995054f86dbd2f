"""Planted similarity matrices."""

from __future__ import annotations

import numpy as np
import pytest

from soffit.datasets import make_block_stochastic

SEED = 55171


def test_matrix_is_symmetric_nonnegative_and_labelled() -> None:
    matrix, labels, posterior = make_block_stochastic(103, degree_spread=1.0, random_state=SEED)
    assert matrix.shape == (103, 103)
    assert matrix.dtype == np.float64
    np.testing.assert_array_equal(matrix, matrix.T)
    assert (matrix >= 0).all()
    np.testing.assert_array_equal(posterior.argmax(axis=1), labels)
    np.testing.assert_array_equal(posterior.sum(axis=1), 1.0)
    assert sorted(np.bincount(labels)) == [20, 20, 21, 21, 21]


def test_block_means_and_noise() -> None:
    matrix, labels, _ = make_block_stochastic(400, noise=0.05, random_state=SEED)
    same = labels[:, None] == labels
    assert matrix[same].mean() == pytest.approx(0.6, abs=0.002)
    assert matrix[~same].mean() == pytest.approx(0.3, abs=0.002)
    assert matrix[same].std() == pytest.approx(0.05, abs=0.002)


def test_degrees_are_log_normal() -> None:
    matrix, _, _ = make_block_stochastic(
        900, within=1, between=1, noise=0, degree_spread=0.5, random_state=SEED
    )
    assert np.log(np.diag(matrix)).std() == pytest.approx(1.0, abs=0.1)  # theta_i squared
    flat, _, _ = make_block_stochastic(60, within=1, between=1, noise=0, random_state=SEED)
    np.testing.assert_array_equal(flat, 1.0)


def test_sizes_and_seed() -> None:
    sizes = [40, 25, 15, 12, 8]
    first, second = (make_block_stochastic(100, sizes=sizes, random_state=SEED) for _ in range(2))
    assert np.bincount(first.labels).tolist() == sizes
    assert first.matrix.tobytes() == second.matrix.tobytes()


@pytest.mark.parametrize("sizes", [[50, 50], [20, 20, 20, 20, 19]])
def test_sizes_that_do_not_fit_are_refused(sizes: list[int]) -> None:
    with pytest.raises(ValueError, match="add up to n_samples=100"):
        make_block_stochastic(100, sizes=sizes)


def test_too_large_a_matrix_is_refused() -> None:
    with pytest.raises(MemoryError, match="smaller n_samples"):
        make_block_stochastic(10_000_000)
