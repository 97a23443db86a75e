r"""
Eigenvalues of random matrices
==============================

Eigenvalues repel, exactly as a determinantal point process says (Ginibre 1965; Mehta and Gaudin 1960; Dyson 1962). Each
ensemble is drawn here twice: from matrices, and from its kernel, which knows of no matrix.
"""

import matplotlib.pyplot as plt
import numpy as np

from diverset.theory.classics import CUE, GUE, Ginibre

# %%
# In the plane: Ginibre
# ---------------------
#
# The eigenvalues of a matrix of complex normal numbers fill a disc of radius :math:`\sqrt n` evenly: the circular law.

n = 250
ginibre = Ginibre(n)
rng = np.random.default_rng(0)
radius = np.sqrt(n)
alone = radius * np.sqrt(rng.random(n)) * np.exp(2j * np.pi * rng.random(n))
panels = {
    "from a matrix": ginibre.sample_eigenvalues(1, rng=rng)[0],
    "from the kernel": ginibre.sample(rng=rng),
    "independent": alone,
}
figure, axes = plt.subplots(1, 3, figsize=(11, 4), sharex=True, sharey=True, layout="constrained")
for axis, (title, z) in zip(axes, panels.items(), strict=True):
    axis.scatter(z.real, z.imag, s=9, color="0.5" if title == "independent" else "#1f4e8c")
    axis.add_patch(plt.Circle((0, 0), radius, fill=False, color="#c8102e", lw=1))
    axis.set(aspect="equal", title=title, xticks=[], yticks=[])
figure.suptitle(f"{n} eigenvalues of the complex Ginibre ensemble, and {n} independent points")

# %%
# On the line: the Gaussian unitary ensemble
# ------------------------------------------
#
# The density of the eigenvalues of a Hermitian matrix approaches a semicircle. For small n it has one ripple for each.

figure, axis = plt.subplots(figsize=(7, 3.8), layout="constrained")
small = GUE(8)
x = np.linspace(-7.5, 7.5, 600)
axis.hist(small.sample_eigenvalues(4_000, rng=1).ravel(), 120, density=True, color="0.8", label="matrices")
axis.plot(x, small.intensity(x) / 8, color="#c8102e", label="kernel")
axis.plot(x, small.limit_density(x) / 8, color="#1f4e8c", ls="--", label="semicircle")
axis.set(xlabel="eigenvalue", ylabel="density", title="n = 8", xlim=(-7.5, 7.5), ylim=(0, 0.165))
axis.legend(frameon=False, fontsize=9, ncols=3, loc="upper center")

# %%
# On the circle: how many in an arc
# ---------------------------------
#
# The number of eigenvalues of a random unitary matrix in half the circle is a sum of independent coin tosses, read off
# the kernel, and varies very little.

cue = CUE(40)
figure, axis = plt.subplots(figsize=(7, 3.8), layout="constrained")
pmf = cue.count_distribution(0.0, np.pi)
counts = (cue.sample_eigenvalues(3_000, rng=2) < np.pi).sum(axis=1)
size = np.arange(41)
binomial = np.exp(np.cumsum(np.log(np.r_[1, 41 - size[1:]] / np.r_[1, size[1:]]))) / 2.0**40
axis.bar(size, np.bincount(counts, minlength=41) / len(counts), color="0.8", label="matrices")
axis.plot(size, pmf, "o-", ms=4, color="#c8102e", label="kernel")
axis.plot(size, binomial, "s--", ms=3, color="#1f4e8c", label="independent")
axis.set(
    xlabel="eigenvalues in half the circle",
    ylabel="probability",
    title="CUE, n = 40",
    xlim=(10, 30),
    xticks=[10, 15, 20, 25, 30],
)
axis.legend(frameon=False, fontsize=9)
