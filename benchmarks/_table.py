"""Plain text tables and target lines for the benchmark scripts."""

from __future__ import annotations

from collections.abc import Sequence


def print_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, title: str = "", names: int = 1
) -> None:
    """Print rows under a header; the first columns, `names`, are flush left, the others right."""
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    if title:
        print(f"\n{title}")
    print(_line(header, widths, names))
    print("  ".join("-" * width for width in widths))
    for row in rows:
        print(_line(row, widths, names))


def print_target(what: str, measured: float | None, limit: float, *, at_least: bool) -> None:
    """Print a target with the measured figure and whether it is met; None means not measured."""
    sign = ">=" if at_least else "<="
    if measured is None:
        print(f"  {what} {sign} {limit:g}: not measured in this run")
        return
    met = measured >= limit if at_least else measured <= limit
    print(f"  {what} {sign} {limit:g}: {measured:.4g}  {'yes' if met else 'NO'}")


def _line(cells: Sequence[str], widths: Sequence[int], names: int) -> str:
    padded = (
        cell.ljust(width) if i < names else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join(padded).rstrip()
