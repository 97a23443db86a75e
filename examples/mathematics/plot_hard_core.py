r"""
Keeping a distance: Matérn's processes and adsorption
=====================================================

Before DPPs, repulsion was had by thinning a Poisson process until no two points were close
(Kulesza and Taskar 2012, section 2.5.1). Simple to draw; but likelihoods and moments are mostly out of reach.
"""

# %%
# One Poisson set, thinned in three ways
# --------------------------------------
# Points come with a time. Type I removes both points of a close pair, type II the later, type III the later unless the
# earlier is itself gone. Adsorption goes on until no place is left. Discs of half the radius never overlap.

import matplotlib.pyplot as plt
import numpy as np

from diverset.plots import plot_points
from diverset.theory.processes import (
    Box,
    adsorption,
    matern_intensity,
    matern_pair_correlation,
    matern_process,
    matern_survivors,
    pair_correlation,
    poisson,
)

torus, radius = Box.unit(2, torus=True), 0.07
rng = np.random.default_rng(4)
everything = poisson(torus, 150.0, rng=rng)
times = rng.random(len(everything))
patterns = {"Poisson": everything}
for kind, name in ((1, "Matérn I"), (2, "Matérn II"), (3, "Matérn III")):
    patterns[name] = everything[matern_survivors(everything, radius, kind=kind, box=torus, times=times)]
patterns["adsorption"] = adsorption(torus, radius, rng=rng)

figure, axes = plt.subplots(1, 5, figsize=(13, 3.1), layout="constrained")
for ax, (name, X) in zip(axes, patterns.items(), strict=True):
    plot_points(X, radius=None if name == "Poisson" else radius / 2, title=f"{name}: {len(X)} points", s=6, ax=ax)
plt.show()

# %%
# What is known
# -------------
# For types I and II there are formulas for intensity and pair correlation. The curve is the formula, the dots an
# estimate from draws.

r = np.linspace(0.04, 0.2, 33)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
for kind, ax in ((1, axes[0]), (2, axes[1])):
    draws = [matern_process(torus, 150.0, radius, kind=kind, rng=rng) for _ in range(150)]
    fine = np.linspace(0.04, 0.2, 400)
    ax.plot(fine, matern_pair_correlation(fine, 150.0, radius, kind=kind), label="formula", color="0.3")
    ax.plot(r, pair_correlation(draws, torus, r, bandwidth=0.003), "o", markersize=4, label="150 draws", color="C3")
    ax.axhline(1.0, color="0.8", linewidth=0.8)
    ax.set(title=f"Matérn {'I' * kind}", xlabel="distance")
    mean = np.mean([len(X) for X in draws])
    print(f"type {kind}: {mean:.1f} points a draw, {matern_intensity(150.0, radius, kind=kind):.1f} by the formula")
axes[0].set_ylabel("pair correlation")
axes[0].legend(frameon=False)
plt.show()

# %%
# The jamming limit
# -----------------
# Discs dropped one by one cover about 0.547 of the plane when there is no room for another, far from 0.907 of the
# densest packing. On a line the share is Rényi's parking constant, 0.7476.

jammed = adsorption(torus, 0.02, rng=1)
line = adsorption(Box((20_000.0,), torus=True), 1.0, rng=1)
print(f"plane: {len(jammed) * np.pi * 0.01**2:.3f}, line: {len(line) / 20_000:.3f}")

# sphinx_gallery_thumbnail_number = 2
