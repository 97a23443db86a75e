"""``diverset demo``: ten diverse large cities out of two hundred, a summary of reports, and threads of news."""

import base64
import math
from collections import Counter
from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

import diverset as dv
from diverset._result import ending
from diverset._typing import FloatArray, IntArray
from diverset.cli.cities import Choice, choose_cities, draw_us_map
from diverset.cli.console import line, table, working
from diverset.errors import MissingExtraError
from diverset.io.files import atomic_write, check_writable
from diverset.plots._plane import require_matplotlib

if TYPE_CHECKING:
    from diverset.text import Summary
    from diverset.threads import FoundThreads

__all__ = ["demo_summary", "demo_threads", "run_demo"]

TITLES = {"diverse": "Diverse", "populous": "Most populous", "drawn": "Drawn at random"}
_MIME = {".png": "image/png", ".svg": "image/svg+xml"}


def run_demo(k: int, *, output: Path, seed: int | None, **model: float) -> None:
    """Run the three parts, with `model` for `choose_cities`; print tables, and write a map, and pages beside it."""
    from diverset.pages.base import render

    screen = Console()
    kind = ending(output, (".png", ".svg", ".pdf"))
    check_writable(output)
    choice = choose_cities(k, rng=seed, **model)
    report(choice, screen)
    cards = []
    try:
        require_matplotlib()
        from matplotlib.figure import Figure

        figure = Figure(figsize=(11, 7), dpi=150)
        draw_us_map(choice, figure)
        with atomic_write(output) as temporary:
            figure.savefig(temporary)
    except MissingExtraError as error:
        line(screen, f"No map written: {error}", soft_wrap=True)
    else:
        line(screen, f"Map written to {output}", soft_wrap=True)
        cards.append(_city_card(choice, output))
        if kind in _MIME:
            cards[0]["picture"] = f"data:{_MIME[kind]};base64,{base64.b64encode(output.read_bytes()).decode()}"
    pages = {kind: output.with_name(f"{output.stem}-{kind}.html") for kind in ("summary", "threads", "index")}
    try:
        screen.print()
        cards.append(_summary_card(demo_summary(pages["summary"], screen), pages["summary"]))
        screen.print()
        cards.append(_thread_card(demo_threads(pages["threads"], screen), pages["threads"]))
    except MissingExtraError as error:
        line(screen, f"No summary and no threads: {error}", soft_wrap=True)
    with atomic_write(pages["index"]) as temporary:
        html = render("demo.html", title="diverset: cities, a summary, and threads", cards=cards)
        temporary.write_text(html, encoding="utf-8", newline="\n")
    line(screen, f"Open {pages['index']} to see all of it", soft_wrap=True)


def demo_summary(output: Path, console: Console, max_words: int = 50) -> "Summary":
    """Summarise the invented reports, print the summary and its reasons, and write its page."""
    with as_file(files("diverset") / "data" / "summary_demo.jsonl") as path:
        summary = dv.summarize(path, max_words)
    summary = replace(summary, notes=(*summary.notes, "The reports are invented."))
    n = sum(len(sentence.split()) for sentence in summary.cluster.sentences)
    line(console, f"{len(summary.cluster.documents)} reports of {n} words, in {len(summary.text.split())}:")
    line(console, summary.text, style="bold")
    rows = [
        [
            *(shorten(why["sentence"], 40, placeholder=" …"), why["document"], f"no. {why['quality_rank']}"),
            *(f"{why[name]:.0%}" for name in ("novelty", "inclusion_probability")),
        ]
        for why in summary.explain()
    ]
    console.print(table(["~Sentence", "<From", "}Quality", "}New", "}P(in)"], rows))
    summary.save(output)
    line(console, f"Page written to {output}", soft_wrap=True)
    return summary


def demo_threads(output: Path, console: Console) -> "FoundThreads":
    """Find six threads in the invented news, print them, and write their page."""
    from diverset.cli.verbs import report as report_threads
    from diverset.threads import example_news

    with working("threading the news") as step:
        found = dv.find_threads(example_news()[0], k=6, progress=step)
    found = replace(found, notes=(*found.notes, "The news items are invented."))
    report_threads(found, console)
    found.save(output)
    line(console, f"Page written to {output}", soft_wrap=True)
    return found


