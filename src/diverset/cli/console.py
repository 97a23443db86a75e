"""Printing of the commands: progress and remarks on standard error, results on standard output."""

import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn
from rich.table import Table
from rich.text import Text

from diverset.errors import DiversetWarning

__all__ = ["Console", "aligned", "heard", "line", "printable", "say", "table", "visible", "working"]


@contextmanager
def working(message: str) -> Iterator[Callable[..., None]]:
    """Show a message and a bar on a terminal if the work takes over a second; yields a function that sets both."""
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description} ...", markup=False), BarColumn(), TaskProgressColumn())
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task(message, total=None)
    timer = threading.Timer(1.0, bar.start)
    timer.daemon = True
    if console.is_terminal:
        timer.start()

    def step(text: str, done: int = 0, total: int | None = None) -> None:
        bar.tasks[0].total = total  # update() ignores None
        bar.update(task, description=text, completed=done)

    try:
        yield step
    finally:
        timer.cancel()
        if console.is_terminal:
            timer.join()
            bar.stop()


def say(remark: str) -> None:
    """Print one line on standard error."""
    print("diverset: note:", visible(" ".join(remark.split())), file=sys.stderr)


@contextmanager
def heard(notes: list[str]) -> Iterator[None]:
    """Append warnings of the library to `notes`, except those that repeat a note of a result."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DiversetWarning)
        yield
    for each in caught:
        if not issubclass(each.category, DiversetWarning):
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
        elif "only in the notes of the result" not in str(each.message):
            notes.append(str(each.message))


def visible(text: str) -> str:
    r"""Text with control characters, such as terminal escapes, written out.

    >>> visible("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    if text.isprintable():
        return text
    return "".join(m if m.isprintable() or m in "\n\t" else m.encode("unicode_escape").decode() for m in text)


def printable(text: str, console: Console, width: int = 400) -> str:
    """One line of text for a terminal, with control characters written out and unsupported characters replaced."""
    shown = visible(" ".join(text[: 4 * width].split()))[:width]
    return shown.encode(console.encoding, "replace").decode(console.encoding)


def line(console: Console, text: str, **style: Any) -> None:
    """Print text without interpreting markup, and with control characters written out."""
    shown = visible(text).encode(console.encoding, "replace").decode(console.encoding)
    console.print(shown, markup=False, highlight=False, emoji=False, **style)


def table(headings: Iterable[str], rows: Iterable[Iterable[str | Text]]) -> Table:
    """A table; headings begin with a mark: ``<`` left, ``>`` right, ``~`` left and folded, ``}`` right and wrapped."""
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in headings:
        mark, name = heading[0], Text(heading[1:])
        overflow: Any = "fold" if mark == "~" else "ellipsis"
        made.add_column(name, justify="right" if mark in ">}" else "left", no_wrap=mark in "<>", overflow=overflow)
    for row in rows:
        made.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return made


def aligned(values: Iterable[float]) -> list[str]:
    """Numbers of a column with equal numbers of decimals, as many as needed for up to six digits.

    >>> aligned([0.97, 0.971, 12.0])
    ['0.970', '0.971', '12.000']
    """
    numbers = list(values)
    texts = [f"{number:.6g}" for number in numbers]
    if any("e" in text for text in texts):
        return texts
    decimals = max((len(text.partition(".")[2]) for text in texts), default=0)
    return [f"{number:.{decimals}f}" for number in numbers]
