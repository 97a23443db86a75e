"""
A draw, one pick at a time
==========================

A DPP draws its items one after another, and every pick lowers the chances of what lies near it
(Kulesza and Taskar 2012, section 2.4.4 and figure 8). :func:`diverset.sampling.sampling_trace` keeps the law of the
next item before each pick.
"""

# %%
# On a line
# ---------
# Items are 200 points in [0, 1], alike when they are close. At first the law of the pick is nearly flat; after each
# pick it has a new hole.

import matplotlib.pyplot as plt
import numpy as np

import diverset as dv
from diverset.plots import plot_trace_line, plot_trace_plane

x = np.linspace(0.0, 1.0, 200)
line = dv.DPP(dv.kernels.rbf(x[:, None], length_scale=0.08)).of_size(6)
trace = dv.sampling.sampling_trace(line, rng=3)
figure, axes = plt.subplots(2, 3, figsize=(9, 4.8), gridspec_kw={"hspace": 0.7})
plot_trace_line(trace, x, axes=axes.flat)
plt.suptitle("Six points on an interval: the law of the next pick")
plt.show()

# %%
# In the plane
# ------------
# The same for a grid of 30 by 30 points in the unit square; lighter is more probable.

grid = np.stack(np.meshgrid(np.linspace(0, 1, 30), np.linspace(0, 1, 30)), axis=-1).reshape(-1, 2)
plane = dv.DPP(dv.kernels.rbf(grid, length_scale=0.15)).of_size(12)
trace = dv.sampling.sampling_trace(plane, rng=1)
figure, axes = plt.subplots(2, 3, figsize=(8, 6))
plot_trace_plane(trace, grid, steps=[0, 1, 3, 5, 8, 11], axes=axes.flat)
plt.suptitle("Twelve points in the square: the law of the next pick")
plt.show()

# %%
# Every row of probabilities sums to one, and the picks themselves have none left.

assert np.allclose(trace.probabilities.sum(axis=1), 1.0)
assert trace.probabilities[-1][trace.picks[:-1]].max() == 0.0

# sphinx_gallery_thumbnail_number = 2
