r"""
All processes in one figure
===========================

The processes of section 2.5 of Kulesza and Taskar (2012) and the DPP, at the same intensity, by three summary
statistics: the pair correlation, Ripley's K and the law of the distance to the nearest neighbour.
"""

# %%
# Every process has about 80 points in the unit square, whose opposite sides are glued so that there is no edge. For
# the Gibbs processes the activity is set by trial, since their intensity has no formula.

import matplotlib.pyplot as plt
import numpy as np

from diverset.plots import plot_points
from diverset.theory.processes import (
    AlphaPermanental,
    AreaInteraction,
    Box,
    ContinuousDPP,
    GibbsProcess,
    LinearCore,
    Strauss,
    VerySoftCore,
    adsorption,
    halton,
    matern_process,
    nearest_neighbour_g,
    pair_correlation,
    poisson,
    ripley_k,
    sobol,
)

torus, target, draws = Box.unit(2, torus=True), 80, 40
rng = np.random.default_rng(0)


def repeat(draw):
    """Forty independent patterns."""
    return [draw() for _ in range(draws)]


largest = 1.0 / np.sqrt(np.pi * target)
gaussian = ContinuousDPP.gaussian(torus, intensity=target, scale=0.99 * largest)

# The permanental process with the same kernel, on a grid of cells; points are uniform within theirs.
cells, cell = torus.grid(32)
counts = AlphaPermanental(gaussian.kernel(cells, cells) * cell, 1.0).sample(draws, rng=1)
bosons = [np.repeat(cells, n, axis=0) + (rng.random((n.sum(), 2)) - 0.5) / 32 for n in counts]

processes = {
    "Poisson": repeat(lambda: poisson(torus, target, rng=rng)),
    "DPP, Gaussian": gaussian.sample(draws, rng=1),
    "DPP, projection": ContinuousDPP.projection(torus, target).sample(draws, rng=1),
    "permanental": bosons,
    "Matérn I": repeat(lambda: matern_process(torus, 150.0, 0.0366, kind=1, rng=rng)),
    "Matérn II": repeat(lambda: matern_process(torus, 300.0, 0.0616, kind=2, rng=rng)),
    "Matérn III": repeat(lambda: matern_process(torus, 300.0, 0.075, kind=3, rng=rng)),
    "adsorption": repeat(lambda: adsorption(torus, 0.0934, rng=rng)),
    "Strauss": GibbsProcess(torus, 245.0, Strauss(0.2, 0.07)).chain(draws, rng=1).sets,
    "hard core": GibbsProcess(torus, 178.0, Strauss(0.0, 0.05)).chain(draws, rng=1).sets,
    "very soft core": GibbsProcess(torus, 330.0, VerySoftCore(0.07)).chain(draws, rng=1).sets,
    "linear core": GibbsProcess(torus, 170.0, LinearCore(0.09)).chain(draws, rng=1).sets,
    "area interaction": GibbsProcess(torus, 13.0, AreaInteraction(np.exp(-500.0), 0.04))
    .chain(draws, burn_in=2500, thin=150, rng=1)
    .sets,
    "Halton": repeat(lambda: halton(target, scramble=True, rng=rng)),
    "Sobol": repeat(lambda: sobol(target, scramble=True, rng=rng)),
}
for name, patterns in processes.items():
    print(f"{name:17} {np.mean([len(X) for X in patterns]):5.1f} points")

# %%
# A draw of each
# --------------

figure, axes = plt.subplots(3, 5, figsize=(11, 7.2), layout="constrained")
for ax, (name, patterns) in zip(axes.flat, processes.items(), strict=True):
    plot_points(patterns[0], title=name, s=6, ax=ax)
plt.show()

# %%
# The comparison
# --------------
# Below 1 in the first two columns there are fewer close pairs than in a Poisson process, above 1 more. The DPP repels
# softly, and the permanental process attracts by as much; thinned processes have a hard core and, beyond it, an
# excess; quasirandom points are even at all scales.

groups = {
    "the DPP and its opposite": ["DPP, Gaussian", "DPP, projection", "permanental"],
    "thinned and sequential": ["Matérn I", "Matérn II", "Matérn III", "adsorption"],
    "Gibbs": ["Strauss", "hard core", "very soft core", "linear core", "area interaction"],
    "quasirandom": ["Halton", "Sobol"],
}
r = np.linspace(0.004, 0.2, 60)
figure, axes = plt.subplots(4, 2, figsize=(9, 11), layout="constrained", sharex=True, sharey="col")
for row, (group, members) in zip(axes, groups.items(), strict=True):
    for name in ["Poisson", *members]:
        style = {"color": "0.6", "linestyle": "--"} if name == "Poisson" else {}
        patterns = processes[name]
        row[0].plot(r, pair_correlation(patterns, torus, r, bandwidth=0.008), label=name, **style)
        row[1].plot(r, ripley_k(patterns, torus, r) / (np.pi * r**2), label=name, **style)
    row[0].set(ylabel=group, ylim=(0, 3.2))
    row[1].set_ylim(0, 2.1)
    row[1].legend(frameon=False, fontsize=10, loc="upper right")
for ax, title in zip(axes[0], ("pair correlation", r"Ripley's $K(r) / \pi r^2$"), strict=True):
    ax.set_title(title)
for ax in axes[-1]:
    ax.set_xlabel("distance r")
figure.suptitle("Related processes, about 80 points each; dashed: Poisson")
plt.show()

# %%
# The distance to the nearest neighbour, for one process of each group:

figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
for name in ("Poisson", "permanental", "DPP, projection", "Matérn II", "hard core", "Sobol"):
    colour, dashes = ("0.6", "--") if name == "Poisson" else (None, "-")
    ax.plot(r, nearest_neighbour_g(processes[name], torus, r), label=name, color=colour, linestyle=dashes)
ax.set(xlabel="distance r", ylabel="share of points with a nearer neighbour", title="Nearest-neighbour $G(r)$")
ax.legend(frameon=False)
plt.show()
