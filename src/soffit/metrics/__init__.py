"""Scores of hard and soft clusterings."""

from soffit.metrics.hard import accuracy, adjusted_rand, nmi, purity, rand_index
from soffit.metrics.soft import (
    CalibrationCurve,
    brier,
    calibration_curve,
    calibration_error,
    log_loss,
    posterior_distance,
)
from soffit.metrics.soft_pairs import expected_ari, frobenius_ari

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
