r"""
Spanning trees and mazes
========================

The edges of a uniformly random spanning tree are a determinantal point process, whose kernel is the transfer-current
matrix of the graph as an electrical network (Burton and Pemantle 1993). Wilson's algorithm draws a tree with random
walks alone.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from diverset.theory.classics import SpanningTrees

# %%
# A tree of a grid of 40 by 40 nodes, which is a maze: there is one way between any two places.

graph = nx.grid_2d_graph(40, 40)
trees = SpanningTrees(graph)
tree = nx.Graph(trees.edges[e] for e in trees.sample(rng=1))
way = nx.shortest_path(tree, (0, 0), (39, 39))
figure, axis = plt.subplots(figsize=(6, 5.6), layout="constrained")
for u, v in tree.edges:
    axis.plot(*np.array([u, v]).T, color="0.25", lw=1.5, solid_capstyle="round")
axis.plot(*zip(*way, strict=True), color="#c8102e", lw=3, label="from corner to corner")
axis.set(aspect="equal", xticks=[], yticks=[], title="A uniform spanning tree, by Wilson's algorithm")
axis.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), frameon=False)

# %%
# The kernel around one edge
# --------------------------
#
# Given that an edge is in the tree, the others become less likely, those close to it most. The change of an edge's
# probability is :math:`-K_{ef}^2 / K_{ee}`.

grid = nx.grid_2d_graph(13, 13)
currents = SpanningTrees(grid)
K = currents.kernel
centre = int(currents.find([((6, 6), (7, 6))])[0])
change = K[centre] ** 2 / K[centre, centre]
given = currents.dpp.condition(include=[centre]).inclusion_probabilities
others = np.delete(np.arange(len(K)), centre)
assert np.allclose(np.diagonal(K)[others] - given, change[others])
top = np.sort(change)[-2]
figure, axis = plt.subplots(figsize=(6.6, 5.2), layout="constrained")
for e, (u, v) in enumerate(currents.edges):
    colour = "#c8102e" if e == centre else plt.cm.viridis(np.sqrt(change[e] / top))
    axis.plot(*np.array([u, v]).T, color=colour, lw=5)
axis.set(aspect="equal", xticks=[], yticks=[], title="Given the red edge: how much less likely are others")
scale = plt.cm.ScalarMappable(plt.matplotlib.colors.PowerNorm(0.5, 0, top), "viridis")
figure.colorbar(scale, ax=axis, shrink=0.8, label="fall of the probability")

# %%
# Trees are counted by a determinant, and every draw has as many edges as there are nodes, less one.

print(f"the 13 x 13 grid has e^{currents.log_total_weight:.1f} spanning trees")
assert all(len(Y) == 13 * 13 - 1 for Y in currents.dpp.sample(5, rng=0))
