r"""
Gibbs processes: repulsion by potentials
========================================

A Gibbs process weighs a pattern by a product over its points and pairs (Kulesza and Taskar 2012, section 2.5.2). Any
repulsion can be written down; but the normaliser is out of reach, so draws come from a Markov chain of births, deaths
and moves, and fits from the pseudolikelihood.
"""

# %%
# From no interaction to a hard core
# ----------------------------------
# Strauss's process multiplies the weight by :math:`\gamma` for every pair within a radius. The activity is the same
# in all four panels; the number of points falls with :math:`\gamma`.

import matplotlib.pyplot as plt
import numpy as np

from diverset.plots import plot_points
from diverset.theory.processes import (
    AreaInteraction,
    Box,
    GibbsProcess,
    LinearCore,
    SoftCore,
    Strauss,
    VerySoftCore,
    fit_gibbs,
    pair_correlation,
)

torus, radius = Box.unit(2, torus=True), 0.08
figure, axes = plt.subplots(1, 4, figsize=(11, 3.1), layout="constrained")
for ax, gamma in zip(axes, (1.0, 0.5, 0.1, 0.0), strict=True):
    X = GibbsProcess(torus, 120.0, Strauss(gamma, radius)).sample(rng=2)
    plot_points(X, radius=radius / 2, title=rf"$\gamma = {gamma:g}$: {len(X)} points", s=6, ax=ax)
plt.show()

# %%
# Three more potentials
# ---------------------
# Those of the monograph, as functions of the distance, each with a draw and its pair correlation. The pair correlation
# follows the potential only roughly: third points push pairs together.

potentials = {
    r"$1 - e^{-(r/\sigma)^2}$": VerySoftCore(radius),
    r"$e^{-(\sigma/r)^4}$": SoftCore(radius, n=4),
    r"$\min(r/\sigma, 1)$": LinearCore(radius),
}
r = np.linspace(0.004, 0.24, 60)
figure, axes = plt.subplots(2, 3, figsize=(10, 6.2), layout="constrained", height_ratios=(3, 2))
for column, (name, potential) in enumerate(potentials.items()):
    chain = GibbsProcess(torus, 150.0, potential).chain(60, rng=1)
    plot_points(chain.sets[0], title=name, s=7, ax=axes[0, column])
    axes[1, column].plot(r, potential.psi(r), color="0.3", label=r"potential $\psi$")
    axes[1, column].plot(
        r, pair_correlation(chain.sets, torus, r, bandwidth=0.006), color="C3", label="pair correlation"
    )
    axes[1, column].axvline(radius, color="0.8", linewidth=0.8)
    axes[1, column].set(xlabel="distance", ylim=(0, 1.45))
axes[1, 0].legend(frameon=False, loc="upper right", fontsize=8)
figure.suptitle(r"Pair potentials with $\sigma = 0.08$")
plt.show()

# %%
# Area interaction
# ----------------
# Here a pattern is weighed by the area that discs around its points cover: below :math:`\gamma = 1` they spread,
# above they share it.

figure, axes = plt.subplots(1, 2, figsize=(7.5, 4), layout="constrained")
settings = ((np.exp(-200.0), 3.0, "covers much"), (np.exp(110.0), 90.0, "covers little"))
for ax, (gamma, activity, title) in zip(axes, settings, strict=True):
    X = GibbsProcess(torus, activity, AreaInteraction(gamma, 0.08)).chain(1, burn_in=6000, thin=1, rng=4).sets[0]
    plot_points(X, radius=0.08, title=f"{title}: {len(X)} points", s=7, ax=ax)
figure.suptitle("Area interaction")
plt.show()

# %%
# Learning the interaction
# ------------------------
# The pseudolikelihood needs no normaliser. For each radius it is concave in :math:`\log\beta` and :math:`\log\gamma`;
# the best radius is looked for on a grid.

truth = GibbsProcess(torus, 120.0, Strauss(0.2, 0.06))
fit = fit_gibbs(truth.chain(10, rng=5).sets, torus, Strauss, radius=np.arange(0.03, 0.101, 0.005))
best = fit.process
strauss = best.interaction
assert isinstance(strauss, Strauss)
print("true:   beta 120, gamma 0.20, radius 0.060")
print(f"fitted: beta {best.activity:.0f}, gamma {strauss.gamma:.2f}, radius {strauss.radius:.3f}")

figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
ax.plot([c["radius"] for c, _ in fit.candidates], [value for _, value in fit.candidates], "o-")
ax.axvline(0.06, color="0.7", linestyle="--", label="true radius")
ax.set(xlabel="radius", ylabel="log-pseudolikelihood", title="Ten patterns of Strauss's process")
ax.legend(frameon=False)
plt.show()

# sphinx_gallery_thumbnail_number = 3
