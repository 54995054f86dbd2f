"""scikit-learn's own checks of the estimator contract, for every public model."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from soffit import (
    BaumEagon,
    CompletelyPositive,
    RelationFactorization,
    SoF,
    SoftClustering,
    SoftHierarchy,
    SpectralClustering,
)

# Four clusters, because one check expects four columns of whatever offers probabilities.
MODELS = [
    SoftClustering(4),
    SoF(4),
    SoF(4, scale="fit"),
    SoF(4, solver="gradient"),
    SoF(4, solver="penalty", max_iter=50),
    BaumEagon(4),
    BaumEagon(4, solver="growth", max_iter=200),
    CompletelyPositive(4),
    CompletelyPositive(4, normalization="additive"),
    RelationFactorization(4),
    SoftHierarchy(4),
    SpectralClustering(4),
    SpectralClustering(4, variant="ncut"),
]


# These expect `fit_transform` to equal `fit(X).transform(X)`. Here it returns `memberships_`, as
# users of a clustering expect; `transform` places the same objects as if they were new.
CONTRADICTED = ("check_transformer_general", "check_transformer_data_not_an_array")
# These give some objects a weight of zero, which is refused: a clustering says something about
# every object that it is given. tests/fitting/test_copies.py tests that weights equal copies.
WITH_ZEROS = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)


# The checks shorten max_iter on purpose, so fits may stop early, and say so.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
# They also fit ten objects, among which four clusters need not be found.
@pytest.mark.filterwarnings("ignore::soffit.exceptions.EmptyClusterWarning")
@parametrize_with_checks(MODELS)
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    if check.func.__name__ in CONTRADICTED:
        pytest.skip("fit_transform returns memberships_")
    if check.func.__name__ in WITH_ZEROS:
        pytest.skip("weights are positive")
    check(estimator)
