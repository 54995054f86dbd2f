"""
What sets the clusters apart?
=============================

Compare the columns of each cluster with those of all objects, in units of their spread.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from soffit import SoftClustering

wine = load_wine(as_frame=True).data
model = SoftClustering(n_clusters=3, random_state=0).fit(wine)

# %%
# Means weighted by the memberships: an object between two clusters counts for both.
G = model.memberships_
means = (G.T @ wine.to_numpy()) / G.sum(axis=0)[:, None]
apart = (means - wine.mean().to_numpy()) / wine.std().to_numpy()
order = np.abs(apart).max(axis=0).argsort()[::-1][:8]

figure, axis = plt.subplots(figsize=(7, 3.6))
height = 0.26
for cluster, row in enumerate(apart):
    axis.barh(np.arange(8) + cluster * height, row[order], height, label=f"cluster {cluster}")
axis.set_yticks(np.arange(8) + height, wine.columns[order])
axis.invert_yaxis()
axis.axvline(0, color="black", linewidth=0.8)
axis.set_xlabel("mean of the cluster, in standard deviations from the overall mean")
axis.legend()
plt.show()

# %%
# The report, the terminal and the notebook view say the same in words: "alcohol 13.7 (overall
# 13.0)". ``model.report("wine.html", wine)`` writes it.
