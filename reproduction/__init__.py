"""The papers' tables and figures, beside ours: run from a checkout by `python -m reproduction`."""
