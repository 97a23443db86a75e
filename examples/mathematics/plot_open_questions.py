r"""
Two open questions, explored
============================

Kulesza and Taskar (2012, section 7) close with two questions. Is the entropy of a DPP concave in its marginal kernel K,
as Lyons conjectured? And can :math:`\sum_Y \det(L_Y)^p` be computed quickly for p > 1? For small ground sets both can
be looked at by listing all sets.
"""

import matplotlib.pyplot as plt
import numpy as np

import diverset as dv
from diverset.theory.open_questions import entropy_on_line, log_power_sum, random_marginal_kernel, search_concavity

# %%
# Entropy along random lines
# --------------------------
#
# Left: the entropy on lines between random kernels. Right: the largest curvature found on each of 50 lines, for 2 to 6
# items. Concavity says that all are negative, and so far they are.

rng = np.random.default_rng(0)
figure, axes = plt.subplots(1, 2, figsize=(10.5, 3.9), layout="constrained")
for _ in range(12):
    t, H = entropy_on_line(random_marginal_kernel(5, rng=rng), random_marginal_kernel(5, rng=rng))
    axes[0].plot(t, H, lw=1.3, color=plt.cm.viridis(rng.random()))
axes[0].set(xlabel="t", ylabel="entropy (nats)", title=r"$H((1-t) K_0 + t K_1)$, five items")

for n in range(2, 7):
    found = search_concavity(n, 50, n_points=7, rng=n)
    assert not found.counterexample
    axes[1].scatter(n + rng.uniform(-0.25, 0.25, 50), found.curvatures, s=9, color="#1f4e8c")
axes[1].axhline(0.0, color="#c8102e", lw=1.5)
axes[1].set(xlabel="items", ylabel="largest second derivative", title="The least concave place of each line")

# %%
# Sums of powers
# --------------
#
# For p = 1 the sum is det(L + I). For p = 2 a natural guess, det(L * L + I) with the entrywise square, is the sum of
# the determinants of squares, not the squares of determinants: it is right for independent items only.

strength = np.linspace(0.0, 0.95, 20)
exact, guess = [], []
for s in strength:
    L = (1.0 - s) * np.eye(8) + s
    exact.append(log_power_sum(dv.DPP(L), 2.0))
    guess.append(np.linalg.slogdet(L * L + np.eye(8))[1])
figure, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
axis.plot(strength, exact, "o-", ms=4, color="#c8102e", label=r"$\log \sum_Y \det(L_Y)^2$, all 256 sets")
axis.plot(strength, guess, "--", color="0.5", label=r"$\log\det(L \circ L + I)$")
axis.set(xlabel="similarity of the eight items", ylabel="logarithm", title="Squares of determinants")
axis.legend(frameon=False)
