"""One self-contained HTML page about a clustering."""

from soffit.report._write import write_report

__all__ = ["write_report"]
