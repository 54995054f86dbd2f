"""Scores of hard and soft clusterings."""

from soffit.metrics._calibration import CalibrationCurve, calibration_curve, calibration_error
from soffit.metrics._hard import accuracy, adjusted_rand, nmi, purity, rand_index
from soffit.metrics._soft import brier, log_loss, posterior_distance
from soffit.metrics._soft_pairs import expected_ari, frobenius_ari

__all__ = [
    "CalibrationCurve",
    "accuracy",
    "adjusted_rand",
    "brier",
    "calibration_curve",
    "calibration_error",
    "expected_ari",
    "frobenius_ari",
    "log_loss",
    "nmi",
    "posterior_distance",
    "purity",
    "rand_index",
]
