"""`python -m soffit.cli`, for machines on which scripts are not on the path."""

from soffit.cli.app import main

main()
