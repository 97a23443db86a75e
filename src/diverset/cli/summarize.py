"""``diverset summarize``: the arguments of :func:`diverset.summarize`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from diverset.cli.group import Encoding, Out, Seed, app, option, sharing
from diverset.errors import DiversetError

__all__ = ["summarize"]

_TEXTS = "Texts about one topic: .txt, .md, .html, tables, folders of them; - or nothing is standard input."


@dataclass
class Summarizing:
    """Keyword arguments of :func:`diverset.summarize`."""

    max_words: Annotated[
        int | None, option(metavar="N", help="Largest number of words; 100 if there is no other limit.")
    ] = None
    max_bytes: Annotated[int | None, option(metavar="N", help="Largest number of bytes of UTF-8.")] = None
    max_sentences: Annotated[int | None, option(metavar="N", help="Largest number of sentences.")] = None
    query: Annotated[str | None, option(metavar="TEXT", help="Subject that the summary should be about.")] = None
    update_since: Annotated[
        Path | None, option(metavar="FOLDER", help="Texts read before: the summary contains what is new since then.")
    ] = None
    method: Annotated[
        Literal["coverage", "mbr", "sample", "greedy"],
        option(help="How sentences are chosen; sample draws one summary at random."),
    ] = "coverage"
    n_draws: Annotated[
        int, option("--draws", metavar="N", min=1, help="Draws within the limit, for probabilities.")
    ] = 20_000
    rng: Seed = None
    model: Annotated[Path | None, option(metavar="FILE", help="A model of your own, written by Summarizer.save.")] = (
        None
    )
    embeddings: Annotated[
        str | None, option(metavar="NAME", help="Compare sentences by an installed sentence-transformers model.")
    ] = None
    text: Annotated[str | None, option(metavar="COL", help="Column of texts, if a table is read.")] = None
    label: Annotated[str | None, option("--id", metavar="COL", help="Column of names, if a table is read.")] = None
    encoding: Encoding = None


@app.command(epilog="Example:  diverset summarize articles/ --max-words 100 -o summary.html")
@sharing(Summarizing, Out)
def summarize(
    options: Summarizing,
    out: Out,
    paths: Annotated[list[Path] | None, typer.Argument(metavar="FILE_OR_FOLDER...", help=_TEXTS)] = None,
) -> None:
    """Summarise several documents about one topic, in their own sentences."""
    import diverset as dv
    from diverset.cli.console import line, working
    from diverset.text.summary import Summary

    out.check(Summary, [*(paths or []), options.update_since, options.model])
    with working("Summarising"):
        summary = dv.summarize(paths or [Path("-")], **vars(options))
    if not len(summary.cluster):
        raise DiversetError("there is nothing to summarise: the documents hold no sentence")
    out.deliver(summary, lambda console: line(console, summary.text, soft_wrap=True), ".txt")
