r"""The page of a set of threads: a time axis, headlines, and a map ([KuleszaTaskar2012]_, figures 26 and 28).

The map shows documents in the plane that keeps most of the variation among the *centroids of the threads*, so that
threads stand apart as far as two directions can show it.
"""

import json
import re
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

import diverset as dv
from diverset._typing import FloatArray, IntArray
from diverset.io.files import atomic_write
from diverset.threads import FoundThreads
from diverset.threads.found import day_of

__all__ = ["thread_plane", "write_thread_page"]

#: Dark enough to be read on white; the page brightens them on black. With more threads they come round again.
COLOURS = (
    "#1f6fb4", "#c2410c", "#15803d", "#a21caf", "#8a6a00", "#4f46e5", "#be123c", "#0f766e", "#7c4a21", "#475569",
    "#7e22ce", "#3f6212",
)  # fmt: skip
MOST_DOTS = 1500
#: Characters of a text that a click shows.
SNIPPET = 600


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


def write_thread_page(output: Path, found: FoundThreads, *, title: str) -> None:
    """Write the page.

    Parameters
    ----------
    output : Path
        The file; it appears whole or not at all.
    found : FoundThreads
        The threads, with their documents, copies and series left out.
    title : str
        What the page is about.
    """
    corpus, threads = found.corpus, found.places
    at, dates = _seconds(corpus.times)
    colours = [COLOURS[t % len(COLOURS)] for t in range(len(threads))]
    place, shown, others = _places(found)
    grey = f"the {others:,} documents" if len(shown) == others else f"{len(shown):,} of the {others:,} documents"
    data = {
        "dates": dates,
        "span": [float(at[np.concatenate(threads)].min()), float(at[np.concatenate(threads)].max())],
        "threads": [
            {
                "words": found.words[t],
                "colour": colours[t],
                "items": [
                    {
                        "title": corpus.titles[i],
                        "day": day_of(corpus.times[i]),
                        "at": float(at[i]),
                        "gap": gap > 0.0,
                        "place": place[i].round(2).tolist(),
                    }
                    for i, gap in zip(thread.tolist(), found.gaps(t), strict=True)
                ],
            }
            for t, thread in enumerate(threads)
        ],
        "documents": [[*place[i].round(2).tolist(), corpus.titles[i]] for i in shown.tolist()],
    }
    first, last = day_of(corpus.times.min())[:10], day_of(corpus.times.max())[:10]
    how = "drawn at random" if found.settings["sample"] else "the most probable"
    about = f"{len(corpus):,} documents from {first} to {last}; {how} set of threads"
    body = [
        f"<h1>{escape(title)}</h1>",
        *(f'<p class="caption">{escape(line)}</p>' for line in (about, *found.summary(), *found.notes)),
        '<div class="bar"><input id="filter" type="search" placeholder="Filter by word or headline" '
        'aria-label="Filter by word or headline"><span id="count" class="caption" role="status"></span></div>',
        '<div class="chips">' + "".join(_chip(t, found.words[t], colours[t]) for t in range(len(threads))) + "</div>",
        "<h2>On the time axis</h2>",
        '<div class="bar"><button id="zoom-in">Zoom in</button><button id="zoom-out">Zoom out</button>'
        '<button id="zoom-all">Whole period</button></div>',
        '<div id="timeline" class="timeline" tabindex="0" role="group" aria-label="Threads on a time axis">',
        *(
            f'<div class="lane t" style="--c: {colours[t]}"><div class="words">{t + 1} {escape(name)}</div>'
            "<svg></svg></div>"
            for t, name in enumerate(found.names)
        ),
        '<svg id="axis" class="axis" aria-hidden="true"></svg></div>',
        '<p class="caption">Hover or tap a point for its headline. Drag to move; Ctrl and the wheel, two fingers or '
        "the keys + and - zoom, 0 shows the whole period. Dashed lines are gaps.</p>",
        "<h2>Headlines</h2>",
        '<div class="cards">' + "".join(_card(found, t, colours[t]) for t in range(len(threads))) + "</div>",
        *_series(found),
        "<h2>Where the threads stand apart</h2>",
        '<svg id="map" class="map" role="group" aria-label="Map of the documents"></svg>',
        '<p class="caption">Documents by their words, in the plane that separates the threads most (principal '
        f"components of the threads' centroids). Grey: {grey} in no thread.</p>",
    ]
    template = (files("diverset") / "pages" / "templates" / "threads.html").read_text(encoding="utf-8")
    # Inside a script element nothing may look like its end.
    as_json = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c").replace("\u2028", " ").replace("\u2029", " ")
    values = {"title": escape(title), "body": "\n".join(body), "version": escape(dv.__version__), "data": as_json}
    page = re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], template)
    with atomic_write(output) as temporary:
        temporary.write_text(page, encoding="utf-8", errors="replace", newline="\n")


