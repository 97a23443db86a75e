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
# Fix the factor of the triple, :math:`\psi_{123}(1,1,1)`, and let item 1 repel both others alike. How much may these
# two repel each other? A DPP with similarities of at least 0 allows one or two values, an MRF one. Where little repels
# (grey) the models are alike. Where the triple is all but excluded (red) they differ: an MRF reaches the upper left
# corner, where one item avoids two that do not mind each other. A DPP cannot, since similarity is transitive.

values = {0.001: "#c8102e", 0.25: "#2a9d8f", 0.5: "#1f4e8c", 0.75: "0.5"}
figure, axis = plt.subplots(figsize=(7, 4.6), layout="constrained")
for value, colour in values.items():
    a = np.linspace(np.sqrt(value), 1.0, 400)
    for sheet, label in zip(dpp_slice(a, a, value, nonnegative=True), (f"{value:g}", None), strict=True):
        axis.plot(a, sheet, color=colour, lw=2, label=label)
    axis.plot(a, mrf_slice(a, a, value), color=colour, lw=2, ls="--")
axis.set(xlim=(0, 1.01), ylim=(0, 1.02), xlabel=r"$\psi(1,1,0) = \psi(1,0,1)$", ylabel=r"$\psi(0,1,1)$")
axis.set_title("DPP (solid) and MRF (dashed)")
axis.legend(title=r"$\psi_{123}(1,1,1)$", frameon=False, loc="center", bbox_to_anchor=(0.3, 0.45))

# %%
# One slice whole
# ---------------
#
# The same for :math:`\psi_{123}(1,1,1) = 0.1` and any two factors of pairs. Contours show the factor of the third pair.
# With negative similarities a DPP can keep three items apart with little repulsion in pairs: its upper sheet.

value = 0.1
a, b = np.meshgrid(np.linspace(0.01, 1.0, 300), np.linspace(0.01, 1.0, 300))
inside = a * b >= value
low, high = dpp_slice(np.where(inside, a, 1.0), np.where(inside, b, 1.0), value)
sheets = {"DPP, lower sheet": low, "DPP, upper sheet": high, "MRF": mrf_slice(a, b, value)}
figure, axes = plt.subplots(1, 3, figsize=(11, 3.9), sharey=True, layout="constrained")
for axis, (title, height) in zip(axes, sheets.items(), strict=True):
    shown = np.ma.masked_where(~inside, height)
    image = axis.contourf(a, b, shown, levels=np.linspace(0.0, 1.0, 11), cmap="Blues")
    axis.set(title=title, xlabel=r"$\psi(1,1,0)$", aspect="equal")
axes[0].set_ylabel(r"$\psi(1,0,1)$")
figure.colorbar(image, ax=axes, label=r"$\psi(0,1,1)$")

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

# sphinx_gallery_thumbnail_number = 2
