r"""The ten features of a folder of images, kernels and matrices made of them, and near-duplicates."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from diverset._progress import progress_bar
from diverset._typing import Array, FloatArray, IntArray
from diverset.errors import DiversetError, EnvironmentFault, KernelError
from diverset.images.descriptors import Vocabulary, color_histogram, gist, learn_vocabulary, sift_descriptors, subsample
from diverset.images.reading import LONGEST, Image, PixelBudget, center_crop, decode_image, extra, find_images
from diverset.io.cache import Cache, digest
from diverset.io.files import open_file
from diverset.kernels import add_constant, cosine, normalize_rows
from diverset.numerics.validation import as_finite, as_number, check_count, check_nonnegative, check_rows

__all__ = ["FEATURES", "combine", "expert_kernels", "extract", "near_duplicates"]

#: Features of a single image; words need the descriptors of all images.
_FUNCTIONS: dict[str, Callable[[Image], Array]] = {
    "color-8": partial(color_histogram, bins=8),
    "color-64": partial(color_histogram, bins=64),
    "sift": sift_descriptors,
    "gist": gist,
}
_WORDS = {"sift-256": 256, "sift-512": 512}
_LENGTHS = {"color-8": 8, "color-64": 64, "gist": 960, "sift": 128}  # of the vectors that are cached
_CENTER = "-center"
_WHOLE = ("color-8", "color-64", "sift-256", "sift-512", "gist")
#: Names of the ten features of [KuleszaTaskar2012]_, section 5.3.3.
FEATURES = (*_WHOLE, *(name + _CENTER for name in _WHOLE))


class FeatureCache(Cache):
    """Features of images on disk, by the content of files; `folder` is by default the user's folder for caches."""

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        super().__init__("images", "1", folder=folder)  # the version changes when features are computed differently


@dataclass(frozen=True)
class Skipped:
    """A file that could not be read, and why."""

    path: Path
    reason: str


@dataclass(frozen=True, eq=False)
class ImageFeatures(Mapping[str, FloatArray]):
    """Features of several images: a mapping from a feature's name to its matrix.

    Every row of the `matrices` has length 1 and belongs to the file in `paths` and to its width and height in `sizes`,
    of shape (n, 2). `skipped` are the files that could not be read. `vocabularies` are words by their number, which
    can be used for other images; `damaged` is the number of entries of the cache that were computed again.
    """

    paths: list[Path]
    sizes: IntArray
    matrices: dict[str, FloatArray]
    skipped: list[Skipped]
    vocabularies: dict[int, Vocabulary] = field(default_factory=dict)
    damaged: int = 0
    notes: list[str] = field(default_factory=list)

    def __getitem__(self, name: str) -> FloatArray:
        return self.matrices[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.matrices)

    def __len__(self) -> int:
        return len(self.matrices)


