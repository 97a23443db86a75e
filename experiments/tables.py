"""Tables in reStructuredText and CSV, and bootstrap intervals, for all experiments."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from diverset.io.files import atomic_write

__all__ = ["interval", "list_table", "stratified_interval", "write", "write_csv", "write_tables"]


def list_table(rows: Iterable[Sequence[str]], option: str | None = ":class: numbers") -> str:
    """Rows, the first of them headings, as a table in reStructuredText."""
    lines = [".. list-table::", "   :header-rows: 1", *([f"   {option}"] if option else []), ""]
    for row in rows:
        lines += [f"   {'* -' if at == 0 else '  -'} {cell}".rstrip() for at, cell in enumerate(row)]
    return "\n".join(lines) + "\n"


def write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_tables(out: Path, found: Mapping[str, str]) -> None:
    """Write the tables, each under its name."""
    for name, text in found.items():
        write(out / name, text)


def write_csv(path: Path, headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> Path:
    """Write rows under their headings, numbers with four decimals."""
    with atomic_write(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(headings)
        writer.writerows([f"{cell:.4f}" if isinstance(cell, float) else cell for cell in row] for row in rows)
    return path


def interval(values: np.ndarray, *, weights: np.ndarray | None = None, level: float = 0.95) -> tuple[float, float]:
    """Bootstrap interval (percentiles) of a mean, or of a mean with weights; for paired scores, pass their differences.

    The resamples depend on the number of values alone, so that all methods are compared on the same ones.
    """
    shares = _resamples(len(values))
    means = shares @ values if weights is None else shares @ (weights * values) / (shares @ weights)
    low, high = np.quantile(means, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return float(low), float(high)


@lru_cache(maxsize=2)
def _resamples(n: int) -> np.ndarray:
    """How often each of n values is drawn, as a share, in every resample."""
    return np.random.default_rng(0).multinomial(n, np.full(n, 1.0 / n), size=10_000) / n


def stratified_interval(parts: Sequence[np.ndarray]) -> tuple[float, float, float]:
    """Mean of the means of several parts, with a 95% interval by resampling within each part."""
    rng = np.random.default_rng(0)
    means = np.mean([part[rng.integers(0, len(part), (4000, len(part)))].mean(axis=1) for part in parts], axis=0)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(np.mean([part.mean() for part in parts])), float(low), float(high)
