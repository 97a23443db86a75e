"""The page of a set of threads: a time axis, headlines, and a map ([KuleszaTaskar2012]_, figures 26 and 28)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from diverset._typing import FloatArray, IntArray
from diverset.pages.base import in_percent, plain, positive, short, some_of, web_link
from diverset.threads import FoundThreads
from diverset.threads.found import day_of

__all__ = ["markdown", "page", "thread_plane"]

#: Colours for a white background, which the page brightens on black; with more threads they repeat.
COLOURS = (
    "#1f6fb4", "#c2410c", "#15803d", "#a21caf", "#8a6a00", "#4f46e5", "#be123c", "#0f766e", "#7c4a21", "#475569",
    "#7e22ce", "#3f6212",
)  # fmt: skip
MOST_DOTS = 1500
#: Number of characters that a first and a second click show of a text.
SNIPPET, REST = 600, 4000


def page(found: FoundThreads, output: Path) -> dict[str, Any]:
    """Values for the template."""
    corpus, threads = found.corpus, found.places
    dates = corpus.times.dtype.kind == "M"
    at = (corpus.times.astype("datetime64[s]") if dates else corpus.times).astype(np.float64)
    place, shown, others = _places(found)
    places = place.round(2).tolist()
    members = [set(thread.tolist()) for thread in threads]
    cards: list[dict[str, Any]] = [
        {
            "name": found.names[t],
            "words": found.words[t],
            "colour": COLOURS[t % len(COLOURS)],
            "dates": found.dates[t],
            "related": found.related[t],
            "items": [
                _item(found, i, [j + 1 for j, others in enumerate(members) if i in others and j != t])
                | {"gap": float(gap), "at": float(at[i]), "place": places[i]}
                for i, gap in zip(thread.tolist(), found.gaps(t), strict=True)
            ],
        }
        for t, thread in enumerate(threads)
    ]
    inside = np.concatenate(threads)
    data = {
        "dates": dates,
        "span": [float(at[inside].min()), float(at[inside].max())],
        "threads": [
            {key: card[key] for key in ("words", "colour")}
            | {"items": [{key: item[key] for key in ("title", "day", "at", "gap", "place")} for item in card["items"]]}
            for card in cards
        ],
        "documents": [[*places[i], str(corpus.titles[i])] for i in shown.tolist()],
    }
    first, last = day_of(corpus.times.min())[:10], day_of(corpus.times.max())[:10]
    how = "drawn at random" if found.settings["sample"] else "the most probable"
    return {
        "title": _title(found),
        "about": [f"{len(corpus):,} documents from {first} to {last}; {how} set of threads", *found.summary()],
        "notes": found.notes,
        "cards": cards,
        "series": [
            {"words": ", ".join(each.words), "count": len(each), "title": str(corpus.titles[int(each.documents[0])])}
            for each in found.series
        ],
        "grey": f"the {others:,} documents" if len(shown) == others else f"{len(shown):,} of the {others:,} documents",
        "data": data,
    }


def markdown(found: FoundThreads) -> str:
    """Threads as sections, their documents as lists."""
    lines, corpus = [f"# {_title(found)}", ""], found.corpus
    for t, (name, (first, last)) in enumerate(zip(found.names, found.dates, strict=True)):
        lines += [f"## {t + 1}. {plain(name)} ({first} to {last})", ""]
        lines += [f"- {day_of(corpus.times[i])}: {plain(str(corpus.titles[i]))}" for i in found.places[t].tolist()]
        lines.append("")
    return "\n".join([*lines, *(plain(line) for line in (*found.summary(), *found.notes)), ""])


def _title(found: FoundThreads) -> str:
    return f"{len(found)} threads through {len(found.corpus):,} documents"


def thread_plane(vectors: Any, threads: Sequence[IntArray]) -> FloatArray:
    """Documents on the two largest principal components of the centroids of the threads, of shape (n, 2)."""
    centroids = np.array([np.asarray(vectors[thread].mean(axis=0)).ravel() for thread in threads])
    centre = centroids.mean(axis=0)
    Vt = np.linalg.svd(centroids - centre, full_matrices=False)[2][:2]
    Vt = Vt * positive(Vt)[:, None]
    plane = np.zeros((vectors.shape[0], 2))
    plane[:, : len(Vt)] = vectors @ Vt.T - centre @ Vt.T
    return plane


def _places(found: FoundThreads) -> tuple[FloatArray, IntArray, int]:
    """Places on the map in percent, the documents to draw beside the threads, and the number of such documents."""
    at = np.full(len(found.corpus), -1)
    at[found.kept] = np.arange(len(found.kept))
    plane = np.zeros((len(found.corpus), 2))
    plane[found.kept] = thread_plane(found.vectors.details, [at[thread] for thread in found.places])
    inside = np.unique(np.concatenate(found.places))
    others = found.kept[some_of(len(found.kept), at[inside], MOST_DOTS)]
    shown = np.concatenate([inside, others])
    return in_percent(plane, plane[shown]), others, len(found.kept) - len(inside)


def _item(found: FoundThreads, i: int, shared: list[int]) -> dict[str, Any]:
    """A headline with its date, the beginning of its text, its source, and its copies."""
    corpus = found.corpus
    title, text = str(corpus.titles[i]), " ".join(corpus.texts[i].split())
    # The text of a row of a table begins with the title.
    text = text[len(title) :].lstrip(". ") if text.startswith(title) else text
    snippet = short(text, SNIPPET)
    return {
        "title": title,
        "day": day_of(corpus.times[i]),
        "shared": shared,
        "snippet": snippet,
        "rest": short(text[len(snippet) - 2 :], REST) if len(text) > SNIPPET else "",
        "source": str(corpus.sources[i] or "") if corpus.sources is not None else "",
        "href": web_link(corpus.links[i]) if corpus.links is not None else "",
        "copies": [str(corpus.titles[j]) for j in found.copies[i].tolist()] if i in found.copies else [],
    }
