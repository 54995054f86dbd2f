"""`python -m soffit.cli`, the same as `python -m soffit`."""

from soffit.cli.app import main

if __name__ == "__main__":
    main()
