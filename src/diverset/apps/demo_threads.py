"""The invented news of nine months, six stories among them: threads on a page for ``diverset demo``."""

import json
from importlib.resources import files
from pathlib import Path

from rich.console import Console

from diverset.apps.console import working
from diverset.apps.thread import ThreadOptions, ThreadResult, report, thread_corpus, write_threads
from diverset.threads import Corpus

__all__ = ["OPTIONS", "load_news", "run_demo_threads"]

#: Seven threads: six stories, and the weather, which is in the paper every week.
OPTIONS = ThreadOptions(k=7, length=8, beta=2.0, importance=0.2, threshold=0.15)


def load_news() -> tuple[Corpus, list[str | None]]:
    """The 230 invented items, and the story of each; None where it belongs to none."""
    lines = (files("diverset") / "data" / "news.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    texts = [f"{row['title']}. {row['text']}" for row in rows]
    corpus = Corpus(texts, [row["date"] for row in rows], [row["id"] for row in rows], [row["title"] for row in rows])
    return corpus, [row["story"] for row in rows]


def run_demo_threads(*, output: Path, options: ThreadOptions = OPTIONS, console: Console | None = None) -> ThreadResult:
    """Thread the invented news, print the threads, and write their page.

    Parameters
    ----------
    output : Path
        The page, .html.
    options : ThreadOptions
        What to look for; seven threads of eight by default.
    console : Console, optional
        Where to print; standard output if left out.
    """
    screen = Console() if console is None else console
    with working("threading the news") as step:
        corpus, _ = load_news()
        result = thread_corpus(corpus, options, step=step)
    report(result, screen)
    write_threads(output, result, options, f"{len(result.threads)} threads through {len(corpus)} invented news items")
    screen.print(f"Page written to {output}", markup=False, highlight=False, soft_wrap=True)
    return result
