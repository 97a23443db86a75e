"""The page of a summary: the text, why each sentence is in it, and the documents with the sentences marked."""

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from diverset.pages.base import write_page

if TYPE_CHECKING:
    from diverset.text import Summary

__all__ = ["write_summary_page"]

#: Beyond this many sentences, only those near chosen ones are shown of a document.
MOST_SENTENCES = 3000
_AROUND = 3
_STYLE = """<style>
.lead { font-size: 1.1rem; line-height: 1.6; overflow-wrap: anywhere; }
.why { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: .2rem 1rem; margin-top: .3rem; }
.why .bar { display: block; width: 100%; }
.source { overflow-wrap: anywhere; }
.source h3 { font-size: 1rem; margin: 1.4rem 0 .3rem; }
.source p { margin: 0; }
.source mark { background: color-mix(in srgb, var(--pick) 22%, transparent); color: inherit; border-radius: .2rem;
  padding: .05em .15em; box-decoration-break: clone; -webkit-box-decoration-break: clone; }
.source mark:target { outline: 2px solid var(--pick); }
.source sup a, ol.picks a { color: var(--pick); }
.likely { border-bottom: 2px solid color-mix(in srgb, var(--pick) calc(var(--p) * 100%), transparent); }
</style>"""


def write_summary_page(output: Path, summary: "Summary") -> None:
    """Write the page; everything from the documents is escaped.

    Parameters
    ----------
    output : Path
        The file; it appears whole or not at all.
    summary : Summary
        What to show.
    """
    cluster = summary.cluster
    n, k = len(cluster), len(summary.indices)
    asked = {
        "Documents": f"{len(cluster.documents):,}",
        "Sentences": f"{n:,}",
        "Limit": f"{summary.budget.limit:,} {summary.budget.unit}",
        "Method": summary.method,
        "Draws within the limit": f"{summary.n_accepted:,} of {summary.n_drawn:,}",
    }
    title = f"{k} of {n:,} sentences of {len(cluster.documents)} document{'s' * (len(cluster.documents) != 1)}"
    parts = [
        _STYLE,
        f"<h1>{escape(title)}</h1>",
        f'<p class="lead">{escape(summary.text)}</p>',
        "<dl>" + "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in asked.items()) + "</dl>",
        *(f'<p class="remark">{escape(note)}</p>' for note in summary.notes),
        "<h2>Why these sentences</h2>",
        _reasons(summary),
        '<p class="caption">Quality: rank among all sentences, learned from human summaries. New: the share of a '
        "sentence that is not in the other chosen ones. Probability: the share of "
        f"{summary.n_accepted:,} summaries, drawn from the model within the limit, that hold the sentence.</p>",
        "<h2>The documents</h2>",
        '<p class="caption">Chosen sentences are marked; the stronger the line under a sentence, the more probable it '
        "is.</p>",
        *_sources(summary),
    ]
    write_page(output, title, parts)


def _reasons(summary: "Summary") -> str:
    top = max((float(summary.quality.max(initial=0.0)), 1e-300))
    rows = []
    for rank, (i, why) in enumerate(zip(summary.indices.tolist(), summary.explain(), strict=True), start=1):
        # The n-th best of so many says more than the number.
        quality = f"Quality: no. {why['quality_rank']} of {len(summary.cluster):,}"
        bars = [
            (quality, why["quality"] / top),
            (f"New: {why['novelty']:.0%}", why["novelty"]),
            (f"Probability: {why['inclusion_probability']:.0%}", why["inclusion_probability"]),
        ]
        cells = "".join(f'<div><span class="numbers">{escape(text)}</span>{_bar(share)}</div>' for text, share in bars)
        rows.append(
            f'<li id="pick-{rank}"><span class="rank">{rank}</span><div class="body">{escape(why["sentence"])}'
            f'<div class="numbers"><a href="#s{i}">{escape(why["document"])}, sentence {why["position"]}</a></div>'
            f'<div class="why">{cells}</div></div></li>'
        )
    return f'<ol class="picks">{"".join(rows)}</ol>'


def _bar(share: float) -> str:
    return f'<span class="bar"><span style="width:{100 * min(max(share, 0.0), 1.0):.1f}%"></span></span>'


def _sources(summary: "Summary") -> list[str]:
    cluster = summary.cluster
    rank = {int(i): place for place, i in enumerate(summary.indices, start=1)}
    chosen = np.fromiter(rank, dtype=np.int64)
    few = len(cluster) <= MOST_SENTENCES
    parts, start = [], 0
    for name, document in zip(cluster.names, cluster.documents, strict=True):
        numbers = range(start, start + len(document))
        start += len(document)
        shown = [i for i in numbers if few or (len(chosen) and np.abs(chosen - i).min() <= _AROUND)]
        if not shown:
            continue
        pieces, last = [], shown[0] - 1
        for i in shown:
            pieces.append("" if i == last + 1 else " … ")
            pieces.append(_sentence(cluster.sentences[i], i, rank.get(i), float(summary.inclusion[i])))
            last = i
        parts.append(f'<section class="source"><h3>{escape(name)}</h3><p>{" ".join(pieces)}</p></section>')
    return parts


def _sentence(text: str, i: int, rank: int | None, probability: float) -> str:
    words = f'<span class="likely" style="--p:{probability:.3f}">{escape(text)}</span>'
    if rank is None:
        return words
    return f'<mark id="s{i}">{words}<sup><a href="#pick-{rank}">{rank}</a></sup></mark>'
