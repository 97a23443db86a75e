"""What ``select``, ``sample`` and ``compare`` are asked for, and the arguments of the library that it becomes."""

import shlex
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diverset.errors import DiversetError
from diverset.inference.inputs import as_size

if TYPE_CHECKING:
    from diverset.cli.candidates import Candidates

__all__ = ["Request", "read_size"]

#: Rows picked by default.
DEFAULT_SIZE = 10


@dataclass(frozen=True)
class Request:
    """Options of the three commands, by the names they have on the command line.

    ``quality``, ``id``, ``text``, ``features``, ``group`` and ``cost`` name columns of the file. ``given`` and
    ``exclude`` are ids with commas between, or a file of them. Numbers mean what they mean to :func:`diverset.select`.
    """

    file: str
    k: int | float | None = None
    quality: str | None = None
    diversity: float | None = None
    keep: float | None = None
    scale: str | None = "rank"
    lower_is_better: bool = False
    method: str = "greedy"
    seed: int | None = None
    id: str | None = None
    text: str | None = None
    features: str | None = None
    embeddings: Path | None = None
    model: str | None = None
    similarity: str | None = None
    given: str | None = None
    exclude: str | None = None
    min_quality: float | None = None
    group: str | None = None
    per_group: int | None = None
    cost: str | None = None
    budget: float | None = None
    window: int | None = None
    encoding: str | None = None

    @property
    def dial(self) -> float:
        """The diversity asked for, or the default."""
        return 0.5 if self.diversity is None else self.diversity

    @property
    def inputs(self) -> list[str | Path | None]:
        """Files that are read, and that no output may overwrite."""
        return [self.file, self.embeddings, self.given, self.exclude]

    def check(self) -> None:
        """Refuse options that contradict each other, before any file is read."""
        if self.k is not None and self.k <= 0:
            raise DiversetError(f"k = {self.k}; ask for at least 1 row")
        kinds = {"--text": self.text, "--features": self.features, "--embeddings": self.embeddings}
        named = [name for name, value in kinds.items() if value is not None]
        if len(named) > 1:
            raise DiversetError(f"{' and '.join(named)} both say what rows are compared by; give one of them")
        if self.model is not None and named and named != ["--text"]:
            raise DiversetError(f"--model embeds text, and {named[0]} says to compare rows by something else; drop one")
        pairs = [("--cost", self.cost, "--budget", self.budget), ("--group", self.group, "--per-group", self.per_group)]
        for one, first, other, second in pairs:
            if (first is None) != (second is None):
                raise DiversetError(f"{one} and {other} go together; give both or neither")
        for name, value in (("--min-quality", self.min_quality), ("--keep", self.keep)):
            if value is not None and self.quality is None:
                raise DiversetError(f"{name} needs --quality, the column it refers to")
        if self.lower_is_better and self.quality is None:
            raise DiversetError("--lower-is-better needs --quality, the column it refers to")
        if self.keep is not None and self.diversity is not None:
            raise DiversetError("--keep finds the diversity itself; give --keep or --diversity, not both")

    def size(self, candidates: "Candidates") -> int:
        """How many rows to pick; refuses more than the file has."""
        table = candidates.table
        if self.k is None:
            return min(DEFAULT_SIZE, table.n)
        if self.k > table.n:
            rows = "1 row" if table.n == 1 else f"{table.n} rows"
            raise DiversetError(f"k = {self.k}, and {table.name} has {rows}; ask for fewer")
        return as_size(self.k, len(candidates.rows))

    def arguments(self, candidates: "Candidates") -> dict[str, Any]:
        """Arguments that all functions of the library take."""
        from diverset.cli.candidates import find_rows

        return {
            "quality": candidates.quality,
            "scale": self.scale,
            "lower_is_better": self.lower_is_better,
            "similarity": candidates.similarity,
            "given": find_rows(self.given, candidates, "--given"),
            "exclude": find_rows(self.exclude, candidates, "--exclude"),
            "min_quality": self.min_quality,
        }

    def limits(self, candidates: "Candidates") -> dict[str, Any]:
        """Groups and costs, which :func:`diverset.select` alone takes."""
        table, rows = candidates.table, candidates.rows
        arguments: dict[str, Any] = {}
        if self.cost is not None:
            costs = table.numbers(self.cost)
            if costs.min() <= 0.0:
                i = int(costs.argmin())
                raise DiversetError(f"{table.name}, {table.where(i)}: the cost is {costs[i]:g}; costs must be positive")
            arguments |= {"costs": costs[rows], "budget": self.budget}
        if self.group is not None:
            cells = table.column(self.group)
            arguments |= {"groups": [str(cells[i]) for i in rows.tolist()], "per_group": self.per_group}
        return arguments

    def command(self, **changes: Any) -> str:
        """The shell command for ``diverset select`` that asks for the same, with these changes."""
        wanted = replace(self, **changes)
        words = ["diverset", "select", wanted.file]
        for field in fields(wanted)[1:]:
            value = getattr(wanted, field.name)
            if value == field.default:
                continue
            words.append("-k" if field.name == "k" else f"--{field.name.replace('_', '-')}")
            if value is not True:
                words.append("none" if value is None else str(value))
        return shlex.join(words)


def read_size(text: str) -> int | float:
    """A number of rows, or a share of them: 10, 0.1 or 10%.

    >>> read_size("10"), read_size("0.1"), read_size("10%")
    (10, 0.1, 0.1)
    """
    try:
        number = float(text.removesuffix("%"))
        value = number / 100.0 if text.endswith("%") else int(text) if text.lstrip("+-").isdigit() else number
    except ValueError:
        raise DiversetError(f"-k is {text!r}; give a number of rows, or a share of them such as 0.1 or 10%") from None
    if isinstance(value, float) and not 0.0 < value <= 1.0:
        raise DiversetError(f"-k is {text!r}; a share of the rows is above 0 and at most 1")
    return value
