r"""The page of a set of threads: a time axis, headlines, and a map ([KuleszaTaskar2012]_, figures 26 and 28).

The map shows documents in the plane that keeps most of the variation among the *centroids of the threads*, so that
threads stand apart as far as two directions can show it.
"""

import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

import diverset as dv
from diverset._files import atomic_write
from diverset._typing import FloatArray, IntArray
from diverset.threads import Corpus, DocumentGraph

__all__ = ["day_of", "thread_plane", "write_thread_page"]

#: Dark enough to be read on white; the page brightens them on black. With more threads they come round again.
COLOURS = (
    "#1f6fb4", "#c2410c", "#15803d", "#a21caf", "#8a6a00", "#4f46e5", "#be123c", "#0f766e", "#7c4a21", "#475569",
    "#7e22ce", "#3f6212",
)  # fmt: skip
MOST_DOTS = 1500


def day_of(time: Any) -> str:
    """A time as people write it: the day, with hours only where there are any; numbers as they are."""
    if isinstance(time, np.datetime64):
        text = str(time.astype("datetime64[m]"))
        return text[:10] if text.endswith("T00:00") else text.replace("T", " ")
    number = float(time)
    return f"{number:.0f}" if number.is_integer() else f"{number:g}"


def _seconds(times: Any) -> tuple[FloatArray, bool]:
    """Times as numbers, and whether they are dates, then in seconds."""
    if times.dtype.kind == "M":
        return times.astype("datetime64[s]").astype(np.float64), True
    return times.astype(np.float64), False


def thread_plane(vectors: Any, threads: Sequence[IntArray]) -> FloatArray:
    """Documents in the plane of the two largest principal components of the centroids of the threads, (n, 2)."""
    centroids = np.array([np.asarray(vectors[thread].mean(axis=0)).ravel() for thread in threads])
    centre = centroids.mean(axis=0)
    Vt = np.linalg.svd(centroids - centre, full_matrices=False)[2][:2]
    # A component has no sign of its own: the largest loading is taken as positive.
    Vt = Vt * np.where(Vt[np.arange(len(Vt)), np.abs(Vt).argmax(axis=1)] < 0.0, -1.0, 1.0)[:, None]
    plane = np.zeros((vectors.shape[0], 2))
    plane[:, : len(Vt)] = vectors @ Vt.T - centre @ Vt.T
    return plane


