r"""
What DPPs and Markov random fields can express
==============================================

Three items under a DPP or a pairwise Markov random field (MRF) are node potentials times one ternary factor
:math:`\psi_{123}` (figure 10 of Kulesza and Taskar 2012). Fix its value on all three items; its values on the pairs
then form a surface (figure 11). Points near the origin repel more.
"""

import matplotlib.pyplot as plt
import numpy as np

import diverset as dv
from diverset.theory.mrf import PairwiseMRF, dpp_slice, dpp_ternary, mrf_slice, mrf_ternary

# %%
# The factor graph, and table 1
# -----------------------------

graph = dv.FactorGraph([2, 2, 2], names=["y1", "y2", "y3"])
graph.add_factor([0, 1, 2], quality=np.ones((2, 2, 2)))
dv.plots.plot_factor_graph(graph, ax=plt.figure(figsize=(4, 2)).add_subplot())
plt.title("Three items, one ternary factor")

w, S = [-0.5, -1.0, -0.2], [0.6, 0.7, 0.5]
print("set        MRF    DPP")
for (Y, by_mrf), by_dpp in zip(mrf_ternary(w).items(), dpp_ternary(S).values(), strict=True):
    name = "{" + ", ".join(str(i) for i in Y) + "}"
    print(f"{name:9}  {by_mrf:.3f}  {by_dpp:.3f}")

# %%
# Slices
# ------
#
# Each surface holds the factors of the pairs that go with one value of :math:`\psi_{123}(1,1,1)`. Where little repels
# (grey) the models are alike; where a triple is all but excluded (red) they part. An MRF reaches the corners, where one
# item avoids the two others, which do not mind each other; a DPP's similarities are transitive, and it cannot.

values = {0.001: "#c8102e", 0.25: "#2a9d8f", 0.5: "#1f4e8c", 0.75: "0.6"}
s, t = np.meshgrid(np.linspace(0.0, 1.0, 60), np.linspace(0.0, 1.0, 60))


def pairs(value, top=None):
    """Values of two pairs' factors that fill the region where the third exists: their product is at least `value`."""
    a = value ** (1.0 - s)
    if top is None:
        return a, (value / a) ** (1.0 - t)
    return a, value / a + t * (top(a) - value / a)


def surface(axis, a, b, height, colour, alpha=0.9):
    """One sheet, with a few lines of its mesh."""
    axis.plot_surface(a, b, height, color=colour, alpha=alpha, rcount=60, ccount=60, linewidth=0, shade=False)
    axis.plot_wireframe(a, b, height, color="black", alpha=0.35, rcount=12, ccount=12, linewidth=0.5)


def dpp_surface(axis, value, colour, alpha=0.9, nonnegative=False):
    """Both sheets; where similarities must not be negative, the upper one ends at height 1."""
    a, b = pairs(value)
    surface(axis, a, b, dpp_slice(a, b, value)[0], colour, alpha)
    if nonnegative:
        a, b = pairs(value, top=lambda a: 1.0 + value - a)
    surface(axis, a, b, dpp_slice(a, b, value)[1], colour, alpha)


def mrf_surface(axis, value, colour, alpha=0.9):
    """The only sheet."""
    a, b = pairs(value)
    surface(axis, a, b, mrf_slice(a, b, value), colour, alpha)


def finish(axis, title, view=(22, -125)):
    """Axes alike in all pictures."""
    axis.set(xlim=(0, 1), ylim=(0, 1), zlim=(0, 1), xticks=[0, 1], yticks=[0, 1], zticks=[0, 1])
    axis.set_xlabel(r"$\psi(1,1,0)$", labelpad=-4)
    axis.set_ylabel(r"$\psi(1,0,1)$", labelpad=-4)
    axis.set_zlabel(r"$\psi(0,1,1)$", labelpad=-4)
    axis.set_title(title, y=0.98)
    axis.view_init(*view)
    axis.set_box_aspect(None, zoom=0.95)


figure = plt.figure(figsize=(10, 5.4))
left, right = (figure.add_subplot(1, 2, i, projection="3d") for i in (1, 2))
for value, colour in values.items():
    dpp_surface(left, value, colour, nonnegative=True)
    mrf_surface(right, value, colour)
finish(left, "(a) DPP, nonnegative similarities")
finish(right, "(b) MRF")
handles = [plt.Rectangle((0, 0), 1, 1, color=colour) for colour in values.values()]
figure.legend(handles, [f"{v:g}" for v in values], title=r"$\psi_{123}(1,1,1)$", loc="lower center", ncols=4,
              frameon=False)  # fmt: skip
figure.subplots_adjust(bottom=0.18, top=0.95, left=0.02, right=0.95)

# %%
# One slice whole
# ---------------
#
# With negative similarities allowed, a DPP can keep three items apart with little repulsion in pairs, and its surface
# closes away from the origin.

value = 0.1
figure = plt.figure(figsize=(10, 9))
panels = [
    ("(c) DPP, all similarities", True, False, (22, -125)),
    ("(d) MRF", False, True, (22, -125)),
    ("(e) both", True, True, (22, -125)),
    ("(f) both, turned", True, True, (22, 35)),
]
for place, (title, with_dpp, with_mrf, view) in enumerate(panels, start=1):
    axis = figure.add_subplot(2, 2, place, projection="3d")
    if with_dpp:
        dpp_surface(axis, value, "#1f4e8c", 0.6)
    if with_mrf:
        mrf_surface(axis, value, "#c8102e", 0.6)
    finish(axis, title, view)
figure.suptitle(r"Pairs' factors for $\psi_{123}(1,1,1) = 0.1$: DPP (blue) and MRF (red)")
figure.subplots_adjust(bottom=0.03, top=0.92, left=0.02, right=0.95, hspace=0.12)

# %%
# Attraction from repulsion
# -------------------------
#
# Items 2 and 3 both avoid item 1 and have no edge between them. They then come together more often than chance: an MRF
# with negative weights only has a positive correlation, which a DPP never has.

strengths = np.linspace(-6.0, 0.0, 61)
fields = [PairwiseMRF([0.0, 0.0, 0.0], {(0, 1): s, (0, 2): s}) for s in strengths]
figure, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
axis.plot(strengths, [f.covariance(1, 2) for f in fields], color="#c8102e", lw=2, label="items 2 and 3")
axis.plot(strengths, [f.covariance(0, 1) for f in fields], color="#1f4e8c", lw=2, label="items 1 and 2")
axis.axhline(0.0, color="0.6", lw=1)
axis.set(xlabel=r"$w_{12} = w_{13}$", ylabel="covariance", title="A pairwise MRF that only repels")
axis.legend(frameon=False)
