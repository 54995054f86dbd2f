"""
How do I choose the number of clusters?
=======================================

Leave it out: ``n_clusters=None`` chooses it, and ``choose_k`` shows the evidence for every
number.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

from soffit import SoftClustering, choose_k
from soffit.datasets import make_gaussians

four = make_gaussians(300, n_clusters=4, separation=5.0, random_state=7).X
choice = choose_k(four)
print(f"{choice.n_clusters} clusters, confidence {choice.confidence:.2f}, then {choice.runner_up}")

# %%
# The probability of every number for three tables: four groups; one cloud, which should not be
# divided; and 178 wines of three cultivars, where soffit hesitates and says so.
cloud = make_gaussians(300, n_clusters=1, random_state=7).X
tables = {"four groups": four, "one cloud": cloud, "wines": load_wine().data}
figure, axes = plt.subplots(1, 3, figsize=(8.5, 2.8), sharey=True)
for axis, (name, X) in zip(axes, tables.items(), strict=True):
    found = choose_k(X)
    axis.bar(found.ks[:8], found.table["credibility"][:8])
    axis.set(title=f"{name}: {found.n_clusters}", xlabel="number of clusters")
axes[0].set_ylabel("probability")
plt.show()

# %%
# Every model takes ``n_clusters=None``; ``k_choice_`` then holds the evidence.
model = SoftClustering(n_clusters=None, random_state=0).fit(four)
model.n_clusters_, round(model.k_choice_.confidence, 2)

# %%
# The number is a choice, not a fact: clusters within clusters have several good numbers. See
# :ref:`sphx_glr_auto_examples_graphs_plot_hierarchy.py`, and the page on uncertainty.
