"""The command `soffit`, also as `python -m soffit`."""

import sys


def main() -> None:
    """Run the command; Ctrl-C while its libraries are loaded ends it without a traceback."""
    try:
        from soffit.cli.app import main as run
    except KeyboardInterrupt:
        sys.stderr.write("Error: interrupted by Ctrl-C.\n")
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
