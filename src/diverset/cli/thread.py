"""``diverset thread``: the arguments of ``find_threads``."""

from pathlib import Path
from typing import Annotated

import typer

from diverset.cli.group import app

__all__ = ["thread"]

_MODEL = "Model"
_COLUMNS = "Columns"


@app.command(
    epilog="Example:  diverset thread news.jsonl -k 10 -r 8 --time date --text body --title title -o threads.html"
)
def thread(
    corpus: Annotated[
        str,
        typer.Argument(metavar="CORPUS", help="Documents: .jsonl, .csv, .parquet, or a folder of dated .txt files."),
    ],
    k: Annotated[int, typer.Option("-k", "--threads", help="How many threads.")] = 10,
    length: Annotated[int, typer.Option("-r", "--length", help="Documents in a thread.")] = 8,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the threads: a page, .html, or .json or .md.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same threads.")] = 0,
    sample: Annotated[
        bool, typer.Option("--sample", help="Draw threads at random; without it, take the most probable ones.")
    ] = False,
    through: Annotated[
        str | None, typer.Option(metavar="ID", help="A document that one of the threads must pass through.")
    ] = None,
    min_length: Annotated[
        int | None, typer.Option(metavar="N", help="Shortest thread, for events with few documents; half the length.")
    ] = None,
    keep_series: Annotated[
        bool, typer.Option("--keep-series", help="Keep formulaic series: earnings, weather, market tables.")
    ] = False,
    shared: Annotated[bool, typer.Option("--shared", help="Let threads share documents.")] = False,
    events: Annotated[
        int | None, typer.Option(metavar="N", help="Events in the documents; by modularity.", rich_help_panel=_MODEL)
    ] = None,
    beta: Annotated[
        float | None,
        typer.Option(help="Weight of the similarity of neighbours; by held-back words.", rich_help_panel=_MODEL),
    ] = None,
    burst: Annotated[
        float, typer.Option(min=0.0, help="Weight of days on which much is written.", rich_help_panel=_MODEL)
    ] = 0.5,
    max_gap: Annotated[
        float, typer.Option(min=0.0, help="Longest step, in mean steps of the event.", rich_help_panel=_MODEL)
    ] = 5.0,
    min_documents: Annotated[int, typer.Option(help="Ignore words in fewer documents.", rich_help_panel=_MODEL)] = 2,
    max_share: Annotated[
        float, typer.Option(help="Ignore words in a larger share of documents.", rich_help_panel=_MODEL)
    ] = 0.5,
    time: Annotated[str | None, typer.Option(metavar="COL", help="Column of dates.", rich_help_panel=_COLUMNS)] = None,
    text: Annotated[str | None, typer.Option(metavar="COL", help="Column of texts.", rich_help_panel=_COLUMNS)] = None,
    title: Annotated[
        str | None, typer.Option(metavar="COL", help="Column of headlines.", rich_help_panel=_COLUMNS)
    ] = None,
    label: Annotated[
        str | None, typer.Option("--id", metavar="COL", help="Column of ids.", rich_help_panel=_COLUMNS)
    ] = None,
) -> None:
    """Find threads in dated documents: chains of related items, one event each, on a page of timelines."""
    from diverset.cli.run_thread import run_thread

    run_thread(
        corpus,
        output=output,
        k=k,
        length=length,
        min_length=min_length,
        events=events,
        beta=beta,
        burst=burst,
        max_gap=max_gap,
        keep_series=keep_series,
        shared=shared,
        through=through,
        sample=sample,
        rng=seed,
        min_documents=min_documents,
        max_share=max_share,
        time=time,
        text=text,
        title=title,
        label=label,
    )
