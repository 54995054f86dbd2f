"""
How do I find soft communities of a graph?
==========================================

Pass a networkx or igraph graph. In 1977 a karate club split in two; two members stood between.
"""

import matplotlib.pyplot as plt
import networkx as nx

from soffit import SoftClustering
from soffit.memberships import to_networkx

graph = nx.karate_club_graph()
model = SoftClustering(n_clusters=2, random_state=0).fit(graph)
joined = [graph.nodes[node]["club"] for node in graph]
agreement = sum(
    (club == joined[0]) == (label == model.labels_[0])
    for club, label in zip(joined, model.labels_, strict=True)
)
print(f"{agreement} of {len(joined)} members joined the club of their community")

# %%
# Colour is the membership; squares joined the officer, circles Mr. Hi.
place = nx.spring_layout(graph, seed=7)
plt.figure(figsize=(6.5, 4.5))
nx.draw_networkx_edges(graph, place, alpha=0.25)
for shape, club in (("o", "Mr. Hi"), ("s", "Officer")):
    nodes = [node for node in graph if graph.nodes[node]["club"] == club]
    colours = [model.memberships_[node, 0] for node in nodes]
    nx.draw_networkx_nodes(
        graph,
        place,
        nodes,
        node_shape=shape,
        node_color=colours,
        cmap="coolwarm",
        vmin=0,
        vmax=1,
        node_size=220,
        edgecolors="0.3",
    )
nx.draw_networkx_labels(graph, place, font_size=8)
plt.axis("off")
plt.show()

# %%
# The members in between, and a graph that carries the result.
unsure = model.memberships_.max(axis=1).argsort()[:3]
print({int(node): model.memberships_[node].round(2).tolist() for node in unsure})
to_networkx(model, graph).nodes[int(unsure[0])]
