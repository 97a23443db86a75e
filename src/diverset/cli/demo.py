"""``diverset demo``, ``cache`` and ``completion``."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from diverset.cli.group import COMPLETE, Seed, app, option

__all__ = ["cache", "completion", "demo"]


@app.command(epilog="Example:  diverset demo -k 12 --seed 1 -o demo/cities.svg")
def demo(
    k: Annotated[int, option("-k", "--size", "How many cities to pick, 1 to 200.")] = 10,
    seed: Seed = None,
    output: Annotated[
        Path, option("-o", "--output", "Where to write the map: .png, .svg or .pdf; pages go beside it.", "FILE")
    ] = Path("diverset-demo.png"),
    length_scale: Annotated[float, option("Distance in km over which cities resemble each other.")] = 500.0,
    population_power: Annotated[
        float, option("Weight of population: 0 is distance only, 3 is nearly the plain top k.")
    ] = 0.5,
) -> None:
    """Pick diverse U.S. cities out of 200 for a map, summarise five reports, and thread half a year of news.

    Large cities have high quality, and near ones are similar; likely sets are large cities far apart. With a seed, a
    set is also drawn at random. Reports and news are invented. An index page links map, summary and threads.
    """
    from diverset.demo.run import run_demo

    run_demo(k, output=output, length_scale=length_scale, population_power=population_power, seed=seed)


@app.command(epilog="Example:  diverset cache --clear")
def cache(
    clear: Annotated[bool, option("--clear", "Delete the cached features.")] = False,
    folder: Annotated[Path | None, option("--cache", "Another folder.", "FOLDER", show_default=False)] = None,
) -> None:
    """Show the folder of cached image features and its size, or delete them."""
    from diverset.errors import EnvironmentFault
    from diverset.io.cache import cache_folder, clear_caches

    place = folder or cache_folder()
    if place is None:
        raise EnvironmentFault("there is no home directory, and so no folder for caches; give one with --cache")
    if clear:
        typer.echo(f"{clear_caches(folder):,} bytes deleted from {place}")
        return
    sizes = [path.stat().st_size for path in place.rglob("*") if path.is_file()]
    typer.echo(f"{place}: {len(sizes):,} files, {sum(sizes):,} bytes")


@app.command(epilog='Example:  eval "$(diverset completion bash)"')
def completion(shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(help="The shell.")]) -> None:
    """Print a script that makes a shell complete the commands and options of diverset."""
    from typer._completion_shared import get_completion_script

    typer.echo(get_completion_script(prog_name="diverset", complete_var=COMPLETE, shell=shell))
