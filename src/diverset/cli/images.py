"""``diverset images``: the arguments."""

from pathlib import Path
from typing import Annotated

import typer

from diverset.cli.group import app
from diverset.cli.select import Method

__all__ = ["images"]


@app.command(epilog="Example:  diverset images holiday/ -k 12 -o sheet.html")
def images(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Images, also those in folders below it.")],
    k: Annotated[int, typer.Option("-k", "--size", help="How many images to pick.")] = 12,
    query_scores: Annotated[
        str | None,
        typer.Option(metavar="F", help="Table of files and scores (.csv, .jsonl, ...); images not in it are left out."),
    ] = None,
    diversity: Annotated[
        float, typer.Option(help="With scores, the dial: 0 is plain top-k, 1 looks at diversity only.")
    ] = 0.5,
    method: Annotated[Method, typer.Option(help="How to look for the best set; sample draws one.")] = Method.greedy,
    seed: Annotated[int | None, typer.Option(min=0, help="For --method sample.", show_default=False)] = None,
    near: Annotated[
        float | None,
        typer.Option(metavar="X", help="Likeness, 0 to 1, from which images count as copies.", show_default="0.97"),
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(help="Folder for features.", show_default="diverset in the user's cache")
    ] = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Neither read nor keep features.")] = False,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="The sheet: .html, .png, .jpg; or the picks: .csv, .jsonl, .parquet."),
    ] = None,
) -> None:
    """Pick images of a folder that are unlike each other: a contact sheet.

    Near copies collapse; the sheet shows the picks large, and beneath each what it stands for.
    """
    from diverset.cli.run_images import default_cache, run_images

    run_images(
        folder,
        k,
        query_scores=query_scores,
        diversity=diversity,
        method=method.value,
        seed=seed,
        threshold=near,
        output=output,
        cache=None if no_cache else cache or default_cache(),
    )
