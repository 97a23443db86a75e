r"""Several people in one picture: poses as structures, sets of them as a DPP ([KuleszaTaskar2012]_, section 6.4).

A pose gives a position and an orientation to each body part. How good it is says a pictorial structure: scores of part
detectors, and springs between the parts. What it is like says where its parts are. A structured DPP then
draws sets of good poses in different places, as many as there are people, without a rule that forbids any two.

`PoseGrid`, `Skeleton`
    Values of the parts, and the parts: sizes, and springs in the frame of the part they hang on.
`PoseModel`
    Scores, grid and skeleton together: the structured DPP (``model.dpp``), and two baselines, independent poses and
    non-maximum suppression.
`match_poses`
    Precision, recall and F1 by radius.
`draw_scene`, `LimbDetector`, `simulate_maps`
    Data with known poses: pictures with a detector that looks at their pixels, and maps around annotated poses.
"""

from diverset.poses.detector import LimbDetector
from diverset.poses.features import location_features, reference_points
from diverset.poses.grid import PoseGrid
from diverset.poses.matching import MatchScores, match_poses, mean_interval
from diverset.poses.model import PoseModel
from diverset.poses.scenes import Scene, draw_pose, draw_scene
from diverset.poses.scores import maps_on_grid, read_score_maps
from diverset.poses.simulate import DetectorNoise, simulate_maps
from diverset.poses.skeleton import Part, Skeleton, Spring
from diverset.poses.springs import spring_factor

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
