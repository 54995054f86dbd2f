"""Markdown: the table of one experiment, and the page of all of them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from reproduction.harness.report import LABEL_TUNED, Finding, Section, Table

_HEADER = ("claim", "published", "ours", "setting", "verdict")
_INTRODUCTION = f"""# Reproduction of the papers

`python -m reproduction all --docs docs` generates this page. Each section has a table with the
published value, our value, the setting, and the verdict. The figures are also written as
interactive HTML, and all runs as CSV files in the results folder.

Verdicts are computed from the numbers: *reproduced* within the stated tolerance, *better* above it,
*not reproduced* below it; *met* and *missed* where the target is our own. {LABEL_TUNED} marks a
setting that was chosen with knowledge of the labels; defaults never are. Otherwise labels are used
for evaluation only.
"""


def write_table(section: Section, folder: Path) -> None:
    """Write `table.md` of one experiment."""
    text = _section(section, level=1, prefix="", interactive=True)
    (folder / "table.md").write_text(text, encoding="utf-8")


def write_docs(sections: Sequence[Section], out: Path, docs: Path) -> Path:
    """Assemble `reproduction.md` in a folder of documentation, with the small pictures.

    Parameters
    ----------
    sections : sequence of Section
        Reports, in the order of the page.
    out : Path
        The folder of results, which has the pictures.
    docs : Path
        The folder of documentation; pictures go to `reproduction/` in it.

    Returns
    -------
    Path
        The page.
    """
    pictures = docs / "reproduction"
    pictures.mkdir(parents=True, exist_ok=True)
    parts = [_INTRODUCTION, _overview(sections)]
    for section in sections:
        prefix = f"reproduction/{section.name}_"
        parts.append(_section(section, level=2, prefix=prefix, interactive=False))
        for picture in section.pictures:
            source = out / section.name / (picture.png or "")
            if picture.png and source.is_file():
                shutil.copyfile(source, pictures / f"{section.name}_{picture.png}")
    page = docs / "reproduction.md"
    page.write_text("\n".join(parts), encoding="utf-8")
    return page


def _overview(sections: Sequence[Section]) -> str:
    rows = []
    for section in sections:
        verdicts = [finding.verdict.partition(":")[0] for finding in section.findings]
        counted = [f"{verdicts.count(v)} {v}" for v in dict.fromkeys(verdicts)]
        link = f"[{section.title}](#{_anchor(section.title)})"
        rows.append([link, section.paper, ", ".join(counted) or section.reading])
    return _grid(("experiment", "paper", "rows of its table"), rows)


def _anchor(title: str) -> str:
    """The anchor that Sphinx and code hosts give to a heading."""
    return re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-")


def _section(section: Section, *, level: int, prefix: str, interactive: bool) -> str:
    head = f"{'#' * level} {section.title}"
    parts = [
        head,
        f"*{section.paper}* · `python -m reproduction {section.name}`",
        section.reading.strip(),
    ]
    if section.findings:
        parts.append(_grid(_HEADER, [_cells(finding) for finding in section.findings]))
    parts += [_table(table, level + 1) for table in section.tables]
    for picture in section.pictures:
        shown = f"![{picture.caption}]({prefix}{picture.png})" if picture.png else ""
        caption = f"*{picture.caption}*"
        if interactive:
            caption += f" ([interactive]({picture.html}))"
        parts.append("\n\n".join(part for part in (shown, caption) if part))
    parts += [f"Note: {remark}" for remark in section.remarks]
    parts.append(f"<sub>{section.summary}</sub>")
    return "\n\n".join(part for part in parts if part) + "\n"


def _cells(finding: Finding) -> list[str]:
    return [finding.claim, finding.published, finding.ours, finding.setting, finding.verdict]


def _table(table: Table, level: int) -> str:
    parts = [f"{'#' * level} {table.title}", _grid(table.header, table.rows), table.note]
    return "\n\n".join(part for part in parts if part)


def _grid(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [_line(header), _line(["---"] * len(header)), *map(_line, rows)]
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|").replace("\n", " ") for cell in cells) + " |"
