"""``diverset images``: the arguments of :func:`diverset.pick_images`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from diverset.cli.group import Encoding, Out, Seed, app, option, sharing
from diverset.cli.request import Method
from diverset.errors import DiversetError

if TYPE_CHECKING:
    from rich.console import Console

    from diverset.images.pick import ImageChoice

__all__ = ["images"]

_DEFAULT_CACHE = "the user's folder for caches"


@dataclass
class Picking:
    """Keyword arguments of :func:`diverset.pick_images`."""

    k: Annotated[int, option("-k", "--size", help="How many images to pick.")] = 12
    scores: Annotated[
        str | None,
        option("--query-scores", metavar="F", help="Table of files and scores; images not in it are left out."),
    ] = None
    embeddings: Annotated[
        str | None,
        option(metavar="F", help="Your own vectors: .npy, a table with files and vectors, or an installed model."),
    ] = None
    diversity: Annotated[float, option(help="With scores, the dial: 0 is plain top-k, 1 diversity only.")] = 0.5
    method: Method = "greedy"
    rng: Seed = None
    threshold: Annotated[
        float | None,
        option(
            "--near", metavar="X", help="Similarity, 0 to 1, above which images are duplicates.", show_default="0.97"
        ),
    ] = None
    max_pixels: Annotated[
        int | None, option(metavar="N", help="Largest image to decode, in pixels.", show_default="50 million")
    ] = None
    encoding: Encoding = None


@app.command(epilog="Example:  diverset images holiday/ -k 12 -o sheet.html")
@sharing(Picking, Out)
def images(
    options: Picking,
    out: Out,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Images, also those in folders below it.")],
    cache: Annotated[
        Path | None, option(metavar="FOLDER", help="Folder for features.", show_default=_DEFAULT_CACHE)
    ] = None,
    no_cache: Annotated[bool, option("--no-cache", help="Neither read nor keep features.")] = False,
) -> None:
    """Pick images of a folder that are unlike each other: a contact sheet.

    Near-duplicates collapse; the sheet shows the picks large, and beneath each the images that it stands for. -o also
    takes .png and .jpg.
    """
    import diverset as dv
    from diverset.images.pick import ImageChoice

    if options.k < 1:
        raise DiversetError(f"k = {options.k}; ask for at least 1 image")
    out.check(ImageChoice, [options.scores, options.embeddings])
    kept = not no_cache and (cache or True)
    choice = dv.pick_images(folder, **vars(options), cache=kept, progress=not out.quiet)
    out.deliver(choice, lambda console: _report(choice, console))


def _report(choice: "ImageChoice", console: "Console") -> None:
    from diverset.cli.console import aligned, line, printable, table

    scores = [] if choice.scores is None else aligned(choice.scores[choice.picks])
    rows = [
        [
            str(row["rank"]),
            printable(row["file"], console),
            *scores[i : i + 1],
            str(row["stands_for"]),
            str(row["near_copies"] or ""),
        ]
        for i, row in enumerate(choice.records())
    ]
    console.print(table([">#", "~image", *([">score"] if scores else []), ">stands for", ">near copies"], rows))
    copies = sum(original != i for i, original in enumerate(choice.copy_of.tolist()))
    also = f", {copies} of them near-duplicates of others" if copies else ""
    line(console, f"{len(choice)} of {len(choice.found.paths):,} images{also}, compared by {choice.compared_by}.")
