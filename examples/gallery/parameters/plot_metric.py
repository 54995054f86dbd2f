"""
Which metric should I choose?
=============================

The metric says which objects are neighbours. Choose the one in which two neighbours are what you
would call similar; no other parameter matters as much.
"""

import matplotlib.pyplot as plt
import numpy as np

from soffit import SoftClustering
from soffit.metrics import adjusted_rand

# %%
# Spectra: three shapes of a curve, each measured with another overall intensity.
rng = np.random.default_rng(7)
x = np.linspace(0, 1, 40)
shapes = np.array([np.exp(-((x - centre) ** 2) / 0.02) for centre in (0.4, 0.45, 0.5)])
kind = np.arange(240) % 3
X = shapes[kind] * rng.lognormal(0, 0.8, (240, 1)) + rng.normal(0, 0.02, (240, 40))

plt.figure(figsize=(6, 3))
for row in range(18):
    plt.plot(x, X[row], color=f"C{kind[row]}", linewidth=0.8)
plt.xlabel("wavelength")
plt.ylabel("intensity")
plt.show()

# %%
# Euclidean distance compares intensities, too; cosine and correlation compare shapes.
for metric in ("euclidean", "manhattan", "cosine", "correlation"):
    model = SoftClustering(3, metric=metric, random_state=0).fit(X)
    print(f"{metric:12} ARI {adjusted_rand(kind, model.labels_):.2f}")

# %%
# ``metric="gower"`` compares numbers, text and yes/no
# (:ref:`sphx_glr_auto_examples_tables_plot_mixed.py`); ``metric="precomputed"`` takes your own
# distances (:ref:`sphx_glr_auto_examples_tables_plot_time_series.py`).
