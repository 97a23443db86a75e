"""``pick_images``: a dozen images that stand for a whole folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from diverset._typing import FloatArray, IntArray, RNGLike
from diverset.errors import DiversetError, MissingExtraError
from diverset.images.duplicates import near_duplicates
from diverset.images.experts import combine
from diverset.images.features import ImageFeatures, extract
from diverset.images.reading import find_images
from diverset.inference import select
from diverset.inference.inputs import read_items
from diverset.kernels import cosine
from diverset.numerics.validation import check_count

__all__ = ["COMPARED_BY", "Choice", "choose_images", "pick_images"]

#: What images are compared by: colours, details and layout of the whole image.
COMPARED_BY = ("color-64", "sift-512", "gist")


@dataclass(frozen=True, eq=False)
class Choice:
    """What was chosen of a folder.

    Attributes
    ----------
    found : ImageFeatures
        All images that could be read.
    scores : ndarray of shape (n,), optional
        Scores as they were given.
    picks : ndarray of int64 of shape (k,)
        Positions of the picks among the images, in the order in which they were picked.
    gains : ndarray of shape (k,)
        What each added to the objective of :func:`diverset.select`.
    copy_of : ndarray of int64 of shape (n,)
        For every image the one it is a near copy of, or itself.
    stands_for : dict of int to list of int
        For every pick the images it stands for, the most similar first.
    """

    found: ImageFeatures
    scores: FloatArray | None
    picks: IntArray
    gains: FloatArray
    copy_of: IntArray
    stands_for: dict[int, list[int]]

    @property
    def files(self) -> list[Path]:
        """The picked files, in the order in which they were picked."""
        return [self.found.paths[i] for i in self.picks.tolist()]

    def __len__(self) -> int:
        return len(self.picks)

    def __str__(self) -> str:
        lines = [f"{len(self)} of {len(self.found.paths):,} images"]
        lines += [
            f"{path}  (stands for {len(self.stands_for[i])})" for i, path in zip(self.picks, self.files, strict=True)
        ]
        return "\n".join(lines)

    def to_dict(self) -> list[dict[str, Any]]:
        """One entry per pick: the file, what it added, and the files it stands for."""
        paths = self.found.paths
        return [
            {"file": str(paths[i]), "gain": float(gain), "stands_for": [str(paths[j]) for j in self.stands_for[i]]}
            for i, gain in zip(self.picks.tolist(), self.gains, strict=True)
        ]

    def to_frame(self) -> Any:
        """The entries of :meth:`to_dict` as a pandas frame."""
        try:
            pandas = import_module("pandas")
        except ImportError as error:
            raise MissingExtraError("to_frame needs pandas: pip install pandas") from error
        return pandas.DataFrame(self.to_dict())


def pick_images(
    folder: str | Path | Iterable[str | Path],
    k: int = 12,
    *,
    scores: Mapping[str, float] | None = None,
    embeddings: Any = None,
    diversity: float = 0.5,
    keep: float | None = None,
    method: str = "greedy",
    threshold: float | None = None,
    cache: str | Path | None = None,
    rng: RNGLike = None,
) -> Choice:
    """Pick images of a folder that are unlike each other; near-duplicates collapse.

    Parameters
    ----------
    folder : path, or iterable of paths
        A folder, searched with all folders in it, or image files.
    k : int
        How many images; fewer if there are fewer different ones.
    scores : mapping of file names to numbers, optional
        Higher is better; images without a score are left out. Keys are paths, or names of files.
    embeddings : array_like of shape (n, d), optional
        Vectors of your own, one per image in the order of the files (sorted by path for a folder), compared by their
        cosine. By default images are compared by colours (Lab), details (SIFT words) and layout (GIST).
    diversity, keep, method, rng
        As in :func:`diverset.select`.
    threshold : float, optional
        Likeness from which images count as copies; see :func:`diverset.images.near_duplicates`.
    cache : path, optional
        Folder where features are kept for the next call.

    Returns
    -------
    Choice
        ``files`` in the order of the picks, ``stands_for``, ``to_dict()``.
    """
    wanted = check_count(k, name="k")
    files = find_images(folder) if isinstance(folder, str | Path) else [Path(each) for each in folder]
    found = extract(files, COMPARED_BY, cache=None if cache is None else Path(cache))
    if not found.paths:
        raise DiversetError(f"none of the {len(files)} images could be read")
    places = {path: i for i, path in enumerate(files)}
    features = None
    if embeddings is not None:
        rows = read_items(embeddings, name="embeddings").features
        if rows.shape[0] != len(files):
            raise DiversetError(f"embeddings has {rows.shape[0]} rows for {len(files)} images; give one per image")
        features = np.asarray(rows, dtype=np.float64)[[places[path] for path in found.paths]]
    worth = None
    if scores is not None:
        known = [scores.get(str(path), scores.get(path.name)) for path in found.paths]
        if all(value is None for value in known):
            raise DiversetError(f"scores names none of the {len(known)} images; keys are paths or names of files")
        worth = np.array([-np.inf if value is None else float(value) for value in known])
    return choose_images(
        found, wanted, scores=worth, diversity=diversity, keep=keep, method=method, threshold=threshold,
        features=features, rng=rng,
    )  # fmt: skip


def choose_images(
    found: ImageFeatures,
    k: int = 12,
    *,
    scores: FloatArray | None = None,
    diversity: float = 0.5,
    keep: float | None = None,
    method: str = "greedy",
    threshold: float | None = None,
    features: FloatArray | None = None,
    rng: RNGLike = None,
) -> Choice:
    """Pick images that are unlike each other, and give every other image to the pick it resembles most.

    Parameters
    ----------
    found : ImageFeatures
        With ``color-64``, ``sift-512`` and ``gist``.
    k : int
        How many; fewer if there are fewer different images.
    scores : ndarray of shape (n,), optional
        Higher is better.
    diversity, keep, method, rng
        As in :func:`diverset.select`.
    features : ndarray of shape (n, d), optional
        Embeddings of the images, compared by their cosine, in place of colours, details and layout.
    threshold : float, optional
        As in :func:`diverset.images.near_duplicates`. Of near copies only the best, or else the largest, can be picked.

    Returns
    -------
    Choice
        The picks, near copies, and who stands for whom.
    """
    n = len(found.paths)
    X = combine(found, COMPARED_BY) if features is None else features
    worth = np.zeros(n) if scores is None else np.asarray(scores, dtype=np.float64)
    pixels = found.sizes.prod(axis=1)
    order = np.lexsort((np.arange(n), -pixels, -worth))
    copy_of = near_duplicates(found, order=order, **({} if threshold is None else {"threshold": threshold}))
    kept = np.flatnonzero(copy_of == np.arange(n))
    # Not the cosine: what is left after the mean is taken out makes whole groups of images each other's opposites, and
    # a determinant has as little room for opposites as for equals.
    selection = select(
        X[kept],
        k,
        quality=None if scores is None else worth[kept],
        diversity=diversity,
        keep=keep,
        similarity="rbf" if features is None else "cosine",
        method=method,
        rng=rng,
    )
    picks = kept[selection.indices]
    return Choice(found, scores, picks, selection.gains, copy_of, _followers(X, picks, copy_of))


def _followers(X: FloatArray, picks: IntArray, copy_of: IntArray) -> dict[int, list[int]]:
    """Images by the pick they resemble most, the nearest first; a copy goes where its original goes."""
    S = cosine(X, X[picks])
    nearest = np.argmax(S[copy_of], axis=1)
    place = {int(i): at for at, i in enumerate(picks)}
    for i, original in enumerate(copy_of.tolist()):
        nearest[i] = place.get(original, nearest[i])
    followers: dict[int, list[int]] = {int(i): [] for i in picks}
    for i in np.argsort(-S[np.arange(len(X)), nearest], kind="stable").tolist():
        if i not in place:
            followers[int(picks[nearest[i]])].append(i)
    return followers