def extract(
    images: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    features: Sequence[str] = FEATURES,
    *,
    cache: FeatureCache | str | os.PathLike[str] | None = None,
    vocabularies: Mapping[int, Vocabulary] | None = None,
    longest: int = LONGEST,
    n_jobs: int | None = None,
    max_pixels: int | None = None,
    rng: int = 0,
    progress: bool = False,
) -> ImageFeatures:
    """Compute features of images ([KuleszaTaskar2012]_, section 5.3.3).

    ``color-8`` and ``color-64`` are :func:`color_histogram`, ``sift-256`` and ``sift-512`` histograms of SIFT words
    learned from these images, and ``gist`` is :func:`gist`. Names with ``-center`` are the same of :func:`center_crop`.

    Parameters
    ----------
    images : path-like, or iterable of them
        A folder, searched with all its subfolders, or files.
    features : sequence of str
        Some of :data:`FEATURES`; all ten by default.
    cache : FeatureCache or path-like, optional
        Cache of features, or its folder.
    vocabularies : mapping of int to Vocabulary, optional
        Words learned from other images, by their number.
    longest, max_pixels
        As in :func:`read_image`; `max_pixels` is shared by all threads, and larger images are skipped.
    n_jobs : int, optional
        Number of threads; by default that of cores. The result does not depend on it.
    rng : int
        Seed for the words.
    progress : bool
        Show a progress bar on a terminal.

    Returns
    -------
    ImageFeatures
        A mapping from names to matrices with rows of length 1, in the order of the paths. An image without SIFT points,
        or of one colour, has equal entries there. Files that cannot be read are listed in ``skipped``.
    """
    names = [features] if isinstance(features, str) else list(dict.fromkeys(features))
    if not names or (unknown := [name for name in names if name not in FEATURES]):
        fault = f"there is no feature {unknown[0]!r}" if names else "no features are named"
        raise DiversetError(f"{fault}; choose among {', '.join(FEATURES)}")
    if isinstance(images, str | os.PathLike):
        files = [Path(images)] if os.path.isfile(images) else find_images(images)
    else:
        files = [Path(one) for one in images]
    if not files:
        raise DiversetError("there are no images; name a folder, or at least one file")
    store = cache if isinstance(cache, FeatureCache) or cache is None else FeatureCache(cache)
    jobs = check_count(n_jobs, name="n_jobs") if n_jobs is not None else (os.cpu_count() or 1)
    known = dict(vocabularies or {})
    parts = _parts(names, known)
    tag = f"{longest} OpenCV {extra('cv2').__version__} Pillow {extra('PIL.Image').__version__}"
    before = 0 if store is None else store.damaged
    describe = partial(_describe, parts=parts, longest=longest, cache=store, tag=tag, budget=PixelBudget(max_pixels))
    with ThreadPoolExecutor(jobs) as pool, progress_bar("Images", len(files), progress) as advance:
        described = []
        for one in pool.map(describe, files):
            described.append(one)
            advance()
    arrays = [one for one in described if not isinstance(one, Skipped)]
    wanted = sorted({_WORDS[name.removesuffix(_CENTER)] for name in names if name.startswith("sift")} - set(known))
    with progress_bar("Words", len(wanted), progress) as advance:
        for size in wanted:
            known[size] = _words([one["sift"] for one in arrays], size, rng, store)
            advance()
    return ImageFeatures(
        paths=[path for path, one in zip(files, described, strict=True) if not isinstance(one, Skipped)],
        sizes=np.array([one["size"] for one in arrays], dtype=np.int64).reshape(-1, 2),
        matrices={name: _matrix(name, arrays, known) for name in names},
        skipped=[one for one in described if isinstance(one, Skipped)],
        vocabularies=known,
        damaged=0 if store is None else store.damaged - before,
        notes=[] if store is None else list(store.notes),
    )


def _parts(names: Sequence[str], known: Mapping[int, Vocabulary]) -> list[str]:
    """What to compute from each image alone: descriptors for words, of whole images also if words are to be learned."""
    parts = []
    for name in names:
        base = name.removesuffix(_CENTER)
        if base in _WORDS:
            parts += [name.replace(base, "sift"), *(["sift"] if _WORDS[base] not in known else [])]
        else:
            parts.append(name)
    return list(dict.fromkeys(parts))


def _describe(
    path: Path, *, parts: Sequence[str], longest: int, cache: FeatureCache | None, tag: str, budget: PixelBudget
) -> dict[str, Array] | Skipped:
    arrays: dict[str, Array] = {}
    key = ""
    try:
        with open_file(path) as file:
            if cache is not None:
                key = digest(hashlib.file_digest(file, "sha256").digest(), tag)
                file.seek(0)
                arrays = cache.load(key) or {}
                if not all(_is_sound(name, array) for name, array in arrays.items()):
                    cache.drop(key)
                    arrays = {}
            missing = [part for part in parts if part not in arrays]
            if not missing and "size" in arrays:
                return arrays
            image, size = decode_image(file, longest, budget)
    except (DiversetError, EnvironmentFault) as error:
        return Skipped(path, str(error).removeprefix(f"cannot read {path}: "))
    arrays["size"] = np.array(size, dtype=np.int64)
    middle = center_crop(image) if any(part.endswith(_CENTER) for part in missing) else image
    for part in missing:
        arrays[part] = _FUNCTIONS[part.removesuffix(_CENTER)](middle if part.endswith(_CENTER) else image)
    if cache is not None:
        cache.store(key, arrays)
    return arrays


