"""Reading images: find files by name, decode them, turn them upright, convert them to colour and reduce them."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from diverset.errors import DiversetError, MissingExtraError
from diverset.io.files import open_file
from diverset.numerics.validation import check_count

__all__ = ["center_crop", "find_images", "read_image"]

#: Height x width x (red, green, blue), one byte each.
Image: TypeAlias = NDArray[np.uint8]

EXTENSIONS = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff")
LONGEST = 250  # the larger side to which images are reduced, in pixels, as in the monograph
#: Formats that are decoded, whatever the name of a file: prefixes of modules of Pillow.
_FORMATS = ("Jpeg", "Png", "WebP", "Gif", "Bmp", "Tiff")
#: Pixels that are decoded at the same time by all threads together, and the environment variable that replaces this.
MAX_PIXELS = 50_000_000
MAX_PIXELS_VARIABLE = "DIVERSET_MAX_PIXELS"
_BYTES_PER_PIXEL = 16  # the image, a copy in another mode, and the buffers of the decoder
_LARGE = 4_000_000  # pixels from which memory is returned to the system after decoding


def extra(module: str) -> Any:
    """Import a module of OpenCV, Pillow or scikit-learn, or raise an error that names the command to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        name = {"cv2": "OpenCV", "PIL": "Pillow"}.get(module.partition(".")[0], "scikit-learn")
        raise MissingExtraError(f'images need {name}: pip install "diverset[images]"') from error


def find_images(folder: str | os.PathLike[str]) -> list[Path]:
    """Find images by their names in a folder and its subfolders, in the order of paths; hidden files are skipped."""
    root = Path(folder)
    if not root.is_dir():
        raise DiversetError(f"{folder} is not a folder; name one that holds images")
    found: list[Path] = []
    for place, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(place, name) for name in files if name.lower().endswith(EXTENSIONS) and name[0] != "."]
    if not found:
        raise DiversetError(f"{folder} holds no images; looked for {', '.join(EXTENSIONS)}")
    return sorted(found, key=lambda path: path.relative_to(root).parts)


def read_image(path: str | os.PathLike[str], *, longest: int = LONGEST, max_pixels: int | None = None) -> Image:
    """Read an image as red, green and blue bytes, upright, with its larger side reduced to `longest` pixels.

    Transparent parts become white, an animation is represented by its first frame, and small images are not enlarged.

    Parameters
    ----------
    path : path-like
        The file: JPEG, PNG, WebP, GIF, BMP or TIFF, whatever its name.
    longest : int
        Largest side of the result, in pixels.
    max_pixels : int, optional
        Largest image that is decoded, in pixels, at up to 16 bytes each; by default the environment variable
        ``DIVERSET_MAX_PIXELS``, or 50 million. JPEG files are reduced while decoding and may be 64 times larger.

    Returns
    -------
    ndarray of uint8 of shape (height, width, 3)
        The image. Files that cannot be read, are damaged or are not images raise an error.
    """
    with open_file(path) as file:
        try:
            return decode_image(file, longest, PixelBudget(max_pixels))[0]
        except DiversetError as error:
            raise DiversetError(f"cannot read {path}: {error}") from None


class PixelBudget:
    """Number of pixels that threads may decode at the same time, which bounds the memory: 16 bytes or less for each."""

    def __init__(self, max_pixels: int | None = None) -> None:
        if max_pixels is None:
            given = os.environ.get(MAX_PIXELS_VARIABLE) or str(MAX_PIXELS)
            if not given.isdecimal():
                raise DiversetError(f"{MAX_PIXELS_VARIABLE} is {given!r}; it must be a number of pixels")
            max_pixels = int(given)
        self.total = check_count(max_pixels, name="max_pixels")
        self._free = self.total
        self._changed = threading.Condition()

    @contextmanager
    def take(self, pixels: int) -> Iterator[None]:
        """Wait until this number of pixels is free, and reserve them while the block runs."""
        if pixels > self.total:
            raise DiversetError(
                f"decoding it takes memory for {pixels:,} pixels, and the limit is {self.total:,}; set "
                f"{MAX_PIXELS_VARIABLE}, or max_pixels in Python, to allow more"
            )
        with self._changed:
            self._changed.wait_for(lambda: self._free >= pixels)
            self._free -= pixels
        try:
            yield
        finally:
            with self._changed:
                self._free += pixels
                self._changed.notify_all()


