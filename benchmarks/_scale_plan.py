"""What the cases of scale.py share: settings of the run, its findings, and rows of targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks._scale_methods import PEERS, installed
from benchmarks._scale_report import Row, Section
from benchmarks._scale_run import GB, Outcome, Runner, Task, seconds_text

# A trial checks that everything runs: the same cases with few objects and clusters.
TRIAL_SIZES = {
    1_000: 500,
    10_000: 700,
    20_000: 800,
    50_000: 900,
    100_000: 1000,
    1_000_000: 2000,
    10_000_000: 4000,
}
TRIAL_CLUSTERS = {10: 4, 20: 5, 50: 5, 1000: 40}
# Processes of each method that take turns.
ROUNDS = 3


@dataclass
class Plan:
    """How to run the cases, and what has been found so far."""

    runner: Runner
    limit: float
    long: float
    threads: int
    sizes: list[int]
    with_peers: bool
    trial: bool
    # Beyond so many objects only SoftClustering is run.
    alone_beyond: float = float("inf")
    sections: list[Section] = field(default_factory=list)
    claims: list[Row] = field(default_factory=list)
    growth: dict[str, dict[int, Outcome]] = field(default_factory=dict)

    def size(self, n: int) -> int:
        return TRIAL_SIZES.get(n, n) if self.trial else n

    def clusters(self, k: int) -> int:
        return TRIAL_CLUSTERS.get(k, k) if self.trial else k

    def peers(self, *names: str) -> list[str]:
        """Peers that take part: all of them, or the named ones."""
        if not self.with_peers:
            return []
        return [name for name in names or PEERS if installed(name)]

    def fit(
        self, method: str, data: str, n: int, k: int, *, search: str = "default", again: int = 0
    ) -> Outcome:
        # Models must show that they finish; peers only have to be compared with.
        patient = method == "SoftClustering" and n > 1_000_000
        task = Task("fit", method, data, n, k, self.threads, search, again=again)
        return self.runner.run(task, self.long if patient else self.limit)

    def race(self, methods: Sequence[str], data: str) -> dict[str, Outcome]:
        """Alternating fits of a short case, several times; the median of each method."""
        rounds: dict[str, list[Outcome]] = {method: [] for method in methods}
        for again in range(ROUNDS):
            for method in methods:
                rounds[method].append(self.fit(method, data, 0, 0, again=again))
        return {
            method: sorted(outcomes, key=lambda one: one.seconds)[ROUNDS // 2]
            for method, outcomes in rounds.items()
        }

    def tell(self, section: Section) -> None:
        """Print a table now, and keep it for the page; one without rows is left out."""
        if not section.rows:
            return
        section.show()
        self.sections.append(section)

    def ask(self, *rows: Row) -> None:
        """Keep rows of the table of targets; a trial judges nothing."""
        self.claims += [row._replace(met=None) for row in rows] if self.trial else rows


def count(n: float) -> str:
    """A number of objects; powers of ten as such."""
    text = f"{n:.0e}" if n >= 1000 else f"{n:g}"
    return text.replace("e+0", "e") if float(text) == n else f"{n:,.0f}"


# --- targets ----------------------------------------------------------------------------------


def at_most_seconds(case: str, settings: str, outcome: Outcome, limit: float) -> Row:
    met = outcome.seconds <= limit if outcome.done else False
    return Row(case, settings, outcome.time_text(), f"<= {limit:g} s", met)


def at_most_memory(case: str, settings: str, outcome: Outcome, limit: float) -> Row:
    met = outcome.done and outcome.result["peak"] <= limit * GB
    return Row(case, settings, outcome.memory_text(), f"<= {limit:g} GB", met)


def at_least(case: str, settings: str, value: float | None, limit: float) -> Row:
    """A figure that has to reach a limit; not judged if there is none."""
    if value is None:
        return Row(case, settings, "not measured", f">= {limit:g}")
    return Row(case, settings, f"{value:.4f}", f">= {limit:g}", value >= limit)


def ratio_at_most(
    case: str, settings: str, own: Outcome, peer: Outcome | None, limit: float
) -> Row:
    """Own time over the peer's; a peer that was ended gives an upper bound."""
    asked = f"<= {limit:g} times"
    if peer is None or not (peer.done or peer.late):
        return Row(case, settings, "peer not measured", asked)
    if not own.done:
        return Row(case, settings, f"own fit: {own.time_text()}", asked, False)
    ratio = own.seconds / peer.seconds
    sign = "" if peer.done else "< "
    # A bound above the limit proves nothing either way.
    met = ratio <= limit if peer.done or ratio <= limit else None
    return Row(case, settings, f"{sign}{ratio:.2f} ({_both(own, peer)})", asked, met)


def times_faster(
    case: str, settings: str, own: Outcome, peer: Outcome | None, limit: float, *, or_late: bool
) -> Row:
    """The peer's time over the own; with `or_late`, its time limit will do as well."""
    asked = f">= {limit:g} times faster" + (", or its time limit" if or_late else "")
    if peer is None or not (peer.done or peer.late):
        return Row(case, settings, "peer not measured", asked)
    if not own.done:
        return Row(case, settings, f"own fit: {own.time_text()}", asked, False)
    ratio = peer.seconds / own.seconds
    sign = "" if peer.done else "> "
    met: bool | None = ratio >= limit or (or_late and peer.late)
    if peer.late and not met:
        met = None
    return Row(case, settings, f"{sign}{ratio:.1f} ({_both(own, peer)})", asked, met)


def accuracy_not_below(
    case: str, own: Outcome, others: Mapping[str, Outcome | None], slack: float
) -> Row:
    """Accuracy against the highest of the others that ended, less some slack."""
    scores = {
        name: one.result["accuracy"] for name, one in others.items() if one is not None and one.done
    }
    settings = "accuracy against " + ", ".join(scores or others)
    asked = f"not more than {slack:g} lower"
    if not scores or not own.done:
        return Row(case, settings, "not measured", asked)
    mine = own.result["accuracy"]
    measured = ", ".join(f"{score:.4f}" for score in scores.values())
    met = mine >= max(scores.values()) - slack
    return Row(case, settings, f"{mine:.4f} against {measured}", asked, met)


def _both(own: Outcome, peer: Outcome) -> str:
    return f"{seconds_text(own.seconds)} against {peer.time_text()}"
