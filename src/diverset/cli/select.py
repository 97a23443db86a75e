"""``diverset select`` and ``sample``, and the options that they share with ``compare``."""

import shlex
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from diverset.cli.group import Encoding, Out, Seed, app, option, sharing
from diverset.errors import DiversetError

if TYPE_CHECKING:
    from diverset.cli.candidates import Candidates

__all__ = ["Common", "Method", "Request", "sample", "select"]

WHAT, LIMITS = "What rows are compared by", "Limits"
#: Rows picked by default.
DEFAULT_SIZE = 10
Method: TypeAlias = Annotated[
    Literal["greedy", "local-search", "exact", "sample"], option("How to find the best set; sample draws one.")
]
Diversity: TypeAlias = Annotated[float | None, option("The dial, 0.5 by default: 0 is plain top-k, 1 diversity only.")]
_BLOCKS = "Read a .parquet, .npy or .zarr in blocks: on the Dask cluster at tcp://..., or here."


@dataclass(frozen=True)
class Common:
    """Options of ``select``, ``sample`` and ``compare``, as in :func:`diverset.select`."""

    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="Rows: .csv, .tsv, .json, .jsonl, .parquet, .npy; - is standard input."),
    ]
    k: Annotated[str | None, option("-k", "--size", "Rows to pick: a number (default 10) or a share (0.1).", "N")] = (
        None
    )
    quality: Annotated[str | None, option("Column of scores: higher is better.", "COL")] = None
    lower_is_better: Annotated[bool, option("--lower-is-better", "The scores are distances or ranks.")] = False
    scale: Annotated[
        Literal["rank", "standard", "none"],
        option("Use the order of the scores, their standardised values, or the raw values."),
    ] = "rank"
    keep: Annotated[float | None, option("Share of quality to keep, such as 0.9, instead of a dial.", "SHARE")] = None
    id: Annotated[str | None, option("--id", "Column that names rows. Without one, rows count from 1.", "COL")] = None
    encoding: Encoding = None
    text: Annotated[str | None, option("Compare the words of a column.", "COL", panel=WHAT)] = None
    features: Annotated[str | None, option("Compare numbers: a,b or e* or e0:e63, or lists.", "COLS", panel=WHAT)] = (
        None
    )
    embeddings: Annotated[Path | None, option("Compare embeddings, one per row.", "F.npy", panel=WHAT)] = None
    model: Annotated[str | None, option("Embed text by a sentence-transformers model.", "NAME", panel=WHAT)] = None
    similarity: Annotated[
        Literal["cosine", "rbf", "dot"] | None,
        option("Default: rbf of standardised columns of single numbers, cosine of everything else.", panel=WHAT),
    ] = None
    given: Annotated[str | None, option("Rows shown before, to avoid: a,b,c or a file.", "IDS", panel=LIMITS)] = None
    exclude: Annotated[str | None, option("Rows not to pick: a,b,c or a file.", "IDS", panel=LIMITS)] = None
    min_quality: Annotated[float | None, option("Pick no row of worse quality.", "X", panel=LIMITS)] = None


