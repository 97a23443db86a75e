"""Looking for the settings of a thread model that do best on development collections."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diverset._progress import progress_bar
from diverset.errors import DiversetError
from diverset.io.files import atomic_write

__all__ = ["Tuning", "tune"]


@dataclass(frozen=True, eq=False)
class Tuning:
    """What was tried, and how it did.

    Parameters
    ----------
    tried : tuple of dict
        Settings, each with its ``score``, in the order of the grid.
    """

    tried: tuple[dict[str, Any], ...]

    @property
    def best(self) -> dict[str, Any]:
        """The settings with the highest score; the first of equals."""
        top = max(self.tried, key=lambda row: row["score"])
        return {name: value for name, value in top.items() if name != "score"}

    @property
    def score(self) -> float:
        """The highest score."""
        return float(max(row["score"] for row in self.tried))

    def save(self, path: str | Path) -> None:
        """Write what was tried as JSON, a line for each."""
        rows = ",\n".join(json.dumps(row) for row in self.tried)
        with atomic_write(path) as temporary:
            temporary.write_text(f'{{"tried": [\n{rows}\n]}}\n', encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Tuning:
        """Read what :meth:`save` wrote."""
        try:
            tried = tuple(json.loads(Path(path).read_text(encoding="utf-8"))["tried"])
            if not tried or not all(math.isfinite(row["score"]) for row in tried):
                raise ValueError("a score is missing")
            return cls(tried)
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise DiversetError(f"{path} holds no search: {error}; delete it to search anew") from error


def tune(
    score: Callable[..., float],
    grid: Mapping[str, Sequence[Any]],
    *,
    output: str | Path | None = None,
    show: bool = True,
) -> Tuning:
    """Try every combination of settings.

    Parameters
    ----------
    score : callable
        Takes the settings by name and returns how well they do, on development data only; higher is better.
    grid : mapping of str to sequence
        Values of each setting, such as ``{"beta": [1, 2, 4], "rho": [0, 1], "threshold": [0.1, 0.2]}``.
    output : path, optional
        Where the result is saved after every trial; what is there already is not tried again.
    show : bool
        Whether to show a progress bar, with the time gone by and left, where there is a terminal.

    Returns
    -------
    Tuning

    Examples
    --------
    >>> tune(lambda beta, rho: -((beta - 2) ** 2) - rho, {"beta": [1, 2, 3], "rho": [0, 1]}, show=False).best
    {'beta': 2, 'rho': 0}
    """
    if not grid or not all(len(values) for values in grid.values()):
        raise DiversetError("the grid is empty; give at least one value for each setting")
    known = list(Tuning.load(output).tried) if output is not None and Path(output).exists() else []
    before = {_key({name: value for name, value in row.items() if name != "score"}): row for row in known}
    combinations = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    tried: list[dict[str, Any]] = []
    with progress_bar("Trying settings", len(combinations), show) as advance:
        for settings in combinations:
            row = before.get(_key(settings))
            if row is None:
                value = float(score(**settings))
                row = settings | {"score": value if math.isfinite(value) else -1e300}
            tried.append(row)
            if output is not None:
                Tuning(tuple(tried)).save(output)
            advance()
    return Tuning(tuple(tried))


def _key(settings: Mapping[str, Any]) -> str:
    return json.dumps(settings, sort_keys=True, default=str)
