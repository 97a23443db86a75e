"""``diverset images``: a dozen images that stand for a whole folder, on a contact sheet."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from diverset._typing import FloatArray
from diverset.cli.console import aligned, printable, say, working
from diverset.errors import DiversetError
from diverset.images import ImageFeatures, extract, find_images
from diverset.images.pick import COMPARED_BY, Choice, choose_images
from diverset.io.tables import check_output, read_table, write_table
from diverset.pages.sheet import Entry, write_sheet_page, write_sheet_picture

__all__ = ["default_cache", "run_images"]

OUTPUTS = (".html", ".png", ".jpg", ".jpeg", ".csv", ".jsonl", ".parquet")
FILE_COLUMNS = ("file", "image", "path", "name", "filename")
SCORE_COLUMNS = ("score", "quality", "relevance")


def default_cache() -> Path:
    """Where features are kept if nobody says otherwise: ``diverset/images`` in the user's folder for caches."""
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(base) if base else Path.home() / ".cache") / "diverset" / "images"


def run_images(
    folder: Path,
    k: int = 12,
    *,
    query_scores: str | None = None,
    diversity: float = 0.5,
    method: str = "greedy",
    seed: int | None = None,
    threshold: float | None = None,
    output: Path | None = None,
    cache: Path | None = None,
    console: Console | None = None,
) -> Choice:
    """Read a folder, pick images, print them, and write the sheet if asked to.

    Parameters
    ----------
    folder : Path
        Searched with all folders in it.
    k : int
        How many images.
    query_scores : str, optional
        A table with a column of file names and one of scores; images that are not in it are left out.
    diversity, method, seed, threshold
        As in :func:`choose_images`.
    output : Path, optional
        The sheet, as a page (.html) or a picture (.png, .jpg), or the picks as a table (.csv, .jsonl, .parquet).
    cache : Path, optional
        Where features are kept; they are computed anew if left out.
    console : Console, optional
        Where to print; standard output if left out. Remarks go to standard error.

    Returns
    -------
    Choice
        What was printed.
    """
    console = Console() if console is None else console
    if k < 1:
        raise DiversetError(f"k = {k}; ask for at least 1 image")
    if output is not None:
        check_output(output, OUTPUTS)
    files = find_images(folder)
    remarks: list[str] = []
    scores = None
    if query_scores is not None:
        files, values = _scored(files, folder, query_scores, remarks)
        scores = dict(zip(files, values.tolist(), strict=True))
    found = extract(files, COMPARED_BY, cache=cache, progress=True)
    remarks += _reading_remarks(found, folder)
    if not found.paths:
        raise DiversetError(f"none of the {len(files)} images in {folder} could be read")
    with working("Picking"):
        choice = choose_images(
            found,
            k,
            scores=None if scores is None else np.array([scores[path] for path in found.paths]),
            diversity=diversity,
            method=method,
            threshold=threshold,
            rng=seed,
        )
    picked = len(choice.picks)
    if picked < k:
        remarks.append(f"{k} images asked for, and there are {picked} different ones; all are picked")
    for remark in remarks:
        say(remark)
    names = [path.relative_to(folder).as_posix() for path in found.paths]
    console.print(_table(choice, names, console))
    console.print(Text(_summary(choice)))
    if output is not None:
        with working("Writing"):
            _write(output, folder, choice, names, remarks, k, diversity, method, seed)
        console.print(f"Written to {output}", markup=False, highlight=False, soft_wrap=True)
    return choice


def _scored(files: Sequence[Path], folder: Path, name: str, remarks: list[str]) -> tuple[list[Path], FloatArray]:
    """Images that have a score, and the scores."""
    table = read_table(name, sys.stdin)
    column = next((c for c in FILE_COLUMNS if c in table.columns), None)
    score = next((c for c in SCORE_COLUMNS if c in table.columns), None)
    if column is None or score is None:
        raise DiversetError(
            f"{name} needs a column of files ({', '.join(FILE_COLUMNS)}) and one of scores "
            f"({', '.join(SCORE_COLUMNS)}); its columns are {', '.join(table.columns)}"
        )
    by_name: dict[str, list[Path]] = {}
    for path in files:
        relative = path.relative_to(folder).as_posix()
        for key in dict.fromkeys((relative, path.name, str(path))):
            by_name.setdefault(key, []).append(path)
    values: dict[Path, float] = {}
    unknown = []
    for row, (cell, value) in enumerate(zip(table.texts(column), table.numbers(score).tolist(), strict=True)):
        paths = by_name.get(cell, [])
        if len(paths) > 1:
            raise DiversetError(
                f"{name}, {table.where(row)}: {cell} is the name of {len(paths)} images; write their paths in {folder}"
            )
        if not paths:
            unknown.append(cell)
        elif paths[0] in values:
            raise DiversetError(f"{name}, {table.where(row)}: {cell} has a second score; give one for each image")
        else:
            values[paths[0]] = value
    if not values:
        raise DiversetError(f"{name} names none of the {len(files)} images in {folder}; the first name is {unknown[0]}")
    if unknown:
        remarks.append(f"{_images(len(unknown))} of {name} not in {folder}: {_few(unknown)}")
    if len(values) < len(files):
        remarks.append(f"{_images(len(files) - len(values))} without a score left out")
    kept = [path for path in files if path in values]
    return kept, np.array([values[path] for path in kept])


