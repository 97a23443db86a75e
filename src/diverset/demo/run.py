"""``diverset demo``: ten diverse large cities out of two hundred, a summary of reports, and threads of news.

Each part is compared with the simple method that one would try first, and an index page shows the numbers.
"""

import base64
import json
import math
from collections import Counter
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import numpy as np
from rich import box
from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from diverset._result import ending
from diverset._typing import FloatArray, IntArray
from diverset.demo.cities import Choice, choose_cities
from diverset.errors import MissingExtraError
from diverset.io.files import atomic_write, check_writable

if TYPE_CHECKING:
    from diverset.text import Summary
    from diverset.threads import FoundThreads

__all__ = ["demo_summary", "demo_threads", "run_demo"]

PICTURE_TYPES = (".png", ".svg", ".pdf")
TITLES = {"diverse": "Diverse", "populous": "Most populous", "drawn": "Drawn at random"}
_MIME = {".png": "image/png", ".svg": "image/svg+xml"}


def run_demo(
    k: int = 10,
    *,
    output: Path,
    length_scale: float = 500.0,
    population_power: float = 0.5,
    seed: int | None = None,
    console: Console | None = None,
) -> Choice:
    """Pick the cities, summarise the reports, thread the news; print tables, and write a map and pages.

    Parameters
    ----------
    k : int, default=10
        How many cities.
    output : Path
        Where the map goes; PNG, SVG or PDF by its extension. The pages have its name with ``-summary.html``,
        ``-threads.html`` and ``-index.html`` at the end.
    length_scale, population_power : float
        The model, see :func:`diverset.demo.cities.choose_cities`.
    seed : int, optional
        Also draw a random set with this seed.
    console : Console, optional
        Where to print; standard output if left out.

    Returns
    -------
    choice : Choice
        The cities that were printed.
    """
    screen = Console() if console is None else console
    ending(output, PICTURE_TYPES)
    check_writable(output)
    choice = choose_cities(k, length_scale=length_scale, population_power=population_power, rng=seed)
    for part in report(choice, screen):
        screen.print(part)
    cards = [_city_card(choice, output)]
    try:
        write_map(choice, output)
    except MissingExtraError as error:
        _say(screen, f"No map written: {error}")
        cards = []
    else:
        _say(screen, f"Map written to {output}")
        if output.suffix.lower() in _MIME:
            data = base64.b64encode(output.read_bytes()).decode()
            cards[0]["picture"] = f"data:{_MIME[output.suffix.lower()]};base64,{data}"
    pages = {kind: output.with_name(f"{output.stem}-{kind}.html") for kind in ("summary", "threads", "index")}
    try:
        screen.print()
        cards.append(_summary_card(demo_summary(pages["summary"], screen), pages["summary"]))
        screen.print()
        cards.append(_thread_card(demo_threads(pages["threads"], screen), pages["threads"]))
    except MissingExtraError as error:
        _say(screen, f"No summary and no threads: {error}")
    from diverset.pages.base import render

    with atomic_write(pages["index"]) as temporary:
        html = render("demo.html", title="diverset: cities, a summary, and threads", cards=cards)
        temporary.write_text(html, encoding="utf-8", newline="\n")
    _say(screen, f"Open {pages['index']} to see all of it")
    return choice


def _say(console: Console, line: str) -> None:
    console.print(line, markup=False, highlight=False, soft_wrap=True)


def demo_summary(output: Path, console: Console, max_words: int = 50) -> "Summary":
    """Summarise the invented reports, print the summary and its reasons, and write its page."""
    import diverset as dv
    from diverset.text import Cluster

    lines = (files("diverset") / "data" / "summary_demo.jsonl").read_text(encoding="utf-8").splitlines()
    reports = [json.loads(line) for line in lines]
    cluster = Cluster([each["text"] for each in reports], names=[each["title"] for each in reports])
    summary = dv.summarize(cluster, max_words)
    summary = replace(summary, notes=(*summary.notes, "The reports are invented."))
    n = sum(len(each["text"].split()) for each in reports)
    console.print(f"{len(reports)} reports of {n} words, in {len(summary.text.split())}:", highlight=False)
    console.print(Text(summary.text, style="bold"))
    table = _plain_table("Sentence", "From", "Quality", "New", "P(in)")
    for why in summary.explain():
        table.add_row(
            Text(shorten(why["sentence"], 40, placeholder=" …")),
            Text(why["document"]),
            f"no. {why['quality_rank']}",
            f"{why['novelty']:.0%}",
            f"{why['inclusion_probability']:.0%}",
        )
    console.print(table)
    summary.save(output)
    _say(console, f"Page written to {output}")
    return summary


