"""All suites: what a case does, and its share of the cases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fuzz import bombs, disks, edits, files, fits, forged, relations, signals
from fuzz.tables import Generator


@dataclass(frozen=True)
class Suite:
    """A function of a seed that returns an outcome or raises, and how often it is drawn."""

    run: Callable[[Generator, Path], str]
    share: float
    # Seconds of processor time after which a case counts as a hang.
    patience: float = 60.0


SUITES: dict[str, Suite] = {
    "fit": Suite(fits.random_fit, 0.14),
    "pairs": Suite(fits.random_pairs, 0.08),
    "answers": Suite(fits.answers, 0.02),
    "many clusters": Suite(fits.many_clusters, 0.01),
    "blocks": Suite(fits.blocks, 0.005),
    "documents": Suite(files.documents, 0.01),
    "choose_k": Suite(fits.random_choice, 0.005),
    "edits": Suite(edits.edited, 0.05),
    "mixed table": Suite(edits.mixed_table, 0.05),
    "cells": Suite(edits.cells, 0.01),
    "relation": Suite(relations.relation, 0.04),
    "row order": Suite(relations.row_order, 0.01),
    "damaged file": Suite(files.damaged_file, 0.30),
    "stretched file": Suite(files.stretched_file, 0.01),
    "command": Suite(files.command, 0.03),
    "options": Suite(files.options, 0.03),
    "forged model": Suite(forged.forged_model, 0.21),
    "bomb": Suite(bombs.bomb, 0.002),
    "interrupt": Suite(signals.interrupt, 0.03),
    "aimed interrupt": Suite(signals.aimed, 0.005),
    "interrupted command": Suite(signals.interrupted_command, 0.001),
    "full disk": Suite(disks.full_disk, 0.03),
    "full disk, command": Suite(disks.full_disk_command, 0.01),
    "kill": Suite(disks.kill, 0.001),
}
