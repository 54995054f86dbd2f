"""Yu, Yu & Tresp's factorization on random graphs with planted blocks: exact, and how quickly."""

from __future__ import annotations

from time import perf_counter, process_time

import numpy as np
import scipy.sparse as sp

from reproduction.harness.claims import met, spread
from reproduction.harness.experiment import Experiment, Measured, Results, Setup, Unit
from reproduction.harness.report import Finding, Report
from soffit._typing import IntArray
from soffit.metrics import accuracy
from soffit.models import RelationFactorization

_BLOCKS = 10
_SECONDS = 5.0


def plan(setup: Setup) -> list[Unit]:
    n = 500 if setup.quick else 20_000
    graphs = range(29, 29 + 2 * setup.n_runs(3, quick=1), 2)
    return [Unit(f"{n}/{graph}", {"n": n, "graph": graph, "seed": 29}) for graph in graphs]


def measure(unit: Unit, setup: Setup) -> Measured:
    s = unit.settings
    model = RelationFactorization(_BLOCKS, affinity="precomputed", random_state=s["seed"])
    # Kernels are compiled before the clock starts.
    model.fit(planted_graph(500, _BLOCKS, 3)[0])
    A, truth = planted_graph(s["n"], _BLOCKS, s["graph"])
    began, began_work = perf_counter(), process_time()
    labels = model.fit(A).labels_
    values = {
        "accuracy": accuracy(truth, labels),
        "degree": A.nnz / s["n"],
        "fit seconds": perf_counter() - began,
        "processor seconds": process_time() - began_work,
    }
    return Measured(values)


def planted_graph(n: int, n_blocks: int, seed: int) -> tuple[sp.csr_array, IntArray]:
    """A random graph: on average 18 neighbours in an object's own block and 2 in others."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % n_blocks
    ends = rng.integers(0, n // n_blocks, (9 * n, 2)) * n_blocks + labels[:, None].repeat(9, 0)
    across = rng.integers(0, n, (3 * n, 2))
    across = across[labels[across[:, 0]] != labels[across[:, 1]]][:n]
    ends = np.concatenate([ends, across])
    ends = ends[ends[:, 0] != ends[:, 1]]
    A = sp.coo_array((np.ones(len(ends)), ends.T), shape=(n, n)).tocsr()
    A = sp.csr_array(A + A.T)
    A.data[:] = 1.0
    return A, labels


def report(results: Results) -> Report:
    n = results.records[0].unit.settings["n"]
    scores, seconds = results.column("accuracy"), results.column("fit seconds")
    degree = float(results.column("degree").mean())
    setting = f"RelationFactorization({_BLOCKS}), {n:,} nodes, mean degree {degree:.1f}"
    exact = int(np.sum(scores == 1.0))
    findings = [
        Finding(
            f"{_BLOCKS} planted blocks are found exactly",
            "-",
            f"{exact} of {len(scores)} graphs, accuracy {spread(scores, 5)}",
            setting,
            met(exact == len(scores)),
        ),
        Finding(
            f"a fit takes less than {_SECONDS:g} s",
            "-",
            f"{spread(seconds, 1)} s by the clock, {spread(results.column('processor seconds'), 1)}"
            " s of processor time",
            setting,
            met(seconds.max() < _SECONDS),
        ),
    ]
    return Report("Times depend on the load of the machine and on `--jobs`.", findings)


EXPERIMENT = Experiment(
    name="yu-planted",
    paper="Yu, Yu & Tresp 2005 (speed, not in the paper)",
    title="Planted blocks in a graph of 20,000 nodes",
    plan=plan,
    measure=measure,
    report=report,
)