def _is_sound(name: str, array: Array) -> bool:
    """Whether an array from the cache has the type and shape that its name requires."""
    if name == "size":
        return array.shape == (2,) and array.dtype == np.int64 and bool((array > 0).all())
    base = name.removesuffix(_CENTER)
    if array.ndim != (2 if base == "sift" else 1) or array.shape[-1] != _LENGTHS.get(base):
        return False
    return array.dtype.kind in "uif" and bool(np.isfinite(array).all())


def _words(descriptors: Sequence[Array], size: int, rng: int, cache: FeatureCache | None) -> Vocabulary:
    """Words of these descriptors, learned or found in the cache."""
    if cache is None:
        return learn_vocabulary(descriptors, size, rng=rng)
    version = extra("sklearn").__version__
    key = digest(subsample(descriptors, rng).tobytes(), f"{size} words, seed {rng}, scikit-learn {version}")
    kept = cache.load(key)
    if kept is not None:
        centers = kept.get("centers", np.zeros(0))
        if _is_sound("sift", centers) and len(centers) <= size:
            return Vocabulary(centers, size)
        cache.drop(key)
    words = learn_vocabulary(descriptors, size, rng=rng)
    cache.store(key, {"centers": words.centers})
    return words


def _matrix(name: str, arrays: Sequence[Mapping[str, Array]], words: Mapping[int, Vocabulary]) -> FloatArray:
    base = name.removesuffix(_CENTER)
    if base in _WORDS:
        rows = [words[_WORDS[base]].histogram(one[name.replace(base, "sift")]) for one in arrays]
    else:
        rows = [one[name] for one in arrays]
    X = np.array(rows, dtype=np.float64).reshape(len(arrays), (_WORDS | _LENGTHS)[base])
    X[~X.any(axis=1)] = 1.0
    return np.asarray(X / np.linalg.norm(X, axis=1, keepdims=True), dtype=np.float64)


_CONSTANT = 0.01  # an entry of all rows, so that an image equal to the mean has a direction; changes cosines by 1e-4


def expert_kernels(features: Mapping[str, Any], *, rho: float = 0.0) -> dict[str, FloatArray]:
    r"""Make kernels of single features and of pairs, for :class:`diverset.learn.KDPPMixtureLearner`.

    Rows are scaled to length 1 ([KuleszaTaskar2012]_, section 5.3.3); the two features of a pair are concatenated and
    scaled again. Then :math:`\rho` is added to every entry, which makes all images more similar:

    .. math::  L^{(a)}_{ij} = \phi_a(i)^\top \phi_a(j) + \rho, \qquad
               L^{(a, b)}_{ij} = \tfrac12 \left(\phi_a(i)^\top \phi_a(j) + \phi_b(i)^\top \phi_b(j)\right) + \rho.

    Parameters
    ----------
    features : mapping of str to array_like of shape (n, n_features)
        Named features of the same n images, as from :func:`extract`; no row all zero.
    rho : float
        Constant added to every entry, at least 0.

    Returns
    -------
    dict of str to ndarray of shape (n, n)
        Kernels of the m features in their order, then of the m (m - 1) / 2 pairs ``"a & b"``; 55 for ten features.
    """
    constant = check_nonnegative(rho, name="rho")
    single = {name: cosine(matrix) for name, matrix in features.items()}
    _check_lengths(single)
    pairs = {f"{a} & {b}": 0.5 * (single[a] + single[b]) for a, b in combinations(single, 2)}
    return {name: add_constant(S, constant) if constant else np.asarray(S) for name, S in (single | pairs).items()}


