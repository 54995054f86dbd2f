"""A short attack: a few cases of every suite, in a process of their own."""

from __future__ import annotations

import pytest

from fuzz.__main__ import report
from fuzz.driver import run_all
from fuzz.suites import SUITES

pytest.importorskip("resource")
# Cases per suite; the slow ones start processes or make large files.
FEW = {"bomb": 4, "kill": 1, "interrupted command": 1, "aimed interrupt": 2, "command": 10}
FEW |= {"choose_k": 8, "cells": 8, "options": 10}
FEW |= {"many clusters": 6, "blocks": 6, "documents": 10, "row order": 8, "stretched file": 20}


def test_a_short_attack_finds_nothing() -> None:
    for name in SUITES:
        cases = FEW.get(name, 25)
        tally = run_all(seconds=600, cases=cases, seed=4211, jobs=1, only=[name], checked=0)
        assert tally.n_cases == cases
        assert not tally.violations, report(tally, 0)
