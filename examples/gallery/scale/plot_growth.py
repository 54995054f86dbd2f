"""
How does the time grow with the number of objects?
==================================================

Nearly in proportion. This machine, one fit per size; the page on scale goes to ten million.
"""

import time

import matplotlib.pyplot as plt

from soffit import SoftClustering, warmup
from soffit.datasets import make_gaussians

warmup()  # compile before the clock runs
sizes, seconds = [1000, 2000, 5000, 10_000, 20_000, 40_000], []
for n in sizes:
    X = make_gaussians(n, n_clusters=10, n_features=8, separation=6.0, random_state=7).X
    start = time.process_time()
    SoftClustering(10, random_state=7).fit(X)
    seconds.append(time.process_time() - start)

# %%
plt.figure(figsize=(5.5, 3.4))
plt.loglog(sizes, seconds, marker="o", label="SoftClustering")
plt.loglog(sizes, [seconds[-1] * n / sizes[-1] for n in sizes], color="grey", label="proportional")
plt.xlabel("objects")
plt.ylabel("processor time (s)")
plt.legend()
plt.show()
