"""A process that runs cases: a line in, a line out."""

from __future__ import annotations

import faulthandler
import json
import os
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
import zlib
from pathlib import Path

import numpy as np


def main() -> None:
    """Run the cases that the driver names on standard input."""
    # The replies have a stream of their own: libraries may print.
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    from fuzz.outcome import ViolationError
    from fuzz.suites import SUITES

    # The driver asks a worker that hangs where it is.
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    print("ready", file=replies, flush=True)
    for line in sys.stdin:
        name, seed = json.loads(line)
        folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
        rng = np.random.default_rng([zlib.crc32(name.encode()), seed])
        try:
            reply = {"outcome": SUITES[name].run(rng, folder)}
        except ViolationError as violation:
            reply = {"violation": str(violation)}
        except BaseException:
            reply = {"violation": traceback.format_exc(limit=-6)}
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        print(json.dumps(reply), file=replies, flush=True)


if __name__ == "__main__":
    main()
