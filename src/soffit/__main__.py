"""The command `soffit`, also as `python -m soffit`."""

import sys

_SAID = "Error: interrupted by Ctrl-C.\n"

try:
    import os
    import signal
    from collections.abc import Callable
except KeyboardInterrupt:
    sys.stderr.write(_SAID)
    raise SystemExit(130) from None


def main() -> None:
    """Run the command; Ctrl-C ends it without a traceback, also while it is being prepared."""
    try:
        _prepared()()
    except KeyboardInterrupt:
        sys.stderr.write(_SAID)
        sys.exit(130)


def _prepared() -> Callable[[], None]:
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


def _leave(*_: object) -> None:
    os.write(2, _SAID.encode())
    os._exit(130)


if __name__ == "__main__":
    main()
