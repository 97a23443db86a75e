"""``diverset thread``: from a file of dated documents to threads on a page, in JSON or in Markdown."""

import json
from pathlib import Path
from typing import Any

from rich.console import Console

from diverset.cli.console import printable, say, working
from diverset.io.files import atomic_write
from diverset.io.tables import check_output
from diverset.pages.threads import write_thread_page
from diverset.threads import FoundThreads, find_threads
from diverset.threads.found import day_of

__all__ = ["report", "run_thread", "write_threads"]

WRITABLE = (".html", ".json", ".md")


def run_thread(
    corpus: str, *, output: Path | None = None, console: Console | None = None, **options: Any
) -> FoundThreads:
    """Call :func:`diverset.find_threads` with `options`, print what it found, and write it."""
    if output is not None:
        check_output(output, WRITABLE)
    with working("reading") as step:
        found = find_threads(corpus, progress=step, **options)
    for remark in found.notes:
        say(remark)
    # The file first: who reads only the first lines of what is printed still gets it.
    if output is not None:
        with working("writing"):
            write_threads(output, found, f"{len(found)} threads through {Path(corpus).name}")
        say(f"written to {output}")
    report(found, Console() if console is None else console)
    return found


def report(found: FoundThreads, console: Console) -> None:
    """Print the threads: names and dates, then dates and headlines; then what was chosen and left out."""
    corpus = found.corpus
    for t, (thread, name) in enumerate(zip(found.places, found.names, strict=True), start=1):
        first, last = found.dates[t - 1]
        head = f"{t}  {printable(name, console)} ({first} to {last})"
        console.print(head, markup=False, highlight=False, style="bold")
        for i in thread.tolist():
            line = f"   {day_of(corpus.times[i])}  {corpus.titles[i]}"
            shown = printable(line.strip(), console, max(console.width - 4, 20))
            console.print(f"   {shown}", markup=False, highlight=False)
    for line in found.summary():
        console.print(printable(line, console), markup=False, highlight=False)


def write_threads(output: Path, found: FoundThreads, title: str | None = None) -> None:
    """Write a page, JSON or Markdown, by the extension."""
    check_output(output, WRITABLE)
    kind = output.suffix.lower()
    heading = f"{len(found)} threads through {len(found.corpus):,} documents" if title is None else title
    if kind == ".html":
        write_thread_page(output, found, title=heading)
        return
    if kind == ".json":
        text = json.dumps(found.to_dict(), ensure_ascii=False, indent=1, default=str) + "\n"
    else:
        text = _as_markdown(found, heading)
    with atomic_write(output) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="replace", newline="\n")


def _as_markdown(found: FoundThreads, title: str) -> str:
    lines = [f"# {_plain(title)}", ""]
    for t, (name, (first, last)) in enumerate(zip(found.names, found.dates, strict=True)):
        lines += [f"## {t + 1}. {_plain(name)} ({first} to {last})", ""]
        corpus = found.corpus
        lines += [f"- {day_of(corpus.times[i])}: {_plain(corpus.titles[i])}" for i in found.places[t].tolist()]
        lines.append("")
    return "\n".join([*lines, *(_plain(line) for line in found.summary()), ""])


def _plain(text: str) -> str:
    """Text in which Markdown sees no markup."""
    return "".join("\\" + mark if mark in "\\`*_[]<>#|" else mark for mark in " ".join(text.split()))