def _card(name: str, href: Path, about: str, columns: list[str], rows: dict[str, list[str]], caption: str) -> Any:
    """The part of the index page about one task."""
    card = {"name": name, "href": f"./{href.name}", "about": about, "columns": columns, "caption": caption}
    return card | {"rows": list(rows.items()), "picture": None}


def _city_card(choice: Choice, output: Path) -> Any:
    rows = {
        TITLES[name]: [f"{_people(choice, items) / 1e6:.1f} million", _apart(choice, items)]
        for name, items in choice.sets.items()
    }
    about = (
        f"{len(choice.diverse)} of the 200 largest U.S. cities. The plain top-k takes neighbours; a determinantal "
        "point process trades some population for distance."
    )
    caption = "The closest two cities of each set, and the people who live in all of them."
    return _card("Cities on a map", output, about, ["people", "closest two"], rows, caption)


def _summary_card(summary: "Summary", output: Path) -> Any:
    """The summary compared with the first sentences of each report, in as many words."""
    cluster, limit = summary.cluster, summary.budget.limit
    words = [{word.lower() for word in found if len(word) > 3} for found in cluster.words]
    reports = [
        set().union(*(words[i] for i in np.flatnonzero(cluster.document_of == d)))
        for d in range(len(cluster.documents))
    ]
    shared = {word for word, count in Counter(word for report in reports for word in report).items() if count >= 3}
    lead: list[int] = []
    for i in np.lexsort((cluster.document_of, cluster.position)).tolist():
        if sum(len(cluster.sentences[j].split()) for j in (*lead, i)) <= limit:
            lead.append(i)
    rows = {}
    for name, items in (("diverset", summary.indices.tolist()), ("lead sentences", lead)):
        held = Counter(word for i in items for word in words[i])
        again = sum(count - 1 for count in held.values()) / max(sum(held.values()), 1)
        rows[name] = [f"{len(shared & set(held))} of {len(shared)}", f"{again:.0%}"]
    about = (
        f"{len(cluster.documents)} reports of one event in {limit} words. First sentences all tell how it began; the "
        "summary covers more of what several reports agree on, and repeats less."
    )
    caption = "Covered: words of at least three reports that the text contains. Repeated: share of words used before."
    return _card("A summary of five reports", output, about, ["covered", "repeated"], rows, caption)


