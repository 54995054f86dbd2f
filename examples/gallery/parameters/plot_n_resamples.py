"""
Are ten refits worth their time?
================================

``n_resamples=10`` fits the model again to ten subsamples. Memberships become softer where these
fits disagree, and you learn which clusters are stable. It costs about ten times as much.
"""

import matplotlib.pyplot as plt

from soffit import SoftClustering
from soffit.datasets import make_gaussians

# %%
# Three groups, but four clusters asked for: one group must be divided, and no data say where.
X = make_gaussians(300, n_clusters=3, separation=5.0, random_state=1).X
once = SoftClustering(4, random_state=0).fit(X)
often = SoftClustering(4, n_resamples=10, random_state=0).fit(X)

figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), sharey=True)
for axis, (title, model) in zip(axes, {"one fit": once, "ten refits": often}.items(), strict=True):
    certainty = model.memberships_.max(axis=1)
    drawn = axis.scatter(*X.T, c=certainty, s=12, vmin=0.4, vmax=1)
    axis.set(title=f"{title}: mean certainty {certainty.mean():.2f}", xticks=[], yticks=[])
figure.colorbar(drawn, ax=axes, label="largest membership")
plt.show()

# %%
# The stability of a cluster is its mean overlap with its counterparts in the refits: the parts of
# the divided group are the unstable ones.
plt.figure(figsize=(4.5, 2.6))
plt.bar([str(cluster) for cluster in range(4)], often.cluster_stability_)
plt.xlabel("cluster")
plt.ylabel("cluster_stability_")
plt.show()

# %%
print(f"two refits agree on {often.agreement_:.0%} of the objects")
print(f"expected accuracy {often.expected_accuracy_:.2f}")
