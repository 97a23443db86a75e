"""
Several readings of a sentence
==============================

A tagger that scores the labels of a sentence can list its n best labelings, and these mostly differ in one unimportant
word. A structured DPP over labelings asks for readings that score well *and* differ.
"""

import matplotlib.pyplot as plt
import numpy as np

from diverset.structured import QualityModel, chain_graph, diverse_labelings

# %%
# A sentence with two readings
# ----------------------------
#
# "Time flies like an arrow", with made-up scores: log-probabilities of tags for each word, and of a tag after another.

words = ["time", "flies", "like", "an", "arrow"]
tags = ["noun", "verb", "prep", "det"]
emission = np.log(
    np.array(
        [
            [0.70, 0.27, 0.02, 0.01],
            [0.42, 0.55, 0.02, 0.01],
            [0.02, 0.40, 0.57, 0.01],
            [0.01, 0.01, 0.01, 0.97],
            [0.93, 0.05, 0.01, 0.01],
        ]
    )
)
transition = np.log(
    np.array(
        [
            [0.30, 0.40, 0.25, 0.05],
            [0.30, 0.10, 0.30, 0.30],
            [0.20, 0.05, 0.05, 0.70],
            [0.93, 0.03, 0.02, 0.02],
        ]
    )
)

# %%
# By score alone
# --------------
#
# Max-product message passing lists the best labelings in order.

model = QualityModel(chain_graph(emission, transition), power=2.0)
plain = model.n_best(4)


def shown(labels):
    """Words with their tags."""
    return " ".join(f"{word}/{tags[y]}" for word, y in zip(words, labels, strict=True))


for y, log_p in zip(plain, model.log_prob(plain), strict=True):
    print(f"{np.exp(log_p):.3f}  {shown(y)}")

# %%
# By score and difference
# -----------------------
#
# Two labelings are similar by the number of words they agree on. The temperature says how much score difference buys.

diverse = diverse_labelings(emission, transition, k=4, temperature=4.0, rng=0)
for y, log_p in zip(diverse.labels, model.log_prob(diverse.labels), strict=True):
    print(f"{np.exp(log_p):.3f}  {shown(y)}")

# %%
# Side by side: each row is a labeling, colours are tags.

figure, axes = plt.subplots(1, 2, figsize=(9, 2.8), layout="constrained")
colours = plt.get_cmap("Set2", len(tags))
for ax, (labels, title) in zip(axes, [(plain, "four best"), (diverse.labels, "four diverse")], strict=True):
    ax.imshow(labels, cmap=colours, vmin=-0.5, vmax=len(tags) - 0.5, aspect="auto")
    for (i, j), y in np.ndenumerate(labels):
        ax.text(j, i, tags[y], ha="center", va="center", fontsize=9)
    ax.set(xticks=range(len(words)), xticklabels=words, yticks=range(4), yticklabels=range(1, 5), title=title)

# %%
# How far apart are the lists? The mean number of words on which two labelings differ, for growing lists:

sizes = range(2, 9)
apart: dict[str, list[float]] = {"n best": [], "diverse": []}
for k in sizes:
    for name, labels in [
        ("n best", model.n_best(k)),
        ("diverse", diverse_labelings(emission, transition, k=k, temperature=4.0, rng=0).labels),
    ]:
        differ = (labels[:, None] != labels[None]).sum(axis=2)
        apart[name].append(differ.sum() / (k * (k - 1)))
figure, ax = plt.subplots(figsize=(5, 3.2), layout="constrained")
for name, values in apart.items():
    ax.plot(sizes, values, "o-", label=name)
ax.set(xlabel="labelings in the list", ylabel="words that differ", ylim=(0, None), title="Difference within the list")
ax.legend()
