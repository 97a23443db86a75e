"""Descriptors of a single image: colours, layout (GIST) and details (SIFT words); see ``docs/image_search.rst``."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from diverset._typing import FloatArray, IntArray, RNGLike
from diverset.errors import DiversetError
from diverset.images.reading import Image, as_image, extra
from diverset.numerics.validation import as_generator, check_count, is_sparse

__all__ = ["Vocabulary", "color_histogram", "gist", "learn_vocabulary", "sift_descriptors"]

#: Ranges of L, a and b; the middle of the latter two is -1/2, so neutral grey (a = b = 0) is not on an edge of bins.
_LOW = np.array([0.0, -128.0, -128.0])
_HIGH = np.array([100.0, 127.0, 127.0])
#: Linear light of the 256 bytes of sRGB, its red, green and blue in XYZ, and the white of daylight (D65).
_BYTE = np.arange(256) / 255.0
_LIGHT = np.where(_BYTE <= 0.04045, _BYTE / 12.92, ((_BYTE + 0.055) / 1.055) ** 2.4)
_XYZ = np.array([[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]])
_WHITE = np.array([0.95047, 1.0, 1.08883])


def lab(picture: Image) -> FloatArray:
    """Lab colours of sRGB bytes. OpenCV's differ by up to 0.4, which moves pixels across the edges of bins."""
    t = _LIGHT[picture] @ (_XYZ / _WHITE[:, None]).T
    f = np.where(t > (6 / 29) ** 3, np.cbrt(t), t * (29 / 6) ** 2 / 3 + 4 / 29)
    x, y, z = f[..., 0], f[..., 1], f[..., 2]
    return np.stack([116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)], axis=-1)


def color_histogram(image: Any, bins: int = 8) -> FloatArray:
    r"""Compute the shares of pixels in axis-aligned bins of Lab colour space ([KuleszaTaskar2012]_, section 5.3.3).

    Each axis is cut into :math:`\text{bins}^{1/3}` equal parts, L from 0 to 100 and a and b from -128 to 127.

    Parameters
    ----------
    image : array_like of shape (height, width, 3) or (height, width)
        Red, green and blue (sRGB): bytes, or floats from 0 to 1.
    bins : int
        Number of bins, the cube of a whole number: 8 or 64 in the monograph.

    Returns
    -------
    ndarray of shape (bins,)
        Shares, which sum to 1; b varies fastest, then a, then L.
    """
    number = check_count(bins, name="bins")
    side = round(number ** (1.0 / 3.0))
    if side**3 != number:
        raise DiversetError(f"bins is {bins}; it must be a cube (8, 27, 64, ...), the same number for every axis")
    place = np.floor((lab(as_image(image)).reshape(-1, 3) - _LOW) * (side / (_HIGH - _LOW))).astype(np.int64)
    index = np.ravel_multi_index(tuple(place.T), (side, side, side), mode="clip")
    return np.asarray(np.bincount(index, minlength=number) / len(index))


#: Images are resized to a square of this side, and extended by their mirror image by this border.
SIDE = 128
BORDER = 32
_MARGINS = ((0, 0), (BORDER, BORDER), (BORDER, BORDER))
GRID = 4
#: Orientations on each scale, finest first; centre frequencies fall by the same factor.
ORIENTATIONS = (8, 8, 4)
FINEST = 0.3
STEP = 1.85
#: Widths of the filters in relative frequency, and in angle, in units of the distance between orientations.
SIGMA_FREQUENCY = 0.378
SIGMA_ANGLE = 0.72
#: Contrast normalisation: cycles per image above which details are kept, and a constant added to the contrast.
COARSE = 4.0
FLOOR = 0.2


def gist(image: Any) -> FloatArray:
    """Compute the GIST descriptor of an image: 960 mean absolute values of Gabor responses ([OlivaTorralba2001]_).

    Parameters
    ----------
    image : array_like
        As for :func:`color_histogram`.

    Returns
    -------
    ndarray of shape (960,)
        Nonnegative; entry [channel, filter, row, column] in C order, with 3 channels, 20 filters (scales from the
        finest, orientations from 0 on: orientation 0 responds to vertical edges) and a 4 x 4 grid. An image of one
        colour has the descriptor zero.
    """
    square = extra("cv2").resize(as_image(image), (SIDE, SIDE), interpolation=extra("cv2").INTER_AREA)
    channels = np.moveaxis(square, 2, 0).astype(np.float32)
    return np.asarray(energies(_even_contrast(np.log1p(channels))).reshape(-1), dtype=np.float64)


def energies(channels: NDArray[np.float32]) -> NDArray[np.float32]:
    """Mean absolute values of the responses in every cell: (channel, filter, row, column)."""
    spectra = fft.fft2(np.pad(channels, _MARGINS, mode="symmetric"))
    filters, cell = _gabor_bank(), SIDE // GRID
    found = np.empty((len(channels), len(filters), GRID, GRID), dtype=np.float32)
    for c, spectrum in enumerate(spectra):
        size = np.abs(fft.ifft2(filters * spectrum, overwrite_x=True))[:, BORDER:-BORDER, BORDER:-BORDER]
        found[c] = size.reshape(len(filters), GRID, cell, GRID, cell).mean(axis=(2, 4))
    return found


