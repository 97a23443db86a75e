"""
Large cities that are far apart
===============================

Pick ten of the 200 most populous U.S. cities. By population alone, New York and Philadelphia are both taken,
an hour and a half by train apart. A determinantal point process (DPP) trades population against distance: it
favours sets of cities that are large *and* unlike each other.
"""

import matplotlib.pyplot as plt
import numpy as np

import diverset as dv
from diverset.cli.cities import choose_cities, draw_us_map, load_us_cities

# %%
# The model
# ---------
#
# Each city has a quality, here the square root of its population, and each pair has a similarity that falls
# with distance. Positions are points in space, so that distances in a straight line give a valid kernel.

cities = load_us_cities()
quality = np.sqrt(cities.population / cities.population.max())
similarity = dv.kernels.rbf(cities.points, length_scale=500.0)  # kilometres
dpp = dv.DPP.from_quality_diversity(quality, similarity)

# %%
# The probability of a set A is proportional to
#
# .. math::  \det(L_A) = \Big(\prod_{i \in A} q_i^2\Big) \det(S_A),
#
# the product of the populations times the squared volume that the cities span.

# %%
# Ten cities
# ----------
#
# Fixing the size gives a k-DPP. Every set of ten now has a probability, and so has every single city.

ten = dpp.of_size(10)
picks = dv.map_greedy(dpp, k=10).indices
largest = np.arange(10)

for city in picks:
    print(f"{cities.labels[city]:18} {ten.inclusion_probabilities[city]:.3f}")

# %%
# The picks are more likely than the ten largest by a factor of

print(f"{np.exp(ten.log_prob(picks) - ten.log_prob(largest)):.1f}")

# %%
# On the map
# ----------
#
# Filled discs are the picks, rings the ten largest cities.

draw_us_map(choose_cities(10), plt.figure(figsize=(11, 7)))

# %%
# How far should cities see each other?
# -------------------------------------
#
# The length scale decides. Below a hundred kilometres hardly any two cities are alike, and the choice is
# close to the plain one; at a thousand, each pick clears a region, and the total population falls.

scales = np.array([25, 50, 100, 200, 300, 400, 500, 600, 800, 1000])
nearest, people = [], []
for scale in scales:
    choice = choose_cities(10, length_scale=float(scale))
    nearest.append(cities.closest_pair(choice.diverse)[2])
    people.append(cities.population[choice.diverse].sum() / 1e6)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
left.plot(scales, nearest, "o-", color="#c8102e")
left.set(xlabel="length scale (km)", ylabel="closest two picks (km)", ylim=(0, 650))
right.plot(scales, people, "o-", color="#1f4e8c")
right.set(xlabel="length scale (km)", ylabel="people in the ten cities (million)", ylim=(0, 28))
