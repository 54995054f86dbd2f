"""The table of experiments, in the order in which they are listed and run."""

from __future__ import annotations

import difflib
from importlib import import_module

from reproduction.harness.experiment import Experiment

# A new experiment is a module with an `EXPERIMENT`, and a name in this table. Modules are loaded
# when they are needed.
_MODULES = {
    # Zhao, Poupart, Zhang & Lysy 2015
    "sof-tables": "reproduction.papers.sof.tables",
    "sof-figures": "reproduction.papers.sof.figures",
    # Rota Bulo & Pelillo 2010
    "baum-eagon": "reproduction.papers.baum_eagon.table",
    # Zass & Shashua 2005
    "zass-bridge": "reproduction.papers.zass.bridge",
    "zass-normalization": "reproduction.papers.zass.normalization",
    "zass-patterns": "reproduction.papers.zass.patterns",
    "zass-scribbles": "reproduction.papers.zass.scribbles",
    "zass-donut": "reproduction.papers.zass.donut",
    "zass-pairs": "reproduction.papers.zass.pairs",
    "zass-side": "reproduction.papers.zass.side",
    "zass-lines": "reproduction.papers.zass.lines",
    "zass-image": "reproduction.papers.zass.image",
    # Yu, Yu & Tresp 2005
    "yu-steps": "reproduction.papers.yu.steps",
    "yu-hierarchy": "reproduction.papers.yu.hierarchy",
    "yu-confusion": "reproduction.papers.yu.confusion",
    "yu-labels": "reproduction.papers.yu.labels",
    "yu-number": "reproduction.papers.yu.number",
    "yu-planted": "reproduction.papers.yu.planted",
    # Jordan 2004
    "jordan-ideal": "reproduction.papers.jordan.ideal",
    "jordan-cut": "reproduction.papers.jordan.cut",
    # Several of them
    "combination": "reproduction.papers.combination",
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
