"""Gaussian clusters in 16 columns at all sizes: time, memory, recall and their growth."""

from __future__ import annotations

from benchmarks._scale_methods import HNSW, OWN
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
from benchmarks._scale_report import (
    FIT_HEADER,
    Row,
    Section,
    decimal,
    fit_cells,
    phase_section,
    slope,
)
from benchmarks._scale_run import Outcome, Task

CLUSTERS = 10
# Growth is judged from here up: below, time goes into what does not grow.
LARGE = 100_000
SLACK = 0.005


def growth(plan: Plan) -> None:
    k = plan.clusters(CLUSTERS)
    found = plan.growth
    for n in plan.sizes:
        for method in [*OWN, *plan.peers()]:
            earlier = found.setdefault(method, {})
            if n > plan.alone_beyond and method != "SoftClustering":
                continue
            if any(not outcome.done for outcome in earlier.values()):
                # A method that fails at one size is skipped at larger ones.
                continue
            earlier[n] = plan.fit(method, "blobs", n, k)
        _tell_size(plan, n)
    _tell_growth(plan)
    recalls = _tell_recall(plan, k)
    plan.ask(*_hundred_thousand(plan), *_million(plan, recalls), *_ten_million(plan))


def _tell_size(plan: Plan, n: int) -> None:
    outcomes = {method: found[n] for method, found in plan.growth.items() if n in found}
    rows = [fit_cells(method, outcome) for method, outcome in outcomes.items()]
    best = next((one.figure("best") for one in outcomes.values() if one.done), None)
    note = "" if best is None else f"The Bayes-optimal rule has accuracy {best:.3f}."
    left_out = [method for method in plan.growth if method not in outcomes]
    if n > plan.alone_beyond:
        note += " Only SoftClustering was run."
    elif left_out:
        note += f" Skipped, because they failed at a smaller size: {', '.join(left_out)}."
    title = f"n = {count(n)}, 16 columns, {plan.clusters(CLUSTERS)} clusters"
    plan.tell(Section(title, FIT_HEADER, rows, note))
    own = {method: outcomes[method] for method in OWN if method in outcomes}
    plan.tell(phase_section(f"Time per phase, n = {count(n)}", own))


def _tell_growth(plan: Plan) -> None:
    peers = [method for method in plan.growth if method != "SoftClustering"]
    if peers:
        rows = [[count(n), *(_ratio(plan, method, n) for method in peers)] for n in plan.sizes]
        note = "Values above 1 mean that SoftClustering is faster."
        title = "Time relative to SoftClustering"
        plan.tell(Section(title, ["n", *peers], rows, note))
    start = plan.size(LARGE)
    rows = []
    for method, found in plan.growth.items():
        done = {n: one for n, one in found.items() if one.done and n >= start}
        times = slope(list(done), [one.seconds for one in done.values()])
        peaks = slope(list(done), [one.result["peak"] for one in done.values()])
        if times is not None and peaks is not None:
            span = f"{count(min(done))} to {count(max(done))}"
            rows.append([method, span, f"{times:.2f}", f"{peaks:.2f}"])
    if rows:
        header = ["method", "n", "time", "peak memory"]
        note = "Least-squares slope on a log-log scale; 1 means linear in n."
        plan.tell(Section("Growth exponents", header, rows, note))


def _ratio(plan: Plan, method: str, n: int) -> str:
    own, other = plan.growth["SoftClustering"].get(n), plan.growth[method].get(n)
    if own is None or other is None or not own.done or not (other.done or other.late):
        return "-"
    return f"{'' if other.done else '> '}{other.seconds / own.seconds:.3g}"


def _tell_recall(plan: Plan, k: int) -> dict[int, float | None]:
    sizes = [n for n in plan.sizes if n <= plan.alone_beyond]
    checked = {n: check_recall(plan, "blobs", n, k) for n in sizes}
    rows = [row for n, one in checked.items() for row in recall_cells(f"n = {count(n)}", one)]
    plan.tell(Section("Neighbour search alone, 16 columns", RECALL_HEADER, rows, RECALL_NOTE))
    return {n: one[""].figure("true_recall") for n, one in checked.items()}


