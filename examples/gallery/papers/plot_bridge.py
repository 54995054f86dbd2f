"""
Zass and Shashua: who belongs to the bridge?
============================================

Ten points between two clouds (figure 1 of the paper): memberships should change steadily along
them.
"""

import matplotlib.pyplot as plt

from soffit import CompletelyPositive, SoftClustering
from soffit.datasets import make_bridge

X = make_bridge(random_state=7).X
bridge = X[-10:, 0].argsort() + len(X) - 10
models = {
    "CompletelyPositive": CompletelyPositive(2, random_state=7),
    "SoftClustering": SoftClustering(2, random_state=7),
}
figure, axes = plt.subplots(1, 2, figsize=(8.5, 3))
axes[0].scatter(*X.T, s=10, color="0.6")
axes[0].scatter(*X[bridge].T, s=25, color="C2")
axes[0].set_title("two clouds and a bridge")
for name, model in models.items():
    memberships = model.fit(X).memberships_
    near = memberships[bridge[0]].argmax()
    axes[1].plot(range(1, 11), memberships[bridge, near], marker="o", label=name)
axes[1].set(xlabel="point of the bridge", ylabel="membership in the left cloud")
axes[1].legend()
plt.show()
