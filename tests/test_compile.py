"""Compiled code without a place to store it, with a full disk, and with damaged files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import soffit

KERNELS = """
import numpy as np
from soffit._compile import njit


@njit(cache=True, nogil=True)
def twice(x):
    return 2 * x


@njit(cache=True, nogil=True)
def total(values):
    result = 0.0
    for value in values:
        result += twice(value)
    return result
"""
RUN = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import kernels_here
    assert kernels_here.total(np.ones(4)) == 8.0
    assert kernels_here.total(np.ones(4, dtype=np.float32)) == 8.0
texts = [str(item.message) for item in caught]
print(len(texts), sum("NUMBA_CACHE_DIR" in text for text in texts))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "kernels_here.py").write_text(KERNELS)
    return tmp_path


def run(folder: Path, before: str = "") -> str:
    source = str(Path(soffit.__file__).parent.parent)
    path = os.pathsep.join([str(folder), source])
    environment = {**os.environ, "PYTHONPATH": path, "NUMBA_CACHE_DIR": str(folder / "cache")}
    environment.pop("NUMBA_DISABLE_JIT", None)
    done = subprocess.run(
        [sys.executable, "-c", "import numpy as np\n" + before + RUN],
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def stored(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / "cache").rglob("*.nb*"))


def test_compiled_code_is_stored(folder: Path) -> None:
    assert run(folder) == "0 0"
    files = stored(folder)
    assert files
    before = [path.stat().st_mtime_ns for path in files]
    assert run(folder) == "0 0"
    assert [path.stat().st_mtime_ns for path in stored(folder)] == before


def test_without_a_folder_one_warning_names_the_variable(folder: Path) -> None:
    nowhere = "import numba.core.caching as c\nc.CacheImpl._locator_classes = []\n"
    assert run(folder, nowhere) == "1 1"


@pytest.mark.skipif(sys.platform == "win32", reason="limits of file sizes are POSIX")
def test_a_full_disk_is_no_reason_to_fail(folder: Path) -> None:
    full = (
        "import resource, signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
    )
    assert run(folder, full) == "1 1"


@pytest.mark.parametrize("length", [0, 7, 60])
def test_damaged_files_are_replaced(folder: Path, length: int) -> None:
    run(folder)
    for path in stored(folder):
        path.write_bytes(path.read_bytes()[:length])
    assert run(folder) == "0 0"
    sizes = [path.stat().st_size for path in stored(folder)]
    assert min(sizes) > length
    assert run(folder) == "0 0"


def test_every_kernel_is_compiled_here() -> None:
    package = Path(soffit.__file__).parent
    direct = [
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if path.name != "_compile.py" and "import njit" in path.read_text(encoding="utf-8")
        if "from soffit._compile import njit" not in path.read_text(encoding="utf-8")
    ]
    assert direct == []


def test_an_interrupt_takes_effect_after_the_block() -> None:
    from soffit._compile import interrupts_held

    done = []
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def load() -> None:
        with interrupts_held():
            signal.raise_signal(signal.SIGINT)
            done.append("loaded")

    try:
        with pytest.raises(KeyboardInterrupt):
            load()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert done == ["loaded"]


# Interrupted within, a compiled module of scikit-learn raises KeyError whenever it is imported.
@pytest.mark.parametrize(
    ("module", "fit"),
    [
        ("sklearn.metrics.pairwise", "soffit.SoF(2, metric='manhattan')"),
        ("sklearn.neighbors", "soffit.SpectralClustering(2, metric='canberra')"),
        ("sklearn.preprocessing", "soffit.SpectralClustering(2, metric='cosine')"),
    ],
)
def test_ctrl_c_while_scikit_learn_is_loaded_leaves_it_whole(module: str, fit: str) -> None:
    code = (
        "import signal, sys, numpy as np, soffit\n"
        f"model = {fit}\n"
        "class Interrupt:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}: signal.raise_signal(signal.SIGINT)\n"
        f"assert {module!r} not in sys.modules\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "X = np.random.default_rng(0).normal(size=(40, 3))\n"
        "try: model.fit(X)\n"
        "except KeyboardInterrupt: pass\n"
        f"print({module!r} in sys.modules)\n"
    )
    command = [sys.executable, "-c", code]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.stderr) == ("True\n", "")
