"""What the commands say on a terminal: progress, remarks, and text that every terminal can show."""

import sys
import threading
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn

from diverset.errors import DiversetWarning

__all__ = ["Step", "aligned", "heard", "printable", "say", "working"]


class Step(Protocol):
    """Says what is being done now, and how much of it, where that is known."""

    def __call__(self, text: str, done: int = 0, total: int | None = None) -> None:
        """`done` of `total`, or some of an unknown amount."""


@contextmanager
def working(message: str) -> Iterator[Step]:
    """Show on a terminal what is being done, if it takes longer than a second; gives a function to change it.

    The bar is filled where it is known how much there is to do, and moves to and fro where not.
    """
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description} ...", markup=False), BarColumn(), TaskProgressColumn())
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task(message, total=None)
    timer = threading.Timer(1.0, bar.start)
    timer.daemon = True
    if console.is_terminal:
        timer.start()

    def step(text: str, done: int = 0, total: int | None = None) -> None:
        bar.tasks[0].total = total  # update() would take None for no change
        bar.update(task, description=text, completed=done)

    try:
        yield step
    finally:
        timer.cancel()
        if console.is_terminal:
            timer.join()
            bar.stop()


def say(remark: str) -> None:
    """One line on standard error."""
    print("diverset: note:", " ".join(remark.split()), file=sys.stderr)


@contextmanager
def heard(notes: list[str]) -> Iterator[None]:
    """Turn the library's warnings into `notes`; those that repeat a note of a result are dropped, others pass."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DiversetWarning)
        yield
    for each in caught:
        if not issubclass(each.category, DiversetWarning):
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
        elif "only in the notes of the result" not in str(each.message):
            notes.append(str(each.message))


def printable(text: str, console: Console, width: int = 400) -> str:
    """Text for a terminal: one line, no control characters, only what its encoding has."""
    line = "".join(mark if mark.isprintable() else " " for mark in " ".join(text[: 4 * width].split()))[:width]
    return line.encode(console.encoding, "replace").decode(console.encoding)


def aligned(values: Iterable[float]) -> list[str]:
    """Numbers of a column, all with as many decimals as the one that needs most (six digits at most).

    >>> aligned([0.97, 0.971, 12.0])
    ['0.970', '0.971', '12.000']
    """
    numbers = list(values)
    texts = [f"{number:.6g}" for number in numbers]
    if any("e" in text for text in texts):
        return texts
    decimals = max((len(text.partition(".")[2]) for text in texts), default=0)
    return [f"{number:.{decimals}f}" for number in numbers]
