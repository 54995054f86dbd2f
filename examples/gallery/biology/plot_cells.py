"""
Which cells are between two types?
==================================

``soffit.scanpy.soft_clusters`` works like scanpy's ``tl``: results are written into the AnnData
object. 700 blood cells that come with scanpy.
"""

import warnings

import matplotlib.pyplot as plt

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import scanpy as sc

    cells = sc.datasets.pbmc68k_reduced()

from soffit import scanpy as ss
from soffit.metrics import adjusted_rand

ss.soft_clusters(cells, n_clusters=6)
cells.obs[["soffit", "soffit_certainty", "soffit_entropy"]].head(3)

# %%
# The map that the data bring along, coloured by soft cluster and by uncertainty.
place = cells.obsm["X_umap"]
figure, axes = plt.subplots(1, 2, figsize=(9, 3.8))
for cluster in cells.obs["soffit"].cat.categories:
    own = (cells.obs["soffit"] == cluster).to_numpy()
    axes[0].scatter(*place[own].T, s=6, label=cluster)
axes[0].legend(markerscale=2, fontsize=8)
axes[0].set_title("cluster")
drawn = axes[1].scatter(*place.T, c=cells.obs["soffit_entropy"], s=6)
axes[1].set_title("uncertainty")
figure.colorbar(drawn, ax=axes[1], label="nats")
for axis in axes:
    axis.set(xticks=[], yticks=[], xlabel="UMAP 1", ylabel="UMAP 2")
plt.show()

# %%
# Uncertainty by the cell types of the authors, and agreement with them.
kind = cells.obs["bulk_labels"]
score = adjusted_rand(kind.cat.codes.to_numpy(), cells.obs["soffit"].cat.codes.to_numpy())
print(f"ARI {score:.2f}")
cells.obs.groupby(kind, observed=True)["soffit_entropy"].mean().sort_values().round(2)
