from __future__ import annotations

import numpy as np

from soffit.factorize._descent import Descent


def test_settles_when_the_gain_is_a_small_share_of_the_loss():
    descent = Descent(20.0, norm=100.0)
    assert not descent.settled(1.0)
    descent.record(10.0)
    assert not descent.settled(0.99)
    assert descent.settled(1.0)


def test_gain_is_averaged_over_several_iterations():
    descent = Descent(13.0, norm=100.0)
    for loss in (10.0, 10.0, 10.0):
        descent.record(loss)
    assert descent.settled(0.0)
    assert not descent.settled(0.09, over=3)
    assert descent.settled(0.11, over=3)
    assert not descent.settled(9.0, over=4)


def test_a_loss_of_nearly_zero_settles():
    descent = Descent(2e-20, norm=1.0)
    descent.record(1e-20)
    assert descent.settled(1e-5)


def test_result_holds_the_record():
    seen = []
    descent = Descent(3.0, norm=9.0, callback=lambda *item: seen.append(item))
    descent.record(2.0)
    found = descent.result(np.eye(2), np.ones(2), converged=False)
    assert found.history.tolist() == [3.0, 2.0]
    assert (found.objective, found.n_iter, found.stopped) == (2.0, 1, "max_iter")
    assert seen == [(1, 2.0)]
