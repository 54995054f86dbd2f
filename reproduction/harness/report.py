"""What an experiment tells its reader: verdicts, tables, figures and a reading of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

# The verdicts, best first. What a verdict is must be decided by the measured numbers.
REPRODUCED = "reproduced"
BETTER = "better"
CLOSE = "close"
NOT_REPRODUCED = "not reproduced"
# Of what we ask where nothing is published.
MET = "met"
MISSED = "missed"
NO_DATA = "no data"
SHOWN = "shown"

# Marks a setting that was chosen with knowledge of the labels; defaults never have it.
LABEL_TUNED = "[label-tuned]"


@dataclass(frozen=True)
class Finding:
    """A published claim beside what we found."""

    claim: str
    published: str
    ours: str
    setting: str
    verdict: str


@dataclass(frozen=True)
class Table:
    """A further table; cells are Markdown."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


@dataclass(frozen=True, eq=False)
class Picture:
    """A Plotly figure and the name of its files, without ending."""

    name: str
    caption: str
    figure: Any
    width: int = 900
    height: int = 520


@dataclass(frozen=True, eq=False)
class Report:
    """All that an experiment tells.

    Attributes
    ----------
    reading : str
        Markdown: an honest reading in a few sentences, chosen by the numbers.
    findings : sequence of Finding
        The table "published, ours, setting, verdict".
    tables : sequence of Table
        Further tables.
    pictures : sequence of Picture
        Figures.
    """

    reading: str
    findings: Sequence[Finding]
    tables: Sequence[Table] = ()
    pictures: Sequence[Picture] = ()


@dataclass(frozen=True)
class PictureFile:
    """A figure that was written."""

    caption: str
    html: str
    png: str | None


@dataclass(frozen=True)
class Section:
    """A report as it is kept in the results folder, from which pages are assembled."""

    name: str
    paper: str
    title: str
    reading: str
    findings: Sequence[Finding]
    tables: Sequence[Table]
    pictures: Sequence[PictureFile]
    fingerprint: str
    summary: str
    remarks: Sequence[str] = field(default_factory=tuple)

    def to_json(self) -> dict[str, Any]:
        """As JSON knows it."""
        return asdict(self)

    @classmethod
    def from_json(cls, kept: dict[str, Any]) -> Section:
        """The section that `to_json` was called on."""
        kept = dict(kept)
        kept["findings"] = [Finding(**row) for row in kept["findings"]]
        kept["tables"] = [Table(**table) for table in kept["tables"]]
        kept["pictures"] = [PictureFile(**file) for file in kept["pictures"]]
        return cls(**kept)


def judged(ours: float, published: float, tolerance: float) -> str:
    """Verdict on a score that is better when higher."""
    tolerance += 1e-9  # what is printed as equal is equal
    if ours > published + tolerance:
        return BETTER
    return REPRODUCED if ours >= published - tolerance else NOT_REPRODUCED
