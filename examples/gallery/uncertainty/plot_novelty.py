"""
How do I find objects like nothing seen before?
===============================================

Memberships answer *which* cluster. An object far from all of them still gets one, often with
probability 1. ``novelty_score`` answers the other question.
"""

import matplotlib.pyplot as plt
import numpy as np

from soffit import SoftClustering
from soffit.datasets import make_moons

X = make_moons(400, random_state=7).X
model = SoftClustering(n_clusters=2, random_state=7).fit(X)
far = np.array([[6.0, 0.5]])
certainty = model.predict_proba(far).max()
print(f"certainty {certainty:.3f}, novelty {model.novelty_score(far)[0]:.3f}")
print("refused:", model.predict(far, max_novelty=0.99))

# %%
# Both over the plane. Novelty is a tail probability: about 1 % of objects like the fitted ones
# have 0.99 or more.
x, y = np.meshgrid(np.linspace(-3, 7, 80), np.linspace(-2.5, 3, 50))
plane = np.column_stack([x.ravel(), y.ravel()])
shown = {
    "certainty (largest membership)": model.predict_proba(plane).max(axis=1),
    "novelty": model.novelty_score(plane),
}
figure, axes = plt.subplots(1, 2, figsize=(8.5, 3), sharey=True)
for axis, (title, values) in zip(axes, shown.items(), strict=True):
    drawn = axis.pcolormesh(x, y, values.reshape(x.shape), vmin=0, vmax=1, rasterized=True)
    axis.scatter(*X.T, s=3, color="white")
    axis.scatter(*far.T, marker="x", color="red")
    axis.set(title=title, xticks=[], yticks=[])
figure.colorbar(drawn, ax=axes)
plt.show()
