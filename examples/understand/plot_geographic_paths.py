"""
Routes between cities
=====================

Routes of four stops among the largest U.S. cities, short and through popular cities, in sets of two to four that lead
through different parts of the country. There are 1.6 billion sequences of stops. The same model shows what random
projections of the features cost.
"""

import tracemalloc

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse

import diverset as dv
from diverset.cli.cities import albers, load_us_cities, load_us_outline

# %%
# The model
# ---------
#
# A stop is a city and the direction, one of four, from which it was reached; a route that would turn back the way it
# came is forbidden, and stops are 150 km apart at least. Quality falls with distance and grows with population (the
# monograph takes hit counts of a search engine). Features of a city are inverse distances to all cities, so that routes
# through the same region are alike.

cities = load_us_cities()
mainland = ~np.isin(cities.states, ["AK", "HI"])
xy = albers(cities.latitude, cities.longitude)[mainland]  # kilometres
n = len(xy)
distance = np.linalg.norm(xy[:, None] - xy[None], axis=2)
popularity = (cities.population[mainland] / cities.population.max()) ** 0.6
features = 1.0 / (100.0 + distance)
features /= np.linalg.norm(features, axis=1, keepdims=True)

# direction[i, j]: the quarter of the compass in which one travels from i to j
angle = np.arctan2(xy[None, :, 1] - xy[:, None, 1], xy[None, :, 0] - xy[:, None, 0])
direction = np.floor((angle + np.pi) / (np.pi / 2)).astype(int) % 4

# Values of a stop are 5 * city + direction of travel, 4 at the start. Onward to every city but the way back.
i, j = np.nonzero(distance > 150.0)
rows, columns, values = [], [], []
for arrived in range(5):
    onward = (direction[i, j] != (arrived + 2) % 4) | (arrived == 4)
    rows.append(5 * i[onward] + arrived)
    columns.append(5 * j[onward] + direction[i, j][onward])
    values.append(np.exp(-distance[i, j][onward] / 800.0))
entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
leg = scipy.sparse.coo_array(entries, shape=(5 * n, 5 * n)).tocsr()
begins = np.arange(5 * n) % 5 == 4

graph = dv.FactorGraph([5 * n] * 4)
for stop in range(4):
    allowed = begins if stop == 0 else ~begins
    graph.add_factor([stop], np.repeat(popularity, 5) * allowed, np.repeat(features, 5, axis=0))
for stop in range(3):
    graph.add_factor([stop, stop + 1], leg)
routes = dv.StructuredDPP(graph)

# %%
# Sets of routes
# --------------

outline = albers(*load_us_outline().T)
figure, axes = plt.subplots(2, 3, figsize=(12, 5.6), layout="constrained")
for column, k in enumerate([2, 3, 4]):
    for row, chosen in enumerate(routes.of_size(k).sample(2, rng=k)):
        ax = axes[row, column]
        ax.fill(*outline.T, facecolor="#f6f4ee", edgecolor="0.6", linewidth=0.8)
        ax.scatter(*xy.T, s=40 * popularity**2, color="0.7", linewidth=0)
        for route in chosen // 5:
            ax.plot(*xy[route].T, "o-", markersize=4, linewidth=1.8)
        ax.set(aspect="equal")
        ax.axis("off")
    axes[0, column].set_title(f"k = {k}")
figure.suptitle("Two draws each of two, three and four routes")

# %%
# Random projections
# ------------------
#
# Projecting the features, one per city, to d random directions makes messages shorter. The L1 distance between the
# laws of the original and the projected model is estimated from draws of the original, and memory is the peak of
# drawing a set.

k = 3
original = routes.of_size(k)
draws = original.sample(300, rng=0)
log_p = np.array([original.log_prob(Y) for Y in draws])
dims = [5, 10, 15, 25, 40, 60, 90, 130]
far, megabytes = [], []
for d in dims:
    repeated = []
    for seed in range(4):
        projected = dv.StructuredDPP(graph, projection=d, rng=seed).of_size(k)
        log_q = np.array([projected.log_prob(Y) for Y in draws])
        repeated.append(2.0 * np.maximum(0.0, -np.expm1(np.minimum(log_q - log_p, 0.0))).mean())
    far.append(np.mean(repeated))
    tracemalloc.start()
    dv.StructuredDPP(graph, projection=d, rng=0).of_size(k).sample(rng=0)
    megabytes.append(tracemalloc.get_traced_memory()[1] / 2**20)
    tracemalloc.stop()
for d, l1, mb in zip(dims, far, megabytes, strict=True):
    print(f"d = {d:3}  L1 = {l1:.2f}  {mb:.0f} MiB")

figure, left = plt.subplots(figsize=(6, 3.8), layout="constrained")
left.plot(dims, far, "o-", color="black")
left.set(xlabel="projection dimension d", ylabel="L1 distance to the original", ylim=(0, None))
left.set_title("What random projections cost and save")
right = left.twinx()
right.plot(dims, megabytes, "s--", color="#1f4e8c")
right.set_ylabel("peak memory of a draw (MiB)", color="#1f4e8c")
right.set_ylim(0, None)
