r"""GIST: energy of each scale and orientation in each part of an image.

Local contrast is evened out, the image is filtered with Gabor functions :math:`g_{s\theta}` of several scales and
orientations, and the size of each response is averaged over the cells of a grid ([OlivaTorralba2001]_):

.. math::  v_{c s \theta} = \frac{1}{|c|} \sum_{x \in c} \left| (I * g_{s\theta})(x) \right|.

The filters are Gaussians in polar coordinates of the frequency plane, :math:`f` cycles a pixel at angle
:math:`\alpha`: with centre frequency :math:`f_s` and m orientations :math:`\theta_j = \pi j / m`,

.. math::

    \hat g_{s\theta}(f, \alpha) = \exp\left(-\frac{(f / f_s - 1)^2}{2 \sigma_f^2}
        - \frac{(\alpha - \theta)^2}{2 \sigma_\alpha^2}\right),

so a response costs a Fourier transform whatever the size of the filter. Three colour channels, orientations 8 + 8 + 4
on three scales and a grid of 4 x 4 give the 960 numbers of the monograph's section 5.3.3.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from diverset._typing import FloatArray
from diverset.images._extras import cv2
from diverset.images.reading import as_image

__all__ = ["gist"]

#: Images are squeezed to this square and continued by their mirror image on every side.
SIDE = 128
BORDER = 32
GRID = 4
#: Orientations on each scale, finest first; centre frequencies fall by the same factor.
ORIENTATIONS = (8, 8, 4)
FINEST = 0.3
STEP = 1.85
#: Widths of the filters: of the relative frequency, and of the angle in units of the distance of orientations.
SIGMA_FREQUENCY = 0.378
SIGMA_ANGLE = 0.72
#: Contrast normalisation: cycles per image above which details are kept, and the least contrast that is divided by.
COARSE = 4.0
FLOOR = 0.2


def gist(image: Any) -> FloatArray:
    r"""The GIST descriptor of an image: 960 mean sizes of Gabor responses.

    Parameters
    ----------
    image : array_like of shape (height, width, 3) or (height, width)
        Red, green and blue: bytes, or floats from 0 to 1.

    Returns
    -------
    ndarray of shape (960,)
        Nonnegative; entry [channel, filter, row, column] in C order, with 3 channels, 20 filters (scales from the
        finest, orientations from 0 on: 0 is for what changes from left to right, as upright edges do) and a 4 x 4 grid.

    Notes
    -----
    Sixty transforms of 192 x 192 points whatever the size of the image. An image of one colour has the descriptor zero.

    Examples
    --------
    Stripes from top to bottom, eight pixels wide: the coarsest scale answers, and of its four orientations the first.

    >>> import numpy as np
    >>> stripes = np.tile(np.where(np.arange(128) // 8 % 2, 255, 0), (128, 1)).astype(np.uint8)
    >>> gist(stripes).reshape(3, 20, 4, 4).mean(axis=(0, 2, 3)).argmax()
    np.int64(16)
    """
    picture = as_image(image)
    square = cv2().resize(picture, (SIDE, SIDE), interpolation=cv2().INTER_AREA)
    channels = np.moveaxis(square, 2, 0).astype(np.float32)
    even = _even_contrast(np.log1p(channels))
    return np.asarray(energies(even).reshape(-1), dtype=np.float64)


def energies(channels: NDArray[np.float32]) -> NDArray[np.float32]:
    """Mean sizes of the responses in every cell: (channel, filter, row, column)."""
    padded = np.pad(channels, ((0, 0), (BORDER, BORDER), (BORDER, BORDER)), mode="symmetric")
    spectra = fft.fft2(padded)
    filters = gabor_bank(padded.shape[1])
    cell = SIDE // GRID
    found = np.empty((len(channels), len(filters), GRID, GRID), dtype=np.float32)
    for c, spectrum in enumerate(spectra):
        size = np.abs(fft.ifft2(filters * spectrum, overwrite_x=True))[:, BORDER:-BORDER, BORDER:-BORDER]
        found[c] = size.reshape(len(filters), GRID, cell, GRID, cell).mean(axis=(2, 4))
    return found


@lru_cache(maxsize=4)
def gabor_bank(side: int) -> NDArray[np.float32]:
    """Transfer functions of all filters on a square of this side: (filter, down, across), frequency 0 first."""
    f = fft.fftfreq(side)
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
    if side % 2 == 0:
        # The highest frequency has no mirror image, and would make left differ from right.
        filters[:, side // 2, :] = 0.0
        filters[:, :, side // 2] = 0.0
    filters.flags.writeable = False
    return filters


def _even_contrast(channels: NDArray[np.float32]) -> NDArray[np.float32]:
    """Take out what changes slowly, and divide by the local contrast, which is the same for all channels."""
    border = ((0, 0), (BORDER, BORDER), (BORDER, BORDER))
    padded = np.pad(channels, border, mode="symmetric")
    smooth = _low_pass(padded.shape[1])
    details = padded - fft.ifft2(fft.fft2(padded) * smooth).real
    grey = details.mean(axis=0)
    variance = fft.ifft2(fft.fft2(grey * grey) * smooth).real
    even = details / (FLOOR + np.sqrt(np.maximum(variance, 0.0)))
    return np.asarray(even[:, BORDER:-BORDER, BORDER:-BORDER], dtype=np.float32)


@lru_cache(maxsize=4)
def _low_pass(side: int) -> NDArray[np.float32]:
    """Gaussian that falls to one half at `COARSE` cycles an image."""
    f = fft.fftfreq(side)
    squared = f[:, None] ** 2 + f[None, :] ** 2
    falls = np.exp2(-squared / (COARSE / SIDE) ** 2).astype(np.float32)
    falls.flags.writeable = False
    return falls
