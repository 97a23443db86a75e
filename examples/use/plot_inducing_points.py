"""
Inducing points of a Gaussian process
=====================================

A sparse Gaussian process rests on m inducing points instead of all n rows. What it loses is the trace error: the sum of
the variances that are left at the rows once the points are known. Four ways to choose the points are compared here, on
rows that lie unevenly.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

import diverset as dv
from diverset.integrations import inducing_points

rng = np.random.default_rng(0)
angle = 2.5 * np.pi * rng.random(800) ** 0.5
X = np.column_stack([angle * np.cos(angle), angle * np.sin(angle)]) / 4.0 + 0.08 * rng.standard_normal((800, 2))
length, m = 0.5, 20


def trace_error(points):
    """Sum of the variances that the points leave."""
    R = np.linalg.cholesky(dv.kernels.rbf(points, length_scale=length) + 1e-10 * np.eye(len(points)))
    return len(X) - (np.linalg.solve(R, dv.kernels.rbf(points, X, length_scale=length)) ** 2).sum()


# %%
# The default lowers the trace error itself, first by picking rows and then by moving the points. Greedy conditional
# variance spreads them out, outliers first.

result = inducing_points(X, m, length_scale=length)
found = {
    "default": result.points,
    "greedy variance": inducing_points(X, m, length_scale=length, method="greedy").points,
    "k-DPP": inducing_points(X, m, length_scale=length, method="kdpp", rng=0).points,
    "k-means": KMeans(m, n_init=1, random_state=0).fit(X).cluster_centers_,
}
figure, panels = plt.subplots(1, 4, figsize=(12, 3.4), sharex=True, sharey=True)
for panel, (name, points) in zip(panels, found.items(), strict=True):
    panel.scatter(*X.T, s=2, color="0.8")
    panel.scatter(*points.T, s=30, color="C1", edgecolor="black")
    panel.set(title=f"{name}\ntrace error {trace_error(points):.1f}", aspect="equal", xticks=[], yticks=[])
figure.tight_layout()
plt.show()

# %%
# The result carries the bound, so nothing needs to be computed again.

print(result)