def write_thread_page(
    output: Path,
    corpus: Corpus,
    document_graph: DocumentGraph,
    threads: Sequence[IntArray],
    *,
    title: str,
    asked: Mapping[str, str],
) -> None:
    """Write the page.

    Parameters
    ----------
    output : Path
        The file; it appears whole or not at all.
    corpus : Corpus
        The documents, in the order of the nodes.
    document_graph : DocumentGraph
        For the words, and the places on the map.
    threads : sequence of ndarray of int64
        The threads.
    title : str
        What the page is about.
    asked : mapping of str to str
        What was asked, in words.
    """
    at, dates = _seconds(corpus.times)
    words = [document_graph.words(thread) for thread in threads]
    colours = [COLOURS[t % len(COLOURS)] for t in range(len(threads))]
    place, shown = _places(document_graph, threads)
    others = len(corpus) - len(np.unique(np.concatenate(list(threads))))
    grey = f"the {others:,} documents" if len(shown) == others else f"{len(shown):,} of the {others:,} documents"
    data = {
        "dates": dates,
        "span": [float(at.min()), float(at.max())],
        "threads": [
            {
                "words": words[t],
                "colour": colours[t],
                "items": [
                    {
                        "title": corpus.titles[i],
                        "day": day_of(corpus.times[i]),
                        "at": float(at[i]),
                        "place": place[i].round(2).tolist(),
                    }
                    for i in thread.tolist()
                ],
            }
            for t, thread in enumerate(threads)
        ],
        "documents": [[*place[i].round(2).tolist(), corpus.titles[i]] for i in shown.tolist()],
    }
    body = [
        f"<h1>{escape(title)}</h1>",
        '<p class="caption">' + "; ".join(f"{escape(k)} {escape(v)}" for k, v in asked.items()) + "</p>",
        '<div class="bar"><input id="filter" type="search" placeholder="Filter by word or headline" '
        'aria-label="Filter by word or headline"><span id="count" class="caption" role="status"></span></div>',
        '<div class="chips">' + "".join(_chip(t, words[t], colours[t]) for t in range(len(threads))) + "</div>",
        "<h2>On the time axis</h2>",
        '<div class="bar"><button id="zoom-in">Zoom in</button><button id="zoom-out">Zoom out</button>'
        '<button id="zoom-all">Whole period</button></div>',
        '<div id="timeline" class="timeline" tabindex="0" role="group" aria-label="Threads on a time axis">',
        *(
            f'<div class="lane t" style="--c: {colours[t]}"><div class="words">{t + 1} {escape(" ".join(w))}</div>'
            "<svg></svg></div>"
            for t, w in enumerate(words)
        ),
        '<svg id="axis" class="axis" aria-hidden="true"></svg></div>',
        '<p class="caption">Hover or tap a point for its headline; drag to move, Ctrl and the wheel, two fingers or '
        "the keys + and - to zoom, 0 for the whole period. Tab reaches the threads, arrow keys walk along and between "
        "them, Enter goes to the list.</p>",
        "<h2>Headlines</h2>",
        '<div class="cards">'
        + "".join(_card(t, thread, corpus, words[t], colours[t]) for t, thread in enumerate(threads))
        + "</div>",
        "<h2>Where the threads stand apart</h2>",
        '<svg id="map" class="map" role="group" aria-label="Map of the documents"></svg>',
        '<p class="caption">Documents by their words, in the plane that parts the threads most (principal components '
        f"of the threads' centroids). Grey: {grey} in no thread.</p>",
    ]
    template = (files("diverset") / "apps" / "templates" / "threads.html").read_text(encoding="utf-8")
    # Inside a script element nothing may look like its end.
    as_json = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c").replace("\u2028", " ").replace("\u2029", " ")
    values = {"title": escape(title), "body": "\n".join(body), "version": escape(dv.__version__), "data": as_json}
    page = re.sub(r"\{\{(\w+)\}\}", lambda found: values[found[1]], template)
    with atomic_write(output) as temporary:
        temporary.write_text(page, encoding="utf-8", errors="replace", newline="\n")


def _places(document_graph: DocumentGraph, threads: Sequence[IntArray]) -> tuple[FloatArray, IntArray]:
    """Places on the map in percent, and which documents to draw beside the threads."""
    plane = thread_plane(document_graph.vectors, threads)
    inside = np.unique(np.concatenate(list(threads)))
    others = np.setdiff1d(np.arange(len(plane)), inside)
    if len(others) > MOST_DOTS:
        others = others[np.linspace(0, len(others) - 1, MOST_DOTS).round().astype(np.int64)]
    some = plane[np.concatenate([inside, others])]
    low, high = some.min(axis=0), some.max(axis=0)
    unit = np.where(high > low, (plane - low) / np.where(high > low, high - low, 1.0), 0.5)
    unit[:, 1] = 1.0 - unit[:, 1]
    return 6.0 + 88.0 * unit, others


def _chip(t: int, words: Sequence[str], colour: str) -> str:
    return (
        f'<button class="chip" aria-pressed="true" data-thread="{t}" style="--c: {colour}"><i class="t"></i>'
        f"<span>{t + 1} {escape(' '.join(words[:2]))}</span></button>"
    )


def _card(t: int, thread: IntArray, corpus: Corpus, words: Sequence[str], colour: str) -> str:
    lines = "".join(
        f'<li id="item-{t}-{r}" tabindex="-1"><time>{escape(day_of(corpus.times[i])[:10])}</time>'
        f"<span>{escape(corpus.titles[i])}</span></li>"
        for r, i in enumerate(thread.tolist())
    )
    return (
        f'<section id="card-{t}" class="card" style="--c: {colour}"><h3><b class="t">{t + 1}</b> '
        f"{escape(' '.join(words))}</h3><ol>{lines}</ol></section>"
    )
