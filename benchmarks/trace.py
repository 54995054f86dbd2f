"""In how many files of the library functions run during a fit, a prediction and a command.

A short way through few files is easy to follow and to change. Counted are the files below
src/soffit of which at least one function runs; code that runs only because a module is imported is
not counted, so everything is run once before. Compiled kernels cannot be seen from Python: numba is
switched off. `--files` lists the files, each with the number of its functions that run.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType
from typing import Any

# Files of each run: what the design of the library aims at.
TARGETS = {
    "SoftClustering(3).fit(iris)": 25,
    "predict_proba(iris)": 12,
    "soffit fit p.csv -k 2 --report r.html": 60,
}


class Trace:
    """Code of one package that runs while the trace is on, in all threads begun meanwhile."""

    def __init__(self, package: Path) -> None:
        self.package = package
        self.codes: set[CodeType] = set()

    def note(self, frame: FrameType, event: str, argument: Any) -> None:
        """What `sys.setprofile` is to call."""
        if event == "call":
            self.codes.add(frame.f_code)

    def __enter__(self) -> Trace:
        threading.setprofile(self.note)
        sys.setprofile(self.note)
        return self

    def __exit__(self, *error: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def files(self) -> Counter[str]:
        """Functions that ran, per file of the package."""
        prefix = f"{self.package}{os.sep}"
        return Counter(
            Path(code.co_filename).relative_to(self.package).as_posix()
            for code in self.codes
            if code.co_filename.startswith(prefix) and code.co_name != "<module>"
        )


def traced(function: Callable[[], object]) -> Counter[str]:
    """Functions per file of soffit that run when the function is called for the second time."""
    import soffit

    function()
    with Trace(Path(soffit.__file__).parent) as trace:
        function()
    return trace.files()


def run_command(*arguments: str) -> None:
    """The command `soffit`, in this process and silent unless it fails."""
    from soffit.cli import main

    output = io.StringIO()
    before, sys.argv = sys.argv, ["soffit", *arguments]
    try:
        with redirect_stdout(output), redirect_stderr(output):
            main()
    except SystemExit as end:
        if end.code not in (None, 0):
            raise RuntimeError(f"soffit {arguments} failed:\n{output.getvalue()}") from end
    finally:
        sys.argv = before


@contextmanager
def example_file() -> Iterator[None]:
    """A folder with p.csv, 60 points in two clusters; it is the current folder meanwhile."""
    from soffit.datasets import make_gaussians

    X = make_gaussians(60, n_clusters=2, separation=8.0, random_state=5).X
    lines = ["a,b", *(f"{a:.3f},{b:.3f}" for a, b in X)]
    before = Path.cwd()
    with TemporaryDirectory() as folder:
        Path(folder, "p.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def count_files() -> dict[str, Counter[str]]:
    """The three runs and their files."""
    from sklearn.datasets import load_iris

    from soffit import SoftClustering

    X = load_iris().data
    model = SoftClustering(3, random_state=0).fit(X)
    with example_file():
        runs = (
            traced(lambda: SoftClustering(3, random_state=0).fit(X)),
            traced(lambda: model.predict_proba(X)),
            traced(lambda: run_command("fit", "p.csv", "-k", "2", "--report", "r.html")),
        )
    return dict(zip(TARGETS, runs, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", action="store_true", help="list the files of every run")
    options = parser.parse_args()
    os.environ["NUMBA_DISABLE_JIT"] = "1"
    for name, files in count_files().items():
        functions = sum(files.values())
        print(f"{name}: {len(files)} files, {functions} functions (target {TARGETS[name]} files)")
        if options.files:
            for file, count in sorted(files.items()):
                print(f"  {file} {count}")


if __name__ == "__main__":
    main()
