"""Warnings that a program may want to tell apart."""

from __future__ import annotations


class UnstableResultWarning(UserWarning):
    """The clusters change when objects are left out, so the result should be read with caution.

    Examples
    --------
    >>> import warnings
    >>> from soffit.exceptions import UnstableResultWarning
    >>> warnings.simplefilter("error", UnstableResultWarning)  # raise it instead
    """
