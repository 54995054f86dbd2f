"""
Which pairs should I ask an expert about?
=========================================

``suggest_pairs`` returns the pairs whose answers would tell most. Here diagnoses play the
expert.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from soffit import SoftClustering, suggest_pairs
from soffit.metrics import adjusted_rand

X, y = load_breast_cancer(return_X_y=True)


def ask(choose, n_rounds=6, per_round=10):
    """Ask, answer by the labels, fit again; scores after each round."""
    model = SoftClustering(2, random_state=0).fit(X)
    asked, scores = np.empty((0, 2), dtype=int), [adjusted_rand(y, model.labels_)]
    for round_ in range(n_rounds):
        asked = np.concatenate([asked, choose(model, per_round, round_)])
        same = y[asked[:, 0]] == y[asked[:, 1]]
        model = SoftClustering(2, random_state=0)
        model.fit(X, must_link=asked[same], cannot_link=asked[~same])
        scores.append(adjusted_rand(y, model.labels_))
    return scores


def at_random(model, n, round_):
    rng = np.random.default_rng(round_)
    return np.array([rng.choice(len(X), 2, replace=False) for _ in range(n)])


# %%
suggested = ask(lambda model, n, round_: suggest_pairs(model, n, random_state=round_))
plt.figure(figsize=(5.5, 3.2))
plt.plot(range(0, 61, 10), suggested, marker="o", label="suggested pairs")
plt.plot(range(0, 61, 10), ask(at_random), marker="s", label="random pairs")
plt.xlabel("answers")
plt.ylabel("adjusted Rand index, all tumours")
plt.legend()
plt.show()

# %%
# One table and one seed: either kind of pairs can be ahead after a few answers. :doc:`/asking`
# has the mean over ten data sets, also with wrong answers.
