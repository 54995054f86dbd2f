"""
Does it work in a scikit-learn pipeline?
========================================

Every model is a scikit-learn estimator: use it as the last step, or as a transformer whose
columns are the memberships.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from soffit import SoftClustering

X, y = load_digits(return_X_y=True)

# %%
# Memberships as features: how far do 10, 20 and 40 soft clusters describe the digits? The
# clusters are found without labels; only the classifier sees them.
scores = {}
for k in (10, 20, 40):
    pipeline = make_pipeline(
        PCA(30, random_state=0),
        SoftClustering(n_clusters=k, random_state=0),
        LogisticRegression(max_iter=1000),
    )
    scores[k] = cross_val_score(pipeline, X, y, cv=3).mean()

direct = make_pipeline(PCA(30, random_state=0), LogisticRegression(max_iter=1000))
baseline = cross_val_score(direct, X, y, cv=3).mean()

plt.figure(figsize=(6, 3.2))
bars = plt.bar([f"{k} memberships" for k in scores], list(scores.values()), width=0.6)
plt.bar_label(bars, fmt="%.3f")
plt.axhline(baseline, color="grey", linestyle="--", label=f"30 components: {baseline:.3f}")
plt.ylim(0.7, 1)
plt.ylabel("accuracy of the classifier")
plt.legend(loc="upper left")
plt.show()

# %%
# ``set_output(transform="pandas")`` names the columns.
model = SoftClustering(n_clusters=3, random_state=0).set_output(transform="pandas")
model.fit_transform(X[:200]).head(3).round(2)