def demo_threads(output: Path, console: Console) -> "FoundThreads":
    """Find six threads in the invented news, print them, and write their page."""
    import diverset as dv
    from diverset.cli.console import working
    from diverset.cli.thread import report as report_threads
    from diverset.threads import example_news

    with working("threading the news") as step:
        found = dv.find_threads(example_news()[0], k=6, progress=step)
    found = replace(found, notes=(*found.notes, "The news items are invented."))
    report_threads(found, console)
    found.save(output)
    _say(console, f"Page written to {output}")
    return found


# the index page ---------------------------------------------------------------------------------------------------


def _card(
    name: str, href: Path, about: str, columns: list[str], rows: dict[str, list[str]], caption: str
) -> dict[str, Any]:
    """What the index page shows of one part."""
    card = {"name": name, "href": f"./{href.name}", "about": about, "columns": columns, "caption": caption}
    return card | {"rows": list(rows.items()), "picture": None}


def _city_card(choice: Choice, output: Path) -> dict[str, Any]:
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


def _summary_card(summary: "Summary", output: Path) -> dict[str, Any]:
    """The summary beside the first sentences of each report, in as many words."""
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


def _thread_card(found: "FoundThreads", output: Path) -> dict[str, Any]:
    """The threads beside clusters of k-means, by the stories that the news items were written for."""
    from diverset.text.tfidf import tfidf
    from diverset.threads import example_news

    stories, texts = np.array(example_news()[1], dtype=object), np.array(found.corpus.texts, dtype=object)
    length, every = len(found.places[0]), np.arange(len(texts))
    methods = {"diverset": list(found.places)}
    for name, items in (("k-means", every), ("k-means, series removed", found.kept)):
        X = tfidf(texts[items].tolist())[0].toarray()
        methods[name] = [items[cluster] for cluster in _clusters(X, len(found), length)]
    # Without the series and on the vectors of the threads, k-means has all the help it can get.
    X = found.vectors.subjects.toarray()
    methods["k-means, on our vectors"] = [found.kept[own] for own in _clusters(X, len(found), length)]
    rows = {}
    for name, sets in methods.items():
        main = [Counter(story for story in stories[items] if story is not None).most_common(1) for items in sets]
        right = sum(count for best in main for _, count in best)
        told = {story for best in main for story, count in best if count > length // 2}
        rows[name] = [f"{len(told)} of {len(set(stories) - {None})}", f"{right / max(sum(map(len, sets)), 1):.0%}"]
    about = (
        f"{len(found)} threads of {length} items through {len(texts)} news items: six stories, a series of weather "
        "reports, and items of no story. Threads leave the series out and keep to one story each."
    )
    caption = (
        "Stories: those that fill more than half of a thread. On the story: share of items that belong to the main "
        "story of their thread. k-means: on tf-idf, the items nearest to each centre; in the last row without the "
        "series and on the vectors that the threads are found with. The news is invented: it shows what threads look "
        "like, and proves nothing."
    )
    return _card("Threads of news", output, about, ["stories", "on the story"], rows, caption)


def _clusters(X: FloatArray, k: int, length: int) -> list[IntArray]:
    """The rows nearest to each centre of k-means."""
    from scipy.cluster.vq import kmeans2

    centres, labels = kmeans2(X, k, minit="++", seed=0)
    distance = ((X - centres[labels]) ** 2).sum(axis=1)
    return [
        own[np.argsort(distance[own], kind="stable")[:length]]
        for own in (np.flatnonzero(labels == c) for c in range(k))
    ]


# the cities -------------------------------------------------------------------------------------------------------


def report(choice: Choice, console: Console) -> list[RenderableType]:
    """The demo's text: who is picked, how likely the sets are, and what that means."""
    names = list(choice.sets)
    wide = _picks_table(choice, names)
    unlimited = console.options.update(width=10_000)
    fits = Measurement.get(console, unlimited, wide).maximum <= console.width
    picks = [wide] if fits else [_picks_table(choice, [name]) for name in names]
    legend = (
        f"P(in): probability that a random draw of {len(choice.diverse)} holds the city. "
        "log P(set): logarithm of the probability that the draw is this very set."
    )
    return [Group(*picks), _comparison_table(choice), Text(legend), "", Text(explain(choice)), ""]


def explain(choice: Choice) -> str:
    """What the numbers say, for someone who has not met a determinantal point process."""
    cities, diverse, populous = choice.cities, choice.diverse, choice.populous
    k = len(diverse)
    if set(diverse) == set(populous):
        return "With these settings the diverse cities and the most populous ones are the same."
    lines = []
    if k > 1:
        i, j, near = cities.closest_pair(populous)
        far = cities.closest_pair(diverse)[2]
        pair = f"{cities.names[i]} and {cities.names[j]}"
        lines.append(f"By population alone, {pair} are both taken, though only {near:,.0f} km apart.")
        if far > near:
            lines.append(
                f"Looking at distance as well, no two picks are closer than {far:,.0f} km, "
                f"for {_population_loss(choice)} people in all."
            )
    lines.append(_odds(choice.log_prob["diverse"] - choice.log_prob["populous"]))
    return " ".join(lines)


def write_map(choice: Choice, output: Path) -> None:
    """Draw the map into a file, which appears whole or not at all."""
    from diverset.demo.us_map import draw_us_map
    from diverset.plots._matplotlib import require_matplotlib

    require_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 7), dpi=150)
    draw_us_map(choice, figure)
    with atomic_write(output) as temporary:
        figure.savefig(temporary)


