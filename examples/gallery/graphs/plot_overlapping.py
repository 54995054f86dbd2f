"""
Can a node belong to several communities?
=========================================

``as_sets`` turns memberships into sets that may overlap: an object belongs to its most probable
cluster, and to all others in which it is at least half as probable.
"""

import matplotlib.pyplot as plt
import networkx as nx

from soffit import SoftClustering
from soffit.memberships import as_sets

graph = nx.les_miserables_graph()
model = SoftClustering(n_clusters=6, random_state=0).fit(graph)
sets = as_sets(model)
several = {name: sum(name in own for own in sets) for name in graph}
shared = sorted(name for name, count in several.items() if count > 1)
print("in several communities:", ", ".join(shared) or "nobody")

# %%
# The characters of Les Misérables. Pies show the memberships of those in several communities.
place = nx.kamada_kawai_layout(graph, weight=None)
figure, axis = plt.subplots(figsize=(8, 7))
nx.draw_networkx_edges(graph, place, alpha=0.15, ax=axis)
for number, name in enumerate(graph):
    x, y = place[name]
    row = model.memberships_[number]
    size = 0.04 if name in shared else 0.016
    axis.pie(row, colors=[f"C{c}" for c in range(6)], radius=size, center=(x, y), frame=True)
    if name in shared:
        axis.annotate(
            *(name, (x, y)),
            xytext=(9, 7),
            textcoords="offset points",
            fontsize=10,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 1},
        )
axis.set(xlim=(-1.05, 1.05), ylim=(-1.05, 1.05), aspect="equal")
axis.axis("off")
plt.show()
