"""First use: whole processes, from start to exit, beside those of pyversity and DPPy.

Times include the interpreter, imports, making the input, and the call. *Warm* processes run in the user's own
environment, after one that is not measured. *Cold* ones find an empty home and cache directory; only bytecode is left
from the run before. The two should not differ.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec

import typer

from benchmarks.harness import Bar, Row, at_most, compare, duration, time_all
from diverset.cli import app

ROWS = """
import numpy as np
rng = np.random.default_rng(0)
X, scores = rng.standard_normal((1_000, 64)), rng.random(1_000)
"""
SELECT = f"""{ROWS}
import diverset as dv
assert len(dv.select(X, 10, quality=scores)) == 10
"""
PYVERSITY = f"""{ROWS}
from pyversity import Strategy, diversify
assert len(diversify(embeddings=X, scores=scores, k=10, strategy=Strategy.DPP, diversity=0.5).indices) == 10
"""


def kernel(n: int) -> str:
    """Statements that make a Wishart kernel `L`."""
    return f"""
import numpy as np
A = np.random.default_rng(0).standard_normal(({n}, {n}))
L = A @ A.T / {n}
"""


DRAWS = f"""{kernel(200)}
import diverset as dv
assert len(dv.KDPP(L, 10).sample(1_000, rng=0)) == 1_000
"""
DPPY = f"""{kernel(200)}
from dppy.finite_dpps import FiniteDPP
dpp, rng = FiniteDPP("likelihood", L=L), np.random.RandomState(0)
assert len([dpp.sample_exact_k_dpp(size=10, random_state=rng) for _ in range(1_000)]) == 1_000
"""
QUESTIONS = f"""{kernel(200)}
import diverset as dv
dpp = dv.DPP(L)
dpp.log_prob([1, 2, 3]), dpp.inclusion_probabilities, dpp.size_distribution
"""
EXACT = f"""{kernel(30)}
import diverset as dv
dv.map_exact(dv.DPP(L), 8)
"""


def process(*arguments: str, cold: bool = False) -> Callable[[], None]:
    """A call that runs Python with these arguments, from start to exit."""

    def run() -> None:
        if not cold:
            subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
            return
        with tempfile.TemporaryDirectory() as home:
            own = {name: home for name in ("HOME", "XDG_CACHE_HOME")}
            subprocess.run([sys.executable, *arguments], check=True, capture_output=True, env=os.environ | own)

    return run


def selection() -> Iterator[Row]:
    """Ten of a thousand rows with scores, beside pyversity."""
    yield from _one_shot("select 10 of 1,000 x 64", SELECT, "pyversity", PYVERSITY, at_most(1.5))


def draws() -> Iterator[Row]:
    """A thousand draws of a k-DPP, beside DPPy."""
    yield from _one_shot("1,000 draws of a k-DPP, n = 200, k = 10", DRAWS, "dppy", DPPY, at_most(0.25))


def other_calls() -> Iterator[Row]:
    """Calls that need more than NumPy."""
    yield from _one_shot("log_prob, marginals, sizes, n = 200", QUESTIONS)
    yield from _one_shot("map_exact, n = 30, k = 8", EXACT)


def _one_shot(case: str, ours: str, name: str = "", other: str = "", bar: Bar | None = None) -> Iterator[Row]:
    """Rows of one job, warm and cold."""
    for how in ("warm", "cold"):
        mine, peer = (process("-c", code, cold=how == "cold") for code in (ours, other))
        installed = bool(name) and find_spec(name) is not None
        yield compare(f"{case}, {how}", mine, peer if installed else None, name=name, bar=bar, is_peer=bool(name))


def imports() -> Iterator[Row]:
    """The import, beside NumPy's."""
    yield compare(
        "import diverset",
        process("-c", "import diverset"),
        process("-c", "import numpy"),
        name="import numpy",
        bar=at_most(1.5),
    )


def command_line() -> Iterator[Row]:
    """The help of every command, and the version."""
    commands = sorted(getattr(typer.main.get_command(app), "commands", {}))
    for command in ([], *([name] for name in commands)):
        arguments = [*command, "--help"]
        yield compare(" ".join(["diverset", *arguments]), process("-m", "diverset", *arguments), bar=at_most(1.0))
    times = time_all({"version": process("-m", "diverset", "--version"), "pass": process("-c", "pass")})
    more, bar = times["version"].best - times["pass"].best, at_most(0.4)
    yield Row(
        "diverset --version, less python -c pass, in seconds",
        duration(times["version"].best),
        f"{duration(times['pass'].best)}  python -c pass",
        more,
        str(bar),
        bar.met(more),
        {key: taken.seconds for key, taken in times.items()},
    )


CASES = (selection, draws, other_calls, imports, command_line)
