"""
How much do my pairs count?
===========================

``constraint_weight`` says how far the pairs given to ``fit`` are trusted. At 1, the default, about
one in twenty is expected to be wrong until they show more or fewer errors.
"""

import matplotlib.pyplot as plt
import numpy as np

from soffit import SoftClustering
from soffit.datasets import make_gaussians
from soffit.metrics import accuracy

X, labels, _ = make_gaussians(300, n_clusters=3, separation=2.2, random_state=7)

# %%
# A hundred pairs by an oracle, once always right, once wrong in a fifth of the cases.
rng = np.random.default_rng(7)
pairs = rng.choice(300, (100, 2))
pairs = pairs[pairs[:, 0] != pairs[:, 1]]
same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
wrong = same ^ (rng.random(len(pairs)) < 0.2)

weights = (0.01, 0.03, 0.1, 0.3, 1.0)
scores = {"all right": [], "a fifth wrong": []}
for own, answers in zip(scores.values(), (same, wrong), strict=True):
    for weight in weights:
        model = SoftClustering(3, constraint_weight=weight, random_state=7)
        model.fit(X, must_link=pairs[answers], cannot_link=pairs[~answers])
        own.append(accuracy(labels, model.labels_))

# %%
plt.figure(figsize=(5.5, 3.2))
plain = accuracy(labels, SoftClustering(3, random_state=7).fit(X).labels_)
plt.axhline(plain, color="grey", linewidth=1, label="no pairs")
for name, own in scores.items():
    plt.semilogx(weights, own, marker="o", label=name)
plt.xlabel("constraint_weight")
plt.ylabel("accuracy, all objects")
plt.legend()
plt.show()
