"""
Baum-Eagon: how many clusters do noisy blocks allow?
====================================================

``BaumEagon`` (Rota Bulò and Pelillo 2010) on random block matrices: similarities of two levels,
with noise.
"""

import matplotlib.pyplot as plt

from soffit import BaumEagon
from soffit.datasets import make_block_stochastic
from soffit.metrics import accuracy

noise, scores = (0.1, 0.2, 0.4, 0.6, 0.8), []
for level in noise:
    sample = make_block_stochastic(150, n_clusters=5, noise=level, random_state=7)
    model = BaumEagon(5, affinity="precomputed", n_init=3, random_state=7).fit(sample.matrix)
    scores.append(accuracy(sample.labels, model.labels_))

# %%
figure, axes = plt.subplots(1, 2, figsize=(8, 3.2))
order = sample.labels.argsort(kind="stable")
axes[0].imshow(sample.matrix[order][:, order], cmap="gray_r")
axes[0].set_title(f"similarities, noise {noise[-1]}")
axes[1].plot(noise, scores, marker="o")
axes[1].set(xlabel="noise", ylabel="accuracy", ylim=(0, 1.02))
plt.show()
