"""
Higher order: how are crossing lines told apart?
================================================

Any two points lie on a line; three need not. ``HigherOrder`` compares triples (section 4 of Zass
and Shashua 2005), where all methods of pairs must fail.
"""

import matplotlib.pyplot as plt

from soffit import HigherOrder, SoftClustering
from soffit.datasets import make_lines
from soffit.metrics import accuracy

X, labels, _ = make_lines(180, n_lines=3, random_state=7)
found = {
    "HigherOrder": HigherOrder(3, tuple_affinity="line", random_state=7).fit(X).labels_,
    "SoftClustering": SoftClustering(3, random_state=7).fit(X).labels_,
}
figure, axes = plt.subplots(1, 2, figsize=(7.5, 3.4), sharey=True)
for axis, (name, own) in zip(axes, found.items(), strict=True):
    axis.scatter(*X.T, c=[f"C{cluster}" for cluster in own], s=12)
    axis.set(title=f"{name}: accuracy {accuracy(labels, own):.2f}", xticks=[], yticks=[])
plt.show()
