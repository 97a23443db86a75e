"""
Where to measure: D-optimal designs
===================================

A quadratic model of two factors is fitted to twelve experiments. Which twelve of 441 possible settings? A D-optimal
design makes the determinant of the information matrix as large as possible, so that the coefficients are known as well
as twelve experiments allow.
"""

import matplotlib.pyplot as plt
import numpy as np

from diverset.integrations import d_optimal_design

side = np.linspace(-1.0, 1.0, 21)
a, b = (axis.ravel() for axis in np.meshgrid(side, side))
X = np.column_stack([np.ones(len(a)), a, b, a * b, a**2, b**2])
k = 12


def prediction_variance(rows):
    """Variance of the fitted value at every setting, in units of the noise."""
    return np.einsum("ij,jk,ik->i", X, np.linalg.inv(X[rows].T @ X[rows]), X)


# %%
# The design goes to the corners, the middles of the sides and the centre. Twelve settings chosen at random leave the
# corners uncertain.

design = d_optimal_design(X, k)
random = np.random.default_rng(0).choice(len(X), size=k, replace=False)
figure, panels = plt.subplots(1, 2, figsize=(9, 4), sharex=True, sharey=True, layout="constrained")
for panel, (name, rows) in zip(panels, {"D-optimal": design.indices, "random": random}.items(), strict=True):
    variance = prediction_variance(rows).reshape(21, 21)
    shown = panel.imshow(
        variance, extent=(-1.05, 1.05, -1.05, 1.05), origin="lower", vmin=0.0, vmax=2.0, cmap="viridis"
    )
    panel.scatter(a[rows], b[rows], s=60, color="white", edgecolor="black")
    panel.set(title=f"{name}: largest variance {variance.max():.1f}", xlabel="first factor", ylabel="second factor")
figure.colorbar(shown, ax=panels, label="variance of the prediction")
plt.show()
