"""Precision, recall and F1 by radius against loops over the definition."""

import numpy as np
import pytest

from diverset.errors import DiversetError
from diverset.poses import match_poses, mean_interval


def by_definition(predicted, truth, radius, parts):
    def near(a, b):
        return max(np.hypot(*(a[0] - b[0])), np.hypot(*(a[1] - b[1]))) <= radius

    known = [(p, r) for p in range(len(truth)) for r in parts if not np.isnan(truth[p, r]).any()]
    hits = [
        any(near(predicted[k, r], truth[p, s]) for p, s in known if s == r)
        for k in range(len(predicted))
        for r in parts
    ]
    found = [any(near(predicted[k, r], truth[p, r]) for k in range(len(predicted))) for p, r in known]
    precision, recall = np.mean(hits), np.mean(found)
    total = precision + recall
    return precision, recall, 2 * precision * recall / total if total else 0.0


@pytest.mark.parametrize("parts", [None, (1, 2)])
def test_scores_are_those_of_the_definition(parts):
    rng = np.random.default_rng(0)
    radii = [5.0, 15.0, 30.0, 60.0]
    for _ in range(10):
        predicted, truth = rng.uniform(0, 60, (3, 4, 2, 2)), rng.uniform(0, 60, (2, 4, 2, 2))
        truth[0, 1] = np.nan
        found = match_poses(predicted, truth, radii, parts=parts)
        for i, radius in enumerate(radii):
            expected = by_definition(predicted, truth, radius, range(4) if parts is None else parts)
            assert (found.precision[i], found.recall[i], found.f1[i]) == pytest.approx(expected)


def test_the_limb_turned_round_does_not_match():
    limb = np.array([[[[0.0, 0.0], [0.0, 30.0]]]])
    assert match_poses(limb[:, :, ::-1], limb, [20.0]).f1.tolist() == [0.0]
    assert match_poses(limb, limb, [0.0]).f1.tolist() == [1.0]


def test_nobody_predicted_or_annotated():
    some, nobody = np.zeros((2, 3, 2, 2)), np.zeros((0, 3, 2, 2))
    assert match_poses(nobody, some, [1.0, 2.0]).f1.tolist() == [0.0, 0.0]
    assert match_poses(some, nobody, [1.0]).precision.tolist() == [0.0]
    assert match_poses(some, np.full((1, 3, 2, 2), np.nan), [1.0]).recall.tolist() == [0.0]


def test_shapes_are_checked():
    with pytest.raises(DiversetError, match="predicted has shape"):
        match_poses(np.zeros((2, 3, 2)), np.zeros((2, 3, 2, 2)), [1.0])
    with pytest.raises(DiversetError, match="predicted has 3 parts, truth 4"):
        match_poses(np.zeros((2, 3, 2, 2)), np.zeros((2, 4, 2, 2)), [1.0])


def test_interval_covers_the_mean():
    rng = np.random.default_rng(0)
    hit = 0
    for _ in range(1_000):
        mean, half = mean_interval(rng.normal(size=(60, 1)))
        hit += abs(mean[0]) <= half[0]
    assert 925 <= hit <= 970
