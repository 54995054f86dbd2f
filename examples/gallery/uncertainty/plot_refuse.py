"""
How do I leave doubtful objects unassigned?
===========================================

``predict(X, min_certainty=...)`` returns -1 where the largest membership is smaller. The objects
that remain are right more often.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from soffit import SoftClustering

X, y = load_digits(return_X_y=True)
known, new, y_known, y_new = train_test_split(X, y, test_size=0.5, random_state=0)
model = SoftClustering(10, random_state=0).fit(known)

# %%
# Refuse more and more of the new digits. A cluster stands for the most frequent digit of the fitted
# half.
matching = np.array([np.bincount(y_known[model.labels_ == c]).argmax() for c in range(10)])
kept, right = [], []
limits = [0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98]
for limit in limits:
    label = model.predict(new, min_certainty=limit)
    assigned = label >= 0
    kept.append(assigned.mean())
    right.append(np.mean(matching[label[assigned]] == y_new[assigned]))

plt.figure(figsize=(5.5, 3.4))
plt.plot(kept, right, marker="o")
for limit, x, height in list(zip(limits, kept, right, strict=True))[::2]:
    plt.annotate(f"{limit:g}", (x, height), xytext=(4, 5), textcoords="offset points")
plt.gca().invert_xaxis()
plt.xlabel("share of new digits that are assigned")
plt.ylabel("share of these that are right")
plt.title("Numbers are min_certainty")
plt.show()
