"""What is compiled ahead need not be compiled again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import soffit
from soffit._parameters import ParameterError

FIT = """
from sklearn.datasets import load_iris
from soffit import SoftClustering
from soffit._compile import told_of_compiling

X = load_iris().data
compiled = []
with told_of_compiling(compiled.append):
    model = SoftClustering(3, random_state=7, verbose=1).fit(X)
    model.predict_proba(X)
    {more}
print(len(compiled))
"""


def run(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"NUMBA_CACHE_DIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done


def test_a_fit_after_warmup_compiles_nothing(tmp_path: Path) -> None:
    ahead = run(tmp_path, "import soffit; print(soffit.warmup(n_objects=150).n_functions)")
    assert int(ahead.stdout) > 0
    later = run(tmp_path, FIT.format(more="model.fit(X.astype('float32'))"))
    assert int(later.stdout) == 0
    assert "compiling" not in later.stderr


def test_the_first_fit_says_that_it_compiles_and_single_precision_compiles_nothing_more(
    tmp_path: Path,
) -> None:
    more = "first = len(compiled); model.fit(X.astype('float32')); assert len(compiled) == first"
    done = run(tmp_path, FIT.format(more=more))
    # A few functions: each takes the user's time once.
    assert 0 < int(done.stdout) <= 8
    assert "row blocks: compiling, once" in done.stderr


@pytest.mark.parametrize("n_objects", [0, 1.5, "all"])
def test_sizes_that_are_no_numbers_of_objects_are_refused(n_objects: object) -> None:
    with pytest.raises(ParameterError, match="n_objects"):
        soffit.warmup(n_objects)  # type: ignore[arg-type]
