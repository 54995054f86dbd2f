"""Experiments of the papers behind this package, made again: tables and figures beside theirs."""

from soffit.reproduce._experiment import Experiment, Measured, Record, Results, Setup, Unit
from soffit.reproduce._page import write_docs
from soffit.reproduce._registry import experiments, find, names
from soffit.reproduce._report import Finding, Picture, Report, Section, Table
from soffit.reproduce._run import Event, kept_sections, run

__all__ = [
    "Event",
    "Experiment",
    "Finding",
    "Measured",
    "Picture",
    "Record",
    "Report",
    "Results",
    "Section",
    "Setup",
    "Table",
    "Unit",
    "experiments",
    "find",
    "kept_sections",
    "names",
    "run",
    "write_docs",
]
