"""One self-contained HTML page about a clustering."""

from soffit.report.write_report import write_report

__all__ = ["write_report"]
