"""
Why is this object uncertain?
=============================

There are two reasons. Clusters **overlap** at the object: more data would not help. Or the
partition itself is **unstable**: with other data the border would lie elsewhere. ``n_resamples``
tells them apart.
"""

import matplotlib.pyplot as plt

from soffit import SoftClustering
from soffit.datasets import make_gaussians

# %%
# Three groups that touch, and four clusters asked for: one group is cut in two, and no data say
# where.
X, labels, posterior = make_gaussians(300, n_clusters=3, separation=4.0, random_state=1)
model = SoftClustering(n_clusters=4, n_resamples=10, random_state=0).fit(X)

# %%
# ``overlap_`` and ``instability_`` add up to ``entropy_``.
figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), sharex=True, sharey=True)
parts = {"entropy": model.entropy_, "overlap": model.overlap_, "instability": model.instability_}
for axis, (title, values) in zip(axes, parts.items(), strict=True):
    shown = axis.scatter(*X.T, c=values, s=12, vmin=0, vmax=model.entropy_.max())
    axis.set(title=title, xticks=[], yticks=[])
figure.colorbar(shown, ax=axes, label="nats", shrink=0.8)
plt.show()

# %%
# The object with the largest instability, and what the model says of it.
row = int(model.instability_.argmax())
print(f"object {row}: memberships {model.memberships_[row].round(2)}")
print(f"overlap {model.overlap_[row]:.2f}, instability {model.instability_[row]:.2f}")
print(f"stability of the clusters: {model.cluster_stability_.round(2)}")

# %%
# For one object of your own, look at its neighbours in the graph: if they belong to different
# clusters, it lies at a border.
neighbours = model.affinity_matrix_[[row]].tocoo()
model.labels_[neighbours.coords[1]]
