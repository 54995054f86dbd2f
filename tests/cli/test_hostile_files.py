"""Every file of the table of hostile ones ends with an exit code and a message, or a result."""

from __future__ import annotations

import importlib.util
import os
import re

import pytest
from tests.io._hostile_files import HOSTILE

# How messages name parameters in Python.
PARAMETER = re.compile(r"\b(kind|columns|drop|id|label|impute|text)=")

every_case = pytest.mark.parametrize("case", HOSTILE, ids=[case.name for case in HOSTILE])


def options_of(case):
    for name, value in case.options.items():
        yield from (f"--{name}", ",".join(value) if isinstance(value, list | tuple) else value)


@every_case
def test_fit_ends_with_a_message_or_a_result(soffit, case, tmp_path):
    if any(importlib.util.find_spec(module) is None for module in case.needs):
        pytest.skip(f"needs {', '.join(case.needs)}")
    if case.unless_root and getattr(os, "geteuid", lambda: 1)() == 0:
        pytest.skip("root may read everything")
    path = case.make(tmp_path)
    before = sorted(tmp_path.iterdir())
    result = soffit("fit", path, "-k", 2, *options_of(case), code=None)
    assert "Internal error" not in result.output
    assert not PARAMETER.search(result.stderr), "the command names options"
    if callable(case.expected):
        # It can be read; whether there is anything to cluster is another question.
        assert result.exit_code in (0, 1)
    else:
        # A column that is not there is a slip on the command line, not in the file.
        assert result.exit_code == (2 if _flat("no such column") in _flat(result.stderr) else 1)
        assert _flat(path.name) in _flat(result.stderr)
    if result.exit_code:
        assert result.stdout == ""
    assert sorted(tmp_path.iterdir()) == before, "nothing was run that was hidden in the file"


def _flat(text):
    """Without blanks, line ends and the frame around errors of usage: paths may be broken there."""
    return "".join(text.replace("│", "").split())


@pytest.mark.parametrize("ending", ["soffit", "SOFFIT"])
def test_models_that_are_none(soffit, tmp_path, ending):
    path = tmp_path / f"model.{ending}"
    for content in (b"", b"\x80\x04\x95pickle", b"PK\x03\x04 broken", b"hello"):
        path.write_bytes(content)
        text = soffit("info", path, code=1).stderr
        assert "cannot be loaded" in text
