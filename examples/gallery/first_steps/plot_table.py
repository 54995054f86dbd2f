"""
How do I get probabilities for the rows of a table?
===================================================

Fit, and read ``memberships_``: one row per object, one column per cluster. Rows sum to one.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

from soffit import SoftClustering

iris = load_iris(as_frame=True)
model = SoftClustering(n_clusters=3, random_state=0).fit(iris.data)
model.memberships_[[0, 60, 70, 133]].round(2)

# %%
# The most probable cluster is in ``labels_``, the uncertainty of each object in ``entropy_``.
# Petals in the plane: colour is the cluster, rings mark the objects whose largest membership is
# below 0.6.
length, width = iris.data["petal length (cm)"], iris.data["petal width (cm)"]
unsure = model.memberships_.max(axis=1) < 0.6
for cluster in range(3):
    own = model.labels_ == cluster
    plt.scatter(length[own], width[own], s=25, label=f"cluster {cluster}")
plt.scatter(length[unsure], width[unsure], s=90, facecolors="none", edgecolors="black")
plt.xlabel("petal length (cm)")
plt.ylabel("petal width (cm)")
plt.legend()
plt.title(f"150 flowers, {unsure.sum()} of them uncertain")
plt.show()

# %%
# A model at the end of a notebook cell shows its clusters; ``model.report("iris.html",
# iris.data)`` writes them to a page that you can send on.
