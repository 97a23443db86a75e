"""
Points in the plane: a DPP and independent points
=================================================

Points of a determinantal point process (DPP) keep away from each other and cover the plane evenly; independent ones
clump (Kulesza and Taskar 2012, section 2.1 and its figure of samples in the plane).
"""

# %%
# Continuous space
# ----------------
# :class:`diverset.theory.processes.ContinuousDPP` draws points exactly: with a projection kernel, the most repulsive
# there is; with a Gaussian kernel, milder; and the same number of independent points beside them.

import matplotlib.pyplot as plt
import numpy as np

import diverset as dv
from diverset.plots import plot_points, plot_sizes, plot_spectrum
from diverset.theory.processes import Box, ContinuousDPP

torus = Box.unit(2, torus=True)
scale = 0.99 / np.sqrt(np.pi * 150)  # nearly as repulsive as a Gaussian kernel can be at this intensity
patterns = {
    "DPP, projection": ContinuousDPP.projection(torus, 150).sample(rng=3),
    "DPP, Gaussian kernel": ContinuousDPP.gaussian(torus, intensity=150.0, scale=scale).sample(n_points=150, rng=3),
    "independent (Poisson)": torus.uniform(150, rng=3),
}

figure, axes = plt.subplots(1, 3, figsize=(11, 4.1), layout="constrained")
for ax, (name, X) in zip(axes, patterns.items(), strict=True):
    plot_points(X, title=name, ax=ax)
figure.suptitle("150 points in the plane")
plt.show()

# %%
# A grid
# ------
# The same on a finite ground set: 900 places, alike when they are near, and a k-DPP of 60 of them.

grid = np.stack(np.meshgrid(np.arange(30), np.arange(30)), axis=-1).reshape(-1, 2) / 30 + 1 / 60
L = dv.kernels.rbf(grid, length_scale=0.08)
rng = np.random.default_rng(0)
chosen = dv.DPP(L).of_size(60).sample(rng=rng)
coins = np.sort(rng.choice(900, size=60, replace=False))

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 4.3), layout="constrained")
for ax, Y, title in ((left, chosen, "60-DPP"), (right, coins, "any 60")):
    plot_points(grid, s=2, color="0.8", ax=ax)
    plot_points(grid[Y], s=22, color="#c8102e", title=title, ax=ax)
figure.suptitle("Sixty of 900 places")
plt.show()

# %%
# Why: the spectrum
# -----------------
# The number of points is a sum of independent coins, one for each eigenvalue of the kernel. The more repulsive the
# kernel, the nearer the eigenvalues to 0 and 1, and the less the number varies; for independent points it is Poisson.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for share in (0.99, 0.6, 0.3):
    model = ContinuousDPP.gaussian(torus, intensity=50.0, scale=share / np.sqrt(np.pi * 50.0))
    plot_spectrum(model.eigenvalues[-160:], label=f"scale {share:g} of the largest", marker="", ax=left)
left.set(title="Eigenvalues, 50 points expected", ylim=(0, 1))
left.legend(frameon=False)
model = ContinuousDPP.gaussian(torus, intensity=50.0, scale=0.99 / np.sqrt(np.pi * 50.0))
draws = model.sample(300, rng=1)
plot_sizes(model.size_distribution, draws=draws, label="law of the DPP", ax=right)
k = np.arange(25, 76)
log_factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, 76)))])
right.plot(k, np.exp(k * np.log(50.0) - 50.0 - log_factorials[k]), color="0.5", label="Poisson law")
right.set(title="Number of points")
right.legend(frameon=False)
plt.show()

# sphinx_gallery_thumbnail_number = 2
