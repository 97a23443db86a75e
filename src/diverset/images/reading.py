"""Images from files: found by name, decoded, upright, in colour, and small enough to compare."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from diverset.errors import DiversetError
from diverset.images._extras import pillow
from diverset.numerics.validation import check_count

__all__ = ["Image", "as_image", "center_crop", "decode_image", "find_images", "quiet_about_size", "read_image"]

#: Height x width x (red, green, blue), one byte each.
Image: TypeAlias = NDArray[np.uint8]

EXTENSIONS = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff")
#: The larger side to which images are reduced, as the monograph's judges saw them.
LONGEST = 250


def find_images(folder: str | os.PathLike[str]) -> list[Path]:
    """Files below a folder that are images by their names, in the order of their paths.

    Parameters
    ----------
    folder : path-like
        Searched with all folders in it; names that begin with a dot are passed over.

    Returns
    -------
    list of Path
        The same order on every machine.
    """
    root = Path(folder)
    if not root.is_dir():
        raise DiversetError(f"{folder} is not a folder; name one that holds images")
    found = []
    for place, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [
            Path(place) / name for name in files if name.lower().endswith(EXTENSIONS) and not name.startswith(".")
        ]
    if not found:
        raise DiversetError(f"{folder} holds no images; looked for {', '.join(EXTENSIONS)}")
    return sorted(found, key=lambda path: path.relative_to(root).parts)


def read_image(path: str | os.PathLike[str], *, longest: int = LONGEST) -> Image:
    """Read an image as red, green and blue bytes, upright, with its larger side reduced to `longest` pixels.

    Transparent parts become white, the first frame stands for an animation, and small images stay as they are.

    Parameters
    ----------
    path : path-like
        The file, in any format that Pillow reads.
    longest : int
        Pixels of the larger side at most.

    Returns
    -------
    ndarray of uint8 of shape (height, width, 3)
        The picture.

    Raises
    ------
    DiversetError
        If the file cannot be read, or is not an image, or is damaged.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise DiversetError(f"cannot read {path}: {error.strerror or error}") from error
    try:
        with quiet_about_size():
            return decode_image(data, longest=longest)[0]
    except DiversetError as error:
        raise DiversetError(f"cannot read {path}: {error}") from None


def decode_image(data: bytes, *, longest: int = LONGEST) -> tuple[Image, tuple[int, int]]:
    """An image from the bytes of its file, reduced, and its full width and height."""
    longest = check_count(longest, name="longest")
    pil = pillow()
    if not data:
        raise DiversetError("the file is empty")
    try:
        with pil.open(io.BytesIO(data)) as picture:
            # Sides change places where the camera was held upright (EXIF orientations 5 to 8).
            turned = picture.getexif().get(0x0112, 1) in (5, 6, 7, 8)
            size = picture.size[::-1] if turned else picture.size
            picture.draft("RGB", (longest, longest))  # JPEG files are then decoded no larger than needed
            upright = pillow("ImageOps").exif_transpose(picture)
            upright.load()
            rgb = _on_white(upright)
    except DiversetError:
        raise
    except pil.UnidentifiedImageError:
        raise DiversetError("the file is not an image") from None
    except Exception as error:  # decoders raise what they like: OSError, SyntaxError, struct.error, EOFError, ...
        reason = str(error).strip() or type(error).__name__
        raise DiversetError(f"the image is damaged or too large ({reason})") from None
    if max(rgb.size) > longest:
        share = longest / max(rgb.size)
        smaller = tuple(max(1, round(side * share)) for side in rgb.size)
        rgb = rgb.resize(smaller, pil.Resampling.LANCZOS, reducing_gap=3.0)
    return np.asarray(rgb, dtype=np.uint8), (int(size[0]), int(size[1]))


def _on_white(picture: Any) -> Any:
    """Colours, with whatever is transparent on white paper."""
    if picture.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in picture.info:
        drawn = picture.convert("RGBA")
        paper = pillow().new("RGBA", drawn.size, "white")
        return pillow().alpha_composite(paper, drawn).convert("RGB")
    if picture.mode.startswith("I;16") or picture.mode in ("I", "F"):
        # Sixteen bits a pixel: scaled to what is there, since Pillow would clip it.
        values = np.asarray(picture, dtype=np.float64)
        low, high = float(values.min()), float(values.max())
        scaled = (values - low) / ((high - low) or 1.0) * 255.0
        return pillow().fromarray(scaled.round().astype(np.uint8)).convert("RGB")
    return picture.convert("RGB")


@contextmanager
def quiet_about_size() -> Iterator[None]:
    """Let photographs of a hundred megapixels pass without Pillow's warning; from 180 on they are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pillow().DecompressionBombWarning)
        yield


def as_image(image: Any) -> Image:
    """Check an array that is to be a picture: bytes, or floats from 0 to 1; grey or in colour."""
    array = np.asarray(image)
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] != 3) or 0 in array.shape:
        raise DiversetError(f"the image has shape {array.shape}; it must be (height, width) or (height, width, 3)")
    if array.dtype == bool:
        array = array.astype(np.uint8) * np.uint8(255)
    elif array.dtype.kind == "f":
        low, high = float(array.min()), float(array.max())
        if not (low >= 0.0 and high <= 1.0):
            raise DiversetError(f"the image's values run from {low:g} to {high:g}; floats must lie between 0 and 1")
        array = (array * 255.0).round().astype(np.uint8)
    elif array.dtype != np.uint8:
        raise DiversetError(f"the image holds {array.dtype} values; give bytes (uint8), or floats from 0 to 1")
    if array.ndim == 2:
        array = np.repeat(array[:, :, None], 3, axis=2)
    return np.ascontiguousarray(array)


def center_crop(image: Any) -> Image:
    """The middle of an image: the rectangle with half its height and half its width, at least one pixel.

    Examples
    --------
    >>> import numpy as np
    >>> center_crop(np.zeros((100, 61, 3), dtype=np.uint8)).shape
    (50, 31, 3)
    """
    picture = as_image(image)
    height, width = picture.shape[:2]
    h, w = (height + 1) // 2, (width + 1) // 2
    top, left = (height - h) // 2, (width - w) // 2
    return np.ascontiguousarray(picture[top : top + h, left : left + w])
