"""The command `soffit`, also as `python -m soffit`."""

import os
import signal
import sys
from typing import Any


def main() -> None:
    """Run the command; Ctrl-C ends it without a traceback, also while it is being prepared."""
    try:
        _prepared()()
    except KeyboardInterrupt:
        sys.stderr.write(_SAID)
        sys.exit(130)


_SAID = "Error: interrupted by Ctrl-C.\n"


def _prepared() -> Any:
    """The command. While it is imported, an exception may come out as another one, so none is."""
    before = signal.getsignal(signal.SIGINT)
    # Whoever ignores Ctrl-C, as nohup does, or calls this from elsewhere, keeps what is there.
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)
    try:
        from soffit.cli.app import main as run
    finally:
        if before is signal.default_int_handler:
            signal.signal(signal.SIGINT, before)
    return run


def _leave(*_: Any) -> None:
    os.write(2, _SAID.encode())
    os._exit(130)


if __name__ == "__main__":
    main()
