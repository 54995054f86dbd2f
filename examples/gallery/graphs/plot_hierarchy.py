"""
Can I have coarse and fine clusters at once?
============================================

``SoftHierarchy`` finds clusters of clusters: levels that agree with each other, and a tree.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from soffit import SoftHierarchy
from soffit.metrics import purity

X, y = load_digits(return_X_y=True)
model = SoftHierarchy(levels=[40, 10, 3], random_state=0).fit(X)
for level, k in enumerate((40, 10, 3), start=1):
    found = model.at_level(level).argmax(axis=1)
    print(f"{k:2} clusters: purity {purity(y, found):.2f}")

# %%
# A typical digit of each of the ten clusters, by the three above them: the mean, weighted by
# membership.
ten, three = model.at_level(2), model.at_level(3)
parent = (ten.T @ three).argmax(axis=1)
order = parent.argsort(kind="stable")
figure, axes = plt.subplots(1, 10, figsize=(9, 1.5))
for axis, cluster in zip(axes, order, strict=True):
    mean = ten[:, cluster] @ X / ten[:, cluster].sum()
    axis.imshow(mean.reshape(8, 8), cmap="gray_r")
    axis.set(xticks=[], yticks=[])
    axis.set_title(f"in {parent[cluster]}", fontsize=9, color=f"C{parent[cluster]}", loc="center")
plt.show()
