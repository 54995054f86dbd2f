"""Steps of a session's fits are remembered only where nothing they depend on has changed."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from soffit import SoftClustering
from soffit._kept import Kept, keeping, remembered
from soffit.affinity import NeighborGraph
from soffit.datasets import make_gaussians
from soffit.io import Source
from soffit.session.session import Session


def test_equal_inputs_are_not_computed_again_and_others_are():
    calls = []

    def work():
        calls.append(1)
        return len(calls)

    table, links = np.arange(6.0).reshape(3, 2), sp.csr_array(np.eye(3))
    with keeping(Kept()):
        inputs = (table, links, {"metric": "euclidean"}, None, 3)
        assert remembered("step", 3, inputs, work) == 1
        same = (table.copy(), links.copy(), {"metric": "euclidean"}, None, 3)
        assert remembered("step", 3, same, work) == 1
        for other in (
            (table.astype(np.float32), *inputs[1:]),
            (table, 2 * links, *inputs[2:]),
            (*inputs[:2], {"metric": "cosine"}, None, 3),
            (*inputs[:3], np.ones(3), 3),
            (*inputs[:4], 4),
        ):
            before = len(calls)
            assert remembered("step", 3, other, work) == before + 1
        assert remembered("another", 3, inputs, work) == len(calls)
    before = len(calls)
    assert remembered("step", 3, inputs, work) == before + 1  # nothing is kept outside a session


@pytest.mark.parametrize("most", [40, None])
def test_a_session_does_not_build_the_graph_again_and_finds_the_same(monkeypatch, limits, most):
    if most is not None:
        limits(graph_nodes=most)
    built = []
    fit = NeighborGraph._fit

    def counted(self, *arguments, **options):
        built.append(1)
        return fit(self, *arguments, **options)

    monkeypatch.setattr(NeighborGraph, "_fit", counted)
    X, labels, _ = make_gaussians(300, n_clusters=3, separation=3.0, random_state=7)
    model = SoftClustering(3, random_state=7)
    session = Session(Source("table", X, columns=("x", "y")), model)
    session.refit()
    for a, b in ((0, 5), (1, 9), (2, 40)):
        session.answer(a, b, "together" if labels[a] == labels[b] else "apart")
        found = session.refit().model
    assert len(built) == 1
    fresh = model.fit(X, **session.state.fit_arguments())
    np.testing.assert_array_equal(found.memberships_, fresh.memberships_)


def test_a_step_cut_short_is_not_remembered(monkeypatch):
    kept = Kept()
    monkeypatch.setattr("soffit._kept.is_late", lambda: True)
    with keeping(kept):
        assert remembered("step", 1, (1,), lambda: "short") == "short"
    monkeypatch.undo()
    with keeping(kept):
        assert remembered("step", 1, (1,), lambda: "whole") == "whole"
