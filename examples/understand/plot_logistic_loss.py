r"""
Learning from comparisons: the logistic loss
============================================

Of two sets people prefer one. A mixture of k-DPPs with weights :math:`\theta` scores both, and pays
:math:`\log(1 + e^{-\gamma x})` for a margin :math:`x` in favour of the better set (figure 14 of Kulesza and Taskar
2012): a smooth version of the hinge, with hardly a price for what is right already.
"""

import matplotlib.pyplot as plt
import numpy as np

import diverset as dv
from diverset.learn import Comparison, KDPPMixtureLearner

margin = np.linspace(-4.0, 4.0, 400)
figure, axis = plt.subplots(figsize=(6, 3.8), layout="constrained")
axis.plot(margin, np.logaddexp(0.0, -margin), color="#c8102e", lw=2, label="logistic")
axis.plot(margin, np.maximum(0.0, -margin), color="0.4", lw=1.2, ls="--", label="hinge at 0")
axis.plot(margin, margin < 0, color="#1f4e8c", lw=1.2, ls=":", label="mistake")
axis.set(xlabel="margin $x$", ylabel="loss", title=r"$\log(1 + e^{-x})$")
axis.legend(frameon=False)

# %%
# A learner
# ---------
#
# Three kernels over 30 items: one sees the first coordinate of a point, one the second, one is noise. Pairs of sets are
# judged by their spread along both coordinates, with some mistakes. The loss finds out which kernels matter.

rng = np.random.default_rng(1)
comparisons = []
for _ in range(80):
    points = rng.random((30, 2))
    kernels = [dv.kernels.rbf(points[:, [c]], length_scale=0.2) for c in (0, 1)]
    kernels.append(dv.kernels.rbf(rng.random((30, 1)), length_scale=0.2))
    one, other = (rng.choice(30, size=4, replace=False) for _ in range(2))
    spread = [np.ptp(points[Y], axis=0).sum() for Y in (one, other)]
    better = spread[0] > spread[1]
    if rng.random() < 0.1:
        better = not better
    comparisons.append(Comparison(kernels, one if better else other, other if better else one))
learner = KDPPMixtureLearner().fit(comparisons)
names = ["first\ncoordinate", "second\ncoordinate", "noise"]
figure, axis = plt.subplots(figsize=(6, 3.8), layout="constrained")
axis.bar(names, learner.weights_, color=["#c8102e", "#1f4e8c", "0.6"])
axis.set(ylabel=r"weight $\theta$", ylim=(0, 1.05), title=f"learned weights; {learner.score(comparisons):.0%} right")
