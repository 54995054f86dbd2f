"""The table of experiments, in the order in which they are listed and run."""

from __future__ import annotations

import difflib
from importlib import import_module

from soffit.reproduce._experiment import Experiment

# A new experiment is a module with an `EXPERIMENT`, and a name in this table. Modules are loaded
# when they are needed.
_MODULES = {
    # Zhao, Poupart, Zhang & Lysy 2015
    "sof-tables": "soffit.reproduce._sof_tables",
    "sof-figures": "soffit.reproduce._sof_figures",
    # Rota Bulo & Pelillo 2010
    "baum-eagon": "soffit.reproduce._baum_eagon",
    # Zass & Shashua 2005
    "zass-bridge": "soffit.reproduce._zass_bridge",
    "zass-normalization": "soffit.reproduce._zass_normalization",
    "zass-patterns": "soffit.reproduce._zass_patterns",
    "zass-scribbles": "soffit.reproduce._zass_scribbles",
    "zass-donut": "soffit.reproduce._zass_donut",
    "zass-pairs": "soffit.reproduce._zass_pairs",
    # Yu, Yu & Tresp 2005
    "yu-steps": "soffit.reproduce._yu_steps",
    "yu-hierarchy": "soffit.reproduce._yu_hierarchy",
    "yu-confusion": "soffit.reproduce._yu_confusion",
    "yu-labels": "soffit.reproduce._yu_labels",
    "yu-number": "soffit.reproduce._yu_number",
    # Jordan 2004
    "jordan-ideal": "soffit.reproduce._jordan_ideal",
    "jordan-cut": "soffit.reproduce._jordan_cut",
}


def names() -> tuple[str, ...]:
    """Names of all experiments."""
    return tuple(_MODULES)


def find(name: str) -> Experiment:
    """The experiment of this name."""
    if name not in _MODULES:
        close = difflib.get_close_matches(name, _MODULES, n=1)
        hint = f"Did you mean {close[0]!r}?" if close else f"Choose among {', '.join(_MODULES)}."
        raise ValueError(f"there is no experiment {name!r}. {hint}")
    experiment: Experiment = import_module(_MODULES[name]).EXPERIMENT
    return experiment


def experiments() -> tuple[Experiment, ...]:
    """All experiments."""
    return tuple(find(name) for name in _MODULES)
