"""``pick_images``: a few images that represent a whole folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from diverset._result import Result, ending
from diverset._typing import FloatArray, IntArray, RNGLike
from diverset.errors import DiversetError
from diverset.images.features import THRESHOLD, FeatureCache, ImageFeatures, combine, extract, near_duplicates
from diverset.images.reading import extra, find_images, read_image
from diverset.inference import select
from diverset.inference.inputs import read_items
from diverset.io.files import plural
from diverset.kernels import cosine
from diverset.numerics.validation import check_count

__all__ = ["COMPARED_BY", "ImageChoice", "choose_images", "pick_images"]

COMPARED_BY = ("color-64", "sift-512", "gist")  # colours, details and layout of the whole image
FILE_COLUMNS = ("file", "image", "path", "name", "filename", "file_name")
SCORE_COLUMNS = ("score", "quality", "relevance")
_PICTURES = (".png", ".jpg", ".jpeg")
_TABLES = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet")


@dataclass(frozen=True, eq=False)
class ImageChoice(Result):
    """Images chosen from a folder; made by :func:`diverset.pick_images`.

    `found` has all images that could be read. `picks` are positions among them, in the order in which they were picked,
    `gains` the gains of the objective of :func:`diverset.select`, `copy_of` has for every image the one it is a
    near-duplicate of, or itself, and `stands_for` for every pick the images it represents, the most similar first.
    """

    formats: ClassVar[tuple[str, ...]] = (*_PICTURES, *Result.formats)
    _page: ClassVar[str] = "sheet"

    found: ImageFeatures
    scores: FloatArray | None
    picks: IntArray
    gains: FloatArray
    copy_of: IntArray
    stands_for: dict[int, list[int]]
    folder: Path | None = None
    diversity: float = 0.5
    method: str = "greedy"
    compared_by: str = "colours (Lab), details (SIFT words), layout (GIST)"
    notes: tuple[str, ...] = ()
    max_pixels: int | None = None

    @property
    def files(self) -> list[Path]:
        """The picked files, in the order in which they were picked."""
        return [self.found.paths[i] for i in self.picks.tolist()]

    @property
    def names(self) -> list[str]:
        """Names of all images: their paths in the folder."""
        return [_name(path, self.folder) for path in self.found.paths]

    def note(self, i: int) -> str:
        """The score of an image as text, or an empty text."""
        return "" if self.scores is None else f"score {self.scores[i]:.6g}"

    def __len__(self) -> int:
        return len(self.picks)

    def __str__(self) -> str:
        picks = zip(self.files, self.stands_for.values(), strict=True)
        lines = [f"{path}  (stands for {len(others)})" for path, others in picks]
        return "\n".join([f"{len(self)} of {len(self.found.paths):,} images", *lines])

    def records(self) -> list[dict[str, Any]]:
        """One entry per pick: rank, file, gain, the number of images it represents, and of its near-duplicates."""
        names = self.names
        return [
            {
                "rank": rank,
                "file": names[i],
                "gain": gain,
                "stands_for": len(self.stands_for[i]),
                "near_copies": int((self.copy_of == i).sum()) - 1,
            }
            | ({} if self.scores is None else {"score": float(self.scores[i])})
            for rank, (i, gain) in enumerate(zip(self.picks.tolist(), self.gains.tolist(), strict=True), start=1)
        ]

    def to_dict(self) -> dict[str, Any]:
        """The picks, each with the files it represents, the files that were skipped, and the notes."""
        names = self.names
        picks = zip(self.records(), self.stands_for.values(), strict=True)
        return {
            "images": len(names),
            "picks": [row | {"stands_for": [names[j] for j in others]} for row, others in picks],
            "skipped": [{"file": _name(one.path, self.folder), "reason": one.reason} for one in self.found.skipped],
            "notes": list(self.notes),
        }

    def save(self, path: str | os.PathLike[str], *, raw_cells: bool = False) -> None:
        """Write a contact sheet (.html, .png, .jpg) or the picks (.csv, .json, .jsonl, .parquet, .md)."""
        if ending(path, self.formats) in _PICTURES:
            import_module("diverset.pages.sheet").write_picture(self, Path(path))
        else:
            super().save(path, raw_cells=raw_cells)


def pick_images(
    folder: str | Path | Iterable[str | Path],
    k: int = 12,
    *,
    scores: Mapping[str, float] | str | Path | None = None,
    embeddings: Any = None,
    diversity: float = 0.5,
    keep: float | None = None,
    method: str = "greedy",
    threshold: float | None = None,
    cache: bool | str | Path = True,
    max_pixels: int | None = None,
    encoding: str | None = None,
    progress: bool = False,
    rng: RNGLike = None,
) -> ImageChoice:
    """Pick images of a folder that differ from each other, and at most one of each group of near-duplicates.

    Parameters
    ----------
    folder : path, or iterable of paths
        A folder, searched with all its subfolders, or image files.
    k : int
        Number of images; fewer are picked if there are fewer different ones.
    scores : mapping of file names to numbers, or path, optional
        Higher is better; images without a score are left out. Keys are paths, paths relative to the folder, or names
        of files. A path names a table with a column of files and one of scores.
    embeddings : array_like of shape (n, d), path or str, optional
        Vectors of the images, compared by their cosine. An array or ``.npy`` file has one row per image in the order of
        the files (sorted by path for a folder). A table, such as Parquet, has a column of files and a column of
        vectors, or columns of numbers. Any other string is the name or folder of an installed sentence-transformers
        model for images; nothing is downloaded. By default images are compared by colours (Lab), details (SIFT words)
        and layout (GIST), with a kernel of distances.
    diversity, keep, method, rng
        As in :func:`diverset.select`.
    threshold : float, optional
        Least similarity of near-duplicates; see :func:`diverset.images.near_duplicates`.
    cache : bool or path
        Cache features in the user's folder for caches, in another folder, or (False) not at all.
    max_pixels : int, optional
        Largest image to decode; see :func:`diverset.images.read_image`.
    encoding : str, optional
        Encoding of the tables of scores and vectors, if they are text; UTF-8 is tried first by default.
    progress : bool
        Show a progress bar on a terminal.

    Returns
    -------
    ImageChoice
        ``files`` in the order of the picks, ``stands_for``, ``to_frame()``, ``save("sheet.html")``.
    """
    wanted = check_count(k, name="k")
    root = Path(folder) if isinstance(folder, str | os.PathLike) else None
    files = find_images(root) if root is not None else [Path(each) for each in folder]  # type: ignore[union-attr]
    if not files:
        raise DiversetError("no images were given")
    notes: list[str] = []
    is_name = isinstance(embeddings, str | os.PathLike)
    by_model = is_name and Path(embeddings).suffix.lower() not in (".npy", *_TABLES)
    vectors = None if embeddings is None or by_model else _given_vectors(embeddings, files, root, notes, encoding)
    worth = None if scores is None else _given_scores(scores, files, root, notes, encoding)
    if worth is not None:
        files = [path for path in files if path in worth]
    store = FeatureCache() if cache is True else FeatureCache(cache) if cache else None
    found = extract(files, COMPARED_BY, cache=store, max_pixels=max_pixels, progress=progress)
    if found.skipped:
        reasons = [f"{_name(one.path, root)} ({one.reason})" for one in found.skipped]
        notes.append(f"{plural(len(reasons), 'image')} could not be read: {_few(reasons)}")
    if found.damaged:
        notes.append(f"{found.damaged} damaged entries of the cache were computed again")
    notes += found.notes
    if not found.paths:
        raise DiversetError(f"none of the {len(files)} images{f' in {root}' if root else ''} could be read")
    features = None
    if by_model:
        pictures = [extra("PIL.Image").fromarray(read_image(path)) for path in found.paths]
        features = import_module("diverset.io.features").encode_installed(pictures, str(embeddings))
    elif vectors is not None:
        features = np.array([vectors[path] for path in found.paths], dtype=np.float64)
    given = None if worth is None else np.array([worth[path] for path in found.paths])
    least = THRESHOLD if threshold is None else threshold
    options = {"diversity": diversity, "keep": keep, "method": method, "rng": rng}
    choice = choose_images(found, wanted, scores=given, threshold=least, features=features, **options)
    if len(choice) < wanted:
        few = plural(len(choice), "image")
        notes.append(f"{wanted} images asked for, and only {few} can be picked; the others are copies")
    return replace(choice, folder=root, notes=tuple(notes), max_pixels=max_pixels)


def _name(path: Path, folder: Path | None) -> str:
    return path.relative_to(folder).as_posix() if folder is not None and path.is_relative_to(folder) else str(path)


def _few(names: Sequence[str], most: int = 5) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown}, and {len(names) - most} more"


def _column(table: Any, name: Any, what: str, among: Sequence[str]) -> str:
    """The first of these columns that a table has."""
    found = next((column for column in among if column in table.columns), None)
    if found is None:
        columns = ", ".join(table.columns)
        raise DiversetError(f"{name} needs a column of {what} ({', '.join(among)}); its columns are {columns}")
    return found


def _table(name: Any, notes: list[str], encoding: str | None) -> tuple[Any, str]:
    """A table, and its column of files."""
    table = import_module("diverset.io.tables").read_table(str(name), encoding=encoding)
    notes += table.notes
    return table, _column(table, name, "files", FILE_COLUMNS)


def _given_scores(
    scores: Any, files: Sequence[Path], folder: Path | None, notes: list[str], encoding: str | None
) -> dict[Path, float]:
    if isinstance(scores, Mapping):
        return _matched([(str(key), float(x)) for key, x in scores.items()], "scores", files, folder, notes)
    table, column = _table(scores, notes, encoding)
    numbers = table.numbers(_column(table, scores, "scores", SCORE_COLUMNS)).tolist()
    return _matched(zip(table.texts(column), numbers, strict=True), str(scores), files, folder, notes, table.where)


def _given_vectors(
    embeddings: Any, files: Sequence[Path], folder: Path | None, notes: list[str], encoding: str | None
) -> dict[Path, Any]:
    """Vectors by image: from an array, a file of one, or a table with a column of files."""
    is_name = isinstance(embeddings, str | os.PathLike)
    if not is_name or Path(embeddings).suffix.lower() == ".npy":
        array = import_module("diverset.io.binary").load_npy(Path(embeddings)) if is_name else embeddings
        rows = np.asarray(read_items(array, name="embeddings").features, dtype=np.float64)
        if len(rows) != len(files):
            raise DiversetError(f"embeddings has {len(rows)} rows for {len(files)} images; give one per image")
        return dict(zip(files, rows, strict=True))
    table, column = _table(embeddings, notes, encoding)
    names = [name for name in table.columns if name != column]
    vectors = [name for name in names if table.vectors(name) is not None][:1]
    vectors = vectors or [name for name in names if table.is_numeric(name)]
    if not vectors:
        raise DiversetError(f"{embeddings} has no column of vectors, and no columns of numbers")
    rows = import_module("diverset.io.features").columns_side_by_side(table, vectors)[0]
    pairs = zip(table.texts(column), rows, strict=True)
    found = _matched(pairs, str(embeddings), files, folder, notes, table.where, "vector")
    if without := [path.name for path in files if path not in found]:
        few = f"{len(without)} of the {len(files)} images, {without[0]} among them"
        raise DiversetError(f"{embeddings} has no vector for {few}")
    return found


def _matched(
    pairs: Iterable[tuple[str, Any]],
    name: str,
    files: Sequence[Path],
    folder: Path | None,
    notes: list[str],
    where: Any = lambda row: f"entry {row + 1}",
    what: str = "score",
) -> dict[Path, Any]:
    """Values by image, which is named by its path, its path relative to the folder, or its file name alone."""
    by_name: dict[str, list[Path]] = {}
    for path in files:
        for key in dict.fromkeys((_name(path, folder), path.name, str(path))):
            by_name.setdefault(key, []).append(path)
    values: dict[Path, Any] = {}
    unknown = []
    for row, (cell, value) in enumerate(pairs):
        paths = by_name.get(cell, [])
        if len(paths) > 1:
            raise DiversetError(f"{name}, {where(row)}: {cell} is the name of {len(paths)} images; give their paths")
        if not paths:
            unknown.append(cell)
        elif paths[0] in values:
            raise DiversetError(f"{name}, {where(row)}: {cell} has a second {what}; give one for each image")
        else:
            values[paths[0]] = value
    if not values:
        raise DiversetError(f"{name} names none of the {len(files)} images; the first name is {_few(unknown, 1)!r}")
    if unknown:
        notes.append(f"{plural(len(unknown), 'image')} of {name} not found: {_few(unknown)}")
    if len(values) < len(files):
        notes.append(f"{plural(len(files) - len(values), 'image')} without a {what} left out")
    return values


def choose_images(
    found: ImageFeatures,
    k: int = 12,
    *,
    scores: FloatArray | None = None,
    threshold: float = THRESHOLD,
    features: FloatArray | None = None,
    **options: Any,
) -> ImageChoice:
    """Pick images that differ from each other, and assign every other image to the pick it is most similar to.

    `features` are embeddings of the images, compared by their cosine instead of colours, details and layout. Only the
    best, else the largest, of a group of near-duplicates can be picked. `options` are those of :func:`diverset.select`.
    """
    n = len(found.paths)
    X = combine(found, COMPARED_BY) if features is None else features
    worth = np.zeros(n) if scores is None else np.asarray(scores, dtype=np.float64)
    order = np.lexsort((np.arange(n), -found.sizes.prod(axis=1), -worth))
    copy_of = near_duplicates(found, order=order, threshold=threshold)
    kept = np.flatnonzero(copy_of == np.arange(n))
    # Not the cosine for centred vectors: those of two groups of images can be opposite, which a determinant penalises
    # as if they were equal.
    similarity, quality = "rbf" if features is None else "cosine", None if scores is None else worth[kept]
    selection = select(X[kept], k, quality=quality, similarity=similarity, **options)
    picks = kept[selection.indices]
    return ImageChoice(
        found,
        scores,
        picks,
        selection.gains,
        copy_of,
        _followers(X, picks, copy_of),
        diversity=options.get("diversity", 0.5) if selection.diversity is None else selection.diversity,
        method=options.get("method", "greedy"),
        compared_by=ImageChoice.compared_by if features is None else "embeddings",
    )


def _followers(X: FloatArray, picks: IntArray, copy_of: IntArray) -> dict[int, list[int]]:
    """Images by the pick they are most similar to, the most similar first; a copy is assigned like its original."""
    S = cosine(X, X[picks])
    nearest = np.argmax(S[copy_of], axis=1)
    own, at = np.nonzero(copy_of[:, None] == picks)
    nearest[own] = at
    order = np.argsort(-S[np.arange(len(X)), nearest], kind="stable")
    order = order[~np.isin(order, picks)]
    return {int(i): order[nearest[order] == at].tolist() for at, i in enumerate(picks)}
