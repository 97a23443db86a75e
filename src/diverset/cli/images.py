"""``diverset images``: the arguments of :func:`diverset.pick_images`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from diverset.cli.group import Seed, app, option, out, sharing
from diverset.cli.select import Method

if TYPE_CHECKING:
    from rich.console import Console

    from diverset.cli.console import Out
    from diverset.images.pick import ImageChoice

__all__ = ["images"]


@app.command(epilog="Example:  diverset images holiday/ -k 12 -o sheet.html")
@sharing(out)
def images(
    out: "Out",
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Images, also those in folders below it.")],
    k: Annotated[int, option("-k", "--size", help="How many images to pick.")] = 12,
    query_scores: Annotated[
        str | None,
        option(metavar="F", help="Table of files and scores (.csv, .jsonl, ...); images not in it are left out."),
    ] = None,
    embeddings: Annotated[
        str | None,
        option(metavar="F", help="Your own vectors: .npy, a table with files and vectors, or an installed model."),
    ] = None,
    diversity: Annotated[float, option(help="With scores, the dial: 0 is plain top-k, 1 diversity only.")] = 0.5,
    method: Annotated[Method, option(help="How to look for the best set; sample draws one.")] = Method.greedy,
    seed: Seed = None,
    near: Annotated[
        float | None,
        option(metavar="X", help="Similarity, 0 to 1, from which images count as duplicates.", show_default="0.97"),
    ] = None,
    cache: Annotated[
        Path | None, option(metavar="FOLDER", help="Folder for features.", show_default="the user's folder for caches")
    ] = None,
    no_cache: Annotated[bool, option("--no-cache", help="Neither read nor keep features.")] = False,
) -> None:
    """Pick images of a folder that are unlike each other: a contact sheet.

    Near-duplicates collapse; the sheet shows the picks large, and beneath each what it stands for. -o also takes .png
    and .jpg.
    """
    import diverset as dv
    from diverset.errors import DiversetError
    from diverset.images.pick import ImageChoice

    if k < 1:
        raise DiversetError(f"k = {k}; ask for at least 1 image")
    out.check(ImageChoice.formats, [query_scores, embeddings])
    choice = dv.pick_images(
        folder,
        k,
        scores=query_scores,
        embeddings=embeddings,
        diversity=diversity,
        method=method.value,
        threshold=near,
        cache=not no_cache and (cache or True),
        progress=not out.quiet,
        rng=seed,
    )
    out.deliver(choice, lambda console: _report(choice, console))


def _report(choice: "ImageChoice", console: "Console") -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from diverset.cli.console import aligned, printable

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("image", overflow="fold")
    scores = [] if choice.scores is None else aligned(choice.scores[choice.picks])
    for name in [*(["score"] if scores else []), "stands for", "near copies"]:
        table.add_column(name, justify="right", no_wrap=True)
    for rank, row in enumerate(choice.records(), start=1):
        cells = [str(rank), printable(row["file"], console), *scores[rank - 1 : rank]]
        cells += [str(row["stands_for"]), str(row["near_copies"] or "")]
        table.add_row(*(Text(cell) for cell in cells))
    console.print(table)
    copies = sum(original != i for i, original in enumerate(choice.copy_of.tolist()))
    also = f", {copies} of them near-duplicates of others" if copies else ""
    console.print(Text(f"{len(choice)} of {len(choice.found.paths):,} images{also}, compared by {choice.compared_by}."))
