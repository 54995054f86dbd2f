"""
Is a membership of 0.7 right seven times in ten?
================================================

Compare memberships with labels that the fit has not seen: a calibration curve on the diagonal
means that probabilities can be taken at their word.
"""

import matplotlib.pyplot as plt
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
figure, axis = plt.subplots(figsize=(4.6, 4.2))
axis.plot([0, 1], [0, 1], color="grey", linewidth=1)
for name, memberships in found.items():
    curve = calibration_curve(y, memberships, n_bins=8)
    axis.plot(curve.confidence, curve.accuracy, marker="o", label=name)
axis.set(xlabel="largest membership", ylabel="share that is right", xlim=(0, 1), ylim=(0, 1))
axis.legend(loc="upper left")
plt.show()

# %%
# Handwritten digits are one data set. The page on uncertainty has fifty, and those on which
# memberships are too sure.
