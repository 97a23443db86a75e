"""``diverset thread``: the arguments."""

from pathlib import Path
from typing import Annotated

import typer

from diverset.cli.group import app

__all__ = ["thread"]

_GRAPH = "The graph"
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
        bool, typer.Option("--sample", help="Draw threads at random; without it the most probable are looked for.")
    ] = False,
    through: Annotated[
        str | None, typer.Option(metavar="ID", help="A document that one of the threads must pass through.")
    ] = None,
    min_length: Annotated[
        int | None, typer.Option(metavar="N", help="Let threads end early, after N documents.")
    ] = None,
    beta: Annotated[float, typer.Option(help="How much similarity from document to document counts.")] = 1.0,
    importance: Annotated[float, typer.Option(help="How much central documents (LexRank) count.")] = 0.1,
    rho: Annotated[float, typer.Option(min=0.0, help="How strongly threads repel each other.")] = 0.0,
    smoothing: Annotated[
        int,
        typer.Option(
            min=0, help="Rounds in which documents take on features of their neighbours; 0 is the plain model."
        ),
    ] = 2,
    balance: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Keep what much was written about from crowding out the rest.")
    ] = 0.5,
    time: Annotated[str | None, typer.Option(metavar="COL", help="Column of dates.", rich_help_panel=_COLUMNS)] = None,
    text: Annotated[str | None, typer.Option(metavar="COL", help="Column of texts.", rich_help_panel=_COLUMNS)] = None,
    title: Annotated[
        str | None, typer.Option(metavar="COL", help="Column of headlines.", rich_help_panel=_COLUMNS)
    ] = None,
    label: Annotated[
        str | None, typer.Option("--id", metavar="COL", help="Column of ids.", rich_help_panel=_COLUMNS)
    ] = None,
    threshold: Annotated[float, typer.Option(help="Least cosine similarity of an edge.", rich_help_panel=_GRAPH)] = 0.1,
    max_similarity: Annotated[
        float, typer.Option(help="Most: above, documents repeat each other.", rich_help_panel=_GRAPH)
    ] = 0.8,
    min_documents: Annotated[int, typer.Option(help="Ignore words in fewer documents.", rich_help_panel=_GRAPH)] = 2,
    max_share: Annotated[
        float, typer.Option(help="Ignore words in a larger share of documents.", rich_help_panel=_GRAPH)
    ] = 0.15,
    min_words: Annotated[
        int, typer.Option(help="Leave out shorter documents, and noise; 0 keeps all.", rich_help_panel=_GRAPH)
    ] = 0,
    cache: Annotated[
        bool, typer.Option("--cache/--no-cache", help="Keep the graph for the next time.", rich_help_panel=_GRAPH)
    ] = True,
) -> None:
    """Find threads in dated documents: chains of related items, one story each, on a page of timelines."""
    from diverset.apps.dated import CorpusSource
    from diverset.apps.thread import ThreadOptions, run_thread

    run_thread(
        CorpusSource(corpus, time, text, title, label),
        ThreadOptions(
            k=k,
            length=length,
            min_length=min_length,
            beta=beta,
            importance=importance,
            rho=rho,
            smoothing=smoothing,
            balance=balance,
            threshold=threshold,
            max_similarity=max_similarity,
            min_documents=min_documents,
            max_share=max_share,
            min_words=min_words,
            through=through,
            sample=sample,
            seed=seed,
        ),
        output=output,
        cache=cache,
    )
