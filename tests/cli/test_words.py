"""The same error names parameters in Python and options in the command, and leaves names alone."""

from __future__ import annotations

import re

import numpy as np
import pytest

from soffit import segment
from soffit._wording import _OPTIONS, in_words_of_the_command
from soffit.affinity import SideInformation
from soffit.fitting.recipe import check_n_clusters
from soffit.io import DataError, read
from soffit.models.soft_hierarchy import check_levels
from soffit.selection import choose_k


def square(path):
    points = np.arange(6.0)[:, None]
    np.savetxt(path, np.abs(points - points.T), delimiter=",", fmt="%g")
    return path


def test_a_square_table_asks_in_the_words_of_the_interface(soffit, tmp_path):
    path = square(tmp_path / "sq.csv")
    with pytest.raises(DataError, match='Pass kind="distances", kind="similarities" or') as caught:
        read(path)
    assert "--" not in str(caught.value)
    assert caught.value.parameter == "kind"
    text = soffit("fit", path.name, code=1).stderr
    assert "Pass --kind distances, --kind similarities or --kind graph" in text
    assert "kind=" not in text


def test_notes_name_options(answer, soffit, tmp_path):
    path = tmp_path / "nodes.txt"
    path.write_text("".join(f"{i} {(i + 1) % 9}\n" for i in range(9)), encoding="utf-8")
    assert 'Pass kind="table"' in read(path).notes[0]
    assert "Pass --kind table" in answer("fit", path, "-k", 2)["notes"][0]
    gaps = tmp_path / "gaps.csv"
    gaps.write_text("x,y\n1,2\n,3\n4,5\n", encoding="utf-8")
    assert "pass --impute median, or leave columns out with --drop." in soffit("info", gaps).stdout


def test_a_file_of_pairs_keeps_its_name(soffit, flowers, tmp_path):
    pairs = tmp_path / "must_link.csv"
    pairs.write_text("F001,nobody\nF002,F003\n", encoding="utf-8")
    text = soffit("fit", flowers, "--id", "flower", "--must-link", pairs.name, code=1).stderr
    assert "Error: must_link.csv: line 1 names 'nobody', which is not an identifier" in text


def test_contradicting_pairs_name_both_options(soffit, flowers, tmp_path):
    for name in ("must_link.csv", "cannot_link.csv"):
        (tmp_path / name).write_text("F001,F002\n", encoding="utf-8")
    text = soffit(
        *("fit", flowers, "-k", 3, "--id", "flower", "--drop", "species"),
        *("--must-link", "must_link.csv", "--cannot-link", "cannot_link.csv"),
        code=1,
    ).stderr
    assert "--cannot-link contradicts --must-link: ('F001', 'F002') in --cannot-link" in text


@pytest.mark.parametrize("name", sorted(_OPTIONS))
def test_files_and_columns_named_like_parameters(soffit, tmp_path, name):
    path = tmp_path / f"{name}.csv"
    rows = "".join(f"{i % 2 * 9 + i % 5},{i % 7}\n" for i in range(30))
    # More than a fifth of the entries is missing: few gaps would be compared as they are.
    path.write_text(f"{name},other\n{rows}" + ",1\n" * 40, encoding="utf-8")
    text = soffit("fit", path.name, code=1).stderr
    assert text.startswith(f"Error: {name}.csv: values are missing in '{name}' (40), of 70 rows")
    assert text.endswith(f"--impute drop, or leave out the column with --drop {name}.\n")


@pytest.mark.parametrize(
    ("fail", "python", "command"),
    [
        (lambda: check_n_clusters(9, 5), "n_clusters=9 is larger", "-k 9 is larger"),
        (
            lambda: check_n_clusters(9, 5),
            "Choose n_clusters of at most 5",
            "Choose -k of at most 5",
        ),
        (lambda: check_levels([9, 2], None, 5), "levels starts with 9", "--levels starts with 9"),
        (
            lambda: check_levels([4, 2], 3, 5),
            "n_clusters=3 is not the last of levels=[4, 2]",
            "-k 3 is not the last of --levels 4,2",
        ),
        (
            lambda: segment(np.eye(4), 1, scribbles=np.arange(16).reshape(4, 4)),
            "scribbles has 15 different strokes, but n_clusters=1",
            "--scribbles has 15 different strokes, but -k 1",
        ),
        (
            lambda: SideInformation.of([(0, 7)], None, 5),
            "must_link names object 7",
            "--must-link names object 7",
        ),
        (
            lambda: choose_k(np.eye(9), n_resamples=-1),
            "n_resamples must be an integer of at least 0, got -1",
            "--resamples must be an integer of at least 0, got -1",
        ),
    ],
)
def test_errors_of_the_library_name_options(fail, python, command):
    with pytest.raises(ValueError, match=re.escape(python)) as caught:
        fail()
    assert "--" not in str(caught.value)
    assert command in in_words_of_the_command(caught.value)
