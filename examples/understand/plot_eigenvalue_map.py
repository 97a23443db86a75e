r"""
From eigenvalues of L to those of K
===================================

An eigenvalue :math:`\lambda` of L gives :math:`\lambda / (1 + \lambda)` for K (figure 7 of Kulesza and Taskar 2012):
the probability that its eigenvector takes part in a draw. It reaches 1 only in the limit, which is why a DPP that
always draws something has a K and no L.
"""

import matplotlib.pyplot as plt
import numpy as np

import diverset as dv

lam = np.linspace(0.0, 10.0, 400)
figure, axis = plt.subplots(figsize=(6, 3.8), layout="constrained")
axis.plot(lam, lam / (1.0 + lam), color="#1f4e8c", lw=2)
axis.axhline(1.0, color="0.6", lw=1, ls="--")
axis.set(xlabel=r"eigenvalue $\lambda$ of $L$", ylabel=r"eigenvalue $\lambda/(\lambda+1)$ of $K$", ylim=(0, 1.08))
axis.set_title("The map")

# %%
# The number of items drawn is a sum of independent coin tosses with these probabilities. Multiplying L by a constant
# moves all of them, and with them the size of the sets.

points = np.linspace(0.0, 1.0, 60)[:, None]
L = dv.kernels.rbf(points, length_scale=0.05)
figure, axis = plt.subplots(figsize=(6, 3.8), layout="constrained")
for scale, colour in ((0.1, "#6baed6"), (1.0, "#1f4e8c"), (10.0, "#c8102e")):
    dpp = dv.DPP(scale * L)
    assert np.allclose(np.sort(np.linalg.eigvalsh(dpp.K)), np.sort(dpp.eigenvalues / (1 + dpp.eigenvalues)))
    pmf = dpp.size_distribution
    axis.plot(pmf, "o-", ms=3, color=colour)
    label = f"{scale:g} L\nmean {dpp.expected_size:.1f}"
    axis.text(float(pmf.argmax()), pmf.max() + 0.008, label, ha="center", va="bottom", color=colour, fontsize=9)
axis.set(
    xlabel="number of items drawn",
    ylabel="probability",
    xlim=(-0.5, 25),
    ylim=(-0.01, 0.29),
    title="Sizes of sets: 60 points",
)

# sphinx_gallery_thumbnail_number = 2
