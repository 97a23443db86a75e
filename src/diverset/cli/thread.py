"""``diverset thread``: the arguments of :func:`diverset.find_threads`."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from diverset.cli.group import Encoding, Out, Seed, app, option, sharing

if TYPE_CHECKING:
    from rich.console import Console

    from diverset.threads import FoundThreads

__all__ = ["report", "thread"]

_MODEL, _COLUMNS = "Model", "Columns"
_CORPUS = "Documents: .jsonl, .csv, .parquet, or a folder of dated .txt files."


@dataclass
class Threading:
    """Keyword arguments of :func:`diverset.find_threads`."""

    k: Annotated[int, option("-k", "--size", "--threads", help="How many threads.")] = 10
    length: Annotated[int, option("-r", "--length", help="Documents in a thread.")] = 8
    rng: Seed = 0
    through: Annotated[
        str | None, option(metavar="ID", help="A document that one of the threads must pass through.")
    ] = None
    min_length: Annotated[
        int | None, option(metavar="N", help="Shortest thread, for events with few documents; half the length.")
    ] = None
    keep_series: Annotated[
        bool, option("--keep-series", help="Keep formulaic series: earnings, weather, market tables.")
    ] = False
    shared: Annotated[bool, option("--shared", help="Let threads share documents.")] = False
    events: Annotated[int | None, option(metavar="N", help="Events in the documents; by modularity.", panel=_MODEL)] = (
        None
    )
    beta: Annotated[
        float | None, option(help="Weight of the similarity of neighbours; by held-out words.", panel=_MODEL)
    ] = None
    burst: Annotated[float, option(min=0.0, help="Weight of days with many documents.", panel=_MODEL)] = 0.5
    max_gap: Annotated[float, option(min=0.0, help="Longest step, in mean steps of the event.", panel=_MODEL)] = 5.0
    min_documents: Annotated[int, option(help="Ignore words in fewer documents.", panel=_MODEL)] = 2
    max_share: Annotated[float, option(help="Ignore words in a larger share of documents.", panel=_MODEL)] = 0.5
    time: Annotated[str | None, option(metavar="COL", help="Column of dates.", panel=_COLUMNS)] = None
    text: Annotated[str | None, option(metavar="COL", help="Column of texts.", panel=_COLUMNS)] = None
    title: Annotated[str | None, option(metavar="COL", help="Column of headlines.", panel=_COLUMNS)] = None
    label: Annotated[str | None, option("--id", metavar="COL", help="Column of ids.", panel=_COLUMNS)] = None
    day_first: Annotated[
        bool | None, option("--day-first/--month-first", help="Read 3/4/2020 as 3 April.", panel=_COLUMNS)
    ] = None
    date_format: Annotated[
        str | None, option(metavar="FORMAT", help="Format of dates, such as %d.%m.%Y.", panel=_COLUMNS)
    ] = None
    encoding: Encoding = None


@app.command(
    epilog="Example:  diverset thread news.jsonl -k 10 -r 8 --time date --text body --title title -o threads.html"
)
@sharing(Threading, Out)
def thread(
    options: Threading,
    out: Out,
    corpus: Annotated[str, typer.Argument(metavar="CORPUS", help=_CORPUS)],
    method: Annotated[
        Literal["best", "sample"], option(help="Take the most probable threads, or sample: draw them at random.")
    ] = "best",
) -> None:
    """Find threads in dated documents: chains of related items, one event each, on a page of timelines."""
    import diverset as dv
    from diverset.cli.console import working
    from diverset.threads.found import FoundThreads

    out.check(FoundThreads, [corpus])
    with working("Reading") as step:
        found = dv.find_threads(corpus, **vars(options), sample=method == "sample", progress=step)
    out.deliver(found, lambda console: report(found, console), ".md")


def report(found: "FoundThreads", console: "Console") -> None:
    """Print the name and dates of each thread with its headlines, then the settings and the documents left out."""
    from diverset.cli.console import line, printable
    from diverset.threads.found import day_of

    corpus = found.corpus
    for t, (thread, name) in enumerate(zip(found.places, found.names, strict=True), start=1):
        first, last = found.dates[t - 1]
        line(console, f"{t}  {printable(name, console)} ({first} to {last})", style="bold")
        for i in thread.tolist():
            item = f"{day_of(corpus.times[i])}  {corpus.titles[i]}"
            line(console, f"   {printable(item, console, max(console.width - 4, 20))}")
    for each in found.summary():
        line(console, printable(each, console))
