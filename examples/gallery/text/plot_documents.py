"""
Which topics do these texts have?
=================================

Weight the words by TF-IDF, and pass the sparse matrix. The texts are the docstrings of SciPy;
their subpackage is used for the score only.
"""

import inspect
from importlib import import_module

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from soffit import SoftClustering
from soffit.metrics import adjusted_rand

parts = ("signal", "sparse", "stats", "optimize", "special", "ndimage", "linalg")
texts = {}
for part in parts:
    module = import_module(f"scipy.{part}")
    for name in sorted(dir(module)):
        thing = getattr(module, name)
        text = inspect.getdoc(thing) or ""
        own = str(getattr(thing, "__module__", "")).startswith(module.__name__)
        if callable(thing) and own and len(text) > 300 and not name.startswith("_"):
            texts.setdefault(text, (part, name))
where = [part for part, _ in texts.values()]

# %%
words = TfidfVectorizer(stop_words="english", min_df=2, token_pattern=r"[a-z]{2,}")
X = words.fit_transform(texts)
model = SoftClustering(n_clusters=7, random_state=0).fit(X)
score = adjusted_rand(np.unique(where, return_inverse=True)[1], model.labels_)
print(f"{X.shape[0]} texts, {X.shape[1]} words, ARI {score:.2f}")

# %%
# The words that set each topic apart: their mean weight, minus that in all texts.
names = words.get_feature_names_out()
overall = np.asarray(X.mean(axis=0)).ravel()
topics = []
for cluster in range(7):
    weight = model.memberships_[:, cluster]
    mean = np.asarray(X.T @ weight).ravel() / weight.sum()
    special = names[(mean - overall).argsort()[::-1][:6]]
    topics.append("\n".join(special[:3]))
    print(f"{cluster}: " + ", ".join(special))

# %%
# Topics, by their first three words, and subpackages.
counts = np.array(
    [[np.sum(model.memberships_[np.array(where) == part, c]) for c in range(7)] for part in parts]
)
shares = counts / counts.sum(axis=1, keepdims=True)
order = shares.argmax(axis=0).argsort(kind="stable")  # topics beside their subpackage
figure, axis = plt.subplots(figsize=(8, 4.2), layout="constrained")
image = axis.imshow(shares[:, order], cmap="Blues", aspect="auto")
axis.set_yticks(range(7), [f"scipy.{part}" for part in parts])
axis.set_xticks(range(7), [topics[topic] for topic in order])
figure.colorbar(image, label="share of the texts")
plt.show()
