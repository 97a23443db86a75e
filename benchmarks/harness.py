"""Shared by all benchmarks: timing, bars, tables, a description of the machine, JSON.

A benchmark is a module with ``CASES``, a tuple of functions. Each builds its inputs, measures with
:func:`compare` or :func:`state`, and yields :class:`Row` objects; what it built is freed when it ends.

How times are taken. All contestants of a comparison run in one process on the same inputs. Each is called once
first, unmeasured, so that loops are compiled and BLAS threads are up. Then come rounds in which each runs once, every
other round in reverse order, so that a drift of the machine hits all alike. A pause before each call lets the BLAS
threads of the one before, which go on spinning for some 30 ms, fall asleep; where other processes are seen at work
during the pause, it is prolonged, for as long as patience lasts. Rounds go on until no best time improves any more, or
the budget is spent. The best time counts: whatever else runs on the machine only adds to it.

On a machine that is never quiet, BLAS threads wait for one another and even best times mean little. Processor time with
one BLAS thread (``OPENBLAS_NUM_THREADS=1`` and ``run --cpu``) hardly feels the others, and stands in for the wall clock
of a quiet machine with one core.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.metadata
import json
import math
import os
import platform
import resource
import statistics
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from diverset.io.files import atomic_write
from experiments.tables import list_table

try:
    import resource
except ImportError:  # not on Windows
    resource = None  # type: ignore[assignment]

__all__ = [
    "Bar",
    "Row",
    "Times",
    "at_least",
    "at_most",
    "clock",
    "compare",
    "duration",
    "peer",
    "run",
    "state",
    "table",
    "time_all",
]

RESULTS = Path(__file__).parent / "results"
#: Distributions whose versions are recorded where they are installed; peers among them.
RECORDED = (
    "diverset", "numpy", "scipy", "cython", "dppy", "pyversity", "langchain-core", "apricot-select", "submodlib-py",
)  # fmt: skip

_PAUSE = 0.06
#: The machine is quiet while other processes use less than this share; and seconds to wait for that per comparison.
_QUIET = 0.1
_PATIENCE = 30.0
_ROUNDS = 7


def _processor_time() -> float:
    """Seconds of processor time of this process and of those it has started and seen end."""
    if resource is None:
        return time.process_time()
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


_CLOCKS = {"wall clock": time.perf_counter, "processor time": _processor_time}
_clock = "wall clock"
#: Stop after this many rounds in which no best time improved by 2%.
_STABLE_ROUNDS = 5


@dataclass(frozen=True)
class Bar:
    """The bar for a number: at most, or at least, `limit`."""

    limit: float
    lower: bool = False

    def met(self, value: float) -> bool:
        """Whether `value` meets the bar."""
        return value >= self.limit if self.lower else value <= self.limit

    def __str__(self) -> str:
        return f"{'≥' if self.lower else '≤'} {self.limit:g}"


def at_most(limit: float) -> Bar:
    """Bar for a ratio of our time to the reference's, or for seconds where there is no reference."""
    return Bar(limit)


def at_least(limit: float) -> Bar:
    """Bar for a speed-up: the other's time divided by ours."""
    return Bar(limit, lower=True)


@dataclass(frozen=True)
class Times:
    """Seconds of each measured call."""

    seconds: tuple[float, ...]

    @property
    def best(self) -> float:
        """The shortest time."""
        return min(self.seconds)

    @property
    def median(self) -> float:
        """The median time."""
        return statistics.median(self.seconds)


@dataclass
class Row:
    """One line of the table; `details` go to the JSON only."""

    case: str
    ours: str
    other: str = ""
    ratio: float | None = None
    bar: str = ""
    met: bool | None = None
    details: dict[str, Any] = field(default_factory=dict)


# memory ----------------------------------------------------------------------------------------------------


def reset_peak() -> None:
    """Let :func:`peak_gib` count from here on, where the system allows it."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_gib() -> float:
    """Largest resident memory of this process since :func:`reset_peak`, in GiB."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) / 2**20
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


# timing ----------------------------------------------------------------------------------------------------


