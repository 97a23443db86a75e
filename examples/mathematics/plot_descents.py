"""
Descents and carries
====================

Write down random digits, and mark where a digit is less than the one before. Or add up a column of random digits, and
mark where a carry occurs. Both are the same determinantal point process, with a kernel that is not symmetric (Borodin,
Diaconis and Fulman 2010).
"""

import matplotlib.pyplot as plt
import numpy as np

from diverset.theory.classics import Carries, Descents

# %%
# Sixty digits and their descents. After a fall the digit is likely to be small, so that another fall is less likely.

falls = Descents(60, values=10)
digits = falls.sample_objects(rng=4)
marked = falls.items_of(digits) + 1
figure, axis = plt.subplots(figsize=(10, 2.8), layout="constrained")
axis.step(np.arange(60), digits, where="mid", color="0.6", lw=1)
axis.plot(np.arange(60), digits, "o", ms=4, color="#1f4e8c")
axis.plot(marked, digits[marked], "o", ms=7, color="#c8102e", label="less than the digit before")
axis.set(xlabel="place", ylabel="digit", ylim=(-0.6, 11.5), yticks=[0, 3, 6, 9], title="Descents in random digits")
axis.legend(frameon=False, loc="upper right")

# %%
# Chances of two falls at a distance, and of runs
# -----------------------------------------------
#
# Neighbours repel; places further apart are independent. Runs of falls die out faster than any power would.

dpp = Descents(12).dpp
distances = np.arange(1, 7)
together = [dpp.marginal([0, int(d)]) for d in distances]
figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
axes[0].bar(distances, together, color="#1f4e8c")
axes[0].axhline(dpp.marginal([0]) ** 2, color="#c8102e", lw=1.5, label="independent")
axes[0].set(xlabel="distance", ylabel="probability of both", title="Two falls", ylim=(0, 0.25))
axes[0].legend(frameon=False, loc="upper right")

lengths = np.arange(1, 8)
by_kernel = [dpp.marginal(range(m)) for m in lengths]
draws = [set(Y.tolist()) for Y in Carries(12).sample(20_000, rng=0)]
by_adding = [np.mean([set(range(m)) <= Y for Y in draws]) for m in lengths]
axes[1].semilogy(lengths, by_kernel, "o-", color="#1f4e8c", label="descents, from the kernel")
axes[1].semilogy(lengths[:5], by_adding[:5], "x", ms=9, mew=2, color="#c8102e", label="carries, by adding digits")
axes[1].semilogy(lengths, 0.45**lengths, "--", color="0.5", label="independent")
axes[1].set(xlabel="length of the run", ylabel="probability", title="Runs")
axes[1].legend(frameon=False)
