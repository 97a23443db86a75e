"""
A coreset with weights
======================

A mean over 5,000 rows is estimated from a few of them. Rows drawn by a k-DPP of the features are unlike each other, and
weights of one over the inclusion probability make the estimate unbiased. It is precise where the quantity is nearly
linear in the features, as a smooth function is in products of the coordinates. Where rare rows matter little, uniform
rows can be better.
"""

import matplotlib.pyplot as plt
import numpy as np

from diverset.integrations import coreset

rng = np.random.default_rng(0)
points = rng.standard_normal((5000, 2))
x, y = points.T
features = np.column_stack([np.ones(len(x)), x, y, x * y, x**2, y**2])
loss = np.log1p(np.exp(1.0 * x - 0.5 * y))

# %%
# Errors of the estimated mean over 200 coresets of each size:

sizes = (6, 12, 24)
errors: dict[str, list[float]] = {"k-DPP, weighted": [], "uniform": []}
for m in sizes:
    drawn = [coreset(features, m, rng=seed) for seed in range(200)]
    weighted = [float(each.weights @ loss[each.indices]) / len(loss) for each in drawn]
    uniform = [loss[rng.choice(len(loss), size=m, replace=False)].mean() for _ in range(200)]
    for name, estimates in (("k-DPP, weighted", weighted), ("uniform", uniform)):
        errors[name].append(float(np.sqrt(np.mean((np.array(estimates) - loss.mean()) ** 2))))

# %%
# Rows at the rim are drawn more often than in the middle, where many are alike, and have smaller weights.

found = coreset(features, 30, rng=1)
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4), layout="constrained")
left.scatter(x, y, s=2, color="0.8")
left.scatter(*points[found.indices].T, s=found.weights / 4.0, color="C1", edgecolor="black")
left.set(title="30 of 5,000 rows, area by weight", xticks=[], yticks=[], aspect="equal")
for name, values in errors.items():
    right.plot(sizes, values, marker="o", label=name)
right.set(xlabel="rows", ylabel="root mean squared error", ylim=(0.0, None), xticks=sizes)
right.legend(frameon=False)
plt.show()
