"""``diverset summarize``: the arguments."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from diverset.cli.group import app

__all__ = ["summarize"]


class Decoder(StrEnum):
    """How sentences are chosen."""

    coverage = "coverage"
    mbr = "mbr"
    sample = "sample"
    greedy = "greedy"


@app.command(epilog="Example:  diverset summarize articles/ --max-words 100 -o summary.html")
def summarize(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE_OR_FOLDER...",
            help="Texts about one thing: .txt, .md, .html, .jsonl, folders of them; - or nothing is standard input.",
        ),
    ] = None,
    max_words: Annotated[
        int | None, typer.Option(metavar="N", help="At most so many words; 100 if there is no other limit.")
    ] = None,
    max_bytes: Annotated[int | None, typer.Option(metavar="N", help="At most so many bytes of UTF-8.")] = None,
    max_sentences: Annotated[int | None, typer.Option(metavar="N", help="At most so many sentences.")] = None,
    query: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What the summary should be about.", show_default=False)
    ] = None,
    update_since: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Texts that were read before: the summary says what is new beside them."),
    ] = None,
    method: Annotated[
        Decoder, typer.Option(help="How sentences are chosen; sample draws one summary at random.")
    ] = Decoder.coverage,
    draws: Annotated[int, typer.Option(metavar="N", min=1, help="Draws within the limit, for probabilities.")] = 20_000,
    seed: Annotated[int | None, typer.Option(min=0, help="For draws.", show_default=False)] = None,
    model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A model of your own, written by Summarizer.save.")
    ] = None,
    embeddings: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Compare sentences by an installed sentence-transformers model."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="The summary alone, .md or .txt; with reasons, .json; a page, .html."),
    ] = None,
) -> None:
    """Summarise several documents about one thing, in their own sentences."""
    from diverset.cli.run_summarize import run_summarize

    run_summarize(
        paths or [],
        max_words=max_words,
        max_bytes=max_bytes,
        max_sentences=max_sentences,
        query=query,
        update_since=update_since,
        method=method.value,
        n_draws=draws,
        seed=seed,
        model=model,
        embeddings=embeddings,
        output=output,
    )