def _places(found: FoundThreads) -> tuple[FloatArray, IntArray, int]:
    """Places on the map in percent, which documents to draw beside the threads, and how many there are."""
    at = np.full(len(found.corpus), -1)
    at[found.kept] = np.arange(len(found.kept))
    plane = np.zeros((len(found.corpus), 2))
    plane[found.kept] = thread_plane(found.vectors.details, [at[thread] for thread in found.places])
    inside = np.unique(np.concatenate(found.places))
    others = np.setdiff1d(found.kept, inside)
    total = len(others)
    if total > MOST_DOTS:
        others = others[np.linspace(0, total - 1, MOST_DOTS).round().astype(np.int64)]
    some = plane[np.concatenate([inside, others])]
    low, high = some.min(axis=0), some.max(axis=0)
    unit = np.where(high > low, (plane - low) / np.where(high > low, high - low, 1.0), 0.5)
    unit[:, 1] = 1.0 - unit[:, 1]
    return 6.0 + 88.0 * unit, others, total


def _chip(t: int, words: Sequence[str], colour: str) -> str:
    return (
        f'<button class="chip" aria-pressed="true" data-thread="{t}" style="--c: {colour}"><i class="t"></i>'
        f"<span>{t + 1} {escape(', '.join(words[:2]))}</span></button>"
    )


def _card(found: FoundThreads, t: int, colour: str) -> str:
    lines = "".join(_item(found, t, r, int(i)) for r, i in enumerate(found.places[t]))
    first, last = found.dates[t]
    related = ", ".join(f'<a href="#card-{j}">thread {j + 1}</a>' for j in found.related[t])
    also = f'<p class="caption">Related event: {related}</p>' if related else ""
    return (
        f'<section id="card-{t}" class="card" style="--c: {colour}"><h3><b class="t">{t + 1}</b> '
        f'{escape(found.names[t])}</h3><p class="caption">{escape(first)} to {escape(last)}</p>{also}'
        f"<ol>{lines}</ol></section>"
    )


def _item(found: FoundThreads, t: int, r: int, i: int) -> str:
    """A headline with its date; a click opens the beginning of the text, the source, and the copies."""
    corpus, gap = found.corpus, found.gaps(t)[r]
    text = " ".join(corpus.texts[i].split())
    title = str(corpus.titles[i])
    # The text of a table begins with the title, which is shown already.
    snippet = text[len(title) :].lstrip(". ") if text.startswith(title) else text
    if len(snippet) > SNIPPET:
        snippet = snippet[:SNIPPET].rsplit(" ", 1)[0] + " …"
    parts = [f"<p>{escape(snippet)}</p>"] if snippet else []
    about = [escape(str(corpus.sources[i]))] if corpus.sources is not None and corpus.sources[i] else []
    link = str(corpus.links[i]) if corpus.links is not None else ""
    if link.startswith(("http://", "https://")):
        about.append(f'<a href="{escape(link)}" rel="noopener noreferrer">Read the article</a>')
    if i in found.copies:
        about.append("copies: " + "; ".join(escape(str(corpus.titles[j])) for j in found.copies[i].tolist()))
    if about:
        parts.append(f'<p class="caption">{" · ".join(about)}</p>')
    pause = f'<li class="gap">{gap:,.0f} days later</li>' if gap else ""
    return (
        f'{pause}<li id="item-{t}-{r}" tabindex="-1"><time>{escape(day_of(corpus.times[i])[:10])}</time>'
        f"<details><summary>{escape(title)}</summary>{''.join(parts)}</details></li>"
    )


def _series(found: FoundThreads) -> list[str]:
    if not found.series:
        return []
    lines = "".join(
        f"<li>{escape(', '.join(series.words))}: {len(series):,} documents, such as "
        f"{escape(str(found.corpus.titles[int(series.documents[0])]))}</li>"
        for series in found.series
    )
    total = sum(map(len, found.series))
    return [
        f"<details class='series'><summary>Series left out: {len(found.series)}, with {total:,} documents</summary>",
        '<p class="caption">Documents that fill in the same form again and again. keep_series=True (--keep-series) '
        f"brings them back.</p><ul>{lines}</ul></details>",
    ]
