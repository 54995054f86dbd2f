"""`python -m fuzz`: attack soffit for some time, and count what happens."""

from __future__ import annotations

import argparse
import sys
import time

from fuzz.driver import Tally, run_all
from fuzz.suites import SUITES


def main() -> int:
    """Run the cases; 1 if there was a violation."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=1800.0, help="when to stop (1800)")
    parser.add_argument("--cases", type=int, default=10**9, help="how many cases at most")
    parser.add_argument("--seed", type=int, help="of the whole run; drawn from the clock if absent")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time (2)")
    parser.add_argument("--checked", type=int, default=9, help="every n-th case checks all indices")
    parser.add_argument("--only", action="append", default=[], choices=list(SUITES))
    parser.add_argument("--exact", action="store_true", help="the seed is that of a single case")
    given = parser.parse_args()
    seed = int(time.time()) if given.seed is None else given.seed
    print(f"seed {seed}, {given.jobs} processes, at most {given.seconds:g} s", flush=True)
    started = time.monotonic()
    tally = run_all(
        seconds=given.seconds,
        cases=given.cases,
        seed=seed,
        jobs=given.jobs,
        only=given.only,
        checked=0 if given.exact else given.checked,
        exact=given.exact,
    )
    print(report(tally, time.monotonic() - started))
    return 1 if tally.violations else 0


def report(tally: Tally, seconds: float) -> str:
    """Counts per suite and outcome, with seconds of processor time."""
    lines = [f"{tally.n_cases:,} cases in {seconds:,.0f} s, {tally.checked:,} with checked indices"]
    lines.append(f"  {'suite':20} {'cases':>7} {'CPU':>8} {'ms each':>8}")
    for suite in sorted({name for name, _ in tally.outcomes}):
        counts = {o: n for (name, o), n in tally.outcomes.items() if name == suite}
        told = ", ".join(f"{n:,} {o}" for o, n in sorted(counts.items(), key=lambda item: -item[1]))
        cases, spent = sum(counts.values()), tally.seconds[suite]
        lines.append(f"  {suite:20} {cases:7,} {spent:6,.0f} s {1e3 * spent / cases:8,.0f}  {told}")
    kinds = len({text.partition("\n")[0] for text in tally.violations})
    lines.append(f"{len(tally.violations)} violations ({kinds} different)")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
