"""Estimators: each composes affinity, normalization, factorization and memberships."""

import lazy_loader

# `__init__.pyi` lists the public names. Each is imported when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
