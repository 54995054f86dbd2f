"""
What if I know the classes of a few objects?
============================================

``RandomWalkClassifier`` carries them along the graph: which labelled objects does a random walk
from here meet?
"""

import matplotlib.pyplot as plt
import numpy as np

from soffit import RandomWalkClassifier
from soffit.datasets import make_moons

X, labels, _ = make_moons(400, random_state=7)
y = np.full(400, -1)
for label in (0, 1):
    y[np.flatnonzero(labels == label)[:2]] = label

# %%
# Two labelled objects per class. More steps carry the labels further.
figure, axes = plt.subplots(1, 3, figsize=(9, 2.9), sharey=True)
for axis, n_steps in zip(axes, (2, 16, 64), strict=True):
    model = RandomWalkClassifier(n_steps=n_steps).fit(X, y)
    right = np.mean(model.transduction_[y < 0] == labels[y < 0])
    axis.scatter(*X.T, c=model.label_distributions_[:, 0], cmap="coolwarm", s=8, vmin=0, vmax=1)
    axis.scatter(*X[y >= 0].T, marker="*", s=180, color="black")
    axis.set(title=f"{n_steps} steps: {right:.0%} right", xticks=[], yticks=[])
plt.show()
