"""
How close are memberships to the true probabilities?
====================================================

Where the data are drawn from a known distribution, the true probability of each cluster can be
computed. Half moons are not Gaussian, so that a Gaussian mixture must get them wrong.
"""

import matplotlib.pyplot as plt
from sklearn.mixture import GaussianMixture

from soffit import SoftClustering
from soffit.datasets import make_moons
from soffit.memberships import align
from soffit.metrics import posterior_distance

X, labels, posterior = make_moons(1500, random_state=7)
found = {
    "SoftClustering": SoftClustering(2, random_state=7).fit(X).memberships_,
    "GaussianMixture": GaussianMixture(2, random_state=7).fit(X).predict_proba(X),
}
for name, memberships in found.items():
    print(f"{name}: mean total variation {posterior_distance(posterior, memberships):.3f}")

# %%
figure, axes = plt.subplots(1, 2, figsize=(7.5, 3.6), sharey=True)
for axis, (name, memberships) in zip(axes, found.items(), strict=True):
    axis.plot([0, 1], [0, 1], color="grey", linewidth=1)
    axis.scatter(posterior[:, 0], align(posterior, memberships)[:, 0], s=4, alpha=0.4)
    axis.set(title=name, xlabel="true probability")
axes[0].set_ylabel("membership")
plt.show()
