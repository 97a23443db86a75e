"""
Diverse mini-batches
====================

A data set has ten clusters of very different sizes. A uniform batch of ten rows misses four of them on average, the
small ones first. A batch from a k-DPP of the features misses fewer. Weighted by one over the inclusion probability, its
mean gradient is unbiased, and it varies less.
"""

import matplotlib.pyplot as plt
import numpy as np

from diverset.integrations.torch import DiverseBatchSampler

# %%
# The data
# --------
#
# The largest cluster has ten times as many rows as the smallest. Features are random Fourier features, under which
# near rows are alike.

rng = np.random.default_rng(3)
sizes = np.linspace(600, 60, 10).astype(int)
centres = 4.0 * np.column_stack([np.cos(np.arange(10) * 0.63), np.sin(np.arange(10) * 0.63)])
cluster = np.repeat(np.arange(10), sizes)
X = centres[cluster] + 0.4 * rng.standard_normal((len(cluster), 2))
Z = X @ rng.standard_normal((2, 16))
features = np.hstack([np.cos(Z), np.sin(Z)])

# %%
# Batches
# -------
#
# ``DataLoader(dataset, batch_sampler=sampler)`` would take the sampler as it is. Here its batches are read directly.

sampler = DiverseBatchSampler(features, batch_size=10, rng=0, n_batches=1000)
batches = list(sampler)
uniform = [rng.choice(len(X), size=10, replace=False) for _ in range(1000)]
covered = [np.mean([len(set(cluster[batch])) for batch in kind]) for kind in (batches, uniform)]
print(f"clusters in a batch of ten: {covered[0]:.1f} of the k-DPP, {covered[1]:.1f} at random")

# %%
# The gradient of a linear model, :math:`(w^T x - y)\,x` for each row, and how far the estimate of its mean is off.

y = np.sin(cluster) + 0.1 * rng.standard_normal(len(X))
g = (X @ np.array([0.3, -0.2]) - y)[:, None] * X
weights = sampler.weights
by_dpp = np.array([((weights[b] @ g[b] / len(X) - g.mean(axis=0)) ** 2).sum() for b in batches])
at_random = np.array([((g[b].mean(axis=0) - g.mean(axis=0)) ** 2).sum() for b in uniform])
ratio = by_dpp.mean() / at_random.mean()
error = 1.96 * by_dpp.std() / np.sqrt(1000) / at_random.mean()
print(f"variance of the gradient: {ratio:.2f} ± {error:.2f} of that of uniform batches")

# %%
figure, panels = plt.subplots(1, 2, figsize=(8, 4), sharex=True, sharey=True)
for panel, batch, title in zip(panels, (batches[0], uniform[0]), ("k-DPP", "uniform"), strict=True):
    panel.scatter(*X.T, s=2, color="0.8")
    panel.scatter(*X[np.array(batch)].T, s=40, color="C1", edgecolor="black")
    panel.set(title=f"a batch, {title}", aspect="equal", xticks=[], yticks=[])
figure.tight_layout()
plt.show()