def _thread_card(found: "FoundThreads", output: Path) -> Any:
    """The threads compared with clusters of k-means, by the stories that the news items were written for."""
    from diverset.text.tfidf import tfidf
    from diverset.threads import example_news

    stories, texts = np.array(example_news()[1], dtype=object), list(found.corpus.texts)
    length, kept = len(found.places[0]), found.kept
    # Without the series and on the vectors of the threads, k-means has all the help it can get.
    features = {
        "k-means": (np.arange(len(texts)), tfidf(texts)[0]),
        "k-means, series removed": (kept, tfidf([texts[i] for i in kept])[0]),
        "k-means, on our vectors": (kept, found.vectors.subjects),
    }
    methods = {"diverset": list(found.places)}
    for name, (items, X) in features.items():
        methods[name] = [items[own] for own in _clusters(X.toarray(), len(found), length)]
    rows = {}
    for name, sets in methods.items():
        main = [Counter(story for story in stories[items] if story is not None).most_common(1) for items in sets]
        right = sum(count for best in main for _, count in best)
        told = {story for best in main for story, count in best if count > length // 2}
        rows[name] = [f"{len(told)} of {len(set(stories) - {None})}", f"{right / max(sum(map(len, sets)), 1):.0%}"]
    about = (
        f"{len(found)} threads of up to {length} items through {len(texts)} news items: six stories, a series of "
        "weather reports, and items of no story. Threads leave the series out and keep to one story each."
    )
    caption = (
        "Stories: those that fill more than half of a thread. On the story: share of items that belong to the main "
        "story of their thread. k-means: on tf-idf, the items nearest to each centre; in the last row without the "
        "series and on the vectors that the threads are found with. All methods are given the number of stories. The "
        "news is invented: it shows what threads look like, and proves nothing."
    )
    return _card("Threads of news", output, about, ["stories", "on the story"], rows, caption)


def _clusters(X: FloatArray, k: int, length: int) -> list[IntArray]:
    """The rows nearest to each centre of k-means."""
    from scipy.cluster.vq import kmeans2

    centres, labels = kmeans2(X, k, minit="++", seed=0)
    order = np.argsort(((X - centres[labels]) ** 2).sum(axis=1), kind="stable")
    return [order[labels[order] == c][:length] for c in range(k)]


def report(choice: Choice, console: Console) -> None:
    """Print the picks, the probabilities of the sets, and an explanation."""
    names = list(choice.sets)
    wide = _picks_table(choice, names)
    fits = Measurement.get(console, console.options.update(width=10_000), wide).maximum <= console.width
    for part in [wide] if fits else [_picks_table(choice, [name]) for name in names]:
        console.print(part)
    rows = [
        [TITLES[name], f"{choice.log_prob[name]:.2f}", f"{_people(choice, items):,.0f}", _apart(choice, items)]
        for name, items in choice.sets.items()
    ]
    console.print(table(["~Set", "}log P(set)", "}people in all", "}closest two"], rows))
    legend = (
        f"P(in): probability that a random draw of {len(choice.diverse)} holds the city. "
        "log P(set): logarithm of the probability that the draw is this very set."
    )
    console.print(Text(f"{legend}\n\n{explain(choice)}\n"))


def explain(choice: Choice) -> str:
    """The meaning of the numbers, for readers new to determinantal point processes."""
    cities, diverse, populous = choice.cities, choice.diverse, choice.populous
    if set(diverse) == set(populous):
        return "With these settings the diverse cities and the most populous ones are the same."
    text = ""
    if len(diverse) > 1:
        i, j, near = cities.closest_pair(populous)
        far = cities.closest_pair(diverse)[2]
        pair = f"{cities.names[i]} and {cities.names[j]}"
        text = f"By population alone, {pair} are both taken, though only {near:,.0f} km apart. "
        if far > near:
            loss = 1 - _people(choice, diverse) / _people(choice, populous)
            text += (
                f"Looking at distance as well, no two picks are closer than {far:,.0f} km, for {loss:.0%} fewer people "
                "in all. "
            )
    log_ratio = choice.log_prob["diverse"] - choice.log_prob["populous"]
    if not math.isfinite(log_ratio):
        return f"{text}The model gives the most populous set probability zero."
    size = abs(log_ratio)
    times = f"{math.exp(size):,.1f}" if size < math.log(1e6) else f"10^{size / math.log(10):.0f}"
    sets = ("diverse", "most populous") if log_ratio >= 0 else ("most populous", "diverse")
    return f"{text}The model finds the {sets[0]} set {times} times as likely as the {sets[1]} one."


def _picks_table(choice: Choice, names: list[str]) -> Table:
    """One row per rank; for each set the city, its population and its inclusion probability."""
    cities, headings = choice.cities, [">#"]
    columns = [[str(rank) for rank in range(1, len(choice.diverse) + 1)]]
    for name in names:
        items = choice.sets[name]
        headings += [f"~{TITLES[name]}", ">People", ">P(in)"]
        columns.append([cities.labels[i] for i in items])
        columns.append([f"{people:,.0f}" for people in cities.population[items]])
        columns.append([f"{chance:.3f}" for chance in choice.inclusion[items]])
    return table(headings, zip(*columns, strict=True))


def _apart(choice: Choice, items: IntArray) -> str:
    return f"{choice.cities.closest_pair(items)[2]:,.0f} km" if len(items) > 1 else "-"


def _people(choice: Choice, items: IntArray) -> float:
    return float(choice.cities.population[items].sum())
