"""`python -m soffit`, where the command `soffit` is not on the path."""

from soffit.cli.app import main

if __name__ == "__main__":
    main()
