"""
What do I do with text columns and missing values?
==================================================

Nothing: pass the table as it is, with ``metric="gower"``. Numbers, text, yes/no and gaps are
compared column by column.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from soffit import SoftClustering
from soffit.metrics import adjusted_rand

rng = np.random.default_rng(7)
kind = np.arange(240) % 3
city = np.array(["Bern", "Ulm", "Lyon"])
people = pd.DataFrame(
    {
        "age": 30 + 14 * kind + 6 * rng.normal(size=240),
        "income": np.exp(10 + 0.6 * (kind == 2) + 0.25 * rng.normal(size=240)),
        "city": np.where(rng.random(240) < 0.75, city[kind], rng.choice(city, 240)),
        "car": (rng.random(240) < 0.3 + 0.3 * (kind > 0)),
    }
)
people.loc[rng.choice(240, 40, replace=False), "age"] = np.nan
people.loc[rng.choice(240, 40, replace=False), "city"] = None
people.head(4)

# %%
model = SoftClustering(3, metric="gower", random_state=0).fit(people)
print(f"ARI {adjusted_rand(kind, model.labels_):.2f} with text and gaps")
numbers = people[["age", "income"]].fillna(people[["age", "income"]].median())
plain = SoftClustering(3, random_state=0).fit(numbers)
print(f"ARI {adjusted_rand(kind, plain.labels_):.2f} with the two number columns alone, filled")

# %%
# Age and income of the clusters. People without an age are drawn at the left edge; they have a
# cluster, too.
age = people["age"].fillna(15)
plt.figure(figsize=(6, 3.4))
for cluster in range(3):
    own = model.labels_ == cluster
    names = people["city"][own].value_counts().index[0]
    plt.scatter(age[own], people["income"][own], s=14, label=f"{cluster}: mostly {names}")
plt.axvline(17, color="0.8", linewidth=1)
plt.xlabel("age")
plt.ylabel("income")
plt.legend()
plt.show()

# %%
# New objects may have gaps and categories that were not fitted.
new = pd.DataFrame(
    {"age": [33.0, None], "income": [25e3, 60e3], "city": ["Oslo", "Lyon"], "car": [0, 1]}
)
model.predict_proba(new.astype({"car": bool})).round(2)
