r"""
Other sums over permutations: from repulsion to clustering
==========================================================

Replace the sign in the determinant and other processes come out (Kulesza and Taskar 2012, section 2.5.3): permanents,
immanants, :math:`\alpha`-determinants, hyperdeterminants. None has the algorithms of the DPP, so for a few items all
subsets are listed.
"""

# %%
# Two items
# ---------
# Two items with similarity c, each alike in quality. With the :math:`\alpha`-determinant, -1 is the DPP, 0
# independence and 1 the permanent.

import matplotlib.pyplot as plt
import numpy as np

from diverset.plots import plot_kernel
from diverset.theory.processes import (
    AlphaPermanental,
    Box,
    ContinuousDPP,
    alpha_determinantal,
    character,
    immanantal,
    partitions,
    poisson,
)

alphas = np.linspace(-1.0, 2.0, 61)
figure, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
for c in (0.9, 0.6, 0.3):
    both = [alpha_determinantal([[1.0, c], [c, 1.0]], a).marginal([0, 1]) for a in alphas]
    ax.plot(alphas, both, label=f"c = {c:g}")
for alpha, name in ((-1, "determinant"), (0, "independent"), (1, "permanent")):
    ax.axvline(alpha, color="0.85", linewidth=0.8, zorder=0)
    ax.annotate(name, (alpha, 0.045), (3, 0), textcoords="offset points", fontsize=8, color="0.4")
ax.set(xlabel=r"$\alpha$", ylabel="probability of both", title="Two similar items", ylim=(0.03, 0.45))
ax.legend(frameon=False)
plt.show()

# %%
# Immanants: between the two
# --------------------------
# Nine places on a line, and sets of four, weighted by each immanant of their kernel. Shown is how often two places come
# together, against independent choice of four: blue means less often, red more. The partitions run from one column (the
# k-DPP) to one row (the permanent).

places = np.arange(9)
L = np.exp(-0.5 * (np.subtract.outer(places, places) / 1.2) ** 2)
uniform = 4 * 3 / (9 * 8)
shapes = partitions(4)[::-1]
figure, axes = plt.subplots(1, 5, figsize=(12, 3.2), layout="constrained")
for ax, shape in zip(axes, shapes, strict=True):
    together = immanantal(L, shape).pair_probabilities() - uniform
    np.fill_diagonal(together, 0.0)
    image = plot_kernel(together, colorbar=False, ax=ax)
    image.set_clim(-uniform, uniform)
    ax.set(
        title=f"{shape}\ndimension {character(shape, (1, 1, 1, 1))}",
        xlabel="place",
        ylabel="place",
        xticks=[0, 4, 8],
        yticks=[0, 4, 8],
    )
    ax.label_outer()
figure.colorbar(image, ax=axes, shrink=0.8, label="together, less 1/6")
plt.show()

# %%
# Bosons, independent points, fermions
# ------------------------------------
# The permanental process of physics is drawn exactly: a random Gaussian field, and Poisson points with its squared
# modulus as intensity. Here on a fine grid of places, beside the DPP with the same kernel.

m, scale, intensity = 60, 0.08, 45.0
axis = (np.arange(m) + 0.5) / m
grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
torus = Box.unit(2, torus=True)
fermions = ContinuousDPP.gaussian(torus, intensity=intensity, scale=scale)
# The field from the same modes: independent complex Gaussian coefficients, times the eigenfunctions.
rng = np.random.default_rng(6)
coefficients = (rng.standard_normal(len(fermions.modes)) + 1j * rng.standard_normal(len(fermions.modes))) / np.sqrt(2)
waves = np.exp(2j * np.pi * grid @ fermions.modes.T)
field = np.abs(waves @ (np.sqrt(fermions.eigenvalues) * coefficients)) ** 2
counts = rng.poisson(field / m**2)
bosons = np.repeat(grid, counts, axis=0) + (rng.random((counts.sum(), 2)) - 0.5) / m

figure, axes = plt.subplots(1, 3, figsize=(11, 4.1), layout="constrained")
axes[0].imshow(field.reshape(m, m), extent=(0, 1, 0, 1), origin="lower", cmap="Oranges", alpha=0.8)
for ax, X, name in (
    (axes[0], bosons, "permanental, over its field"),
    (axes[1], poisson(torus, intensity, rng=2), "Poisson"),
    (axes[2], fermions.sample(rng=2), "determinantal"),
):
    ax.scatter(X[:, 0], X[:, 1], s=9, color="black", linewidths=0)
    ax.set(title=f"{name}: {len(X)} points", xlim=(0, 1), ylim=(0, 1), xticks=[], yticks=[], aspect="equal")
figure.suptitle("One kernel, three processes")
plt.show()

# %%
# Moments are :math:`\alpha`-determinants of the kernel, whatever :math:`\alpha`:

K = np.array([[0.5, 0.4], [0.4, 0.5]])
for a in (-1.0, -0.5, 0.5, 1.0, 2.0):
    process = AlphaPermanental(K, a)
    counts = process.sample(20_000, rng=1)
    print(f"alpha {a:4}: E[N0 N1] = {process.factorial_moment([1, 1]):.3f}, drawn {counts.prod(axis=1).mean():.3f}")

# sphinx_gallery_thumbnail_number = 3