def time_all(
    calls: dict[str, Callable[[], object]], *, rounds: int = _ROUNDS, budget: float = 20.0
) -> dict[str, Times]:
    """Time calls against each other, as the module docstring describes.

    Parameters
    ----------
    calls : dict
        What to time, by name. One that needs fresh state makes it itself, and the making counts.
    rounds : int
        Smallest number of rounds, even beyond the budget.
    budget : float
        Seconds of measuring, without waiting, after which no further round is started.
    """
    for call in calls.values():
        call()
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    order = list(calls)
    patience = _PATIENCE if _clock == "wall clock" else 0.0
    spent, since_better = 0.0, 0
    while len(seconds[order[0]]) < rounds or (since_better < _STABLE_ROUNDS and spent < budget):
        since_better += 1
        for name in order:
            patience -= _pause(patience)
            taken = _time_once(calls[name])
            spent += taken + _PAUSE
            if taken < 0.98 * min(seconds[name], default=math.inf):
                since_better = 0
            seconds[name].append(taken)
        order.reverse()
    return {name: Times(tuple(taken)) for name, taken in seconds.items()}


def _pause(patience: float) -> float:
    """Sleep until our threads are asleep and, within `patience`, others' too; returns the seconds waited for others."""
    waited = 0.0
    time.sleep(_PAUSE)
    while waited < patience:
        before = _cpu_seconds()
        time.sleep(_PAUSE)
        share = _share_of_others(before)
        if share is None or share < _QUIET:
            break
        waited += _PAUSE
    return waited


def _time_once(call: Callable[[], object]) -> float:
    enabled = gc.isenabled()
    gc.disable()
    try:
        now = _CLOCKS[_clock]
        start = now()
        result = call()
        taken = now() - start
        del result  # freeing it is not part of the call
    finally:
        if enabled:
            gc.enable()
    return taken


def compare(
    case: str,
    ours: Callable[[], object],
    other: Callable[[], object] | None = None,
    *,
    name: str = "",
    bar: Bar | None = None,
    per: int = 1,
    is_peer: bool = False,
    rounds: int = _ROUNDS,
    budget: float = 20.0,
) -> Row:
    """Time our call beside a reference or a peer.

    Parameters
    ----------
    case : str
        What is measured.
    ours, other : callable
        Without the other, a bar is in seconds; a peer that is ``None`` is reported as absent.
    name : str
        What the other is.
    bar : Bar, optional
        :func:`at_most` bounds ours / other, :func:`at_least` other / ours; the ratio shown is the one bounded.
    per : int
        Units of work in one call of either, such as draws: times are divided by it.
    is_peer : bool
        An exception of a peer is a finding and is reported; one of a reference is an error here.
    rounds, budget
        As in :func:`time_all`.
    """
    calls = {"ours": ours}
    failure = f"{name} is not installed" if is_peer and other is None else ""
    if other is not None and is_peer:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                other()
        except Exception as error:
            failure = f"{name}: {type(error).__name__}: {error}"
    if other is not None and not failure:
        calls["other"] = other
    before = _cpu_seconds()
    times = time_all(calls, rounds=rounds, budget=budget)
    mine = times["ours"].best / per
    row = Row(case, duration(mine), failure, bar="" if bar is None else str(bar))
    row.details = {key: {"name": name if key == "other" else "diverset", **asdict(t)} for key, t in times.items()}
    row.details |= {"per": per, "cpu_of_others": _share_of_others(before)}
    value = mine if other is None and not is_peer else None
    if "other" in times:
        row.other = f"{duration(times['other'].best / per)}  {name}"
        quotient = times["ours"].best / times["other"].best
        medians = times["ours"].median / times["other"].median
        faster = bar is not None and bar.lower
        value = row.ratio = 1.0 / quotient if faster else quotient
        row.details["ratio_of_medians"] = 1.0 / medians if faster else medians
    if bar is not None and value is not None:
        row.met = bar.met(value)
    return row


def state(case: str, ours: str, other: str = "", **details: Any) -> Row:
    """A row without a time, such as one that reports accuracy."""
    return Row(case, ours, other, details=details)


def peer(name: str) -> ModuleType | None:
    """Another library, or None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != name.split(".")[0]:
            raise
        return None


def duration(seconds: float) -> str:
    """Seconds in the unit that suits them."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


# the machine -----------------------------------------------------------------------------------------------


def machine() -> dict[str, Any]:
    """Processor, cores and memory."""
    model, memory = platform.processor() or platform.machine(), None
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    except (OSError, ValueError, AttributeError):
        pass  # not Linux: only the module platform is left
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"cpu": model, "cores": cores, "memory_gib": memory and round(memory, 1), "system": platform.platform()}


def versions() -> dict[str, str | None]:
    """Versions of Python and of what is measured; None for a peer that is not installed."""
    found: dict[str, str | None] = {"python": platform.python_version()}
    for name in RECORDED:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    return found | {"blas": _blas()}


def _blas() -> str:
    """Each BLAS loaded, with its threads if threadpoolctl is installed; NumPy and SciPy may bring their own."""
    try:
        from threadpoolctl import threadpool_info
    except ImportError:
        import numpy as np

        built = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
        return f"{built['name']} {built['version']}"
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    return ", ".join(f"{p['internal_api']} {p['version']} with {p['num_threads']} thread(s)" for p in pools)


