"""
Can I fit a sample and place the rest?
======================================

Yes: ``predict_proba`` takes any number of objects, block by block. How much is lost?
"""

import matplotlib.pyplot as plt
import numpy as np

from soffit import SoftClustering
from soffit.datasets import make_gaussians
from soffit.metrics import adjusted_rand, posterior_distance

X, labels, posterior = make_gaussians(
    20_000, n_clusters=6, n_features=5, separation=3.5, random_state=7
)
rng = np.random.default_rng(7)
sizes = [500, 1000, 2000, 5000, 20_000]
scores, distances = [], []
for n in sizes:
    sample = rng.choice(len(X), n, replace=False)
    model = SoftClustering(6, random_state=7).fit(X[sample])
    memberships = model.memberships_ if n == len(X) else model.predict_proba(X)
    order = np.arange(len(X)) if n < len(X) else sample
    scores.append(adjusted_rand(labels[order], memberships.argmax(axis=1)))
    distances.append(posterior_distance(posterior[order], memberships))

# %%
figure, axes = plt.subplots(1, 2, figsize=(8, 3))
axes[0].semilogx(sizes, scores, marker="o")
axes[0].set(xlabel="objects fitted", ylabel="adjusted Rand index, all objects")
axes[1].semilogx(sizes, distances, marker="o")
axes[1].set(xlabel="objects fitted", ylabel="distance from the true posterior")
plt.show()

# %%
# A sample of some thousands is enough for clusters that hold hundreds of its objects. Small
# clusters are lost with a small sample: take care where they matter.
