"""
Is a membership of 0.7 right seven times in ten?
================================================

Compare memberships with labels that the fit has not seen: a calibration curve on the diagonal
means that probabilities can be taken at their word.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.mixture import GaussianMixture

from soffit import SoftClustering
from soffit.metrics import brier, calibration_curve, calibration_error

X, y = load_digits(return_X_y=True)
found = {
    "SoftClustering": SoftClustering(10, random_state=0).fit(X).memberships_,
    "GaussianMixture": GaussianMixture(10, reg_covar=1e-2, random_state=0).fit(X).predict_proba(X),
}

# %%
# Scores match clusters to classes first; lower is better.
for name, memberships in found.items():
    error = calibration_error(y, memberships)
    print(f"{name:20s} Brier {brier(y, memberships):.3f}, calibration error {error:.3f}")

# %%
# Left: of the objects with a largest membership of about 0.7, which share is right? Bars are two
# standard errors; bins of fewer than ten objects are left out. Right: how often each value occurs.
# The mixture is certain of nearly everything, whether right or wrong.
figure, (left, right) = plt.subplots(1, 2, figsize=(8.6, 3.9), layout="constrained")
left.plot([0, 1], [0, 1], color="grey", linewidth=1)
for name, memberships in found.items():
    curve = calibration_curve(y, memberships, n_bins=8)
    enough = curve.count >= 10
    x, right_share, n = curve.confidence[enough], curve.accuracy[enough], curve.count[enough]
    error = 2 * np.sqrt(np.maximum(right_share * (1 - right_share), 0.25 / n) / n)
    left.errorbar(x, right_share, yerr=error, marker="o", capsize=3, label=name)
left.set(xlabel="largest membership", ylabel="share that is right", xlim=(0, 1.02), ylim=(0, 1.02))
left.legend(loc="lower right")
tops = [memberships.max(axis=1) for memberships in found.values()]
right.hist(tops, bins=np.linspace(0.2, 1, 9), label=list(found))
right.set(xlabel="largest membership", ylabel="digits")
plt.show()

# %%
# Handwritten digits are one data set. The page on uncertainty has 81, and those on which
# memberships are too sure.
