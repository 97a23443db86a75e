"""``diverset demo``, ``cache``, ``completion``, ``summarize``, ``thread`` and ``images``."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from diverset.cli.group import COMPLETE, Encoding, Out, Seed, app, option, sharing
from diverset.cli.select import Method
from diverset.errors import DiversetError, EnvironmentFault

if TYPE_CHECKING:
    from rich.console import Console

    from diverset.images.pick import ImageChoice
    from diverset.threads import FoundThreads

__all__ = ["cache", "completion", "demo", "images", "report", "summarize", "thread"]

_TEXTS = "Texts about one topic: .txt, .md, .html, tables, folders of them; - or nothing is standard input."
_CORPUS = "Documents: .jsonl, .csv, .parquet, or a folder of dated .txt files."
_MODEL, _COLUMNS = "Model", "Columns"


@app.command(epilog="Example:  diverset demo -k 12 --seed 1 -o demo/cities.svg")
def demo(
    k: Annotated[int, option("-k", "--size", "How many cities to pick, 1 to 200.")] = 10,
    seed: Seed = None,
    output: Annotated[
        Path, option("-o", "--output", "Where to write the map: .png, .svg or .pdf; pages go beside it.", "FILE")
    ] = Path("diverset-demo.png"),
    length_scale: Annotated[float, option("Distance in km over which cities resemble each other.")] = 500.0,
    population_power: Annotated[
        float, option("Weight of population: 0 is distance only, 3 is nearly the plain top k.")
    ] = 0.5,
) -> None:
    """Pick diverse U.S. cities out of 200 for a map, summarise five reports, and thread half a year of news.

    Large cities have high quality, and near ones are similar; likely sets are large cities far apart. With a seed, a
    set is also drawn at random. Reports and news are invented. An index page links map, summary and threads.
    """
    from diverset.cli.demo import run_demo

    run_demo(k, output=output, length_scale=length_scale, population_power=population_power, seed=seed)


@app.command(epilog="Example:  diverset cache --clear")
def cache(
    clear: Annotated[bool, option("--clear", "Delete the cached features.")] = False,
    folder: Annotated[Path | None, option("--cache", "Another folder.", "FOLDER", show_default=False)] = None,
) -> None:
    """Show the folder of cached image features and its size, or delete them."""
    from diverset.io.cache import cache_folder, clear_caches

    place = folder or cache_folder()
    if place is None:
        raise EnvironmentFault("there is no home directory, and so no folder for caches; give one with --cache")
    if clear:
        typer.echo(f"{clear_caches(folder):,} bytes deleted from {place}")
        return
    sizes = [path.stat().st_size for path in place.rglob("*") if path.is_file()]
    typer.echo(f"{place}: {len(sizes):,} files, {sum(sizes):,} bytes")


@app.command(epilog='Example:  eval "$(diverset completion bash)"')
def completion(shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(help="The shell.")]) -> None:
    """Print a script that makes a shell complete the commands and options of diverset."""
    from typer._completion_shared import get_completion_script

    typer.echo(get_completion_script(prog_name="diverset", complete_var=COMPLETE, shell=shell))


@dataclass
class Summarizing:
    """Keyword arguments of :func:`diverset.summarize`."""

    max_words: Annotated[int | None, option("Largest number of words; 100 if there is no other limit.", "N")] = None
    max_bytes: Annotated[int | None, option("Largest number of bytes of UTF-8.", "N")] = None
    max_sentences: Annotated[int | None, option("Largest number of sentences.", "N")] = None
    query: Annotated[str | None, option("Subject that the summary should be about.", "TEXT")] = None
    update_since: Annotated[Path | None, option("Texts read before; summarise what is new.", "FOLDER")] = None
    method: Annotated[
        Literal["coverage", "mbr", "sample", "greedy"],
        option("How sentences are chosen; sample draws one summary at random."),
    ] = "coverage"
    n_draws: Annotated[int, option("--draws", "Draws within the limit, for probabilities.", "N", min=1)] = 20_000
    rng: Seed = None
    model: Annotated[Path | None, option("A model of your own, written by Summarizer.save.", "FILE")] = None
    embeddings: Annotated[str | None, option("Compare by a sentence-transformers model.", "NAME")] = None
    text: Annotated[str | None, option("Column of texts, if a table is read.", "COL")] = None
    label: Annotated[str | None, option("--id", "Column of names, if a table is read.", "COL")] = None
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


@dataclass
class Threading:
    """Keyword arguments of :func:`diverset.find_threads`."""

    k: Annotated[int, option("-k", "--size", "--threads", "How many threads.")] = 10
    length: Annotated[int, option("-r", "--length", "Documents in a thread.")] = 8
    rng: Seed = 0
    through: Annotated[str | None, option("A document that one of the threads must pass through.", "ID")] = None
    min_length: Annotated[int | None, option("Shortest thread; half the length by default.", "N")] = None
    keep_series: Annotated[bool, option("--keep-series", "Keep series such as weather reports.")] = False
    shared: Annotated[bool, option("--shared", "Let threads share documents.")] = False
    events: Annotated[int | None, option("Events in the documents; by modularity.", "N", panel=_MODEL)] = None
    beta: Annotated[float | None, option("Weight of similar neighbours; by held-out words.", panel=_MODEL)] = None
    burst: Annotated[float, option("Weight of days with many documents.", min=0.0, panel=_MODEL)] = 1.0
    max_gap: Annotated[float, option("Longest step, in mean steps of the event.", min=0.0, panel=_MODEL)] = 5.0
    min_documents: Annotated[int, option("Ignore words in fewer documents.", panel=_MODEL)] = 2
    max_share: Annotated[float, option("Ignore words in a larger share of documents.", panel=_MODEL)] = 0.5
    time: Annotated[str | None, option("Column of dates.", "COL", panel=_COLUMNS)] = None
    text: Annotated[str | None, option("Column of texts.", "COL", panel=_COLUMNS)] = None
    title: Annotated[str | None, option("Column of headlines.", "COL", panel=_COLUMNS)] = None
    label: Annotated[str | None, option("--id", "Column of ids.", "COL", panel=_COLUMNS)] = None
    day_first: Annotated[bool | None, option("--day-first/--month-first", "3/4/2020 is 3 April.", panel=_COLUMNS)] = (
        None
    )
    date_format: Annotated[str | None, option("Format of dates, such as %d.%m.%Y.", "FORMAT", panel=_COLUMNS)] = None
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
        Literal["best", "sample"], option("Take the most probable threads, or sample: draw them at random.")
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
    threads = zip(found.places, found.names, found.dates, strict=True)
    for t, (thread, name, (first, last)) in enumerate(threads, start=1):
        line(console, f"{t}  {printable(name, console)} ({first} to {last})", style="bold")
        for i in thread.tolist():
            item = f"{day_of(corpus.times[i])}  {corpus.titles[i]}"
            line(console, f"   {printable(item, console, max(console.width - 4, 20))}")
    for each in found.summary():
        line(console, printable(each, console))


@dataclass
class Picking:
    """Keyword arguments of :func:`diverset.pick_images`."""

    k: Annotated[int, option("-k", "--size", "How many images to pick.")] = 12
    scores: Annotated[str | None, option("--query-scores", "Table of files and scores; others are left out.", "F")] = (
        None
    )
    embeddings: Annotated[str | None, option("Vectors: .npy, a table of files and vectors, or a model.", "F")] = None
    diversity: Annotated[float, option("With scores, the dial: 0 is plain top-k, 1 diversity only.")] = 0.5
    method: Method = "greedy"
    rng: Seed = None
    threshold: Annotated[
        float | None,
        option("--near", "Least similarity of duplicates.", "X", show_default="0.97"),
    ] = None
    max_pixels: Annotated[int | None, option("Largest image, in pixels.", "N", show_default="50 million")] = None
    encoding: Encoding = None


@app.command(epilog="Example:  diverset images holiday/ -k 12 -o sheet.html")
@sharing(Picking, Out)
def images(
    options: Picking,
    out: Out,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Images, also those in folders below it.")],
    cache: Annotated[Path | None, option("Folder for features.", "FOLDER", show_default="the user's")] = None,
    no_cache: Annotated[bool, option("--no-cache", "Neither read nor keep features.")] = False,
) -> None:
    """Pick images of a folder that are unlike each other: a contact sheet.

    Near-duplicates collapse; the sheet shows the picks large, and beneath each the images that it stands for. -o also
    takes .png and .jpg.
    """
    import diverset as dv
    from diverset.images.pick import ImageChoice

    if options.k < 1:
        raise DiversetError(f"k = {options.k}; it must be at least 1")
    out.check(ImageChoice, [options.scores, options.embeddings])
    kept = not no_cache and (cache or True)
    choice = dv.pick_images(folder, **vars(options), cache=kept, progress=not out.quiet)
    out.deliver(choice, lambda console: _report(choice, console))


def _report(choice: "ImageChoice", console: "Console") -> None:
    from diverset.cli.console import aligned, line, printable, table

    scores = [] if choice.scores is None else aligned(choice.scores[choice.picks])
    rows = []
    for i, row in enumerate(choice.records()):
        counts = [str(row["stands_for"]), str(row["near_copies"] or "")]
        rows.append([str(row["rank"]), printable(row["file"], console), *scores[i : i + 1], *counts])
    console.print(table([">#", "~image", *([">score"] if scores else []), ">stands for", ">near copies"], rows))
    copies = sum(original != i for i, original in enumerate(choice.copy_of.tolist()))
    also = f", {copies} of them near-duplicates of others" if copies else ""
    line(console, f"{len(choice)} of {len(choice.found.paths):,} images{also}, compared by {choice.compared_by}.")
