r"""SIFT descriptors, and words made of them: histograms of the nearest of a few hundred cluster centres."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diverset._typing import FloatArray, IntArray, RNGLike
from diverset.errors import DiversetError
from diverset.images._extras import cv2, sklearn
from diverset.images.reading import as_image
from diverset.numerics.validation import check_count, is_sparse

__all__ = ["Vocabulary", "learn_vocabulary", "sift_descriptors", "subsample"]

#: Descriptors from which words are learned.
SAMPLE = 25_000
_LENGTH = 128
#: Held while the number of threads is limited: limits of several threads would be lifted in the wrong order.
_ONE_AT_A_TIME = threading.Lock()


def sift_descriptors(image: Any) -> NDArray[np.uint8]:
    """Descriptors of the distinctive points of an image ([Lowe2004]_), as OpenCV finds them.

    Parameters
    ----------
    image : array_like of shape (height, width, 3) or (height, width)
        Bytes, or floats from 0 to 1; colours become grey.

    Returns
    -------
    ndarray of uint8 of shape (n_points, 128)
        One row for each point, none for an image without any.
    """
    grey = cv2().cvtColor(as_image(image), cv2().COLOR_RGB2GRAY)
    found = cv2().SIFT_create().detectAndCompute(grey, None)[1]
    if found is None:
        return np.empty((0, _LENGTH), dtype=np.uint8)
    return np.asarray(np.clip(np.rint(found), 0, 255), dtype=np.uint8)


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Visual words: cluster centres of descriptors.

    Parameters
    ----------
    centers : ndarray of float32 of shape (n_words, 128)
        Words; may be fewer than `size` where the images had too few descriptors.
    size : int
        Length of histograms.
    """

    centers: NDArray[np.float32]
    size: int

    def words(self, descriptors: Any) -> IntArray:
        """Number of the nearest word to every descriptor; of equally near ones the first."""
        X = _as_descriptors(descriptors).astype(np.float32)
        if len(self.centers) == 0:
            return np.empty(0, dtype=np.int64)
        # |x - c|^2 without |x|^2, which is the same for all c.
        half = 0.5 * np.einsum("ij,ij->i", self.centers, self.centers)
        return np.asarray(np.argmin(half - X @ self.centers.T, axis=1), dtype=np.int64)

    def histogram(self, descriptors: Any) -> FloatArray:
        """How often each word is the nearest, as shares; zero for an image without descriptors."""
        words = self.words(descriptors)
        counts = np.bincount(words, minlength=self.size)
        return np.asarray(counts / max(len(words), 1), dtype=np.float64)


def subsample(descriptors: Sequence[Any], rng: RNGLike = 0) -> NDArray[np.uint8]:
    """At most 25,000 of the descriptors of all images, drawn without replacement."""
    listed = [_as_descriptors(rows) for rows in descriptors]
    total = sum(map(len, listed))
    every = np.concatenate([np.empty((0, _LENGTH), dtype=np.uint8), *listed])
    if total <= SAMPLE:
        return every
    return every[np.sort(np.random.default_rng(rng).choice(total, SAMPLE, replace=False))]


def learn_vocabulary(descriptors: Sequence[Any], size: int = 256, *, rng: int = 0) -> Vocabulary:
    """Cluster descriptors of many images into visual words ([KuleszaTaskar2012]_, section 5.3.3).

    Parameters
    ----------
    descriptors : sequence of ndarray of shape (n_points, 128)
        As :func:`sift_descriptors` gives them, one array for each image; 25,000 in all are used, drawn at random.
    size : int
        Number of words; 256 or 512 in the monograph.
    rng : int
        Seed; the same descriptors in the same order then give the same words.

    Returns
    -------
    Vocabulary
        With fewer centres than `size` if there are fewer different descriptors.

    Notes
    -----
    Mini-batch k-means of scikit-learn, on one thread, since sums over several may differ in the last digit.
    """
    number = check_count(size, name="size")
    sample = subsample(descriptors, rng)
    different = np.unique(sample, axis=0)
    if len(different) <= number:
        return Vocabulary(different.astype(np.float32), number)
    clusters = sklearn("cluster").MiniBatchKMeans(number, batch_size=2048, max_iter=20, n_init=1, random_state=rng)
    from threadpoolctl import threadpool_limits  # comes with scikit-learn

    with _ONE_AT_A_TIME, threadpool_limits(1):
        clusters.fit(sample.astype(np.float32))
    return Vocabulary(np.ascontiguousarray(clusters.cluster_centers_, dtype=np.float32), number)


def _as_descriptors(descriptors: Any) -> NDArray[Any]:
    if is_sparse(descriptors) or np.ndim(descriptors) != 2 or np.shape(descriptors)[1] != _LENGTH:
        raise DiversetError(f"descriptors have shape {np.shape(descriptors)}; they must be (n_points, {_LENGTH})")
    return np.asarray(descriptors)
