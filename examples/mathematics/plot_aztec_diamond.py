r"""
Domino tilings and the arctic circle
====================================

The Aztec diamond has :math:`2^{n(n+1)/2}` tilings by dominoes. Colour its squares like a checkerboard, draw a tiling
uniformly, and mark the grey squares that are the left half of a lying domino or the lower half of a standing one: they
are a determinantal point process (figure 5 of Kulesza and Taskar 2012).
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import PatchCollection
from matplotlib.patches import Circle, Rectangle

from diverset.theory.classics import AztecDiamond, krawtchouk_dpp

# %%
# Squares, dominoes, particles
# ----------------------------

colours = {"north": "#c8102e", "south": "#2a9d8f", "east": "#e9b44c", "west": "#1f4e8c"}


def draw_squares(axis, squares, colour):
    """Unit squares, by their lower left corners."""
    axis.add_collection(PatchCollection([Rectangle((x, y), 1, 1) for x, y in squares], fc=colour, ec="0.4", lw=0.5))


def draw_dominoes(axis, tiling, lw=1.0, fill=True):
    """Dominoes, coloured by where they point."""
    for name, colour in colours.items():
        w, h = (2, 1) if name in ("north", "south") else (1, 2)
        patches = [Rectangle((x, y), w, h) for x, y in getattr(tiling, name)]
        axis.add_collection(
            PatchCollection(patches, fc=colour if fill else "none", ec="black" if lw else "none", lw=lw)
        )


def frame(axis, n, title):
    """Limits and title."""
    axis.set(xlim=(-n - 0.3, n + 0.3), ylim=(-n - 0.3, n + 0.3), aspect="equal", xticks=[], yticks=[], title=title)
    axis.axis("off")


diamond = AztecDiamond(5)
tiling = diamond.sample_objects(rng=2)
particles = diamond.sites[diamond.items_of(tiling)]
figure, axes = plt.subplots(1, 3, figsize=(11, 4), layout="constrained")
for axis, title in zip(axes, ("Aztec diamond of order 5", "a domino tiling", "its particles: a DPP"), strict=True):
    draw_squares(axis, diamond.squares, "white")
    draw_squares(axis, diamond.sites, "0.8")
    frame(axis, 5, title)
for axis in axes[1:]:
    draw_dominoes(axis, tiling, lw=2.0, fill=False)
axes[2].scatter(*(particles + 0.5).T, s=55, color="black", zorder=3)

# %%
# The arctic circle
# -----------------
#
# A tiling of order 150, grown by domino shuffling. Outside the inscribed circle the dominoes are frozen, all pointing
# the same way; inside they are disordered. Nothing in the uniform law says so at first sight.

n = 150
large = AztecDiamond(n)
figure, axis = plt.subplots(figsize=(7, 7), layout="constrained")
draw_dominoes(axis, large.sample_objects(rng=0), lw=0.0)
axis.add_patch(Circle((0, 0), large.arctic_radius, fill=False, color="black", lw=1.5))
frame(axis, n, f"A uniform tiling of order {n}, and the arctic circle")
axis.legend(
    handles=[Rectangle((0, 0), 1, 1, color=c, label=f"points {d}") for d, c in colours.items()],
    loc="upper right", frameon=False)  # fmt: skip

# %%
# Densities from the kernel
# -------------------------
#
# The kernel's diagonal is the probability of a particle at each grey square, without any tiling. On each diagonal of
# squares the particles are an orthogonal polynomial ensemble, whose kernel is known in closed form: the two agree.

middle = AztecDiamond(30)
probability = middle.dpp.inclusion_probabilities
figure, axes = plt.subplots(1, 2, figsize=(10.5, 4.6), layout="constrained")
shown = axes[0].scatter(*(middle.sites + 0.5).T, c=probability, marker="s", s=20, cmap="viridis", vmin=0, vmax=1)
axes[0].add_patch(Circle((0, 0), middle.arctic_radius, fill=False, color="white", lw=1.5))
frame(axes[0], 30, "probability of a particle, order 30")
figure.colorbar(shown, ax=axes[0], shrink=0.8)
for line, colour in ((5, "#9ecae1"), (15, "#1f4e8c"), (25, "#c8102e")):
    on = middle.sites_on_line(line)
    known = krawtchouk_dpp(30, line).inclusion_probabilities
    assert np.allclose(probability[on], known)
    axes[1].plot(known, color=colour, lw=1)
    axes[1].plot(probability[on], "o", ms=4, color=colour, label=f"line {line}")
axes[1].set(xlabel="place on the line", ylabel="probability", title="Kasteleyn (dots) and Krawtchouk (lines)")
axes[1].legend(frameon=False)

# sphinx_gallery_thumbnail_number = 2
