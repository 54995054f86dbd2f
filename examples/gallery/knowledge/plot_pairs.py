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
# Four groups. Two clusters are wanted: left and right, or top and bottom? The data cannot say.
X, group, _ = make_gaussians(240, centers=[(-2, -2), (-2, 2), (2, -2), (2, 2)], random_state=7)
place = {0: "bottom left", 1: "top left", 2: "bottom right", 3: "top right"}
one = {group_: int(np.flatnonzero(group == group_)[0]) for group_ in range(4)}

# %%
# One pair that belongs together and one that does not, each time.
known = {
    "no pairs": {},
    "left with left": {"must_link": [(one[0], one[1])], "cannot_link": [(one[0], one[2])]},
    "top with top": {"must_link": [(one[1], one[3])], "cannot_link": [(one[1], one[0])]},
}
figure, axes = plt.subplots(1, 3, figsize=(9, 3.1))
for axis, (title, pairs) in zip(axes, known.items(), strict=True):
    model = SoftClustering(n_clusters=2, random_state=7).fit(X, **pairs)
    axis.scatter(*X.T, c=model.memberships_[:, 0], cmap="coolwarm", s=10, vmin=0, vmax=1)
    for kind, style in (("must_link", "-"), ("cannot_link", ":")):
        for pair in pairs.get(kind, []):
            axis.plot(*X[list(pair)].T, "k" + style, linewidth=2)
    axis.set(title=title, xticks=[], yticks=[])
plt.show()

# %%
# Pairs are evidence, not commands: a wrong one does not tear a cluster apart. Objects with names
# are given by name, and a set of more than two is a group.
