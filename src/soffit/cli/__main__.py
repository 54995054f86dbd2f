"""`python -m soffit.cli`, for machines on which scripts are not on the path."""

from soffit.cli._app import main

main()
