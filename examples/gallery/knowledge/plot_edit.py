"""
How do I merge, split and name clusters?
========================================

You know better than the model? ``merge``, ``split`` and ``rename`` return a new fitted model; its
predictions, reports and files follow.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

from soffit import SoftClustering

iris = load_iris(as_frame=True).data
model = SoftClustering(n_clusters=3, random_state=0).fit(iris)
length = iris.groupby(model.labels_)["petal length (cm)"].mean()
small = int(length.argmin())
edited = model.merge([cluster for cluster in range(3) if cluster != small])
number = int(edited.labels_[model.labels_ == small][0])
edited = edited.rename({number: "small flowers", 1 - number: "large flowers"})
print(edited.cluster_names_, edited.curation_)

# %%
# Split one of the clusters again, into as many parts as its data support, or into two.
parts = edited.split("large flowers", n=2)
figure, axes = plt.subplots(1, 3, figsize=(9, 3), sharey=True)
found = {"fitted": model, "merged and named": edited, "split": parts}
for axis, (title, shown) in zip(axes, found.items(), strict=True):
    for cluster in range(shown.n_clusters_):
        own = iris[shown.labels_ == cluster]
        name = shown.cluster_names_[cluster] if title != "fitted" else cluster
        axis.scatter(own.iloc[:, 2], own.iloc[:, 3], s=10, label=name)
    axis.set(title=title, xlabel="petal length (cm)")
    axis.legend(fontsize=8)
axes[0].set_ylabel("petal width (cm)")
plt.show()

# %%
# New objects are placed in the edited clusters, and columns have their names.
edited.set_output(transform="pandas").transform(iris.head(3)).round(3)
