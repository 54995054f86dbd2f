"""
What do I get if I stop early?
==============================

``max_time`` ends a fit after so many seconds and keeps the best solution so far, with a warning.
A ``callback`` that returns True ends it as well; ``warm_start=True`` goes on from there.
"""

import warnings

import matplotlib.pyplot as plt
from sklearn.exceptions import ConvergenceWarning

from soffit import SoF
from soffit.datasets import make_gaussians

X = make_gaussians(600, n_clusters=4, separation=3.0, random_state=7).X
seen = []
full = SoF(
    4, scale="fit", tol=1e-9, random_state=7, callback=lambda event: seen.append(event.objective)
)
full.fit(X)

# %%
# Stop after five iterations, look, and go on.
model = SoF(4, scale="fit", tol=1e-9, random_state=7, warm_start=True, max_iter=5)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)
    model.fit(X)
print(model.n_iter_, model.stop_reason_, f"objective {model.objective_:.2f}")
model.set_params(max_iter=200).fit(X)
print(model.n_iter_, model.stop_reason_, f"objective {model.objective_:.2f}")

# %%
# Most of the work is done early.
plt.figure(figsize=(5.5, 3))
plt.semilogy([max(value - seen[-1], 1e-9) for value in seen[:-1]])
plt.xlabel("iteration")
plt.ylabel("objective above its final value")
plt.show()
