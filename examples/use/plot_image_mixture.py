"""
What makes pictures different? Learning it from comparisons
===========================================================

Forty-eight small landscapes differ in their colours (day, dusk, night, mist) and in what they show (mountains, a town,
the sea). Is a set diverse if its colours are, or if its motifs are? Experts disagree; people who compare sets can
tell (section 5.3 of the monograph).
"""

import matplotlib.pyplot as plt
import numpy as np

import diverset as dv

# %%
# The pictures
# ------------

LIGHT = {
    "day": ((0.45, 0.70, 0.95), (0.25, 0.50, 0.25)),
    "dusk": ((0.95, 0.55, 0.30), (0.30, 0.15, 0.15)),
    "night": ((0.05, 0.06, 0.20), (0.02, 0.10, 0.10)),
    "mist": ((0.85, 0.85, 0.85), (0.60, 0.62, 0.60)),
}
MOTIFS = ("mountains", "town", "sea")
HEIGHT, WIDTH = 84, 112


def landscape(light, motif, rng):
    """A sky above a ground whose outline is the motif."""
    sky, ground = (np.array(colour) + rng.normal(0, 0.02, 3) for colour in LIGHT[light])
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    picture = sky * (1.0 - 0.35 * (y / HEIGHT)[..., None])
    if motif == "mountains":
        line = 45 - sum(a * np.abs(np.sin(f * x + p)) for a, f, p in rng.uniform((4, 0.03, 0), (20, 0.12, 3), (3, 3)))
        inside = y > line
    elif motif == "town":
        edges = np.repeat(rng.uniform(15, 60, size=WIDTH // 8), 8)
        inside = y > edges[x]
        windows = (x % 4 == 1) & (y % 6 < 3)
    else:
        inside = y > rng.uniform(40, 50)
    picture[inside] = ground
    if motif == "town":
        picture[inside & windows] = ground + 0.35
    if motif == "sea":
        waves = 0.12 * np.sin(0.9 * y + 1.5 * np.sin(0.15 * x + rng.uniform(0, 6)))
        picture[inside] = (sky * 0.6 + waves[..., None])[inside]
        sun = (x - rng.uniform(20, 90)) ** 2 + (y - rng.uniform(12, 28)) ** 2 < rng.uniform(30, 80)
        picture[sun] = sky * 0.3 + 0.7
    picture += 0.015 * rng.standard_normal(picture.shape)
    return (picture.clip(0, 1) * 255).astype(np.uint8)


rng = np.random.default_rng(3)
kinds = [(light, motif) for light in LIGHT for motif in MOTIFS for _ in range(4)]
pictures = [landscape(light, motif, rng) for light, motif in kinds]

# %%
# Two features, three experts
# ---------------------------
#
# A histogram of Lab colours, and GIST, which sees outlines and textures. An expert trusts one of them or both.

features = {
    "color-64": [dv.images.color_histogram(picture, 64) for picture in pictures],
    "gist": [dv.images.gist(picture) for picture in pictures],
}
kernels = dv.images.expert_kernels(features, rho=0.1)
print({name: kernel.shape for name, kernel in kernels.items()})

# %%
# A comparison
# ------------
#
# Five pictures are given, drawn by a k-DPP; which of two candidates adds more? Somebody who travels for the motifs
# says: the one whose motif is rarer among the five.

experts = list(kernels.values())


def compare(rng):
    """A comparison in which one candidate's motif is rarer among the five, and which of the two it is."""
    while True:
        partial = dv.KDPP(experts[2], 5).sample(rng=rng).tolist()
        i, j = rng.choice(np.setdiff1d(np.arange(48), partial), 2, replace=False).tolist()
        seen = [sum(kinds[y][1] == kinds[c][1] for y in partial) for c in (i, j)]
        if seen[0] != seen[1]:
            return partial, *((i, j) if seen[0] < seen[1] else (j, i))


instances = [compare(rng) for _ in range(200)]
partial, better, worse = instances[1]
figure, axes = plt.subplots(1, 8, figsize=(11, 1.9), layout="constrained", width_ratios=[1] * 5 + [0.3, 1, 1])
axes[5].set_axis_off()
shown = [*partial, better, worse]
for axis, i in zip([*axes[:5], *axes[6:]], shown, strict=True):
    axis.imshow(pictures[i])
    axis.set(xticks=[], yticks=[], xlabel=", ".join(kinds[i]))
for side in axes[6].spines.values():
    side.set(color="#0b5fb3", linewidth=4)
axes[6].set_title("preferred", fontsize=10, color="#0b5fb3")
figure.suptitle("Five pictures are given; which of the two on the right adds more?")

# %%
# What is learned
# ---------------
#
# Weights on the simplex, by a convex problem: the expert for outlines is trusted, the one for colours is not.

comparisons = [dv.learn.Comparison(experts, [*Y, i], [*Y, j]) for Y, i, j in instances]
learner = dv.learn.KDPPMixtureLearner(gamma=30.0, scaling="pair").fit(comparisons[:150])
for name, weight in zip(kernels, learner.weights_, strict=True):
    print(f"{name:16} {weight:.2f}")
print(f"right on the other 50: {learner.score(comparisons[150:]):.0%}")

# %%
# Draws
# -----
#
# Six pictures by the expert for colours, and six by the learned mixture.

draws = {
    "colour only": dv.KDPP(kernels["color-64"], 6).sample(rng=5),
    "learned mixture": learner.mixture(experts, 6).sample(rng=2),
}
figure, axes = plt.subplots(2, 6, figsize=(10, 3.9), layout="constrained")
for row, (name, picks) in zip(axes, draws.items(), strict=True):
    for axis, i in zip(row, picks, strict=True):
        axis.imshow(pictures[i])
        axis.set(xticks=[], yticks=[], xlabel=", ".join(kinds[i]))
    row[0].set_title(name, loc="left", fontsize=11)
figure.suptitle("Six of 48 pictures, drawn by two k-DPPs")
plt.show()

# %%
# One draw proves nothing. In 300 draws of three the expert for colours has a few more different lights, and the mixture
# a few more different motifs:

for name, model in {
    "colour only": dv.KDPP(kernels["color-64"], 3),
    "learned mixture": learner.mixture(experts, 3),
}.items():
    sets = model.sample(300, rng=0)
    lights, motifs = (np.mean([len({kinds[i][part] for i in Y}) for Y in sets]) for part in (0, 1))
    print(f"{name:16} {lights:.2f} lights, {motifs:.2f} motifs")

# sphinx_gallery_thumbnail_number = 2
