"""``diverset thread``: from a file of dated documents to threads on a page, in JSON or in Markdown."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from diverset._files import atomic_write
from diverset._typing import IntArray
from diverset.apps.console import Step, printable, say, working
from diverset.apps.dated import CorpusSource, read_corpus
from diverset.apps.graph_cache import cache_folder, cache_key, load_graph, store_graph
from diverset.apps.tables import check_output
from diverset.apps.thread_page import day_of, write_thread_page
from diverset.errors import DiversetError, LabelError
from diverset.threads import Corpus, DocumentGraph, ThreadModel, document_graph

__all__ = ["ThreadOptions", "ThreadResult", "run_thread", "thread_corpus", "write_threads"]

WRITABLE = (".html", ".json", ".md")


@dataclass(frozen=True)
class ThreadOptions:
    """What to make of the documents; the names are those of the library.

    Parameters
    ----------
    k, length : int
        Number of threads, and of documents in each.
    min_length : int, optional
        Let threads stop early, after so many documents.
    beta, importance : float
        How much the similarity along a thread counts, and how much its documents' LexRank.
    rho : float
        How strongly threads repel each other.
    smoothing, balance
        Of :class:`diverset.threads.ThreadModel`: threads of one region repel each other more, and what much was
        written about does not crowd out the rest.
    threshold, max_similarity, min_documents, max_share
        Of :func:`diverset.threads.document_graph`.
    min_words : int
        Leave out shorter documents, and noise; 0 keeps all.
    projection : int
        Dimensions of the features.
    through : str, optional
        Id of a document that a thread must pass through.
    sample : bool
        Draw the threads at random instead of looking for the most probable ones.
    seed : int
        Of the projection, the search and the draw.
    """

    k: int = 10
    length: int = 8
    min_length: int | None = None
    beta: float = 1.0
    importance: float = 0.1
    rho: float = 0.0
    smoothing: int = 2
    balance: float = 0.5
    threshold: float = 0.1
    max_similarity: float | None = 0.8
    min_documents: int = 2
    max_share: float = 0.15
    min_words: int = 0
    projection: int = 50
    through: str | None = None
    sample: bool = False
    seed: int = 0


@dataclass(frozen=True, eq=False)
class ThreadResult:
    """Threads of a corpus, in order of time, with their words."""

    corpus: Corpus
    graph: DocumentGraph
    threads: tuple[IntArray, ...]
    words: tuple[list[str], ...]
    log_prob: float


def run_thread(
    source: CorpusSource,
    options: ThreadOptions,
    *,
    output: Path | None = None,
    cache: bool = True,
    console: Console | None = None,
) -> ThreadResult:
    """Read, thread, print, write."""
    if output is not None:
        check_output(output, WRITABLE)
    with working("reading") as step:
        notes: list[str] = []
        corpus = read_corpus(source, notes.append)
        if options.min_words:
            before = len(corpus)
            corpus = corpus.without_noise(min_words=options.min_words)
            notes.append(
                f"{before - len(corpus):,} of {before:,} documents left out as too short, too long or not words"
            )
        result = thread_corpus(corpus, options, cache=cache, step=step)
    for remark in notes:
        say(remark)
    # The file first: who reads only the first lines of what is printed still gets it.
    if output is not None:
        title = f"{len(result.threads)} threads through {len(corpus):,} documents of {Path(source.name).name}"
        with working("writing"):
            write_threads(output, result, options, title)
        say(f"written to {output}")
    report(result, Console() if console is None else console)
    return result


def thread_corpus(
    corpus: Corpus, options: ThreadOptions, *, cache: bool = False, step: Step = lambda text, done=0, total=None: None
) -> ThreadResult:
    """Threads of documents; the graph is taken from the cache if it is there."""
    shape = {name: getattr(options, name) for name in ("threshold", "max_similarity", "min_documents", "max_share")}
    key = cache_key(corpus, shape) if cache else ""
    step("looking for the graph in the cache")
    graph = load_graph(cache_folder(), key, corpus) if cache else None
    if graph is None:
        graph = document_graph(corpus, **shape, progress=step)
        if cache:
            store_graph(cache_folder(), key, graph)
    step("passing messages")
    model = ThreadModel(
        graph.graph,
        length=options.length,
        k=options.k,
        beta=(options.importance, options.beta),
        projection=options.projection,
        rho=options.rho,
        smoothing=options.smoothing,
        balance=options.balance,
        rng=options.seed,
        min_length=options.min_length,
    )
    law: Any = model
    if options.through is not None:
        try:
            law = model.through(graph.graph.node(options.through))
        except LabelError:
            raise DiversetError(
                f"no document has the id {options.through!r}; ids are such as {corpus.ids[0]!r}"
            ) from None
    step("choosing threads")
    if options.sample:
        found = law.sample(rng=options.seed)
    else:
        found = law.best(rng=options.seed, progress=lambda done, total: step("choosing threads", done, total))
    log_prob = model.log_prob(list(found)) if found.log_prob is None else found.log_prob
    threads = tuple(sorted(found, key=lambda thread: (corpus.times[thread[0]], thread.tolist())))
    return ThreadResult(corpus, graph, threads, tuple(graph.words(thread) for thread in threads), log_prob)


def report(result: ThreadResult, console: Console) -> None:
    """Print the threads: words, then dates and headlines."""
    corpus = result.corpus
    for t, (thread, words) in enumerate(zip(result.threads, result.words, strict=True), start=1):
        console.print(f"{t}  {printable(' '.join(words), console)}", markup=False, highlight=False, style="bold")
        for i in thread.tolist():
            line = f"   {day_of(corpus.times[i])}  {corpus.titles[i]}"
            shown = printable(line.strip(), console, max(console.width - 4, 20))
            console.print(f"   {shown}", markup=False, highlight=False)


def write_threads(output: Path, result: ThreadResult, options: ThreadOptions, title: str) -> None:
    """Write a page, JSON or Markdown, by the extension."""
    kind = output.suffix.lower()
    if kind == ".html":
        first, last = day_of(result.corpus.times.min()), day_of(result.corpus.times.max())
        asked = {
            "From": f"{first} to {last}",
            "edges": f"{result.graph.graph.n_edges:,}",
            "threads": "drawn at random" if options.sample else "the most probable found",
            "seed": str(options.seed),
        }
        write_thread_page(output, result.corpus, result.graph, result.threads, title=title, asked=asked)
        return
    text = _as_json(result, options) if kind == ".json" else _as_markdown(result, title)
    with atomic_write(output) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="replace", newline="\n")


def _items(result: ThreadResult, thread: Sequence[int]) -> list[dict[str, Any]]:
    corpus = result.corpus
    return [{"id": corpus.ids[i], "time": str(corpus.times[i]), "title": corpus.titles[i]} for i in thread]


def _as_json(result: ThreadResult, options: ThreadOptions) -> str:
    threads = [
        {"words": words, "items": _items(result, thread.tolist())}
        for thread, words in zip(result.threads, result.words, strict=True)
    ]
    whole = {
        "threads": threads,
        "documents": len(result.corpus),
        "edges": result.graph.graph.n_edges,
        "log_prob": result.log_prob,
        "options": vars(options),
    }
    return json.dumps(whole, ensure_ascii=False, indent=1) + "\n"


def _as_markdown(result: ThreadResult, title: str) -> str:
    lines = [f"# {_plain(title)}", ""]
    for t, (thread, words) in enumerate(zip(result.threads, result.words, strict=True), start=1):
        lines += [f"## {t}. {_plain(' '.join(words))}", ""]
        lines += [f"- {day_of(result.corpus.times[i])}: {_plain(result.corpus.titles[i])}" for i in thread.tolist()]
        lines.append("")
    return "\n".join(lines)


def _plain(text: str) -> str:
    """Text in which Markdown sees no markup."""
    return "".join("\\" + mark if mark in "\\`*_[]<>#|" else mark for mark in " ".join(text.split()))
