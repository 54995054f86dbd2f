"""
How do I keep memberships small with many clusters?
===================================================

``top_memberships`` keeps the few largest of each object, as a sparse matrix.
"""

import matplotlib.pyplot as plt
import numpy as np

from soffit import SoftClustering
from soffit.datasets import make_gaussians
from soffit.memberships import top_memberships

X = make_gaussians(6000, n_clusters=100, n_features=6, separation=4.0, random_state=7).X
model = SoftClustering(100, random_state=7).fit(X)
small = top_memberships(model.memberships_, n_top=5)
print(f"dense {model.memberships_.nbytes / 1e6:.1f} MB, top five {small.data.nbytes / 1e6:.1f} MB")

# %%
# How much of the probability do the largest memberships hold?
held = np.sort(model.memberships_, axis=1)[:, ::-1].cumsum(axis=1)
plt.figure(figsize=(5.5, 3.2))
plt.plot(range(1, 11), held[:, :10].mean(axis=0), marker="o", label="mean object")
plt.plot(
    range(1, 11), np.quantile(held[:, :10], 0.01, axis=0), marker="s", label="least certain 1 %"
)
plt.xlabel("memberships kept")
plt.ylabel("probability that they hold")
plt.legend()
plt.show()
