"""``diverset demo``: ten diverse large cities out of two hundred, a summary of reports, and threads of news."""

import math
from pathlib import Path

from rich import box
from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from diverset._typing import IntArray
from diverset.demo.cities import Choice, choose_cities
from diverset.errors import DiversetError, MissingExtraError
from diverset.io.files import atomic_write, check_writable

__all__ = ["run_demo", "run_text_demos"]

PICTURE_TYPES = (".png", ".svg", ".pdf")
TITLES = {"diverse": "Diverse", "populous": "Most populous", "drawn": "Drawn at random"}


def run_demo(
    k: int = 10,
    *,
    output: Path,
    length_scale: float = 500.0,
    population_power: float = 0.5,
    seed: int | None = None,
    console: Console | None = None,
) -> Choice:
    """Pick the cities, print the tables, write the map.

    Parameters
    ----------
    k : int, default=10
        How many cities.
    output : Path
        Where the map goes; PNG, SVG or PDF by its extension.
    length_scale, population_power : float
        The model, see :func:`diverset.demo.cities.choose_cities`.
    seed : int, optional
        Also draw a random set with this seed.
    console : Console, optional
        Where to print; standard output if left out.

    Returns
    -------
    choice : Choice
        What was printed.
    """
    console = Console() if console is None else console
    _check_picture(output)
    choice = choose_cities(k, length_scale=length_scale, population_power=population_power, rng=seed)
    for part in report(choice, console):
        console.print(part)
    try:
        write_map(choice, output)
    except MissingExtraError as error:
        console.print(f"No map written: {error}", markup=False, highlight=False, soft_wrap=True)
    else:
        console.print(f"Map written to {output}", markup=False, highlight=False, soft_wrap=True)
    return choice


def run_text_demos(output: Path, *, console: Console | None = None) -> None:
    """Summarise a few reports and thread half a year of news, all made up; the pages go beside the map.

    Parameters
    ----------
    output : Path
        The map; pages have its name with ``-summary.html`` and ``-threads.html`` for an ending.
    console : Console, optional
        Where to print; standard output if left out.
    """
    console = Console() if console is None else console
    try:
        from diverset.demo.summary import run_demo_summary
        from diverset.demo.threads import run_demo_threads

        console.print()
        run_demo_summary(output=output.with_name(f"{output.stem}-summary.html"), console=console)
        console.print()
        run_demo_threads(output=output.with_name(f"{output.stem}-threads.html"), console=console)
    except MissingExtraError as error:
        console.print(f"No summary and no threads: {error}", markup=False, highlight=False, soft_wrap=True)


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


def _check_picture(output: Path) -> None:
    """Refuse a bad file name before the work, not after it."""
    if output.suffix.lower() not in PICTURE_TYPES:
        raise DiversetError(
            f"cannot write a picture to {output}: its name must end in {', '.join(PICTURE_TYPES[:-1])} "
            f"or {PICTURE_TYPES[-1]}"
        )
    check_writable(output)


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
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("Set")
    for title in ("log P(set)", "people in all", "closest two"):
        table.add_column(title, justify="right")
    for name, items in choice.sets.items():
        table.add_row(
            TITLES[name],
            f"{choice.log_prob[name]:.2f}",
            f"{_people(choice, items):,.0f}",
            f"{choice.cities.closest_pair(items)[2]:,.0f} km" if len(items) > 1 else "-",
        )
    return table


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
