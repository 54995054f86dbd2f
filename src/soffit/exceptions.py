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


class EmptyClusterWarning(UserWarning):
    """Some clusters have no objects: fewer clusters than asked for were found.

    Examples
    --------
    >>> import warnings
    >>> from soffit.exceptions import EmptyClusterWarning
    >>> warnings.simplefilter("error", EmptyClusterWarning)  # raise it instead
    """


class ContradictoryPairsWarning(UserWarning):
    """Pairs that must be linked join objects that must not be, so at least one of them is wrong.

    Examples
    --------
    >>> import warnings
    >>> from soffit.exceptions import ContradictoryPairsWarning
    >>> warnings.simplefilter("error", ContradictoryPairsWarning)  # raise it instead
    """
