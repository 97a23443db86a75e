r"""
Walks that never meet
=====================

Ten simple random walks, conditioned to come back to where they started without ever meeting. Where they are, at one
time or at all times, is a determinantal point process (Karlin and McGregor 1959; Johansson 2004).
"""

import matplotlib.pyplot as plt
import numpy as np

from diverset.theory.classics import NonIntersectingWalks

# %%
# One family of walks, drawn step by step with exact counts of the families that go on from each move.

k, T = 10, 80
home = np.arange(0, 2 * k, 2)
walks = NonIntersectingWalks(home, home, T)
paths = walks.sample_objects(rng=3)
figure, axis = plt.subplots(figsize=(10, 4.2), layout="constrained")
axis.plot(paths.T, lw=1.4, color="#1f4e8c")
axis.set(xlabel="step", ylabel="position", xlim=(0, T), title="Ten walks that start and end side by side")
print(f"{float(walks.n_families):.3g} families")

# %%
# The kernel half way
# -------------------
#
# At step 40 the walks have spread. The kernel's diagonal gives the probability of each place; its ripples are the walks
# themselves, kept in order. Independent walks would have the smooth curve.

middle = NonIntersectingWalks(home, home, T, times=[T // 2])
place = middle.sites[:, 1]
alone = sum(NonIntersectingWalks([int(h)], [int(h)], T, times=[T // 2]).dpp.inclusion_probabilities[
    np.clip((place - h + T // 2) // 2, 0, T // 2)] * (np.abs(place - h) <= T // 2) for h in home)  # fmt: skip
figure, axes = plt.subplots(1, 2, figsize=(10.5, 3.9), layout="constrained", width_ratios=[1.5, 1])
axes[0].plot(place, middle.dpp.inclusion_probabilities, "o-", ms=4, color="#c8102e", label="never meeting")
axes[0].plot(place, alone, color="0.5", label="independent (expected number)")
axes[0].set(xlabel="position", ylabel="probability", xlim=(-22, 40), title=f"Where a walk is at step {T // 2}")
axes[0].legend(frameon=False, fontsize=9)
inside = (place > -16) & (place < 34)
image = axes[1].imshow(middle.kernel[np.ix_(inside, inside)], cmap="RdBu_r", vmin=-0.6, vmax=0.6,
                       extent=(-16, 34, 34, -16))  # fmt: skip
axes[1].set(title="The kernel", xlabel="position")
figure.colorbar(image, ax=axes[1], shrink=0.85)
assert np.isclose(np.trace(middle.kernel), k)
