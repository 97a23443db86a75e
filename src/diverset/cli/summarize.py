"""``diverset summarize``: the arguments of :func:`diverset.summarize`."""

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from diverset.cli.group import Encoding, Seed, app, option, out, sharing
from diverset.errors import DiversetError

if TYPE_CHECKING:
    from rich.console import Console

    from diverset.cli.console import Out

__all__ = ["summarize"]


class Decoder(StrEnum):
    """How sentences are chosen."""

    coverage = "coverage"
    mbr = "mbr"
    sample = "sample"
    greedy = "greedy"


@app.command(epilog="Example:  diverset summarize articles/ --max-words 100 -o summary.html")
@sharing(out)
def summarize(
    out: "Out",
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE_OR_FOLDER...",
            help="Texts about one topic: .txt, .md, .html, tables, folders of them; - or nothing is standard input.",
        ),
    ] = None,
    max_words: Annotated[
        int | None, option(metavar="N", help="Largest number of words; 100 if there is no other limit.")
    ] = None,
    max_bytes: Annotated[int | None, option(metavar="N", help="Largest number of bytes of UTF-8.")] = None,
    max_sentences: Annotated[int | None, option(metavar="N", help="Largest number of sentences.")] = None,
    query: Annotated[
        str | None, option(metavar="TEXT", help="What the summary should be about.", show_default=False)
    ] = None,
    update_since: Annotated[
        str | None, option(metavar="FOLDER", help="Texts read before: the summary contains what is new since then.")
    ] = None,
    method: Annotated[
        Decoder, option(help="How sentences are chosen; sample draws one summary at random.")
    ] = Decoder.coverage,
    draws: Annotated[int, option(metavar="N", min=1, help="Draws within the limit, for probabilities.")] = 20_000,
    seed: Seed = None,
    model: Annotated[
        Path | None, option(metavar="FILE", help="A model of your own, written by Summarizer.save.")
    ] = None,
    embeddings: Annotated[
        str | None, option(metavar="NAME", help="Compare sentences by an installed sentence-transformers model.")
    ] = None,
    text: Annotated[str | None, option(metavar="COL", help="Column of texts, if a table is read.")] = None,
    label: Annotated[str | None, option("--id", metavar="COL", help="Column of names, if a table is read.")] = None,
    encoding: Encoding = None,
) -> None:
    """Summarise several documents about one topic, in their own sentences."""
    import diverset as dv
    from diverset.cli.console import working
    from diverset.io.documents import read_cluster
    from diverset.text.summary import Summary

    out.check(Summary.formats, [*(paths or []), update_since, model])
    notes: list[str] = []
    reading: dict[str, Any] = {"text": text, "label": label, "encoding": encoding, "notes": notes}
    with working("Reading") as step:
        cluster = read_cluster(paths or [], **reading)
        if not len(cluster):
            raise DiversetError("there is nothing to summarise: the documents hold no sentence")
        read = None if update_since is None else read_cluster([update_since], **reading)
        step("Summarising")
        summary = dv.summarize(
            cluster,
            max_words,
            max_bytes=max_bytes,
            max_sentences=max_sentences,
            query=query,
            update_since=read,
            method=method.value,
            n_draws=draws,
            model=model,
            embeddings=embeddings,
            rng=seed,
        )
    summary = replace(summary, notes=(*notes, *summary.notes))
    out.deliver(summary, lambda console: _print(summary.text, console), ".txt")


def _print(text: str, console: "Console") -> None:
    from diverset.cli.console import visible

    shown = visible(text).encode(console.encoding, "replace").decode(console.encoding)
    console.print(shown, markup=False, highlight=False, emoji=False, soft_wrap=True)