CHECKED = "neighbour recall, checked by brute force"
RECALL_HEADER = ["search", "time", "peak memory", "recall it reports", "recall of 200 objects"]
RECALL_NOTE = (
    "15 neighbours. The last column is the recall against a brute-force search outside the "
    "library. HNSW is that of faiss, if installed, with M = 16, efConstruction = 40 and "
    "efSearch = 32. Up to 20,000 objects the search of soffit is exact."
)


def check_recall(plan: Plan, data: str, n: int, k: int) -> dict[str, Outcome]:
    """Neighbour lists of the library ("") and of a peer against true ones, in one process each."""
    limit = plan.long if n > 1_000_000 else plan.limit
    found = {"": plan.runner.run(Task("recall", "", data, n, k, plan.threads), limit)}
    for peer in plan.peers(HNSW):
        found[peer] = plan.runner.run(Task("recall", peer, data, n, k, plan.threads), plan.limit)
    return found


def recall_cells(name: str, checked: dict[str, Outcome]) -> list[list[str]]:
    rows = []
    for search, one in checked.items():
        recalls = (decimal(one.figure(what)) for what in ("recall", "true_recall"))
        label = f"{name}, {search}" if search else name
        rows.append([label, one.time_text(), one.memory_text(), *recalls])
    return rows


# --- targets ----------------------------------------------------------------------------------


def _at(plan: Plan, n: int) -> tuple[str, dict[str, Outcome]] | None:
    """The case's name and all its fits, if SoftClustering was fitted at this size."""
    n = plan.size(n)
    fits = {method: found[n] for method, found in plan.growth.items() if n in found}
    if "SoftClustering" not in fits:
        return None
    return f"{count(n)} x 16, k={plan.clusters(CLUSTERS)}", fits


def _hundred_thousand(plan: Plan) -> list[Row]:
    found = _at(plan, 100_000)
    if found is None:
        return []
    case, fits = found
    own, spectral, mixture = (
        fits["SoftClustering"],
        fits.get("SpectralClustering"),
        fits.get("GaussianMixture"),
    )
    others = {"GaussianMixture": mixture, "SpectralClustering": spectral}
    return [
        times_faster(case, "against SpectralClustering", own, spectral, 50, or_late=True),
        ratio_at_most(case, "time over that of GaussianMixture", own, mixture, 1.5),
        accuracy_not_below(case, own, others, SLACK),
    ]


def _million(plan: Plan, recalls: dict[int, float | None]) -> list[Row]:
    found = _at(plan, 1_000_000)
    if found is None:
        return []
    case, fits = found
    own, mixture = fits["SoftClustering"], fits.get("GaussianMixture")
    return [
        at_most_seconds(case, "SoftClustering", own, 60),
        at_most_memory(case, "SoftClustering, peak", own, 3),
        ratio_at_most(case, "time over that of GaussianMixture", own, mixture, 1.5),
        at_least(case, "neighbor_recall_", own.figure("recall"), 0.9),
        at_least(case, CHECKED, recalls[plan.size(1_000_000)], 0.9),
    ]


def _ten_million(plan: Plan) -> list[Row]:
    found = _at(plan, 10_000_000)
    if found is None:
        return []
    case, fits = found
    own = fits["SoftClustering"]
    rows = [at_most_memory(case, f"finishes ({own.time_text()})", own, 16)]
    start = plan.size(LARGE)
    done = {n: one for n, one in plan.growth["SoftClustering"].items() if one.done and n >= start}
    exponent = slope(list(done), [one.seconds for one in done.values()])
    settings = f"growth exponent of the time from n = {count(start)}"
    if exponent is None or not own.done:
        return [*rows, Row(case, settings, "not measured", "<= 1.15")]
    each = ", ".join(f"{one.time_text()}" for one in done.values())
    measured = f"{exponent:.3f} ({each})"
    return [*rows, Row(case, settings, measured, "<= 1.15", exponent <= 1.15)]
