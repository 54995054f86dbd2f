"""Speed, memory and accuracy from a thousand to ten million objects, against peers in one run.

Every fit runs in its own process, with a limit on time (--limit; --long for SoftClustering beyond a
million objects) and on memory (--memory). The process draws the data from fixed seeds and warms up
on 2500 objects, which loads the compiled kernels; neither is timed. All kernels are compiled and
cached before the first case. A fit that takes less than ten seconds is repeated five times; the
median is reported. On real data sets SoftClustering and SpectralClustering alternate, in three
processes each, and the median of these is reported. Peak memory is the maximum resident set size of
the process, including interpreter, libraries and data.

SoftClustering and RelationFactorization use their default parameters. They are compared with
scikit-learn's SpectralClustering (15 neighbours), GaussianMixture (100 iterations, one start),
MiniBatchKMeans and HDBSCAN, and with the soft clustering of hdbscan if it is installed. The last
two determine the number of clusters themselves, with a minimum cluster size of a tenth of the
average. A method that fails at one size is skipped at larger ones.

`--only growth sheets` runs some of the cases, `--sizes 1e3 1e4` some of the sizes of "growth";
`--trial` runs everything with few objects. `--results FILE` stores the measurements, so that an
interrupted run can be continued (delete the file when the code changes). `--docs` writes
docs/scale_log.md and docs/scale.png.
"""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks._scale_cases import (
    graph,
    many_clusters,
    overlap,
    predict,
    real,
    same_bytes,
    sheets,
    starts,
    threads,
)
from benchmarks._scale_growth import growth
from benchmarks._scale_plan import Plan
from benchmarks._scale_report import claims_section, write_page, write_plot
from benchmarks._scale_run import Runner, Task

DOCS = Path(__file__).resolve().parents[1] / "docs"
SIZES = ("1e3", "1e4", "1e5", "1e6", "1e7")
PRIMED = 30_000
CASES: dict[str, Callable[[Plan], None]] = {
    "growth": growth,
    "overlap": overlap,
    "sheets": sheets,
    "many": many_clusters,
    "graph": graph,
    "predict": predict,
    "real": real,
    "starts": starts,
    "bytes": same_bytes,
    "threads": threads,
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Speed and memory from 10^3 to 10^7 objects.")
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES), metavar="CASE")
    parser.add_argument("--sizes", nargs="+", default=SIZES, type=float, help='of "growth"')
    parser.add_argument("--limit", type=float, default=400.0, help="seconds of a fit")
    long = "seconds of SoftClustering beyond a million objects"
    parser.add_argument("--long", type=float, default=2400.0, help=long)
    parser.add_argument("--memory", type=float, default=16.0, help="GB of a process")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--no-peers", action="store_true")
    alone = "largest size at which anything but SoftClustering, or the recall, is measured"
    parser.add_argument("--alone-beyond", type=float, default=float("inf"), help=alone)
    parser.add_argument("--trial", action="store_true", help="few objects, nothing judged")
    parser.add_argument("--results", type=Path, help="file that keeps what was measured")
    docs = "write the page and the plot, by default to docs/"
    parser.add_argument("--docs", nargs="?", type=Path, const=DOCS, help=docs)
    parser.add_argument("--task", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    options = arguments()
    if options.task:
        from benchmarks._scale_child import main as run_task

        run_task(options.task)
        return
    sizes = sorted({int(float(size)) for size in options.sizes})
    plan = Plan(
        Runner("benchmarks.scale", memory=options.memory, kept=options.results),
        limit=options.limit,
        long=options.long,
        threads=options.threads,
        sizes=sizes,
        with_peers=not options.no_peers,
        trial=options.trial,
        alone_beyond=options.alone_beyond,
    )
    plan.sizes = sorted({plan.size(n) for n in sizes})
    measure(plan, options)


def measure(plan: Plan, options: argparse.Namespace) -> None:
    """Run the cases in order, print their tables, and write them with --docs."""
    before = _load()
    head = _setting(options)
    print("\n".join(head))
    largest = plan.sizes[-1] if options.only == ["growth"] else PRIMED
    primed = min(PRIMED, largest) if not plan.trial else 1000
    compiled = plan.runner.run(Task("prime", n=primed, threads=plan.threads), plan.limit)
    if not compiled.done:
        print(f"Kernels could not all be compiled beforehand: {compiled.status}")
    for name, case in CASES.items():
        if name in options.only:
            case(plan)
    targets = claims_section(plan.claims)
    targets.show()
    loads = f"Load of the machine (one minute): {before} before, {_load()} after."
    print(f"\n{loads}")
    if options.docs is not None:
        options.docs.mkdir(parents=True, exist_ok=True)
        plot = options.docs / "scale.png"
        if plan.growth:
            write_plot(plot, plan.growth)
        picture = ["![Time and memory against the number of objects](scale.png)"]
        page = [*head, loads, *(picture if plot.exists() else [])]
        write_page(options.docs / "scale_log.md", page, [targets, *plan.sections])


def _setting(options: argparse.Namespace) -> list[str]:
    """How it was measured: paragraphs for the output and the page."""
    names = ("numpy", "scipy", "scikit-learn", "numba", "hdbscan", "faiss-cpu")
    versions = ", ".join(f"{name} {_version(name)}" for name in names)
    python = f"Python {platform.python_version()}"
    paragraphs = (__doc__ or "").split("\n\n")[1:3]
    cores = os.cpu_count()
    return [
        *(" ".join(paragraph.split()) for paragraph in paragraphs),
        f"{cores} cores, {options.threads} threads. {python}, {versions}. Limits: "
        f"{options.limit:g} s ({options.long:g} s for SoftClustering beyond a million objects), "
        f"{options.memory:g} GB.",
    ]


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "(not installed)"


def _load() -> str:
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"


if __name__ == "__main__":
    main()
