"""``diverset thread``: the arguments of :func:`diverset.find_threads`."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from diverset.cli.group import Encoding, Seed, app, option, out, sharing

if TYPE_CHECKING:
    from rich.console import Console

    from diverset.cli.console import Out
    from diverset.threads import FoundThreads

__all__ = ["report", "thread"]

_MODEL = "Model"
_COLUMNS = "Columns"


class Choose(StrEnum):
    """How the set of threads is chosen."""

    best = "best"
    sample = "sample"


@app.command(
    epilog="Example:  diverset thread news.jsonl -k 10 -r 8 --time date --text body --title title -o threads.html"
)
@sharing(out)
def thread(
    out: "Out",
    corpus: Annotated[
        str,
        typer.Argument(metavar="CORPUS", help="Documents: .jsonl, .csv, .parquet, or a folder of dated .txt files."),
    ],
    k: Annotated[int, option("-k", "--size", "--threads", help="How many threads.")] = 10,
    length: Annotated[int, option("-r", "--length", help="Documents in a thread.")] = 8,
    method: Annotated[
        Choose, option(help="Take the most probable threads, or sample: draw them at random.")
    ] = Choose.best,
    seed: Seed = None,
    through: Annotated[
        str | None, option(metavar="ID", help="A document that one of the threads must pass through.")
    ] = None,
    min_length: Annotated[
        int | None, option(metavar="N", help="Shortest thread, for events with few documents; half the length.")
    ] = None,
    keep_series: Annotated[
        bool, option("--keep-series", help="Keep formulaic series: earnings, weather, market tables.")
    ] = False,
    shared: Annotated[bool, option("--shared", help="Let threads share documents.")] = False,
    events: Annotated[
        int | None, option(metavar="N", help="Events in the documents; by modularity.", panel=_MODEL)
    ] = None,
    beta: Annotated[
        float | None, option(help="Weight of the similarity of neighbours; by held-out words.", panel=_MODEL)
    ] = None,
    burst: Annotated[float, option(min=0.0, help="Weight of days on which much is written.", panel=_MODEL)] = 0.5,
    max_gap: Annotated[float, option(min=0.0, help="Longest step, in mean steps of the event.", panel=_MODEL)] = 5.0,
    min_documents: Annotated[int, option(help="Ignore words in fewer documents.", panel=_MODEL)] = 2,
    max_share: Annotated[float, option(help="Ignore words in a larger share of documents.", panel=_MODEL)] = 0.5,
    time: Annotated[str | None, option(metavar="COL", help="Column of dates.", panel=_COLUMNS)] = None,
    text: Annotated[str | None, option(metavar="COL", help="Column of texts.", panel=_COLUMNS)] = None,
    title: Annotated[str | None, option(metavar="COL", help="Column of headlines.", panel=_COLUMNS)] = None,
    label: Annotated[str | None, option("--id", metavar="COL", help="Column of ids.", panel=_COLUMNS)] = None,
    day_first: Annotated[
        bool | None, option("--day-first/--month-first", help="Read 3/4/2020 as 3 April.", panel=_COLUMNS)
    ] = None,
    date_format: Annotated[
        str | None, option(metavar="FORMAT", help="Format of dates, such as %d.%m.%Y.", panel=_COLUMNS)
    ] = None,
    encoding: Encoding = None,
) -> None:
    """Find threads in dated documents: chains of related items, one event each, on a page of timelines."""
    import diverset as dv
    from diverset.cli.console import working
    from diverset.threads.found import FoundThreads

    out.check(FoundThreads.formats, [corpus])
    with working("Reading") as step:
        found = dv.find_threads(
            corpus,
            k,
            length,
            min_length=min_length,
            events=events,
            beta=beta,
            burst=burst,
            max_gap=max_gap,
            keep_series=keep_series,
            shared=shared,
            through=through,
            sample=method == Choose.sample,
            rng=0 if seed is None else seed,
            min_documents=min_documents,
            max_share=max_share,
            time=time,
            text=text,
            title=title,
            label=label,
            day_first=day_first,
            date_format=date_format,
            encoding=encoding,
            progress=step,
        )
    out.deliver(found, lambda console: report(found, console), ".md")


def report(found: "FoundThreads", console: "Console") -> None:
    """Print the threads: names and dates, then dates and headlines; then what was chosen and left out."""
    from diverset.cli.console import printable
    from diverset.threads.found import day_of

    corpus = found.corpus
    for t, (thread, name) in enumerate(zip(found.places, found.names, strict=True), start=1):
        first, last = found.dates[t - 1]
        head = f"{t}  {printable(name, console)} ({first} to {last})"
        console.print(head, markup=False, highlight=False, style="bold")
        for i in thread.tolist():
            line = f"{day_of(corpus.times[i])}  {corpus.titles[i]}"
            shown = printable(line, console, max(console.width - 4, 20))
            console.print(f"   {shown}", markup=False, highlight=False)
    for line in found.summary():
        console.print(printable(line, console), markup=False, highlight=False)
