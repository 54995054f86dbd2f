"""
Which tumours would I look at twice?
====================================

569 tumours, thirty measurements of their nuclei each. The clusters know no diagnosis; their doubt
points to the cases in which they differ from it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score

from soffit import SoftClustering

X, benign = load_breast_cancer(return_X_y=True)
model = SoftClustering(n_clusters=2, random_state=0).fit(X)
cluster_of_benign = np.bincount(model.labels_[benign == 1]).argmax()
wrong = (model.labels_ == cluster_of_benign) != (benign == 1)
score = roc_auc_score(wrong, model.entropy_)
print(f"{wrong.sum()} of {len(X)} differ; AUC of the entropy for these {score:.2f}")

# %%
# Look at the most uncertain first: how many of the differing cases are found?
order = model.entropy_.argsort()[::-1]
plt.figure(figsize=(5.5, 3.2))
plt.plot(np.arange(1, len(X) + 1), np.cumsum(wrong[order]), label="most uncertain first")
plt.plot([0, len(X)], [0, wrong.sum()], color="grey", linewidth=1, label="in any order")
plt.xlabel("tumours looked at")
plt.ylabel("differing cases found")
plt.legend()
plt.show()
