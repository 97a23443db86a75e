"""Descriptors beside those of scikit-image, and words beside a plain search."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from diverset.errors import DiversetError
from diverset.images import Vocabulary, learn_vocabulary, sift_descriptors
from diverset.images.descriptors import SAMPLE, subsample
from images_for_tests import scene


def test_descriptors_are_those_of_scikit_image_at_the_same_points():
    cv2 = pytest.importorskip("cv2")
    feature = pytest.importorskip("skimage.feature")
    cosines, shuffled = [], []
    for seed in range(4):
        picture = scene(seed, 200, 250)
        grey = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)
        points = np.array([point.pt for point in cv2.SIFT_create().detect(grey)])
        ours = sift_descriptors(picture).astype(float)
        assert len(points) == len(ours)
        theirs = feature.SIFT()
        theirs.detect_and_extract(grey / 255.0)
        # Its rows and columns change places, and one of them runs the other way.
        other = theirs.descriptors.reshape(-1, 4, 4, 8).transpose(0, 2, 1, 3)[:, ::-1].reshape(-1, 128).astype(float)
        same = np.abs(points[:, None] - theirs.keypoints[None, :, ::-1]).max(axis=2) < 1.0
        cosine = ours @ other.T / np.linalg.norm(ours, axis=1)[:, None] / np.linalg.norm(other, axis=1)
        assert same.any(axis=0).mean() > 0.5
        cosines += cosine[same].tolist()
        shuffled += cosine[np.roll(same, 7, axis=1)].tolist()
    # A point may have several orientations, and not the same ones by both: hence not all are alike.
    assert len(cosines) > 200
    assert np.median(cosines) > 0.93
    assert np.median(shuffled) < 0.6


def test_descriptors_are_bytes_of_length_128():
    found = sift_descriptors(scene(1))
    assert found.dtype == np.uint8
    assert found.shape[0] > 20
    assert found.shape[1] == 128
    # Lowe's descriptors have length 512 before rounding.
    assert np.linalg.norm(found.astype(float), axis=1) == pytest.approx(np.full(len(found), 512.0), rel=0.05)
    assert (found == sift_descriptors(scene(1))).all()
    assert sift_descriptors(np.full((60, 60, 3), 120, dtype=np.uint8)).shape == (0, 128)
    assert sift_descriptors(np.zeros((1, 1), dtype=np.uint8)).shape == (0, 128)


def test_words_are_the_nearest_centres():
    rng = np.random.default_rng(0)
    words = Vocabulary(rng.uniform(0, 255, size=(20, 128)).astype(np.float32), 20)
    X = rng.integers(0, 256, size=(300, 128), dtype=np.uint8)
    plain = cdist(X.astype(float), words.centers.astype(float)).argmin(axis=1)
    assert (words.words(X) == plain).all()
    assert words.histogram(X) == pytest.approx(np.bincount(plain, minlength=20) / 300)
    assert (words.histogram(np.empty((0, 128))) == np.zeros(20)).all()


def test_separate_clusters_become_words():
    rng = np.random.default_rng(1)
    centres = rng.integers(0, 256, size=(12, 128))
    X = [np.clip(c + rng.integers(-3, 4, size=(200, 128)), 0, 255).astype(np.uint8) for c in centres]
    words = learn_vocabulary(X, 12)
    assert np.sort(cdist(words.centers, centres).argmin(axis=1)).tolist() == list(range(12))
    assert cdist(words.centers, centres).min(axis=1).max() < 10.0
    for own in X:
        assert words.histogram(own).max() == 1.0
    again = learn_vocabulary(X, 12)
    assert (again.centers == words.centers).all()


def test_the_turned_image_has_nearly_the_same_words():
    pictures = [scene(seed) for seed in range(6)]
    words = learn_vocabulary([sift_descriptors(p) for p in pictures], 64)
    rows = np.array([words.histogram(sift_descriptors(p)) for p in pictures])
    turned = np.array([words.histogram(sift_descriptors(np.rot90(p).copy())) for p in pictures])
    unit = [X / np.linalg.norm(X, axis=1, keepdims=True) for X in (rows, turned)]
    S = unit[0] @ unit[1].T
    assert np.diag(S).min() > 0.9
    assert (S.argmax(axis=1) == np.arange(6)).all()


def test_few_descriptors_are_their_own_words():
    X = np.eye(5, 128, dtype=np.uint8) * 200
    words = learn_vocabulary([X, X], 256)
    assert words.centers.shape == (5, 128)
    assert words.histogram(X).shape == (256,)
    assert words.histogram(X).sum() == pytest.approx(1.0)
    nothing = learn_vocabulary([np.empty((0, 128), dtype=np.uint8)], 256)
    assert (nothing.histogram(X) == np.zeros(256)).all()


def test_the_subsample_is_drawn_without_replacement():
    X = np.zeros((SAMPLE + 5000, 128), dtype=np.uint8)
    X[:, :4] = np.arange(len(X), dtype=np.uint32).view(np.uint8).reshape(-1, 4)
    found = subsample([X[:7000], X[7000:]], 3)
    numbers = np.ascontiguousarray(found[:, :4]).view(np.uint32).ravel()
    assert len(numbers) == SAMPLE
    assert (np.diff(numbers.astype(np.int64)) > 0).all()
    assert (found == subsample([X[:7000], X[7000:]], 3)).all()
    assert len(subsample([X[:100]])) == 100


def test_what_are_no_descriptors_is_refused():
    with pytest.raises(DiversetError, match=r"shape \(3, 64\)"):
        learn_vocabulary([np.zeros((3, 64))])
    with pytest.raises(ValueError, match="size"):
        learn_vocabulary([np.zeros((3, 128))], 0)
