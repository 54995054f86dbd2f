"""
What does n_neighbors change?
=============================

The graph, and with it everything else. Few neighbours follow fine structure, and fall apart where
data are sparse; many neighbours bridge gaps.
"""

import matplotlib.pyplot as plt
from matplotlib.collections import LineCollection
from numpy import column_stack

from soffit import SoftClustering
from soffit.datasets import make_rings
from soffit.metrics import adjusted_rand

X, labels, _ = make_rings(400, noise=0.06, random_state=7)

# %%
# Two rings. The default is 15.
figure, axes = plt.subplots(1, 4, figsize=(10, 2.9))
for axis, n_neighbors in zip(axes, (5, 15, 40, 120), strict=True):
    model = SoftClustering(2, n_neighbors=n_neighbors, random_state=7).fit(X)
    i, j = model.affinity_matrix_.tocoo().coords
    pairs = X[column_stack([i, j])[:: max(1, len(i) // 4000)]]
    axis.add_collection(LineCollection(pairs, linewidths=0.3, colors="0.75", zorder=0))
    axis.scatter(*X.T, c=model.memberships_[:, 0], cmap="coolwarm", s=7, vmin=0, vmax=1)
    score = adjusted_rand(labels, model.labels_)
    axis.set(title=f"{n_neighbors}: ARI {score:.2f}", xticks=[], yticks=[], aspect="equal")
plt.show()

# %%
# Leave it alone unless clusters have fewer than about 15 objects (take fewer neighbours), or
# clusters that you expect fall into pieces (take more).
