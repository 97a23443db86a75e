"""Seven weeks of the Reuters newswire, whose topic codes serve as labels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from diverset.threads import (
    Corpus,
    FoundThreads,
    ThreadModel,
    document_graph,
    find_threads,
    greedy_threads,
    kmeans_threads,
    story_score,
)
from diverset.threads.series import SAME_FORM, form_overlap, forms
from experiments.threads.clusters import cluster_threads
from experiments.threads.data import read_lines

__all__ = [
    "END",
    "FIRST",
    "FRESH_END",
    "FRESH_FIRST",
    "FRESH_LARGE",
    "FRESH_WEEKS",
    "LARGE",
    "WEEKS",
    "code_scores",
    "weeks",
]

#: Events of the period, listed before any thread of these weeks was seen: first day, day after, words that mark it.
WEEKS = {
    "earthquake in Ecuador stops oil exports": ("1987-03-04", "1987-03-11", r"ecuador"),
    "US tariffs over Japanese chips": ("1987-03-25", "1987-04-01", r"semiconductor|chip|tariff"),
    "Texaco files for bankruptcy": ("1987-04-07", "1987-04-14", r"texaco"),
}
FIRST, END = "1987-02-26", "1987-04-14"
#: Large events of the same period, for choosing how events are divided and weighed. They are the names that are written
#: unusually often in three to seven days, by the likelihood ratio against the other days, without routine reports.
LARGE = {
    "earthquake in Ecuador": ("1987-03-04", "1987-03-11", r"ecuador"),
    "TWA and USAir bid for Piedmont": ("1987-03-04", "1987-03-11", r"usair|piedmont|\btwa\b"),
    "Hughes Tool and Baker merge": ("1987-03-04", "1987-03-11", r"hughes tool|baker international"),
    "British base rates are cut": ("1987-03-08", "1987-03-15", r"base rate|base lending rate"),
    "Chrysler buys American Motors": ("1987-03-08", "1987-03-15", r"american motors|renault|\bAMC\b"),
    "Sosnoff bids for Caesars World": ("1987-03-08", "1987-03-15", r"caesars|sosnoff"),
    "Fujitsu drops its bid for Fairchild": ("1987-03-12", "1987-03-19", r"fairchild semi|fujitsu"),
    "bid for GenCorp": ("1987-03-17", "1987-03-24", r"gencorp"),
    "Bolivian miners strike": ("1987-03-17", "1987-03-24", r"bolivia"),
    "informal GATT talks": ("1987-03-20", "1987-03-27", r"gatt\b|uruguay round"),
    "meeting of the Inter-American Development Bank": ("1987-03-20", "1987-03-27", r"iadb|inter-american development"),
    "Dixons bids for Cyclops": ("1987-03-20", "1987-03-27", r"cyclops|dixons"),
    "crisis in the Aegean": ("1987-03-25", "1987-04-01", r"aegean|greece|greek|turkey|turkish"),
    "tariffs over Japanese chips": ("1987-03-25", "1987-04-01", r"semiconductor|chip|tariff"),
    "prime rates rise": ("1987-04-01", "1987-04-08", r"prime (lending )?rate"),
    "fire in a Noranda mine": ("1987-04-01", "1987-04-08", r"noranda"),
    "meeting of the G-7": ("1987-04-07", "1987-04-14", r"g-7|group of seven|louvre|paris (accord|agreement|pact)"),
    "Texaco files for bankruptcy": ("1987-04-07", "1987-04-14", r"texaco"),
    "bid for Dome Petroleum": ("1987-04-07", "1987-04-14", r"dome petroleum|\bdome\b"),
    "tankers in the Gulf, Iran and Iraq": ("1987-04-07", "1987-04-14", r"kuwait|tankers?\b.*gulf|iran"),
}
#: Weeks that no setting was chosen on, and events of these weeks that were named before any thread of them was seen.
FRESH_FIRST, FRESH_END = "1987-04-14", "1987-07-01"
FRESH_WEEKS = {
    "Greenspan succeeds Volcker at the Federal Reserve": ("1987-06-01", "1987-06-08", r"volcker|greenspan"),
    "attacks on shipping in the Persian Gulf": ("1987-06-15", "1987-06-22", r"\bgulf\b|kuwaiti|tanker|iran"),
    "sanctions against Japan, Nakasone in Washington": (
        "1987-04-23",
        "1987-04-30",
        r"nakasone|sanction|tariff",
    ),
}
#: Large events of these weeks, from the names written unusually often in a week, as in ``LARGE``: listed before the
#: threads of single weeks were seen, but after those of the whole period.
FRESH_LARGE = {
    "sanctions against Japan": ("1987-04-17", "1987-04-23", r"tariff|sanction"),
    "meeting of the Asian Development Bank": ("1987-04-23", "1987-04-30", r"asian development|\badb\b"),
    "before the Venice summit": ("1987-06-01", "1987-06-08", r"venice|summit"),
    "Kuwaiti tankers in the Gulf": ("1987-06-01", "1987-06-08", r"kuwaiti|\bgulf\b(?! canada)|iran"),
    "strike at Cominco": ("1987-06-01", "1987-06-08", r"steelworkers|cominco"),
    "outlook of the OECD": ("1987-06-15", "1987-06-22", r"oecd"),
    "farm prices of the European Community": ("1987-06-15", "1987-06-22", r"fats|farm minister|farm price"),
}


def read_period(data: Path, first: str, end: str) -> tuple[Corpus, list[list[str]]]:
    """All stories of a period, and their topic codes."""
    rows = [row for row in read_lines(data / "reuters21578" / "reuters21578.jsonl.gz") if first <= row["date"] < end]
    corpus = Corpus(
        [f"{row['title']}. {row['body']}" for row in rows],
        [row["date"] for row in rows],
        [row["id"] for row in rows],
        [row["title"] for row in rows],
    )
    return corpus, [row["topics"] for row in rows]


def _formulaic(threads: Sequence[Any], corpus: Corpus) -> int:
    """Threads in which most neighbours have the same form."""
    found = 0
    for thread in threads:
        F = forms([corpus.texts[i] for i in thread])
        at = np.arange(len(thread) - 1)
        found += bool((form_overlap(F, at, at + 1) > SAME_FORM).mean() > 0.5)
    return found


def code_scores(data: Path, first: str, end: str) -> tuple[list[list[Any]], FoundThreads]:
    """Scores of the systems on the stories of a period that have a code, and the threads of all its stories."""
    whole, every = read_period(data, first, end)
    coded = np.flatnonzero([bool(own) for own in every])
    corpus, codes = whole.take(coded), [every[i] for i in coded]
    graph = document_graph(corpus, threshold=0.15, max_similarity=0.8, min_documents=5)
    model = ThreadModel(graph.graph, length=8, k=10, beta=(0.1, 1.0), rng=0)
    shape: dict[str, Any] = {"k": 10, "length": 8, "rng": 0}
    ours = find_threads(corpus)
    systems = {
        "find_threads": ours.places,
        "k-means of the whole pile": cluster_threads(graph.vectors, corpus.times, **shape),
        "k-means by time slice": kmeans_threads(graph.vectors, corpus.times, **shape),
        "greedy": list(greedy_threads(model)),
    }
    rows = []
    for name, threads in systems.items():
        # All stories of the pile have a code; one with several counts for each of them, for every system.
        purity, matched, coverage = story_score(threads, codes)
        told = round(coverage * min(len(threads), len({code for own in codes for code in own})))
        places = np.concatenate(list(threads))
        twice = len(places) - len(np.unique(places))
        rows.append([name, f"{purity:.2f}", f"{matched:.2f}", told, _formulaic(threads, corpus), twice])
    return rows, find_threads(whole)


def weeks(data: Path, events: Mapping[str, tuple[str, str, str]]) -> Iterator[tuple[str, float, str]]:
    """For each known event, in the week around it, the largest share of a thread that mentions it, and its name."""
    known: dict[tuple[str, str], FoundThreads] = {}
    for event, (first, end, pattern) in events.items():
        if (first, end) not in known:
            known[first, end] = find_threads(read_period(data, first, end)[0])
        found = known[first, end]
        corpus = found.corpus
        shares = [np.mean([bool(re.search(pattern, corpus.texts[i], re.I)) for i in own]) for own in found.places]
        best = int(np.argmax(shares))
        yield event, float(shares[best]), found.names[best]