def _cpu_seconds() -> tuple[float, float, float] | None:
    """Wall clock, processor time of everything that runs, and of this process and its children."""
    try:
        numbers = [int(x) for x in Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:9]]
    except (OSError, ValueError):
        return None
    mine = os.times()
    busy = (sum(numbers) - numbers[3] - numbers[4]) / os.sysconf("SC_CLK_TCK")
    return time.perf_counter(), busy, mine.user + mine.system + mine.children_user + mine.children_system


def _share_of_others(before: tuple[float, float, float] | None) -> float | None:
    """Part of the machine that other processes used since `before`, from 0 to 1."""
    after = _cpu_seconds()
    if before is None or after is None:
        return None
    wall, busy, mine = (b - a for a, b in zip(before, after, strict=True))
    return round(max(busy - mine, 0.0) / (wall * (os.cpu_count() or 1)), 3) if wall > 0.0 else None


# running and reporting -------------------------------------------------------------------------------------


def clock() -> str:
    """What times are taken by: ``"wall clock"`` or ``"processor time"``."""
    return _clock


def run(module: ModuleType, console: Console, only: str = "", *, cpu: bool = False) -> dict[str, Any]:
    """Run one benchmark, print its table, and write ``results/NAME.json`` unless only some cases were selected."""
    global _clock
    _clock = "processor time" if cpu else "wall clock"
    name = module.__name__.rpartition(".")[2]
    before, rows = _cpu_seconds(), []
    with console.status("") as status:
        for row in _rows(module.CASES, only, status.update):
            rows.append(row)
    result = {
        "benchmark": name,
        "title": (module.__doc__ or name).split("\n", 1)[0].rstrip("."),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "versions": versions(),
        "clock": _clock,
        "cpu_of_others": _share_of_others(before),
        "rows": [asdict(row) for row in rows],
    }
    console.print(table(result))
    console.print(describe(result), style="dim", highlight=False)
    if not only:
        RESULTS.mkdir(exist_ok=True)
        with atomic_write(RESULTS / f"{name}.json") as path:
            path.write_text(json.dumps(result, indent=1, allow_nan=True) + "\n", encoding="utf-8")
    return result


def _rows(cases: Iterable[Callable[[], Iterator[Row]]], only: str, report: Callable[[str], object]) -> Iterator[Row]:
    for case in cases:
        if only in case.__name__:
            report(f"{case.__name__} ...")
            yield from case()


def _cells(row: dict[str, Any]) -> list[str]:
    ratio = "" if row["ratio"] is None else f"{row['ratio']:.3g}"
    met = {None: "", True: "met", False: "MISSED"}[row["met"]]
    return [row["case"], row["ours"], row["other"], ratio, row["bar"], met]


HEADINGS = ("case", "ours", "reference or peer", "ratio", "bar", "")


def table(result: dict[str, Any]) -> Table:
    """The rows of a result for the terminal."""
    view = Table(title=result["title"], title_justify="left")
    for heading in HEADINGS:
        view.add_column(heading, justify="right" if heading in ("ours", "ratio", "bar") else "left")
    for row in result["rows"]:
        view.add_row(*map(escape, _cells(row)), style="red" if row["met"] is False else None)
    return view


def markdown(result: dict[str, Any]) -> str:
    """The rows of a result for a README."""
    lines = ["| " + " | ".join(HEADINGS) + " |", "|---|---:|---|---:|---:|---|"]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in _cells(row)) + " |" for row in result["rows"]]
    return "\n".join(lines)


def rst(result: dict[str, Any]) -> str:
    """The rows of a result for the documentation."""
    return list_table([[*HEADINGS[:-1], "kept"], *map(_cells, result["rows"])], None).rstrip("\n")


def describe(result: dict[str, Any]) -> str:
    """Where and with what a result was measured, in one paragraph."""
    m, v = result["machine"], dict(result["versions"])
    blas = v.pop("blas")
    memory = "" if m["memory_gib"] is None else f", {m['memory_gib']} GiB"
    libraries = ", ".join(f"{name} {version or '(not installed)'}" for name, version in v.items())
    others = result["cpu_of_others"]
    load = "" if others is None else f" Other processes used {others:.0%} of the machine meanwhile."
    where = f"{result['date'][:10]}, {m['cpu']}, {m['cores']} cores{memory}"
    return f"{where}; {libraries}; BLAS {blas}. Best times by {result['clock']}.{load}"
