"""
Poses of several people
=======================

A picture with several people, a detector that is noisy, and the question who is where. The best pose and its many
variations outscore every pose of a person who is harder to see. A structured DPP over all :math:`28{,}800^4` poses
draws sets that are good *and* in different places.
"""

import matplotlib.pyplot as plt
import numpy as np

from diverset.plots import plot_clouds, plot_poses
from diverset.poses import LimbDetector, PoseGrid, PoseModel, Skeleton, draw_scene
from diverset.structured import structure_trace

# %%
# Pictures and a detector
# -----------------------
#
# Stick figures with a torso, a head and two arms, among clutter; some stand before others. The detector compares the
# pixels of a limb with those beside it, at every place and 24 orientations. What its responses are worth it learns
# from scenes with known poses.

body = Skeleton.upper_body(60.0)
scenes = [draw_scene(body, rng=[9, i]) for i in range(6)]
shown = [draw_scene(body, rng=[9, i], n_people=n) for i, n in ((17, 4), (30, 3), (65, 5))]
height, width = scenes[0].image.shape
grid = PoseGrid.over((0, 0), (width - 1, height - 1), step=9.0)
detector = LimbDetector(body).calibrated(scenes, grid, rng=0)
print(f"{grid.n_values:,} values a part; a dense spring would take {8 * grid.n_values**2 / 2**30:.1f} GiB")

figure, axes = plt.subplots(1, 5, figsize=(12, 2.6), layout="constrained")
axes[0].imshow(shown[0].image, cmap="gray")
axes[0].set_title("picture", fontsize=10)
for ax, name, maps in zip(axes[1:], body.names, detector.log_scores(shown[0].image, grid), strict=True):
    left, right, top, bottom = grid.box
    image = ax.imshow(maps.max(axis=2), extent=(left, right, bottom, top), cmap="magma", vmin=-4, vmax=8)
    ax.set_title(name, fontsize=10)
for ax in axes:
    ax.set(xticks=[], yticks=[], xlim=(0, width), ylim=(height, 0))
figure.colorbar(image, ax=axes, label="log-odds, best orientation", shrink=0.9)
figure.suptitle("What the part detectors say")

# %%
# Sets of poses
# -------------
#
# Springs tie head and arms to the torso and turn with it. Features say how near a part is to each of 8 x 4 points of
# the image; their width, and the sharpness of the qualities, are such as do well on scenes (see :doc:`/poses`). Beside
# the structured DPP: as many poses drawn independently, and with non-maximum suppression.

models = [
    PoseModel(detector.log_scores(scene.image, grid), grid, body, beta=0.8, sigma=30.0).rescale(len(scene.poses) + 2.0)
    for scene in shown
]
sharp = [PoseModel(detector.log_scores(scene.image, grid), grid, body, beta=1.6) for scene in shown]

figure, axes = plt.subplots(2, 4, figsize=(12, 5), layout="constrained")
for row, scene, model, alone in zip(axes, shown, models, sharp, strict=False):
    poses = model.sample(rng=2)
    panels = {
        f"annotated: {len(scene.poses)} people": scene.poses,
        f"structured DPP: {len(poses)} poses": model.ends(poses),
        "independent": alone.ends(alone.sample_independent(len(poses), rng=2)),
        "non-maximum suppression": alone.ends(alone.sample_suppressed(len(poses), rng=2)),
    }
    for ax, (title, ends) in zip(row, panels.items(), strict=True):
        ax.imshow(scene.image, cmap="gray", vmin=scene.image.min() - np.ptp(scene.image))
        plot_poses(ends, ax=ax, linewidth=3)
        ax.set(xticks=[], yticks=[], xlim=(0, width), ylim=(height, 0))
        ax.set_title(title, fontsize=10)
figure.suptitle("One draw of each method")

# %%
# Part marginals on successive steps
# ----------------------------------
#
# A draw of four poses, one by one. Before each, the cloud shows where the parts of the poses still to come may be, by
# the middle of the limb: torso orange, head green, arms blue and yellow. Poses already drawn are superimposed; places
# like theirs are discounted, not forbidden.

figure, axes = plt.subplots(3, 5, figsize=(12, 6.2), layout="constrained")
for row, scene, model in zip(axes, shown, models, strict=True):
    trace = structure_trace(model.dpp.of_size(4), rng=1)
    row[0].imshow(scene.image, cmap="gray")
    for t, ax in enumerate(row[1:]):
        clouds = model.clouds(trace.marginals[t], along=0.5)
        plot_clouds(clouds, grid.box, top=0.4 * clouds.max(), ax=ax)
        ax.set_facecolor("black")
        if t:
            plot_poses(model.ends(trace.structures[:t]), ax=ax, linewidth=1.4)
    for ax in row:
        ax.set(xticks=[], yticks=[], xlim=(0, width), ylim=(height, 0))
titles = ["picture", "first pose", "second", "third", "fourth"]
for ax, title in zip(axes[0], titles, strict=True):
    ax.set_title(title, fontsize=10)
figure.suptitle("Where the next pose may be")
for row, scene in zip(axes, shown, strict=True):
    row[0].set_ylabel(f"{len(scene.poses)} people", fontsize=9)
print(
    "people:",
    [len(scene.poses) for scene in shown],
    "expected sizes:",
    np.round([m.dpp.expected_size for m in models], 1),
)

# sphinx_gallery_thumbnail_number = 3