def _check_lengths(matrices: Mapping[str, Any]) -> None:
    if len({len(rows) for rows in matrices.values()}) > 1:
        lengths = ", ".join(f"{name} {len(rows)}" for name, rows in matrices.items())
        raise KernelError(f"features have different numbers of rows ({lengths}); all describe the same images")


def combine(features: Mapping[str, Any], names: Sequence[str] | None = None) -> FloatArray:
    r"""Join several features into one matrix, with equal weights, for :func:`diverset.select`.

    The mean over all images is subtracted from every feature first: histograms and energies are nonnegative, so without
    this all images would be similar. Rows then have length 1 in each feature, and

    .. math::  \phi(i)^\top \phi(j) \approx \frac{1}{m} \sum_a \cos\left(\phi_a(i) - \bar\phi_a,\;
               \phi_a(j) - \bar\phi_a\right).

    Parameters
    ----------
    features : mapping of str to array_like of shape (n, n_features)
        Named features of the same n images.
    names : sequence of str, optional
        Features to use; all by default.

    Returns
    -------
    ndarray of shape (n, total + 1)
        One row for each image; the last column is a constant.
    """
    chosen = list(features if names is None else names)
    if not chosen:
        raise KernelError("there are no features to combine; name at least one")
    parts = []
    for name in chosen:
        if name not in features:
            raise KernelError(f"there are no features {name!r}; there are {', '.join(map(str, features))}")
        X = as_finite(features[name], name=f"features {name}", shape=(None, None))
        centred = X - X.mean(axis=0) if len(X) else X
        lengths = np.linalg.norm(centred, axis=1, keepdims=True)
        # What is left of a row equal to the mean is rounding error.
        real = lengths > 1e-9 * np.linalg.norm(X, axis=1, keepdims=True)
        parts.append(np.where(real, centred / np.where(real, lengths, 1.0), 0.0))
    _check_lengths(dict(zip(chosen, parts, strict=True)))
    joined = np.hstack(parts) / np.sqrt(len(parts))
    return np.hstack([joined, np.full((len(joined), 1), _CONSTANT)])


#: By both features, copies of a photograph are more similar than two photographs of one subject.
_FEATURES = ("gist", "color-64")
THRESHOLD = 0.97


def near_duplicates(features: Mapping[str, Any], *, threshold: float = THRESHOLD, order: Any = None) -> IntArray:
    """Find near-duplicates: the position of the image that each image duplicates, or its own position.

    Images are compared in order. An image is a duplicate of the most similar image kept so far if the smaller of two
    cosines, by ``gist`` and by ``color-64``, is at least `threshold`; otherwise it is kept. So no two kept images are
    near-duplicates of each other.

    Parameters
    ----------
    features : mapping of str to array_like of shape (n, n_features)
        With ``gist`` and ``color-64``, as from :func:`extract`.
    threshold : float
        Between 0 and 1; at 1 only images with the same features are duplicates.
    order : array_like of int, optional
        Positions of all images, the preferred first; by default 0 to n - 1.
    """
    for name in _FEATURES:
        if name not in features:
            raise DiversetError(f"near-duplicates are found by {' and '.join(_FEATURES)}; {name} is missing")
    least = as_number(threshold, name="threshold")
    if not 0.0 <= least <= 1.0:
        raise DiversetError(f"threshold is {least:g}; it lies between 0 (all alike) and 1 (equal features only)")
    rows = [normalize_rows(features[name]) for name in _FEATURES]
    n = len(rows[0])
    _check_lengths(dict(zip(_FEATURES, rows, strict=True)))
    sequence = np.arange(n) if order is None else check_rows(order, n, name="order")
    if not np.array_equal(np.sort(sequence), np.arange(n)):
        raise DiversetError(f"order must name each of the {n} images once")
    copy_of = np.arange(n)
    kept: list[int] = []
    for i in sequence.tolist():
        alike = np.min([X[kept] @ X[i] for X in rows], axis=0)
        if kept and alike.max() >= least - 1e-12:
            copy_of[i] = kept[int(alike.argmax())]
        else:
            kept.append(i)
    return copy_of
