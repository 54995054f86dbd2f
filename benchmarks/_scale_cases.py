"""The cases of scale.py besides growth: their tasks and targets."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks._scale_growth import (
    CHECKED,
    RECALL_HEADER,
    RECALL_NOTE,
    SLACK,
    check_recall,
    recall_cells,
)
from benchmarks._scale_methods import OWN
from benchmarks._scale_plan import (
    Plan,
    accuracy_not_below,
    at_least,
    at_most_memory,
    at_most_seconds,
    count,
    ratio_at_most,
    times_faster,
)
from benchmarks._scale_report import FIT_HEADER, Row, Section, fit_cells, phase_section
from benchmarks._scale_run import Outcome, Task, seconds_text

REAL_SETS = ("pendigits", "usps", "satimage")
# Real sets that are large enough to be made coarser.
STARTED = ("pendigits", "usps")
THREADS = (1, 2)


def sheets(plan: Plan) -> None:
    """Clusters on curved sheets in 128 columns: the usual graph against the exact one."""
    n, k = plan.size(100_000), plan.clusters(20)
    fits = {
        "SoftClustering": plan.fit("SoftClustering", "sheets", n, k),
        "SoftClustering, exact graph": plan.fit("SoftClustering", "sheets", n, k, search="exact"),
    }
    for peer in plan.peers("GaussianMixture", "MiniBatchKMeans"):
        fits[peer] = plan.fit(peer, "sheets", n, k)
    checked = check_recall(plan, "sheets", n, k)
    title = f"Curved sheets: n = {count(n)}, 128 columns, {k} clusters"
    _tell_fits(plan, title, fits)
    rows = recall_cells(f"n = {count(n)}", checked)
    title = "Neighbour search alone, 128 columns"
    plan.tell(Section(title, RECALL_HEADER, rows, RECALL_NOTE))
    case = f"{count(n)} x 128, curved sheets, k={k}"
    own, exact = fits["SoftClustering"], fits["SoftClustering, exact graph"]
    plan.ask(
        at_least(case, "neighbor_recall_", own.figure("recall"), 0.9),
        at_least(case, CHECKED, checked[""].figure("true_recall"), 0.9),
        accuracy_not_below(case, own, {"the exact graph": exact}, 0.01),
    )


def overlap(plan: Plan) -> None:
    """Clusters that overlap: what soft clustering is for, and where a mixture converges slowly."""
    k = plan.clusters(10)
    for n in (plan.size(100_000), plan.size(1_000_000)):
        methods = ["SoftClustering", *plan.peers("GaussianMixture", "MiniBatchKMeans")]
        fits = {method: plan.fit(method, "overlapping", n, k) for method in methods}
        title = f"Overlapping clusters: n = {count(n)}, 16 columns, {k} clusters"
        _tell_fits(plan, title, fits)
        case, own = f"{count(n)} x 16, overlapping, k={k}", fits["SoftClustering"]
        mixture = fits.get("GaussianMixture")
        plan.ask(
            ratio_at_most(case, "time over that of GaussianMixture", own, mixture, 1.5),
            accuracy_not_below(case, own, {"GaussianMixture": mixture}, SLACK),
        )


def many_clusters(plan: Plan) -> None:
    """Memberships of a thousand clusters are sparse: a million objects fit 8 GB."""
    k = plan.clusters(1000)
    for size, seconds, memory in ((100_000, 120, 2), (1_000_000, 1200, 8)):
        n = plan.size(size)
        methods = ["SoftClustering", *plan.peers("MiniBatchKMeans")]
        fits = {method: plan.fit(method, "blobs", n, k) for method in methods}
        _tell_fits(plan, f"Many clusters: n = {count(n)}, 16 columns, {k} clusters", fits)
        case, own = f"{count(n)} x 16, k={k}", fits["SoftClustering"]
        plan.ask(
            at_most_seconds(case, "SoftClustering", own, seconds),
            at_most_memory(case, "SoftClustering, peak", own, memory),
        )


def graph(plan: Plan) -> None:
    """A planted partition; each of the 20 links per node lies in its block with probability 0.7."""
    n, k = plan.size(1_000_000), plan.clusters(50)
    fits = {method: plan.fit(method, "graph", n, k) for method in reversed(OWN)}
    title = f"Planted partition: {count(n)} nodes, {count(10 * n)} edges, {k} blocks"
    _tell_fits(plan, title, fits)
    case, own = f"graph of {count(n)} nodes, k={k}", fits["RelationFactorization"]
    plan.ask(at_most_seconds(case, "RelationFactorization", own, 120))


def predict(plan: Plan) -> None:
    n, new, k = plan.size(100_000), plan.size(1_000_000), plan.clusters(10)
    fits = {}
    for method in ["SoftClustering", *plan.peers("GaussianMixture")]:
        task = Task("predict", method, "blobs", n, k, plan.threads, new=new)
        fits[method] = plan.runner.run(task, plan.limit)
    rows = [fit_cells(f"{method}.predict_proba", one) for method, one in fits.items()]
    title = f"New objects: {count(new)} on a model of {count(n)}"
    plan.tell(Section(title, ["call", *FIT_HEADER[1:]], rows, "The fit itself is not counted."))
    case = f"predict_proba, {count(new)} new on {count(n)}"
    plan.ask(at_most_seconds(case, "SoftClustering", fits["SoftClustering"], 30))


def real(plan: Plan) -> None:
    """Real sets end to end, by the usual, the exact and the approximate search."""
    for name in REAL_SETS:
        raced = ["SoftClustering", *plan.peers("SpectralClustering")]
        fits = plan.race(raced, name)
        for search in ("exact", "approximate"):
            key = f"SoftClustering, {search} graph"
            fits[key] = plan.fit("SoftClustering", name, 0, 0, search=search)
        for method in ("RelationFactorization", *plan.peers()):
            if method not in fits:
                fits[method] = plan.fit(method, name, 0, 0)
        own = fits["SoftClustering"]
        n = int(own.figure("n") or 0)
        _tell_fits(plan, f"{name}: {n} objects", fits)
        peer = fits.get("SpectralClustering")
        settings = "SoftClustering against SpectralClustering"
        exact = {"the exact graph": fits["SoftClustering, exact graph"]}
        approximate = fits["SoftClustering, approximate graph"]
        plan.ask(
            times_faster(name, settings, own, peer, 1, or_late=False),
            accuracy_not_below(name, own, exact, 0.0),
            accuracy_not_below(f"{name}, approximate graph", approximate, exact, 0.0)._replace(
                asked="-", met=None
            ),
        )


def starts(plan: Plan) -> None:
    """Starts that are found through a coarser graph against those found on the whole graph."""
    n = plan.size(100_000)
    drawn = [("overlapping", n, plan.clusters(10)), ("sheets", n, plan.clusters(20))]
    rows = []
    for name, n, k in [*drawn, *((name, 0, 0) for name in STARTED)]:
        fits = {
            search: plan.fit("SoftClustering", name, n, k, search=search)
            for search in ("direct", "default" if n else "coarse")
        }
        direct, coarse = fits.values()
        for what, one in (("full graph", direct), ("coarser graph", coarse)):
            phase = dict(one.phases).get("start")
            start = "-" if phase is None else seconds_text(phase)
            cells = fit_cells(f"{name}, {what}", one)
            rows.append([cells[0], start, *cells[1:]])
        case = name if not n else f"{name}, n={count(n)}"
        plan.ask(accuracy_not_below(case, coarse, {"a start on the full graph": direct}, SLACK))
    header = [FIT_HEADER[0], "start", *FIT_HEADER[1:]]
    note = "Real data sets are coarsened here although their size does not require it."
    plan.tell(
        Section("Initial partition from the full graph and from a coarser one", header, rows, note)
    )


def same_bytes(plan: Plan) -> None:
    """Fits with one thread and with two, all else equal."""
    rows = []
    for n in (plan.size(20_000), plan.size(50_000)):
        for method in OWN:
            k = plan.clusters(10)
            fits = [
                plan.runner.run(Task("fit", method, "blobs", n, k, threads), plan.limit)
                for threads in THREADS
            ]
            digests = [str(one.result.get("digest", one.status)) for one in fits]
            same = all(one.done for one in fits) and digests[0] == digests[1]
            times = [one.time_text() for one in fits]
            rows.append([f"{method}, n = {count(n)}", *times, *(text[:12] for text in digests)])
            case, measured = f"same seed, 1 and 2 threads, n={n}", "the same" if same else "differ"
            plan.ask(Row(case, f"bytes of {method}.memberships_", measured, "the same", same))
    header = ["fit", "1 thread", "2 threads", "digest, 1 thread", "digest, 2 threads"]
    plan.tell(Section("The same bytes for any number of threads", header, rows))


def threads(plan: Plan) -> None:
    """Sweeps over rows with one thread and with two, on one graph made beforehand."""
    n, k = plan.size(1_000_000), plan.clusters(10)
    with TemporaryDirectory() as folder:
        file = str(Path(folder) / "graph.npz")
        built = plan.runner.run(Task("build", "", "", n, k, file=file), plan.limit)
        fits = [
            plan.runner.run(Task("sweep", "solve_rows", "", n, k, number, file=file), plan.limit)
            for number in THREADS
        ]
    title = f"Sweeps of solve_rows: n = {count(n)}, {k} clusters"
    rows = [_sweep_cells(number, one) for number, one in zip(THREADS, fits, strict=True)]
    note = f"A graph of {count(built.figure('edges') or 0)} edges near the diagonal, float32."
    header = ["threads", "one sweep", "all, with setup", "peak memory", "digest"]
    plan.tell(Section(title, header, rows, note))
    gain = None
    if all(one.done for one in fits):
        gain = fits[0].result["sweep"] / fits[1].result["sweep"]
    case = f"sweep kernels, n={count(n)}"
    plan.ask(at_least(case, "one thread's time over that of two", gain, 1.6))


def _sweep_cells(number: int, outcome: Outcome) -> list[str]:
    sweep = outcome.figure("sweep")
    return [
        str(number),
        "-" if sweep is None else seconds_text(sweep),
        outcome.time_text(),
        outcome.memory_text(),
        str(outcome.result.get("digest", "-"))[:12],
    ]


def _tell_fits(plan: Plan, title: str, fits: dict[str, Outcome]) -> None:
    rows = [fit_cells(name, outcome) for name, outcome in fits.items()]
    best = next((one.figure("best") for one in fits.values() if one.done), None)
    note = "" if best is None else f"The Bayes-optimal rule has accuracy {best:.3f}."
    plan.tell(Section(title, FIT_HEADER, rows, note))
    own = {name: one for name, one in fits.items() if one.phases}
    plan.tell(phase_section(f"Time per phase: {title}", own))
