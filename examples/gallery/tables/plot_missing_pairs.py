"""
What if most similarities are missing?
======================================

A similarity of zero and one that nobody measured are two things. ``CompletelyPositive`` takes
``pair_weight``: 0 for a missing pair, larger for a pair that was measured more precisely.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

from soffit import CompletelyPositive
from soffit.datasets import make_donut
from soffit.metrics import accuracy

X, labels, _ = make_donut(200, random_state=7)
squared = ((X[:, None] - X[None]) ** 2).sum(axis=-1)
A = np.exp(-squared / 0.5**2)


def measured(share, seed):
    """A random share of the pairs."""
    upper = np.triu(np.random.default_rng(seed).random(A.shape) < share, 1)
    return sp.csr_array((upper | upper.T).astype(float))


# %%
# Keep fewer and fewer pairs of a ring around a disc.
shares = (0.5, 0.2, 0.1, 0.05)
scores = {"missing": [], "taken for zero": []}
for share in shares:
    known = measured(share, 7)
    model = CompletelyPositive(2, affinity="precomputed", normalization="additive", random_state=7)
    given = known.multiply(A).tocsr()
    model.fit(given, pair_weight=known)
    scores["missing"].append(accuracy(labels, model.labels_))
    model.fit(given.toarray())
    scores["taken for zero"].append(accuracy(labels, model.labels_))

plt.figure(figsize=(5.5, 3.2))
for name, own in scores.items():
    plt.plot([f"{share:.0%}" for share in shares], own, marker="o", label=name)
plt.xlabel("share of the pairs that were measured")
plt.ylabel("accuracy")
plt.legend()
plt.show()
