r"""Colour histograms in Lab, where equal distances look about equally different."""

from __future__ import annotations

from typing import Any

import numpy as np

from diverset._typing import FloatArray
from diverset.errors import DiversetError
from diverset.images.reading import Image, as_image
from diverset.numerics.validation import check_count

__all__ = ["color_histogram"]

#: Ranges of L, a and b; the middle of the latter, -1/2, keeps neutral grey (a = b = 0) off the edge of two bins.
_LOW = np.array([0.0, -128.0, -128.0])
_HIGH = np.array([100.0, 127.0, 127.0])
#: Linear light of the 256 bytes of sRGB, its red, green and blue in XYZ, and the white of daylight (D65).
_BYTE = np.arange(256) / 255.0
_LIGHT = np.where(_BYTE <= 0.04045, _BYTE / 12.92, ((_BYTE + 0.055) / 1.055) ** 2.4)
_XYZ = np.array([[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]])
_WHITE = np.array([0.95047, 1.0, 1.08883])


def lab(picture: Image) -> FloatArray:
    """Lab colours of sRGB bytes; OpenCV's are up to 0.4 off, enough to move pixels across the edges of bins."""
    t = _LIGHT[picture] @ (_XYZ / _WHITE[:, None]).T
    f = np.where(t > (6 / 29) ** 3, np.cbrt(t), t * (29 / 6) ** 2 / 3 + 4 / 29)
    x, y, z = f[..., 0], f[..., 1], f[..., 2]
    return np.stack([116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)], axis=-1)


def color_histogram(image: Any, bins: int = 8) -> FloatArray:
    r"""Shares of pixels in axis-aligned bins of Lab colour space ([KuleszaTaskar2012]_, section 5.3.3).

    Each axis is cut into :math:`\text{bins}^{1/3}` equal parts, L from 0 to 100 and a and b from -128 to 127.

    Parameters
    ----------
    image : array_like of shape (height, width, 3) or (height, width)
        Red, green and blue (sRGB): bytes, or floats from 0 to 1.
    bins : int
        A cube: 8 or 64 in the monograph.

    Returns
    -------
    ndarray of shape (bins,)
        Shares, which sum to 1; b varies fastest, then a, then L.

    Notes
    -----
    O(pixels). Where pixels are does not matter, so turning or mirroring the image changes nothing.

    Examples
    --------
    >>> import numpy as np
    >>> half_black = np.zeros((4, 4, 3), dtype=np.uint8)
    >>> half_black[:, 2:] = 255
    >>> color_histogram(half_black)
    array([0. , 0. , 0. , 0.5, 0. , 0. , 0. , 0.5])
    """
    number = check_count(bins, name="bins")
    side = round(number ** (1.0 / 3.0))
    if side**3 != number:
        raise DiversetError(f"bins is {bins}; it must be a cube (8, 27, 64, ...), the same number for every axis")
    picture = as_image(image)
    place = np.floor((lab(picture).reshape(-1, 3) - _LOW) * (side / (_HIGH - _LOW))).astype(np.int64)
    np.clip(place, 0, side - 1, out=place)
    index = (place[:, 0] * side + place[:, 1]) * side + place[:, 2]
    counts = np.bincount(index, minlength=number)
    return np.asarray(counts / len(index), dtype=np.float64)
