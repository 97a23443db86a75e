"""
Quality against diversity, along the dial
=========================================

A search returns 400 results about 15 topics. Popular topics have more results and higher scores, so the ten best by
score are near copies of each other. How much score must be given up for how much variety?
"""

from collections.abc import Callable

import matplotlib.pyplot as plt
import numpy as np

import diverset as dv

# %%
# The results
# -----------
#
# Every topic is a direction, every result a vector near its own; the share of a topic falls with its rank.

rng = np.random.default_rng(7)
topics, n, dimension = 15, 400, 48
share = 1.0 / np.arange(1, topics + 1)
topic = rng.choice(topics, size=n, p=share / share.sum())
directions = rng.standard_normal((topics, dimension)) / np.sqrt(dimension)
vectors = directions[topic] + 0.6 * rng.standard_normal((n, dimension)) / np.sqrt(dimension)
score = np.clip(0.75 - 0.03 * topic + 0.1 * rng.standard_normal(n), 0.0, 1.0)

# %%
# Turning the dial
# ----------------
#
# ``diversity`` runs from 0, the ten best scores, to 1, the largest volume. Maximal marginal relevance (MMR) has a dial
# of the same direction here, so one loop serves both.

dials = np.linspace(0.0, 1.0, 21)
methods: dict[str, Callable[..., dv.Selection]] = {"dv.select": dv.select, "MMR": dv.baselines.mmr}
styles = {"dv.select": ("#c8102e", "o"), "MMR": ("#1f4e8c", "s")}
curves = {}
for name, function in methods.items():
    sets = [function(vectors, 10, quality=score, diversity=d).indices for d in dials]
    curves[name] = {
        "mean score of the ten": [score[Y].mean() for Y in sets],
        "different items (Vendi score)": [dv.metrics.vendi_score(vectors[Y]) for Y in sets],
        "topics among the ten": [len(set(topic[Y])) for Y in sets],
    }

# %%
# The trade-off
# -------------
#
# Up and to the right is better. The numbers at the points are settings of the dial. Near 0 a little diversity is almost
# free; near 1 the last bit of volume costs most of the score.

figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
for axis, measure in zip(axes, ("different items (Vendi score)", "topics among the ten"), strict=True):
    for name, (colour, sign) in styles.items():
        x, y = curves[name]["mean score of the ten"], curves[name][measure]
        axis.plot(x, y, color=colour, marker=sign, markersize=4, label=name)
        for at in (0, 4, 10, 16, 20) if name == "dv.select" else ():
            axis.annotate(f"{dials[at]:g}", (x[at], y[at]), xytext=(7, 5), textcoords="offset points", color=colour)
    axis.set(xlabel="mean score of the ten", ylabel=measure)
    axis.margins(x=0.07, y=0.08)
axes[0].legend(frameon=False, loc="lower left")
figure.suptitle("What a little diversity costs: ten of 400 results along the dial")
