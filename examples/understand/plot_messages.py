"""
Factor graphs and messages
==========================

Figures 18, 19 and 20 of Kulesza and Taskar (2012): graphs of parts and factors, and what is passed along them. On a
chain, messages from the left say how much the part seen so far is worth, and messages from the right what is to come;
together they give the law of every part.
"""

import matplotlib.pyplot as plt
import numpy as np

import diverset as dv

rng = np.random.default_rng(0)


def chain(unary, pairwise):
    """Parts in a row, with a factor for each and for each pair of neighbours."""
    graph = dv.FactorGraph([len(pairwise)] * len(unary))
    for r, quality in enumerate(unary):
        graph.add_factor([r], quality=quality)
    for r in range(len(unary) - 1):
        graph.add_factor([r, r + 1], quality=pairwise)
    return graph


def tree():
    """Six parts joined by five factors."""
    graph = dv.FactorGraph([3] * 6)
    for a, b in ((0, 1), (1, 2), (1, 3), (3, 4), (3, 5)):
        graph.add_factor([a, b], quality=rng.random((3, 3)))
    return graph


figure, axes = plt.subplots(2, 1, figsize=(8, 4.4), layout="constrained")
dv.plots.plot_factor_graph(chain(np.ones((6, 4)), np.ones((4, 4))), ax=axes[0])
dv.plots.plot_factor_graph(tree(), ax=axes[1])
axes[0].set_title("A chain: a factor for each part and each pair of neighbours")
axes[1].set_title("A tree")

# %%
# A message from a node *b* to its neighbour *a* is about the subtree behind *b* and nothing else: whatever is held
# fixed elsewhere, it stays the same. Drawing a structure part by part, only the messages out of subtrees with a newly
# fixed part have to be passed again.

spots = {"a": (3.2, 3), "d": (1, 2), "b": (5.4, 2), "$c_1$": (4.2, 1), "$c_2$": (6.6, 1)}
spots |= {leaf: (x, 0) for leaf, x in zip("efgh", (3.6, 4.8, 6.0, 7.2), strict=True)}
lines = ["ad", "ab", ("b", "$c_1$"), ("b", "$c_2$"), ("$c_1$", "e"), ("$c_1$", "f"), ("$c_2$", "g"), ("$c_2$", "h")]
figure, axis = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
axis.add_patch(plt.Rectangle((3.1, -0.45), 4.6, 2.9, color="0.88", zorder=0))
axis.text(7.6, 2.3, "$T_a(b)$", ha="right", va="top", fontsize=12)
for one, other in lines:
    axis.plot(*np.transpose([spots[one], spots[other]]), color="0.5", lw=1, zorder=1)
for x in (0.4, 1.6):
    axis.plot([1, x], [2, 1.2], color="0.5", lw=1, ls=":")
for name, (x, y) in spots.items():
    factor = name in ("a", "$c_1$", "$c_2$")
    axis.scatter(
        x, y, s=500, marker="s" if factor else "o", color="white" if factor else "#dce6f2", ec="black", zorder=2
    )
    axis.text(x, y, name, ha="center", va="center", fontsize=10, zorder=3)
arrow = {"arrowstyle": "->", "ls": "--", "lw": 1.4, "shrinkA": 12, "shrinkB": 12, "connectionstyle": "arc3,rad=0.35"}
axis.annotate("", spots["a"], spots["b"], arrowprops=arrow)
axis.text(4.9, 3.0, r"$m_{b \to a}(\cdot \mid S)$", fontsize=12)
axis.set(title="The subtree behind a message: factors are squares", xlim=(0, 8), ylim=(-0.6, 3.5))
axis.axis("off")

# %%
# Messages of sums and products on a chain of eight parts with twelve values, each scaled to its largest entry, and the
# law that they make: a column is a part. Neighbouring parts like neighbouring values.

n_parts, n_values = 8, 12
unary = 0.05 + rng.random((n_parts, n_values)) ** 3
places = np.arange(n_values)
pairwise = np.exp(-0.5 * np.subtract.outer(places, places) ** 2)
left, right = np.ones((n_parts, n_values)), np.ones((n_parts, n_values))
for r in range(1, n_parts):
    left[r] = pairwise.T @ (left[r - 1] * unary[r - 1])
    right[-r - 1] = pairwise @ (right[-r] * unary[-r])
belief = left * unary * right
belief /= belief.sum(axis=1, keepdims=True)

figure, axes = plt.subplots(1, 3, figsize=(10, 3.6), sharey=True, layout="constrained")
titles = ("from the left", "from the right", "law of each part")
for axis, values, title in zip(axes, (left, right, belief), titles, strict=True):
    axis.imshow((values / values.max(axis=1, keepdims=True)).T, cmap="magma", aspect="auto", origin="lower")
    axis.set(title=title, xlabel="part", xticks=range(n_parts))
axes[0].set_ylabel("value")

# %%
# The library passes the same messages, on any tree, in any semiring.

model = dv.structured.QualityModel(chain(unary, pairwise))
print("largest difference:", np.abs(np.array(model.part_marginals()) - belief).max().round(12))

# sphinx_gallery_thumbnail_number = 3