def decode_image(file: BinaryIO, longest: int, budget: PixelBudget) -> tuple[Image, tuple[int, int]]:
    """An image from an open file, reduced, and its full width and height."""
    longest = check_count(longest, name="longest")
    pil, ops = extra("PIL.Image"), extra("PIL.ImageOps")
    try:
        with _opened(file) as picture:
            width, height = picture.size
            picture.draft("RGB", (longest, longest))  # JPEG files are then decoded no larger than needed
            pixels = picture.size[0] * picture.size[1]
            if picture.info.get("progressive"):  # decoders keep all coefficients, 6 bytes a pixel
                pixels += width * height * 6 // _BYTES_PER_PIXEL
            pixels += os.fstat(file.fileno()).st_size // _BYTES_PER_PIXEL  # some decoders hold the whole file
            with budget.take(pixels):
                # Width and height are swapped by EXIF orientations 5 to 8. This decodes the whole of a PNG file.
                if picture.getexif().get(0x0112, 1) in (5, 6, 7, 8):
                    width, height = height, width
                rgb = _on_white(ops.exif_transpose(_reduced(picture, longest)))
                picture.close()
                if pixels > _LARGE:  # glibc keeps freed memory for every thread that once decoded a large image
                    with suppress(OSError, AttributeError, TypeError):  # other systems do not have this function
                        ctypes.CDLL(None).malloc_trim(0)
    except DiversetError:
        raise
    except Exception as error:  # decoders raise many types: OSError, SyntaxError, struct.error, EOFError, ...
        reason = str(error).strip() or type(error).__name__
        raise DiversetError(f"the image is damaged ({reason})") from None
    if max(rgb.size) > longest:
        share = longest / max(rgb.size)
        smaller = tuple(max(1, round(side * share)) for side in rgb.size)
        rgb = rgb.resize(smaller, pil.Resampling.LANCZOS, reducing_gap=3.0)
    return np.asarray(rgb, dtype=np.uint8), (int(width), int(height))


def _opened(file: BinaryIO) -> Any:
    """Parse the header of an image in one of the allowed formats.

    ``PIL.Image.open`` would try all formats, some of which start other programs, and would warn about large images.
    """
    pil = extra("PIL.Image")
    prefix = file.read(16)
    if not prefix:
        raise DiversetError("the file is empty")
    for name in _FORMATS:
        if name.upper() not in pil.OPEN:
            extra(f"PIL.{name}ImagePlugin")
        factory, accept = pil.OPEN.get(name.upper(), (None, None))
        if factory is not None and accept(prefix) is True:
            file.seek(0)
            return factory(file, None)
    raise DiversetError("the file is not an image")


def _reduced(picture: Any, longest: int) -> Any:
    """A large image reduced by a whole factor, before more costly operations."""
    picture.load()
    factor = int(max(picture.size) / longest / 3.0)
    if factor < 2:
        return picture
    if picture.mode in ("P", "PA", "1") or "transparency" in picture.info:
        picture = picture.convert("RGBA" if picture.mode == "PA" or "transparency" in picture.info else "RGB")
    elif picture.mode.startswith("I;16"):
        picture = picture.convert("I")
    return picture.reduce(factor)


def _on_white(picture: Any) -> Any:
    """An image in RGB, with transparent parts on white."""
    if picture.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in picture.info:
        drawn = picture.convert("RGBA")
        paper = extra("PIL.Image").new("RGBA", drawn.size, "white")
        return extra("PIL.Image").alpha_composite(paper, drawn).convert("RGB")
    if picture.mode.startswith("I;16") or picture.mode in ("I", "F"):
        # Sixteen bits or more per pixel: scaled to the range that occurs, since Pillow would clip them.
        values = np.asarray(picture, dtype=np.float64)
        low, high = float(values.min()), float(values.max())
        scaled = (values - low) / ((high - low) or 1.0) * 255.0
        return extra("PIL.Image").fromarray(scaled.round().astype(np.uint8)).convert("RGB")
    return picture.convert("RGB")


def as_image(image: Any) -> Image:
    """Check an image, bytes or floats from 0 to 1, grey or in colour, and convert it to RGB bytes."""
    array = np.asarray(image)
    array = array[:, :, None] if array.ndim == 2 else array
    if array.ndim != 3 or array.shape[2] not in (1, 3) or 0 in array.shape:
        raise DiversetError(f"the image has shape {np.shape(image)}; it must be (height, width) or (height, width, 3)")
    if array.dtype == bool:
        array = array.astype(np.uint8) * np.uint8(255)
    elif array.dtype.kind == "f":
        low, high = float(array.min()), float(array.max())
        if not (low >= 0.0 and high <= 1.0):
            raise DiversetError(f"the image's values run from {low:g} to {high:g}; floats must lie between 0 and 1")
        array = (array * 255.0).round().astype(np.uint8)
    elif array.dtype != np.uint8:
        raise DiversetError(f"the image holds {array.dtype} values; give bytes (uint8), or floats from 0 to 1")
    return np.ascontiguousarray(np.broadcast_to(array, (*array.shape[:2], 3)))


def center_crop(image: Any) -> Image:
    """Return the middle of an image: the rectangle with half its height and half its width, at least one pixel."""
    picture = as_image(image)
    height, width = picture.shape[:2]
    h, w = (height + 1) // 2, (width + 1) // 2
    top, left = (height - h) // 2, (width - w) // 2
    return np.ascontiguousarray(picture[top : top + h, left : left + w])
