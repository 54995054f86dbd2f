"""
Which shapes of clusters does it find?
======================================

Half moons, rings, overlapping Gaussians, clusters of different density: the same default
settings, beside three methods of scikit-learn with theirs.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.mixture import GaussianMixture

from soffit import SoftClustering
from soffit.datasets import make_donut, make_gaussians, make_moons
from soffit.metrics import adjusted_rand

rng = np.random.default_rng(7)
moons = make_moons(400, random_state=7)
donut = make_donut(300, random_state=7)
stretched = make_gaussians(400, covariance="full", separation=5, random_state=3)
dense = np.concatenate([rng.normal(0, 0.15, (200, 2)), rng.normal([2.6, 0], 0.9, (200, 2))])
sets = {
    "moons": (moons.X, moons.labels),
    "donut": (donut.X, donut.labels),
    "stretched": (stretched.X, stretched.labels),
    "two densities": (dense, np.repeat([0, 1], 200)),
}


def labels_of(name, X, k):
    if name == "soffit":
        return SoftClustering(k, random_state=0).fit(X).labels_
    if name == "spectral":
        model = SpectralClustering(k, affinity="nearest_neighbors", random_state=0)
        with warnings.catch_warnings():  # of graphs in several pieces
            warnings.simplefilter("ignore")
            return model.fit_predict(X)
    if name == "mixture":
        return GaussianMixture(k, random_state=0).fit_predict(X)
    return KMeans(k, n_init=10, random_state=0).fit_predict(X)


# %%
# Numbers are adjusted Rand indices; the labels are used for nothing else.
methods = ("soffit", "spectral", "mixture", "k-means")
figure, axes = plt.subplots(4, 4, figsize=(8, 8))
for row, (title, (X, truth)) in enumerate(sets.items()):
    for column, method in enumerate(methods):
        found = labels_of(method, X, len(np.unique(truth)))
        axis = axes[row, column]
        axis.scatter(*X.T, c=[f"C{cluster}" for cluster in found], s=5)
        axis.set(xticks=[], yticks=[])
        axis.set_title(f"{adjusted_rand(truth, found):.2f}", fontsize=9)
        if row == 0:
            axis.annotate(method, (0.5, 1.25), xycoords="axes fraction", ha="center")
        if column == 0:
            axis.set_ylabel(title)
plt.show()

# %%
# Four drawings prove little. The page on benchmarks has fifty data sets, and everyday tables on
# which soffit does not lead.