def _reading_remarks(found: ImageFeatures, folder: Path) -> list[str]:
    remarks = []
    if found.skipped:
        reasons = [f"{one.path.relative_to(folder).as_posix()} ({one.reason})" for one in found.skipped]
        remarks.append(f"{_images(len(reasons))} could not be read: {_few(reasons)}")
    if found.damaged:
        remarks.append(f"{found.damaged} damaged entries of the cache were computed anew")
    return remarks


def _images(count: int) -> str:
    return "1 image" if count == 1 else f"{count} images"


def _few(names: Sequence[str], most: int = 5) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown}, and {len(names) - most} more"


def _copies_of(choice: Choice, pick: int) -> int:
    return int((choice.copy_of == pick).sum()) - 1


def _table(choice: Choice, names: Sequence[str], console: Console) -> RichTable:
    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("image", overflow="fold")
    picks = choice.picks
    scores = [] if choice.scores is None else aligned(choice.scores[picks])
    if scores:
        table.add_column("score", justify="right", no_wrap=True)
    table.add_column("stands for", justify="right", no_wrap=True)
    table.add_column("near copies", justify="right", no_wrap=True)
    for rank, i in enumerate(picks.tolist(), start=1):
        cells = [str(rank), printable(names[i], console), *scores[rank - 1 : rank]]
        cells += [str(len(choice.stands_for[i])), str(_copies_of(choice, i) or "")]
        table.add_row(*(Text(cell) for cell in cells))
    return table


def _summary(choice: Choice) -> str:
    n = len(choice.found.paths)
    copies = int((choice.copy_of != np.arange(n)).sum())
    also = f", {copies} of them near copies of others" if copies else ""
    return f"{len(choice.picks)} of {n:,} images{also}, compared by colours, details and layout."


def _write(
    output: Path,
    folder: Path,
    choice: Choice,
    names: Sequence[str],
    remarks: Sequence[str],
    k: int,
    diversity: float,
    method: str,
    seed: int | None,
) -> None:
    picks = choice.picks.tolist()
    paths = choice.found.paths
    kind = output.suffix.lower()
    if kind in (".csv", ".jsonl", ".parquet"):
        columns: dict[str, Sequence[object]] = {
            "rank": list(range(1, len(picks) + 1)),
            "file": [names[i] for i in picks],
            "gain": choice.gains.tolist(),
            "stands_for": [len(choice.stands_for[i]) for i in picks],
            "near_copies": [_copies_of(choice, i) for i in picks],
        }
        if choice.scores is not None:
            columns["score"] = choice.scores[picks].tolist()
        write_table(output, columns)
        return
    entries = [
        Entry(
            paths[i],
            names[i],
            "" if choice.scores is None else f"score {choice.scores[i]:.6g}",
            [(paths[j], names[j], bool(choice.copy_of[j] != j)) for j in choice.stands_for[i]],
        )
        for i in picks
    ]
    title = f"{folder.resolve().name or folder}: {len(picks)} of {len(paths):,} images"
    if kind != ".html":
        write_sheet_picture(output, title, entries)
        return
    asked = {
        "Folder": f"{folder}, {len(paths):,} images",
        "Asked for": _images(k),
        "Compared by": "colours (Lab), details (SIFT words), layout (GIST)",
        "Method": method if seed is None else f"{method}, seed {seed}",
        "Near copies": f"{int((choice.copy_of != np.arange(len(paths))).sum())} collapsed",
    }
    if choice.scores is not None:
        asked["Diversity"] = f"{diversity:g} (0 is plain top-k, 1 diversity only)"
    write_sheet_page(output, title, entries, asked=asked, remarks=remarks)
