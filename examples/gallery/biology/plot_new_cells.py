"""
How do I place new cells in known types?
========================================

Fit a reference, then ``place`` new cells: they are projected onto its principal components, and
get memberships and a novelty.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import scanpy as sc

    cells = sc.datasets.pbmc68k_reduced()

from soffit import scanpy as ss

# %%
# The reference has no B cells; a third of the others is held back.
kind = cells.obs["bulk_labels"].astype(str)
held = (np.arange(cells.n_obs) % 3 == 0) | (kind == "CD19+ B").to_numpy()
reference, new = cells[~held].copy(), cells[held].copy()
sc.pp.pca(reference, n_comps=30)
ss.soft_clusters(reference, n_clusters=5)
ss.place(reference, new)
new.obs[["soffit", "soffit_certainty", "soffit_novelty"]].head(3)

# %%
known = (new.obs["bulk_labels"] != "CD19+ B").to_numpy()
plt.figure(figsize=(7.5, 3))
bins = np.linspace(0, 1, 21)
plt.hist(
    new.obs["soffit_novelty"][known], bins, density=True, alpha=0.6, label="types in the reference"
)
plt.hist(new.obs["soffit_novelty"][~known], bins, density=True, alpha=0.6, label="B cells")
plt.xlabel("novelty")
plt.ylabel("density")
plt.legend(loc="upper left", bbox_to_anchor=(1, 1))
plt.show()

# %%
# The certainty answers another question: which of the known types is the nearest.
new.obs[~known][["soffit_certainty", "soffit_novelty"]].median().round(2)
