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
# Certainty of the objects by the number of their gaps: who tells less is less certain.
gaps = people.isna().sum(axis=1)
certainty = model.memberships_.max(axis=1)
plt.figure(figsize=(5, 3))
plt.boxplot([certainty[gaps == n] for n in range(3)], tick_labels=["none", "one", "two"])
plt.xlabel("missing values of the object")
plt.ylabel("largest membership")
plt.show()

# %%
# New objects may have gaps and categories that were not fitted.
new = pd.DataFrame(
    {"age": [33.0, None], "income": [25e3, 60e3], "city": ["Oslo", "Lyon"], "car": [0, 1]}
)
model.predict_proba(new.astype({"car": bool})).round(2)
