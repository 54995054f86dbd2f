"""
How do I cluster time series, by a distance of my own?
======================================================

Compute the distances, and pass them with ``metric="precomputed"``. Here dynamic time warping
compares curves that are shifted in time.
"""

import matplotlib.pyplot as plt
import numpy as np

from soffit import SoftClustering
from soffit.metrics import adjusted_rand

rng = np.random.default_rng(7)
time = np.linspace(0, 1, 50)
kind = np.arange(60) % 3
shift = rng.uniform(-0.12, 0.12, 60)
one = np.exp(-((time - 0.5 + shift[:, None]) ** 2) / 0.004)
two = one + 0.8 * np.exp(-((time - 0.75 + shift[:, None]) ** 2) / 0.004)
step = 1 / (1 + np.exp(-(time - 0.5 + shift[:, None]) / 0.03))
series = np.choose(kind[:, None], [one, two, step]) + rng.normal(0, 0.05, (60, 50))


def warping(a, b, window=10):
    """Dynamic time warping of two curves, within a window."""
    n = len(a)
    cost = np.full((n + 1, n + 1), np.inf)
    cost[0, 0] = 0
    for i in range(1, n + 1):
        for j in range(max(1, i - window), min(n, i + window) + 1):
            best = min(cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1])
            cost[i, j] = (a[i - 1] - b[j - 1]) ** 2 + best
    return np.sqrt(cost[n, n])


distances = np.zeros((60, 60))
for i in range(60):
    for j in range(i):
        distances[i, j] = distances[j, i] = warping(series[i], series[j])

# %%
model = SoftClustering(3, metric="precomputed", n_neighbors=10, random_state=0).fit(distances)
plain = SoftClustering(3, n_neighbors=10, random_state=0).fit(series)
print(f"warping ARI {adjusted_rand(kind, model.labels_):.2f}")
print(f"Euclidean ARI {adjusted_rand(kind, plain.labels_):.2f}")

# %%
figure, axes = plt.subplots(1, 3, figsize=(8.5, 2.6), sharey=True)
for cluster, axis in enumerate(axes):
    own = np.flatnonzero(model.labels_ == cluster)
    axis.plot(time, series[own].T, color=f"C{cluster}", linewidth=0.6)
    axis.set_title(f"cluster {cluster}: {len(own)} curves")
plt.show()

# %%
# For new curves, pass their distances to the fitted ones, shape (new, fitted).
new = np.array([[warping(series[0] + 0.1, other) for other in series]])
model.predict_proba(new).round(3)
