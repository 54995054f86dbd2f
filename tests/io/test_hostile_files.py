"""Files that go wrong: each ends with its message or result, none in another way."""

from __future__ import annotations

import importlib.util
import os
import re
import time
from contextlib import suppress
from pathlib import Path

import pytest
from tests.io._hostile_files import HOSTILE, Hostile

from soffit.io import DataError, describe, read

every_case = pytest.mark.parametrize("case", HOSTILE, ids=[case.name for case in HOSTILE])


def _skip_where_impossible(case: Hostile) -> None:
    for module in case.needs:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    if case.unless_root and getattr(os, "geteuid", lambda: 1)() == 0:
        pytest.skip("root may read everything")


def test_there_are_many_and_no_two_have_the_same_name() -> None:
    names = [case.name for case in HOSTILE]
    assert len(names) >= 40
    assert len(set(names)) == len(names)


@every_case
def test_message_or_result(case: Hostile, tmp_path: Path, monkeypatch) -> None:
    _skip_where_impossible(case)
    monkeypatch.chdir(tmp_path)
    path = case.make(tmp_path)
    before = sorted(tmp_path.iterdir())
    begin = time.process_time()
    if callable(case.expected):
        assert case.expected(read(path, **case.options))
    else:
        with pytest.raises(DataError) as caught:
            read(path, **case.options)
        message = str(caught.value)
        assert re.search(case.expected, message, re.DOTALL), message
        assert path.name in message
        assert len(message) < 1500, "too long to be read"
        assert "\n" not in message
        assert not re.search(r"(?<![\w-])--[a-z]", message), "options belong to the command"
    # A generous bound on a busy machine; what matters is that nothing grows without end.
    assert time.process_time() - begin < 20
    # What a pickle would have run makes a folder.
    assert sorted(tmp_path.iterdir()) == before


@every_case
def test_description_never_fails_in_another_way(case: Hostile, tmp_path: Path, monkeypatch) -> None:
    _skip_where_impossible(case)
    monkeypatch.chdir(tmp_path)
    path = case.make(tmp_path)
    with suppress(DataError):
        description = describe(path)
        assert all(isinstance(line, str) for line in description.lines())
        assert not any(" --" in line for line in description.lines())
        assert description.as_dict()["format"] == description.format
    assert not (tmp_path / "unpickled").exists()
