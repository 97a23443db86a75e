"""
Points that keep apart
======================

A hundred points in the unit square, drawn from a determinantal point process (left) and independently (right), as in
figures 2 and 4 of Kulesza and Taskar (2012). Independent points clump and leave holes; a DPP, whose kernel falls with
distance, spreads them out and yet leaves them random.
"""

import matplotlib.pyplot as plt
import numpy as np

import diverset as dv

# %%
# The ground set is 1,500 uniform points, and two are alike when they are close. A k-DPP fixes the number drawn.

rng = np.random.default_rng(0)
places = rng.random((1_500, 2))
dpp = dv.DPP(dv.kernels.rbf(places, length_scale=0.09)).of_size(100)
drawn = places[dpp.sample(rng=rng)]
alone = places[rng.choice(len(places), size=100, replace=False)]

figure, axes = plt.subplots(1, 2, figsize=(9, 4.6), layout="constrained")
for axis, points, title in ((axes[0], drawn, "DPP"), (axes[1], alone, "independent")):
    axis.scatter(*points.T, s=22, color="#1f4e8c")
    axis.set(title=title, xlim=(0, 1), ylim=(0, 1), xticks=[], yticks=[], aspect="equal")
figure.suptitle("100 points in the unit square")

# %%
# How far the nearest neighbour is
# --------------------------------
#
# Repulsion shows in the distances to the nearest other point: under the DPP hardly any are short.


def nearest(points):
    """Distance of each point to its nearest neighbour."""
    gaps = np.linalg.norm(points[:, None] - points, axis=-1)
    np.fill_diagonal(gaps, np.inf)
    return gaps.min(axis=1)


sets = [places[Y] for Y in dpp.sample(20, rng=rng)]
others = [places[rng.choice(len(places), size=100, replace=False)] for _ in range(20)]
figure, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
bins = np.linspace(0.0, 0.16, 33).tolist()
for name, colour, draws in (("DPP", "#c8102e", sets), ("independent", "#1f4e8c", others)):
    axis.hist(np.concatenate([nearest(points) for points in draws]), bins, density=True, histtype="step", lw=2,
              color=colour, label=name)  # fmt: skip
axis.set(xlabel="distance to the nearest point", ylabel="density", title="Twenty draws of each")
axis.legend(frameon=False)
