"""
SoF: what does the published model find, and what does a scale add?
===================================================================

``SoF`` (Zhao et al. 2015) makes the products of memberships match similarities. The published
model is too uniform; one fitted scale, ``scale="fit"``, repairs that.
"""

import matplotlib.pyplot as plt

from soffit import SoF
from soffit.datasets import make_gaussians
from soffit.metrics import posterior_distance

X, labels, posterior = make_gaussians(400, separation=3.5, random_state=7)
figure, axes = plt.subplots(1, 2, figsize=(7.5, 3.2), sharey=True)
for axis, scale in zip(axes, (None, "fit"), strict=True):
    model = SoF(3, random_state=7) if scale is None else SoF(3, scale=scale, random_state=7)
    model.fit(X)
    distance = posterior_distance(posterior, model.memberships_)
    axis.scatter(*X.T, c=model.entropy_, s=12, vmin=0, vmax=1.1)
    name = "as published" if scale is None else 'scale="fit"'
    axis.set(title=f"{name}: distance {distance:.2f}", xticks=[], yticks=[])
plt.show()
