r"""
Even by design or by chance: discrepancy and integration
========================================================

Quasirandom points cover the square evenly by construction (Kulesza and Taskar 2012, section 2.5.4); those of a
projection DPP do so at random. Averages over either are closer to integrals than averages over independent points.
"""

# %%
# Four ways to place 128 points
# -----------------------------

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import i0

from diverset.plots import plot_points
from diverset.theory.processes import (
    Box,
    ContinuousDPP,
    discrepancy,
    halton,
    integration_errors,
    sobol,
    star_discrepancy,
)

torus = Box.unit(2, torus=True)


def projection_dpp(k, rng):
    """Exactly k points of the projection DPP on the k lowest frequencies."""
    return ContinuousDPP.projection(torus, k).sample(rng=rng)


def independent(k, rng):
    """Independent points."""
    return rng.random((k, 2))


def scrambled_halton(k, rng):
    """Halton points with permuted digits: each uniform."""
    return halton(k, scramble=True, rng=rng)


def scrambled_sobol(k, rng):
    """Sobol points with permuted digits."""
    return sobol(k, scramble=True, rng=rng)


methods = {
    "independent": independent,
    "projection DPP": projection_dpp,
    "Halton": scrambled_halton,
    "Sobol": scrambled_sobol,
}
figure, axes = plt.subplots(1, 4, figsize=(12, 3.5), layout="constrained")
for ax, (name, draw) in zip(axes, methods.items(), strict=True):
    X = draw(128, np.random.default_rng(1))
    plot_points(X, title=f"{name}\nstar discrepancy {star_discrepancy(X):.3f}", s=8, ax=ax)
plt.show()

# %%
# Discrepancy
# -----------
# The discrepancy in the monograph takes boxes that end at the points; the star discrepancy takes all boxes from the
# origin. The first is a lower bound of the second.

sizes = np.array([8, 16, 32, 64, 128, 256])
figure, ax = plt.subplots(figsize=(6.5, 4.2), layout="constrained")
for number, (name, draw) in enumerate(methods.items()):
    star, text = [], []
    for k in sizes:
        draws = [draw(k, np.random.default_rng(seed)) for seed in range(6)]
        star.append(np.mean([star_discrepancy(X) for X in draws]))
        text.append(np.mean([discrepancy(X) for X in draws]))
    ax.loglog(sizes, star, "o-", color=f"C{number}", markersize=4, label=name)
    ax.loglog(sizes, text, ":", color=f"C{number}")
ax.plot([], [], ":", color="0.4", label="as in the monograph")
ax.set(xlabel="points", ylabel="discrepancy", title="Discrepancy of six draws, on average")
ax.legend(frameon=False)
plt.show()

# %%
# Integration
# -----------
# The error of an average over k points, for a smooth periodic function. Independent points give :math:`k^{-1/2}`; for
# a DPP of this kind :math:`k^{-3/4}` is to be expected in the plane (Bardenet and Hardy 2020).


def function(x):
    """A function whose integral is known: the square of a Bessel function."""
    return np.exp(np.cos(2 * np.pi * x[:, 0]) + np.sin(2 * np.pi * x[:, 1]))


figure, ax = plt.subplots(figsize=(6.5, 4.2), layout="constrained")
for name, draw in methods.items():
    errors = integration_errors(function, float(i0(1.0) ** 2), draw, [8, 16, 32, 64, 128], repeats=40, rng=0)
    ax.loglog(errors.sizes, errors.root_mean_square, "o-", markersize=4, label=f"{name}: slope {errors.slope:.2f}")
ax.set(xlabel="points", ylabel="root mean square error", title="Averages as integrals, 40 repetitions")
ax.legend(frameon=False)
plt.show()
