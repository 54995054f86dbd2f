"""Tables, Markdown and the plot of scale.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks._scale_run import GB, Outcome, seconds_text
from benchmarks._table import print_table

# Text below this line of the page is written by hand and stays.
NOTES = "<!-- below: written by hand, kept when the tables are regenerated -->"
TITLE = (
    "# Log of speed and scale",
    "All tables of one run of `python -m benchmarks.scale`; [Speed and scale](scale.md) is the "
    "short version.",
)
COLORS = {
    "SoftClustering": "#c1121f",
    "RelationFactorization": "#e07a1f",
    "SpectralClustering": "#3d5a80",
    "GaussianMixture": "#2a9d8f",
    "MiniBatchKMeans": "#6c757d",
    "HDBSCAN": "#7b2cbf",
    "hdbscan, soft": "#b185db",
}


@dataclass(frozen=True)
class Section:
    """One table, with its title and what has to be known to read it."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""

    def show(self) -> None:
        print_table(self.header, self.rows, title=self.title)
        if self.note:
            print(self.note)

    def markdown(self) -> str:
        lines = [f"## {self.title}", ""]
        if self.note:
            lines += [self.note, ""]
        lines += [_bar(self.header), _bar(["---"] + ["---:"] * (len(self.header) - 1))]
        return "\n".join(lines + [_bar(row) for row in self.rows])


def _bar(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


FIT_HEADER = ["fit", "time", "processor", "peak memory", "data", "accuracy", "ARI", "recall"]


def fit_cells(name: str, outcome: Outcome) -> list[str]:
    """A line of a table of fits."""
    processor, size = outcome.figure("processor"), outcome.figure("bytes")
    return [
        name,
        outcome.time_text(),
        "-" if processor is None else seconds_text(processor),
        outcome.memory_text(),
        "-" if size is None else f"{size / 1e6:,.1f} MB",
        *(decimal(outcome.figure(score)) for score in ("accuracy", "ari", "recall")),
    ]


def phase_section(title: str, outcomes: Mapping[str, Outcome]) -> Section:
    """Where the time went; of an unfinished fit, until it was ended."""
    rows = []
    for name, outcome in outcomes.items():
        total = sum(seconds for _, seconds in outcome.phases)
        shown = [f"{what} {seconds_text(s)}" for what, s in outcome.phases if s >= 0.01 * total]
        if shown:
            rows.append([name, ", ".join(shown)])
    return Section(title, ["fit", "time per phase"], rows, "Phases below 1 % are left out.")


def decimal(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


class Row(NamedTuple):
    """A target: what was measured, what is required; `met` is None where nothing was measured."""

    case: str
    settings: str
    measured: str
    asked: str = "-"
    met: bool | None = None


def claims_section(rows: Sequence[Row]) -> Section:
    met = {True: "met", False: "missed", None: "-"}
    cells = [[f"{r.case}; {r.settings}", r.measured, r.asked, met[r.met]] for r in rows]
    return Section("Targets", ["case", "measured", "target", "verdict"], cells)


def slope(sizes: Sequence[float], values: Sequence[float]) -> float | None:
    """Exponent of growth: the slope of a line through the logarithms."""
    if len(sizes) < 2:
        return None
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


# --- files ------------------------------------------------------------------------------------


def write_page(path: Path, head: Sequence[str], sections: Sequence[Section]) -> None:
    """The page of figures; what stands below the mark for notes is kept."""
    notes = ""
    if path.exists():
        notes = path.read_text(encoding="utf-8").partition(NOTES)[2]
    parts = [*TITLE, *head, *(section.markdown() for section in sections)]
    text = "\n\n".join(parts) + f"\n\n{NOTES}\n"
    path.write_text(text + (notes.removeprefix("\n") if notes else ""), encoding="utf-8")


def write_plot(path: Path, found: Mapping[str, Mapping[int, Outcome]]) -> None:
    """Time and peak memory against the number of objects, one line per method."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
    for method, outcomes in found.items():
        done = {n: one for n, one in outcomes.items() if one.done}
        _line(panels[0], method, {n: one.seconds for n, one in done.items()})
        _line(panels[1], method, {n: one.result["peak"] / GB for n, one in done.items()})
        late = {n: one.limit for n, one in outcomes.items() if one.late}
        color = COLORS.get(method, "black")
        panels[0].plot(list(late), list(late.values()), "x", color=color, markersize=7)
    for panel, title in zip(panels, ("seconds", "peak memory, GB"), strict=True):
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.minorticks_off()
        panel.set_xlabel("objects")
        panel.set_title(title, loc="left", fontsize=10)
        panel.grid(True, which="major", color="0.9", linewidth=0.8)
        panel.spines[["top", "right"]].set_visible(False)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center", frameon=False)
    figure.suptitle(
        "16 columns, 10 overlapping Gaussian clusters; a cross is a time limit", fontsize=11
    )
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _line(panel: Any, method: str, points: Mapping[int, float]) -> None:
    own = method == "SoftClustering"
    panel.plot(
        list(points),
        list(points.values()),
        marker="o",
        markersize=4,
        linewidth=2.4 if own else 1.4,
        color=COLORS.get(method, "black"),
        label=method,
        zorder=3 if own else 2,
    )
