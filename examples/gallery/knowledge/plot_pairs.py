"""
How do I say that two objects belong together?
==============================================

Pass pairs to ``fit``: ``must_link`` for objects of one cluster, ``cannot_link`` for objects of
two.
"""

import matplotlib.pyplot as plt
import numpy as np

from soffit import SoftClustering
from soffit.datasets import make_gaussians

# %%
# Four groups. Two clusters are wanted: left and right, or top and bottom? The distances say left
# and right; somebody who knows the objects may mean the other.
centers = [(-2.5, -2), (-2.5, 2), (2.5, -2), (2.5, 2)]
X, group, _ = make_gaussians(240, centers=centers, random_state=7)
is_top = np.isin(group, [1, 3])

# %%
# Sixteen answers to the question whether two objects belong together.
asked = np.random.default_rng(0).integers(len(X), size=(16, 2))
same = is_top[asked[:, 0]] == is_top[asked[:, 1]]
pairs = {"must_link": asked[same], "cannot_link": asked[~same]}
known = {"no pairs": {}, "16 pairs: top and bottom": pairs}
figure, axes = plt.subplots(1, 2, figsize=(7, 3.3))
for axis, (title, given) in zip(axes, known.items(), strict=True):
    model = SoftClustering(n_clusters=2, random_state=7).fit(X, **given)
    axis.scatter(*X.T, c=model.memberships_[:, 0], cmap="coolwarm", s=10, vmin=0, vmax=1)
    for kind, style in (("must_link", "-"), ("cannot_link", ":")):
        for pair in given.get(kind, []):
            axis.plot(*X[pair].T, "k" + style, linewidth=1)
    axis.set(title=title, xticks=[], yticks=[])
plt.show()

# %%
# Solid lines are objects that belong together, dotted lines those that do not. Pairs are evidence,
# not commands: a wrong one does not tear a cluster apart, and pairs that contradict the neighbours
# and the other pairs are outvoted and listed in `outvoted_`. Objects with names are given by name,
# and a set of more than two is a group.
