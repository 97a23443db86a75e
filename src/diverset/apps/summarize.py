"""``diverset summarize``: from files about one thing to a short text made of their sentences."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from diverset._files import atomic_write, check_writable
from diverset.apps.console import say, working
from diverset.apps.documents import read_documents
from diverset.errors import DiversetError

if TYPE_CHECKING:
    from diverset.text import Summary

__all__ = ["run_summarize"]

OUTPUTS = (".md", ".txt", ".html", ".json")


def run_summarize(
    paths: Sequence[str],
    *,
    max_words: int | None = None,
    max_bytes: int | None = None,
    max_sentences: int | None = None,
    method: str = "greedy",
    n_samples: int = 1000,
    seed: int | None = None,
    model: Path | None = None,
    output: Path | None = None,
    console: Console | None = None,
) -> "Summary":
    """Read documents, summarise them, and print or write the summary.

    Parameters
    ----------
    paths : sequence of str
        Files, folders, or ``-``; see :func:`diverset.apps.documents.read_documents`.
    max_words, max_bytes, max_sentences : int, optional
        The limit; 100 words if none is given.
    method, n_samples, seed
        As ``method``, ``n_samples`` and ``rng`` of :meth:`diverset.text.Summarizer.summarize`.
    model : Path, optional
        A file written by :meth:`diverset.text.Summarizer.save`; the default model if left out.
    output : Path, optional
        Where the summary goes: alone (.md, .txt), with its reasons (.json), or as a page (.html).
    console : Console, optional
        Where to print the summary if it is not written.

    Returns
    -------
    summary : Summary
        What was printed or written.
    """
    if output is not None:
        if output.suffix.lower() not in OUTPUTS:
            raise DiversetError(
                f"cannot write {output}: its name must end in {', '.join(OUTPUTS[:-1])} or {OUTPUTS[-1]}"
            )
        check_writable(output)
    if max_words is None and max_bytes is None and max_sentences is None:
        max_words = 100
    with working("Reading") as step:
        documents, names = read_documents(paths)
        step("Summarising")
        from diverset.text import Cluster, Summarizer, default_summarizer

        summarizer = default_summarizer() if model is None else Summarizer.load(model)
        cluster = Cluster(documents, names=names)
        if not len(cluster):
            raise DiversetError("there is nothing to summarise: the documents hold no sentence")
        summary = summarizer.summarize(
            cluster,
            max_words=max_words,
            max_bytes=max_bytes,
            max_sentences=max_sentences,
            method=method,
            n_samples=n_samples,
            rng=seed,
        )
    for note in summary.notes:
        say(note)
    if output is None:
        console = Console(soft_wrap=True) if console is None else console
        text = summary.text.encode(console.encoding, "replace").decode(console.encoding)
        console.print(text, markup=False, highlight=False, emoji=False, soft_wrap=True)
    else:
        write_summary(output, summary)
    return summary


def write_summary(output: Path, summary: "Summary") -> None:
    """Write a summary as its name asks for."""
    kind = output.suffix.lower()
    if kind == ".html":
        from diverset.apps.summary_page import write_summary_page

        write_summary_page(output, summary, asked=_asked(summary))
        return
    if kind == ".json":
        report = {
            "summary": summary.text,
            "limit": {summary.budget.unit: summary.budget.limit},
            "method": summary.method,
            "documents": list(summary.cluster.names),
            "n_sentences": len(summary.cluster),
            "draws": {"made": summary.n_drawn, "kept": summary.n_accepted} if summary.n_drawn else None,
            "notes": list(summary.notes),
            "sentences": summary.explain(),
        }
        text = json.dumps(report, indent=2, ensure_ascii=False)
    else:
        text = summary.text
    with atomic_write(output) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8", errors="replace", newline="\n")


def _asked(summary: "Summary") -> dict[str, str]:
    asked = {
        "Documents": f"{len(summary.cluster.documents):,}",
        "Sentences": f"{len(summary.cluster):,}",
        "Limit": f"{summary.budget.limit:,} {summary.budget.unit}",
        "Method": summary.method,
    }
    if summary.n_drawn:
        asked["Draws kept"] = f"{summary.n_accepted:,} of {summary.n_drawn:,}"
    return asked
