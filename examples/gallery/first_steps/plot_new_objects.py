"""
How do I get probabilities for new objects?
===========================================

``predict_proba`` places new objects among the fitted clusters. It solves the fitted problem for
their rows; it is not a vote of the nearest neighbours.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from soffit import SoftClustering

digits = load_digits().data
known, new = train_test_split(digits, test_size=0.3, random_state=0)
model = SoftClustering(n_clusters=10, random_state=0).fit(known)
memberships = model.predict_proba(new)
memberships.shape, bool(np.allclose(memberships.sum(axis=1), 1))

# %%
# Six new digits that the model is least sure of, with their largest memberships.
unsure = memberships.max(axis=1).argsort()[:6]
figure, axes = plt.subplots(2, 6, figsize=(7.5, 3), height_ratios=[1.4, 1])
for column, row in enumerate(unsure):
    axes[0, column].imshow(new[row].reshape(8, 8), cmap="gray_r")
    axes[0, column].axis("off")
    top = memberships[row].argsort()[::-1][:3]
    axes[1, column].bar([str(cluster) for cluster in top], memberships[row, top])
    axes[1, column].set_ylim(0, 1)
    axes[1, column].set_yticks([0, 1] if column == 0 else [])
axes[1, 0].set_ylabel("membership")
figure.supxlabel("cluster", fontsize=10)
plt.show()

# %%
# Predicting the fitted objects again gives nearly what ``memberships_`` holds.
again = model.predict(known)
f"{np.mean(again == model.labels_):.1%} of the fitted digits keep their cluster"
