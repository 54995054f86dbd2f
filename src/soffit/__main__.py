"""The command `soffit`, also as `python -m soffit`."""

import sys


def main() -> None:
    """Run the command; Ctrl-C ends it without a traceback, also while it is being prepared."""
    try:
        from soffit.cli.app import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("Error: interrupted by Ctrl-C.\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
