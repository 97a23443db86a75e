"""
The geometry of a DPP
=====================

The probability of a set is the squared volume spanned by its items' vectors (figures 6 and 9 of Kulesza and Taskar
2012). A vector's length is the item's quality q, its direction the item's diversity features. Longer vectors span
more; vectors that point the same way span little.
"""

import matplotlib.pyplot as plt
import numpy as np

import diverset as dv

# %%
# Two items
# ---------
#
# Three versions of the pair {i, j}: as it is, with more quality for item i, and with item j turned towards item i.


def vector(quality, degrees):
    """Vector of a length and a direction."""
    return quality * np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])


cases = {
    "(a) two items": (vector(1.0, 10), vector(1.0, 80)),
    "(b) more quality": (vector(1.6, 10), vector(1.0, 80)),
    "(c) more alike": (vector(1.0, 10), vector(1.0, 40)),
}
figure, axes = plt.subplots(1, 3, figsize=(11, 4.0), sharex=True, sharey=True, layout="constrained")
for axis, (title, (i, j)) in zip(axes, cases.items(), strict=True):
    dpp = dv.DPP.from_features([i, j])
    corners = np.array([[0.0, 0.0], i, i + j, j])
    axis.fill(*corners.T, color="#1f4e8c", alpha=0.15)
    axis.plot(*np.array([i, i + j, j]).T, color="#1f4e8c", lw=1, ls="--")
    for v, name, colour, shift, side in (
        (i, r"$q_i\phi_i$", "#c8102e", (6, -12), "left"),
        (j, r"$q_j\phi_j$", "#1f4e8c", (-6, 4), "right"),
    ):
        arrow = {"arrowstyle": "-|>", "color": colour, "lw": 2, "shrinkA": 0, "shrinkB": 0}
        axis.annotate("", v, (0, 0), arrowprops=arrow)
        axis.annotate(name, v, shift, textcoords="offset points", color=colour, ha=side, fontsize=12)
    area = abs(i[0] * j[1] - i[1] * j[0])
    chance = np.exp(dpp.log_prob([0, 1]))
    axis.set_title(f"{title}\nsquared area {area**2:.2f}, $\\Pr(\\{{i, j\\}})$ = {chance:.2f}", fontsize=11)
    axis.set(xlim=(-0.4, 2.1), ylim=(-0.1, 1.6), aspect="equal", xticks=[], yticks=[])
    for spine in axis.spines.values():
        spine.set_visible(False)
figure.suptitle("The probability of a pair is the squared area it spans, up to a constant")

# %%
# The statement itself
# --------------------
#
# Probabilities are squared volumes divided by :math:`\det(L + I)`, and parallel items never come together.

B = np.array(cases["(a) two items"])
dpp = dv.DPP.from_features(B)
volume = abs(np.linalg.det(B))
assert np.isclose(np.exp(dpp.log_prob([0, 1]) + dpp.log_normalizer), volume**2)
assert dv.DPP.from_features([B[0], 2.0 * B[0]]).log_prob([0, 1]) == -np.inf
