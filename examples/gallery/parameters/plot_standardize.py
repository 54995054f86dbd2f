"""
Should I standardize the columns?
=================================

Usually you need not decide: ``standardize="auto"`` divides the columns by their spread if one
column would otherwise decide alone, as grams do beside millimetres.
"""

import matplotlib.pyplot as plt

from soffit import SoftClustering
from soffit.datasets import make_moons
from soffit.metrics import adjusted_rand

# %%
# Two moons; the second column is given in thousandths.
X, labels, _ = make_moons(400, noise=0.08, random_state=7)
X[:, 1] *= 1000

figure, axes = plt.subplots(1, 3, figsize=(9, 2.8), sharey=True)
for axis, setting in zip(axes, (False, True, "auto"), strict=True):
    model = SoftClustering(2, standardize=setting, random_state=7).fit(X)
    axis.scatter(*X.T, c=model.memberships_[:, 0], cmap="coolwarm", s=7, vmin=0, vmax=1)
    axis.set_title(f"standardize={setting}: ARI {adjusted_rand(labels, model.labels_):.2f}")
plt.show()

# %%
# Columns in one unit are left as they are: pixels at the rim of a digit are nearly always white,
# and should not count as much as those in the middle. The command and the report say what was
# done.
#
# Pass True if all columns should count alike, False if the units are meaningful.
