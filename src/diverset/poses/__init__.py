r"""Poses of several people in one picture, as sets drawn from a structured DPP ([KuleszaTaskar2012]_, section 6.4).

A pose gives a position and an orientation to each body part. Its quality comes from a pictorial structure: scores of
part detectors and springs between the parts. Its diversity features are the locations of its parts. A structured
DPP then draws sets of good poses in different places, without a rule that forbids overlap.

`PoseGrid`, `Skeleton`
    The values that parts can take, and the parts with their sizes and springs.
`PoseModel`
    Scores, grid and skeleton together: the structured DPP (``model.dpp``) and two baselines, independent poses and
    non-maximum suppression.
`match_poses`
    Precision, recall and F1 by radius.
`draw_scene`, `LimbDetector`, `simulate_maps`
    Data with known poses: drawn pictures, a detector for them, and simulated detector maps.
"""

from diverset.poses.grid import PoseGrid, location_features, maps_on_grid, read_score_maps, reference_points
from diverset.poses.model import MatchScores, PoseModel, match_poses, mean_interval
from diverset.poses.simulate import DetectorNoise, LimbDetector, Scene, draw_pose, draw_scene, simulate_maps
from diverset.poses.skeleton import Part, Skeleton, Spring, spring_factor

__all__ = [
    "DetectorNoise",
    "LimbDetector",
    "MatchScores",
    "Part",
    "PoseGrid",
    "PoseModel",
    "Scene",
    "Skeleton",
    "Spring",
    "draw_pose",
    "draw_scene",
    "location_features",
    "maps_on_grid",
    "match_poses",
    "mean_interval",
    "read_score_maps",
    "reference_points",
    "simulate_maps",
    "spring_factor",
]