@cache
def _gabor_bank() -> NDArray[np.float32]:
    """Transfer functions of all filters: (filter, down, across), frequency 0 first."""
    f = fft.fftfreq(SIDE + 2 * BORDER)
    down, across = np.meshgrid(f, f, indexing="ij")
    frequency, angle = np.hypot(down, across), np.arctan2(down, across)
    bank = []
    for scale, number in enumerate(ORIENTATIONS):
        radial = (frequency * STEP**scale / FINEST - 1.0) / SIGMA_FREQUENCY
        for j in range(number):
            off = (angle - np.pi * j / number + np.pi) % (2.0 * np.pi) - np.pi
            angular = off / (SIGMA_ANGLE * np.pi / number)
            bank.append(np.exp(-0.5 * (radial**2 + angular**2)))
    filters = np.array(bank, dtype=np.float32)
    filters[:, 0, 0] = 0.0
    # The highest frequency has no counterpart of opposite sign, so it would make left differ from right.
    filters[:, len(f) // 2, :] = 0.0
    filters[:, :, len(f) // 2] = 0.0
    return filters


def _even_contrast(channels: NDArray[np.float32]) -> NDArray[np.float32]:
    """Subtract low frequencies, and divide by the local contrast, which is the same for all channels."""
    padded = np.pad(channels, _MARGINS, mode="symmetric")
    f = fft.fftfreq(SIDE + 2 * BORDER)
    smooth = np.exp2(-(f[:, None] ** 2 + f**2) / (COARSE / SIDE) ** 2).astype(np.float32)  # 1/2 at `COARSE`
    details = padded - fft.ifft2(fft.fft2(padded) * smooth).real
    grey = details.mean(axis=0)
    variance = fft.ifft2(fft.fft2(grey * grey) * smooth).real
    even = details / (FLOOR + np.sqrt(np.maximum(variance, 0.0)))
    return np.asarray(even[:, BORDER:-BORDER, BORDER:-BORDER], dtype=np.float32)


SAMPLE = 25_000  # largest number of descriptors from which words are learned
_LENGTH = 128
#: Held while the number of threads is limited: two overlapping limits would be lifted in the wrong order.
_ONE_AT_A_TIME = threading.Lock()


def sift_descriptors(image: Any) -> NDArray[np.uint8]:
    """Compute SIFT descriptors of the distinctive points of an image ([Lowe2004]_), by OpenCV.

    The image is as for :func:`color_histogram`, and is converted to grey. The result has shape (n_points, 128).
    """
    cv2 = extra("cv2")
    found = cv2.SIFT_create().detectAndCompute(cv2.cvtColor(as_image(image), cv2.COLOR_RGB2GRAY), None)[1]
    if found is None:
        return np.empty((0, _LENGTH), dtype=np.uint8)
    return np.asarray(np.clip(np.rint(found), 0, 255), dtype=np.uint8)


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Visual words: `centers` of clusters of descriptors, of shape (n_words, 128), and the length `size` of histograms.

    There are fewer words than `size` if the images had too few descriptors.
    """

    centers: NDArray[np.float32]
    size: int

    def words(self, descriptors: Any) -> IntArray:
        """Index of the nearest word to every descriptor; the first of equally near ones."""
        X = _as_descriptors(descriptors).astype(np.float32)
        if len(self.centers) == 0:
            return np.empty(0, dtype=np.int64)
        # |x - c|^2 without |x|^2, which is the same for all c.
        half = 0.5 * np.einsum("ij,ij->i", self.centers, self.centers)
        return np.asarray(np.argmin(half - X @ self.centers.T, axis=1), dtype=np.int64)

    def histogram(self, descriptors: Any) -> FloatArray:
        """Share of the descriptors to which each word is nearest; zeros for an image without descriptors."""
        words = self.words(descriptors)
        return np.asarray(np.bincount(words, minlength=self.size) / max(len(words), 1))


def subsample(descriptors: Sequence[Any], rng: RNGLike = 0) -> NDArray[np.uint8]:
    """At most 25,000 of the descriptors of all images, drawn without replacement."""
    every = np.concatenate([np.empty((0, _LENGTH), dtype=np.uint8), *map(_as_descriptors, descriptors)])
    if len(every) <= SAMPLE:
        return every
    return every[np.sort(as_generator(rng).choice(len(every), SAMPLE, replace=False))]


def learn_vocabulary(descriptors: Sequence[Any], size: int = 256, *, rng: int = 0) -> Vocabulary:
    """Cluster descriptors of many images into visual words ([KuleszaTaskar2012]_, section 5.3.3).

    Parameters
    ----------
    descriptors : sequence of ndarray of shape (n_points, 128)
        As from :func:`sift_descriptors`, one array for each image; at most 25,000 are used, drawn at random.
    size : int
        Number of words; 256 or 512 in the monograph.
    rng : int
        Seed; the same descriptors in the same order give the same words.

    Returns
    -------
    Vocabulary
        Centres by mini-batch k-means, on one thread, so that rounding does not depend on the number of threads.
    """
    number = check_count(size, name="size")
    sample = subsample(descriptors, rng)
    different = np.unique(sample, axis=0)
    if len(different) <= number:
        return Vocabulary(different.astype(np.float32), number)
    clusters = extra("sklearn.cluster").MiniBatchKMeans(
        number, batch_size=2048, max_iter=20, n_init=1, random_state=rng
    )
    from threadpoolctl import threadpool_limits  # comes with scikit-learn

    with _ONE_AT_A_TIME, threadpool_limits(1):
        clusters.fit(sample.astype(np.float32))
    return Vocabulary(np.ascontiguousarray(clusters.cluster_centers_, dtype=np.float32), number)


def _as_descriptors(descriptors: Any) -> NDArray[Any]:
    if is_sparse(descriptors) or np.ndim(descriptors) != 2 or np.shape(descriptors)[1] != _LENGTH:
        raise DiversetError(f"descriptors have shape {np.shape(descriptors)}; they must be (n_points, {_LENGTH})")
    return np.asarray(descriptors)