def _picks_table(choice: Choice, names: list[str]) -> Table:
    """One row per rank; for each set the city, its population and its inclusion probability."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("#", justify="right", no_wrap=True)
    for name in names:
        table.add_column(TITLES[name], overflow="fold")
        table.add_column("People", justify="right", no_wrap=True)
        table.add_column("P(in)", justify="right", no_wrap=True)
    cities, sets = choice.cities, choice.sets
    for rank in range(len(choice.diverse)):
        cells = [str(rank + 1)]
        for name in names:
            city = sets[name][rank]
            people = f"{cities.population[city]:,.0f}"
            cells += [cities.labels[city], people, f"{choice.inclusion[city]:.3f}"]
        table.add_row(*cells)
    return table


def _comparison_table(choice: Choice) -> Table:
    """One row per set: log-probability, total population, smallest distance."""
    table = _plain_table("Set", "log P(set)", "people in all", "closest two")
    for name, items in choice.sets.items():
        people = f"{_people(choice, items):,.0f}"
        table.add_row(TITLES[name], f"{choice.log_prob[name]:.2f}", people, _apart(choice, items))
    return table


def _plain_table(first: str, *others: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(first)
    for title in others:
        table.add_column(title, justify="left" if title == "From" else "right", no_wrap=title == "From")
    return table


def _apart(choice: Choice, items: IntArray) -> str:
    return f"{choice.cities.closest_pair(items)[2]:,.0f} km" if len(items) > 1 else "-"


def _people(choice: Choice, items: IntArray) -> float:
    return float(choice.cities.population[items].sum())


def _population_loss(choice: Choice) -> str:
    share = 1 - _people(choice, choice.diverse) / _people(choice, choice.populous)
    return f"{share:.0%} fewer"


def _odds(log_ratio: float) -> str:
    """Compare the two sets' probabilities in words."""
    if not math.isfinite(log_ratio):
        return "The model gives the most populous set probability zero."
    more, size = log_ratio >= 0, abs(log_ratio)
    times = f"{math.exp(size):,.1f}" if size < math.log(1e6) else f"10^{size / math.log(10):.0f}"
    if more:
        return f"The model finds the diverse set {times} times as likely as the most populous one."
    return f"The model finds the most populous set {times} times as likely as the diverse one."
