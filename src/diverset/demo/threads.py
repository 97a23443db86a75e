"""The invented news of nine months, six stories among them: threads on a page for ``diverset demo``."""

from pathlib import Path

from rich.console import Console

from diverset.cli.console import working
from diverset.cli.run_thread import report, write_threads
from diverset.threads import FoundThreads, example_news, find_threads

__all__ = ["run_demo_threads"]


def run_demo_threads(*, output: Path, console: Console | None = None) -> FoundThreads:
    """Find six threads in the invented news, print them, and write their page.

    Parameters
    ----------
    output : Path
        The page, .html.
    console : Console, optional
        Where to print; standard output if left out.
    """
    screen = Console() if console is None else console
    with working("threading the news") as step:
        corpus, _ = example_news()
        found = find_threads(corpus, k=6, progress=step)
    report(found, screen)
    write_threads(output, found, f"{len(found)} threads through {len(corpus)} invented news items")
    screen.print(f"Page written to {output}", markup=False, highlight=False, soft_wrap=True)
    return found