@dataclass(frozen=True)
class Request(Common):
    """Options of ``select``, of which ``sample`` and ``compare`` set some."""

    diversity: Diversity = None
    method: Method = "greedy"
    seed: Seed = None
    group: Annotated[str | None, option("Column of groups, for --per-group.", "COL", panel=LIMITS)] = None
    per_group: Annotated[int | None, option("Most picks from one group.", "N", panel=LIMITS)] = None
    cost: Annotated[str | None, option("Column of costs, for --budget.", "COL", panel=LIMITS)] = None
    budget: Annotated[float | None, option("Limit on the total cost.", "B", panel=LIMITS)] = None
    window: Annotated[int | None, option("Only the last W picks repel.", "W", panel=LIMITS)] = None

    @property
    def dial(self) -> float:
        """The diversity option, or its default."""
        return 0.5 if self.diversity is None else self.diversity

    @property
    def inputs(self) -> list[str | Path | None]:
        """Files that are read, and that no output may overwrite."""
        return [self.file, self.embeddings, self.given, self.exclude]

    @property
    def wanted(self) -> int | float | None:
        """The option ``-k``: a number of rows, or a share of them (0.1 or 10%)."""
        text = self.k
        if text is None:
            return None
        try:
            number = float(text.removesuffix("%"))
            value = number / 100.0 if text.endswith("%") else int(text) if text.lstrip("+-").isdigit() else number
        except ValueError:
            message = f"-k is {text!r}; give a number of rows, or a share of them such as 0.1 or 10%"
            raise DiversetError(message) from None
        if isinstance(value, float) and not 0.0 < value <= 1.0:
            raise DiversetError(f"-k is {text!r}; a share of the rows is above 0 and at most 1")
        if value <= 0:
            raise DiversetError(f"k = {value}; it must be at least 1")
        return value

    def check(self) -> None:
        """Refuse options that contradict each other, before any file is read."""
        self.wanted  # noqa: B018  (raises if it is not a size)
        kinds = {"--text": self.text, "--features": self.features, "--embeddings": self.embeddings}
        named = [name for name, value in kinds.items() if value is not None]
        if len(named) > 1:
            raise DiversetError(f"{' and '.join(named)} both set how rows are compared; give one of them")
        if self.model is not None and named and named != ["--text"]:
            raise DiversetError(
                f"--model embeds text, and {named[0]} compares rows by something else; give one of them"
            )
        for one, other in (("cost", "budget"), ("group", "per_group")):
            if (getattr(self, one) is None) != (getattr(self, other) is None):
                raise DiversetError(f"--{one} and --{other.replace('_', '-')} go together; give both or neither")
        needs = {"--min-quality": self.min_quality, "--keep": self.keep, "--lower-is-better": self.lower_is_better}
        for name, value in needs.items():
            if value not in (None, False) and self.quality is None:
                raise DiversetError(f"{name} needs --quality, the column it refers to")
        if self.keep is not None and self.diversity is not None:
            raise DiversetError("--keep finds the diversity itself; give --keep or --diversity, not both")

    def size(self, n: int, comparable: int, name: str) -> int:
        """How many of `n` rows to pick, if `comparable` of them can be; refuses more than `n`."""
        from diverset.inference.inputs import as_size

        k = self.wanted
        if k is None:
            return min(DEFAULT_SIZE, n)
        if k > n:
            raise DiversetError(f"k = {k}, but {name} has {n} row{'s' * (n != 1)}; choose a smaller k")
        return as_size(k, comparable)

    @property
    def calibration(self) -> dict[str, Any]:
        """Arguments on quality, which all functions of the library take."""
        scale = None if self.scale == "none" else self.scale
        return {"scale": scale, "lower_is_better": self.lower_is_better, "min_quality": self.min_quality}

    @property
    def search(self) -> dict[str, Any]:
        """Arguments of :func:`diverset.select` alone."""
        same = {name: getattr(self, name) for name in ("keep", "method", "budget", "per_group", "window")}
        return same | {"diversity": self.dial, "rng": self.seed}

    def arguments(self, candidates: "Candidates") -> dict[str, Any]:
        """Arguments on the rows; groups and costs only if they are given."""
        from diverset.cli.candidates import find_rows

        table, rows = candidates.table, candidates.rows
        arguments = self.calibration | {
            "quality": candidates.quality,
            "similarity": candidates.similarity,
            "given": find_rows(self.given, candidates, "--given", self.encoding),
            "exclude": find_rows(self.exclude, candidates, "--exclude", self.encoding),
        }
        if self.cost is not None:
            costs = table.numbers(self.cost)
            if costs[i := int(costs.argmin())] <= 0.0:
                raise DiversetError(f"{table.name}, {table.where(i)}: the cost is {costs[i]:g}; costs must be positive")
            arguments["costs"] = costs[rows]
        if self.group is not None:
            arguments["groups"] = [str(table.column(self.group)[i]) for i in rows.tolist()]
        return arguments

    def command(self, **changes: Any) -> str:
        """The command ``diverset select`` with the same options, except for `changes`."""
        wanted = replace(self, **changes)
        words = ["diverset", "select", wanted.file]
        for field in fields(wanted)[1:]:
            value = getattr(wanted, field.name)
            if value == field.default:
                continue
            words.append("-k" if field.name == "k" else f"--{field.name.replace('_', '-')}")
            if value is not True:
                words.append(str(value))
        return shlex.join(words)


@app.command(epilog="Example:  diverset select papers.csv -k 10 --text abstract --quality score -o picks.html")
@sharing(Request, Out)
def select(request: Request, out: Out, dask: Annotated[str | None, option(_BLOCKS, "ADDRESS")] = None) -> None:
    """Pick rows of a file that are good and unlike each other."""
    from diverset.cli.picks import Picks, pick

    out.check(Picks, request.inputs)
    picks = pick(request, dask=dask)
    out.deliver(picks, picks.show)


@app.command(
    epilog="Example:  diverset sample papers.csv -k 10 -n 5 --text abstract --quality score --seed 7 -o draws.csv"
)
@sharing(Common, Out)
def sample(
    common: Common,
    out: Out,
    draws: Annotated[int, option("-n", "--draws", "How many sets to draw.")] = 1,
    diversity: Diversity = None,
    seed: Seed = None,
) -> None:
    """Draw random sets of rows, good and unlike each other, with their exact probabilities."""
    from diverset.cli.picks import Drawn, draw

    request = Request(**vars(common), diversity=diversity, method="sample", seed=seed)
    out.check(Drawn, request.inputs)
    is_page = out.path is not None and out.path.suffix.lower() == ".html"
    drawn = draw(request, draws=draws, page=is_page)
    out.deliver(drawn, drawn.show)
