"""
Tracks of particles
===================

Sets of trajectories of particles on a line, 50 positions by 50 steps. There are :math:`50^{50}` trajectories; a
structured DPP draws a few of them that are smooth, start where particles are likely to start, and keep apart.
Trajectories drawn one by one from the same qualities crowd together.
"""

import matplotlib.pyplot as plt
import numpy as np

import diverset as dv
from diverset.structured import QualityModel

# %%
# The model
# ---------
#
# The quality of a trajectory is that of its start, with a large mode in the middle and two smaller ones, times that of
# its steps, a normal density of their length. Feature l is large for trajectories that pass near position l, at
# whatever time.

n_positions, n_steps = 50, 50
position = np.arange(n_positions)


def density(x):
    """Normal density."""
    return np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi)


start = density((position - 24.5) / 4) + 0.5 * density((position - 9.5) / 3) + 0.5 * density((position - 39.5) / 3)
step = density(np.subtract.outer(position, position))
features = density(np.subtract.outer(position, position))
features /= np.linalg.norm(features, axis=1, keepdims=True)

graph = dv.FactorGraph([n_positions] * n_steps)
graph.add_factor([0], quality=start)
for t in range(n_steps):
    graph.add_factor([t], features=features)
for t in range(n_steps - 1):
    graph.add_factor([t, t + 1], quality=step)
print(graph, f"{graph.log_n_structures / np.log(10):.0f} digits in the number of trajectories")

# %%
# The factor graph, for the first five steps:

short = dv.FactorGraph([n_positions] * 5, names=[f"y{t + 1}" for t in range(5)])
for t in range(5):
    short.add_factor([t], features=features)
for t in range(4):
    short.add_factor([t, t + 1], quality=step)
dv.plots.plot_factor_graph(short, ax=plt.figure(figsize=(7, 2)).add_subplot())

# %%
# Draws
# -----
#
# Qualities are scaled for five trajectories on average. Below each draw are as many trajectories drawn independently,
# with probability proportional to their quality.

tracks = dv.StructuredDPP(graph).rescale(5.0)
sets = tracks.sample(6, rng=4)
alone = QualityModel(graph)
rng = np.random.default_rng(4)

figure, axes = plt.subplots(2, 7, figsize=(12, 5), sharey=True, layout="constrained", width_ratios=[0.5] + [1] * 6)
for row, name in enumerate(["structured DPP", "independent"]):
    axes[row, 0].plot(-start, position, color="#1f4e8c")
    axes[row, 0].set(xticks=[], ylabel=f"{name}\n\nposition")
    axes[row, 0].set_title("start" if row == 0 else "", fontsize=10)
for column, chosen in enumerate(sets, start=1):
    for row, paths in enumerate([chosen, alone.sample(len(chosen), rng=rng)]):
        axes[row, column].plot(paths.T, linewidth=1.2)
        axes[row, column].set(xticks=[0, 25, 49], ylim=(-1, 50))
    axes[0, column].set_title(f"{len(chosen)} trajectories", fontsize=10)
    axes[1, column].set_xlabel("time")
figure.suptitle("Sets of trajectories: drawn together (top) and one by one (bottom)")

# %%
# How many pass where
# -------------------
#
# Part marginals give the expected number of trajectories at each position and time, without any draws.

marginals = np.array(tracks.part_marginals()).T
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
panels = [(marginals, "structured DPP"), (5.0 * np.array(alone.part_marginals()).T, "five independent trajectories")]
top = max(image.max() for image, _ in panels)
for ax, (image, title) in zip(axes, panels, strict=True):
    shown = ax.imshow(image, origin="lower", aspect="auto", cmap="viridis", vmin=0.0, vmax=top)
    ax.set(title=title, xlabel="time")
axes[0].set_ylabel("position")
figure.colorbar(shown, ax=axes, label="expected number of trajectories")

# sphinx_gallery_thumbnail_number = 2
