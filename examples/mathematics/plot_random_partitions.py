r"""
Random partitions and increasing subsequences
=============================================

Shuffle a deck, and sort it into piles by the Robinson-Schensted correspondence: the shape is a random partition. With a
Poisson number of cards, its rows are a determinantal point process with the discrete Bessel kernel (Borodin, Okounkov
and Olshanski 2000; Johansson 2001), and the first row is the longest increasing subsequence.
"""

import matplotlib.pyplot as plt
import numpy as np

from diverset.theory.classics import PoissonizedPlancherel

# %%
# A partition of about 2,000, turned to stand on its corner, and the limit shape.

theta = 2_000.0
rows = PoissonizedPlancherel(theta).sample_objects(rng=0)
edge_x, edge_y = [0.0], [float(len(rows))]
for i in range(len(rows) - 1, -1, -1):
    edge_x += [edge_x[-1], float(rows[i])] if rows[i] > edge_x[-1] else []
    edge_y += [edge_y[-1], edge_y[-1]] if len(edge_y) < len(edge_x) else []
    edge_x.append(edge_x[-1])
    edge_y.append(float(i))
x, y = np.array(edge_x), np.array(edge_y)
u = np.linspace(-2.0, 2.0, 200)
limit = 2.0 / np.pi * (u * np.arcsin(u / 2.0) + np.sqrt(4.0 - u**2))
scale = np.sqrt(theta)
figure, axis = plt.subplots(figsize=(6, 3.9), layout="constrained")
axis.plot((x - y) / scale, (x + y) / scale, color="#1f4e8c", lw=1.2, label=f"partition of {rows.sum()}")
axis.plot(u, limit, color="#c8102e", lw=1.5, label="limit shape")
axis.plot([-2.6, 0, 2.6], [2.6, 0, 2.6], color="0.6", lw=1)
axis.set(aspect="equal", title="A random partition", xlim=(-2.7, 2.7), ylim=(0, 2.9))
axis.legend(frameon=False, loc="upper center", fontsize=9)

# %%
# The kernel's diagonal ripples about the limit density, one ripple for each of the last rows.

partitions = PoissonizedPlancherel(100.0)
figure, axis = plt.subplots(figsize=(6.5, 3.9), layout="constrained")
axis.plot(
    partitions.sites, partitions.dpp.inclusion_probabilities, "o-", ms=3, color="#1f4e8c", label="discrete Bessel"
)
axis.plot(
    partitions.sites, partitions.limit_density(), color="#c8102e", lw=1.5, label=r"$\arccos(x/2\sqrt{\theta})/\pi$"
)
axis.set(xlabel="site", ylabel="probability", title=r"Sites $\lambda_i - i$ taken, $\theta = 100$", xlim=(-27, 27))
axis.legend(frameon=False, fontsize=9)

# %%
# The longest increasing subsequence
# ----------------------------------
#
# It is at most l if no site from l on is taken: a gap probability, a single determinant.

lengths = np.arange(10, 31)
top = 60
law = [
    PoissonizedPlancherel(100.0, window=(int(m), top)).dpp.probability(exclude=range(top - int(m) + 1)) for m in lengths
]
first = np.array([shape[0] for shape in partitions.sample_objects(3_000, rng=1)])
figure, axis = plt.subplots(figsize=(7, 3.5), layout="constrained")
axis.bar(lengths, [(first == m).mean() for m in lengths], color="0.8", label="3,000 shuffles")
axis.plot(lengths[1:], np.diff(law), "o-", ms=4, color="#c8102e", label="determinants")
axis.set(xlabel="length", ylabel="probability", title="Longest increasing subsequence of about 100 cards")
axis.legend(frameon=False)
