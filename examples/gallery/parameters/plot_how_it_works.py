"""
What happens in a fit, step by step?
====================================

A fit turns the table into a graph of neighbours, divides the graph, and then asks how sure each
object can be. Each step as a picture, on two half moons.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection

from soffit import SoftClustering
from soffit.datasets import make_moons

X = make_moons(300, random_state=7).X
model = SoftClustering(n_clusters=2, random_state=7).fit(X)


def panel(title, **points):
    axis = plt.subplots(figsize=(5, 3.2))[1]
    axis.scatter(*X.T, **({"s": 18, "zorder": 2} | points))
    axis.set(title=title, xticks=[], yticks=[], aspect="equal")
    return axis


# %%
# 1. The objects, as they come.
panel("Objects", color="black")
plt.show()

# %%
# 2. Each object is linked to those of its 15 nearest neighbours that list it, too. Near pairs
# weigh more.
links = model.affinity_matrix_.tocoo()
i, j = links.coords
lines = LineCollection(X[np.column_stack([i, j])], linewidths=0.5, colors="0.6", zorder=1)
panel("A graph of mutual neighbours", color="black").add_collection(lines)
plt.show()

# %%
# 3. The slowest vibrations of this graph show its parts. Here the second eigenvector has one sign
# on each moon; several such divisions are tried, and the best cut is kept.
degrees = model.affinity_matrix_.sum(axis=1)
scaled = model.affinity_matrix_.toarray() / np.sqrt(np.outer(degrees, degrees))
values, vectors = np.linalg.eigh(scaled)
second = vectors[:, -2] / np.sqrt(degrees)
panel("The second eigenvector", c=second, cmap="coolwarm")
plt.show()

# %%
# 4. The graph is approximated by memberships: two objects should be linked as often as they share
# a cluster. The rows of the factor are on the simplex, nearly all of them at a corner.
panel("The factor W", c=model.factor_[:, 0], cmap="coolwarm", vmin=0, vmax=1)
plt.show()

# %%
# 5. A random walk and a mixture that starts at the clusters soften the rows where clusters meet.
# This is ``memberships_``.
panel("Memberships", c=model.memberships_[:, 0], cmap="coolwarm", vmin=0, vmax=1)
plt.show()

# %%
# 6. New objects are placed by the same rule, everywhere in the plane.
x, y = np.meshgrid(np.linspace(-1.6, 2.6, 90), np.linspace(-1.2, 1.7, 60))
plane = model.predict_proba(np.column_stack([x.ravel(), y.ravel()]))[:, 0].reshape(x.shape)
axis = panel("predict_proba", s=6, color="black")
axis.pcolormesh(x, y, plane, cmap="coolwarm", vmin=0, vmax=1, zorder=0, rasterized=True)
plt.show()
