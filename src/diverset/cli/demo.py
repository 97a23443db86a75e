"""``diverset demo``: the arguments."""

from pathlib import Path
from typing import Annotated

import typer

from diverset.cli.group import app

__all__ = ["demo"]


@app.command(epilog="Example:  diverset demo -k 12 --seed 1 -o cities.svg")
def demo(
    k: Annotated[int, typer.Option("-k", "--size", help="How many cities to pick, 1 to 200.")] = 10,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Also draw a set at random, with this seed.", show_default=False)
    ] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="Where to write the map: .png, .svg or .pdf.")] = Path(
        "diverset-demo.png"
    ),
    length_scale: Annotated[float, typer.Option(help="Distance in km over which cities resemble each other.")] = 500.0,
    population_power: Annotated[
        float, typer.Option(help="Weight of population: 0 is distance only, 3 is nearly the plain top k.")
    ] = 0.5,
) -> None:
    """Pick diverse U.S. cities out of 200 for a map, summarise five reports, and thread half a year of news.

    Populous cities are good, close ones are alike; likely sets hold good cities that are not alike. Reports and news
    are made up. The pages of the summary and of the threads go beside the map.
    """
    from diverset.demo.run import run_demo, run_text_demos

    run_demo(k, output=output, length_scale=length_scale, population_power=population_power, seed=seed)
    run_text_demos(output)
