"""``diverset select``: good, different rows of a file, in a table, a file or a page."""

import fnmatch
import math
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.status import Status
from rich.table import Table as RichTable
from rich.text import Text

import diverset as dv
from diverset._typing import Array, BoolArray, FloatArray, IntArray
from diverset.apps.tables import Table, as_number, check_output, is_blank, load_npy, read_table, write_table
from diverset.errors import DiversetError, MissingExtraError
from diverset.numerics.validation import check_fits_in_memory, is_sparse

__all__ = ["Candidates", "Limits", "Source", "read_candidates", "run_select"]

#: Words are kept, the most frequent first, as long as the tf-idf matrix stays below this many bytes.
TFIDF_BYTES = 1 << 30
TFIDF_LEAST_WORDS = 1000


@dataclass(frozen=True)
class Source:
    """What to read, and what rows are compared by; all names are columns of the file."""

    file: str
    quality: str | None = None
    text: str | None = None
    features: str | None = None
    embeddings: Path | None = None
    model: str | None = None
    similarity: str | None = None
    id: str | None = None


@dataclass(frozen=True)
class Limits:
    """What restricts the picks; `given` and `exclude` are ids with commas between, or a file of them."""

    given: str | None = None
    exclude: str | None = None
    min_quality: float | None = None
    group: str | None = None
    per_group: int | None = None
    cost: str | None = None
    budget: float | None = None
    window: int | None = None


@dataclass(eq=False)
class Candidates:
    """The rows that can be picked, ready to be compared.

    ``rows`` are those of the table that take part; ``features`` (an array, or a sparse matrix of words) and
    ``quality`` have one entry for each of them.
    """

    table: Table
    rows: IntArray
    features: Any
    similarity: str
    compared_by: str
    quality: FloatArray | None
    quality_name: str | None
    id_name: str | None
    text_name: str | None
    axes: tuple[str, str] | None = None
    notes: list[str] = field(default_factory=list)

    def dense(self, positions: IntArray | slice = slice(None)) -> Array:
        """Features of some rows as an array; for words, that may be large."""
        rows = self.features[positions]
        if not is_sparse(rows):
            return np.asarray(rows) if not isinstance(rows, np.memmap) else rows
        check_fits_in_memory(
            rows.dtype.itemsize * rows.shape[0] * rows.shape[1],
            what=f"the words of {rows.shape[0]} texts",
            remedy="give --embeddings",
        )
        dense: Array = rows.toarray()
        return dense

    def label(self, position: int) -> str:
        """What a row is called: its id, or its number."""
        row = int(self.rows[position])
        return str(row + 1) if self.id_name is None else str(self.table.columns[self.id_name][row])

    def text(self, position: int) -> str:
        """What a row says, if there is a column of text."""
        if self.text_name is None:
            return ""
        cell = self.table.columns[self.text_name][int(self.rows[position])]
        return "" if is_blank(cell) else " ".join(str(cell).split())


def run_select(
    source: Source,
    k: int = 10,
    *,
    limits: Limits | None = None,
    diversity: float = 0.5,
    method: str = "greedy",
    seed: int | None = None,
    output: Path | None = None,
    console: Console | None = None,
) -> dv.Selection:
    """Read a file, pick rows, print them, and write them if asked to.

    Parameters
    ----------
    source : Source
        The file, and what its rows are compared by.
    k : int, default=10
        How many rows.
    limits : Limits, optional
        What restricts the picks.
    diversity, method, seed
        As ``diversity``, ``method`` and ``rng`` of :func:`diverset.select`.
    output : Path, optional
        Where the picked rows go: CSV, JSON lines, Parquet or an HTML page, by the extension.
    console : Console, optional
        Where to print; standard output if left out. Remarks go to standard error.

    Returns
    -------
    selection : Selection
        Positions among the candidates, in pick order.
    """
    console = Console() if console is None else console
    limits = Limits() if limits is None else limits
    check_request(source, k, limits)
    if output is not None:
        check_output(output)
    with working("Reading") as step:
        candidates = read_candidates(source, reserved=(limits.cost, limits.group), step=step)
        given = find_rows(limits.given, candidates, "--given")
        exclude = find_rows(limits.exclude, candidates, "--exclude")
        step("Picking")
        selection = dv.select(
            candidates.dense(),
            k,
            quality=candidates.quality,
            diversity=diversity,
            similarity=candidates.similarity,
            method=method,
            given=given,
            exclude=exclude,
            min_quality=limits.min_quality,
            window=limits.window,
            rng=seed,
            **_groups_and_costs(candidates, limits),
        )
    remarks = [*candidates.notes, *_remarks(candidates, selection, k, diversity, limits)]
    for remark in remarks:
        say(remark)
    console.print(_picks_table(candidates, selection, console))
    console.print(Text(_summary(candidates, selection)))
    if output is not None:
        asked = _asked(candidates, selection, k, limits, diversity, method, seed)
        with working("Writing"):
            _write(output, candidates, selection, given, asked, remarks)
        console.print(f"Written to {output}", markup=False, highlight=False, soft_wrap=True)
    return selection


def check_request(source: Source, k: int, limits: Limits) -> None:
    """Refuse options that contradict each other, before any file is read."""
    if k < 1:
        raise DiversetError(f"k = {k}; ask for at least 1 row")
    kinds = {"--text": source.text, "--features": source.features, "--embeddings": source.embeddings}
    named = [name for name, value in kinds.items() if value is not None]
    if len(named) > 1:
        raise DiversetError(f"{' and '.join(named)} both say what rows are compared by; give one of them")
    if source.model is not None and named and named != ["--text"]:
        raise DiversetError(f"--model embeds text, and {named[0]} says to compare rows by something else; drop one")
    if (limits.cost is None) != (limits.budget is None):
        raise DiversetError("--cost and --budget go together; give both or neither")
    if (limits.group is None) != (limits.per_group is None):
        raise DiversetError("--group and --per-group go together; give both or neither")
    if limits.min_quality is not None and source.quality is None:
        raise DiversetError("--min-quality needs --quality, the column it refers to")


def read_candidates(
    source: Source, *, reserved: Iterable[str | None] = (), step: Callable[[str], None] = lambda message: None
) -> Candidates:
    """Read the file and turn its rows into features.

    Parameters
    ----------
    source : Source
        The file, and what its rows are compared by.
    reserved : iterable of str
        Columns that mean something else, and are no features unless named.
    step : function of str
        Told what is being done.

    Returns
    -------
    Candidates
        At least one row; remarks about what was left out or assumed are in ``notes``.
    """
    table = read_table(source.file)
    quality = None if source.quality is None else table.numbers(source.quality)
    if source.id is not None:
        table.column(source.id)
    id_name = source.id or _guess_id(table)
    taken = {name for name in (source.quality, id_name, *reserved) if name is not None}
    notes: list[str] = []
    text, columns = source.text, source.features
    if not (text or columns or source.embeddings or table.features is not None):
        text, columns, note = _guess_features(table, taken, source.model is not None)
        notes.append(note)
    features: Any
    keep = np.ones(table.n, dtype=bool)
    axes = None
    similarity = source.similarity or "cosine"
    if text is not None:
        step("Reading the texts")
        texts = table.texts(text)
        features = _tfidf(texts) if source.model is None else _embed(texts, source.model)
        words = "words" if source.model is None else f"embeddings by {source.model}"
        by = f"{words} of {text}"
        keep = _rows_that_speak(table, text, texts, features, notes)
        features = features[keep]
        if similarity == "rbf" and is_sparse(features):
            features = features.toarray()
    elif columns is not None:
        names = _find_columns(table, columns)
        features, vectors = _columns(table, names)
        by = ", ".join(names) if len(names) <= 6 else f"{len(names)} columns, {names[0]} to {names[-1]}"
        if not vectors:
            similarity = source.similarity or "rbf"
            axes = (names[0], names[1]) if len(names) == 2 else None
            if similarity == "rbf":
                features = _standardized(features)
                by = f"{by} (standardised)"
    elif source.embeddings is not None:
        features, by = load_npy(source.embeddings), f"embeddings in {source.embeddings}"
        if len(features) != table.n:
            raise DiversetError(
                f"{source.embeddings} has {len(features)} rows and {table.name} has {table.n}; there must be one "
                "embedding for each row"
            )
    else:
        assert table.features is not None
        features, by = table.features, "its features"
    if similarity == "rbf":
        check_fits_in_memory(
            24 * len(features) ** 2,
            what=f"comparing {len(features)} rows with --similarity rbf",
            remedy="--similarity cosine needs no such matrix",
        )
    if similarity == "cosine" and text is None:
        _check_directions(table, features)
    text_name = text or _guess_text(table, taken)
    return Candidates(
        table=table,
        rows=np.flatnonzero(keep),
        features=features,
        similarity=similarity,
        compared_by=by,
        quality=None if quality is None else quality[keep],
        quality_name=source.quality,
        id_name=id_name,
        text_name=text_name,
        axes=axes,
        notes=notes,
    )


def find_rows(wanted: str | None, candidates: Candidates, option: str) -> IntArray:
    """Positions of the candidates named by a list of ids, or by a file of them.

    A table with the id column, such as an earlier output, names its rows; any other file has one id a line. Ids that
    the table lacks are an error in a list and a remark for a file, which may well name items of another day.
    """
    table = candidates.table
    found = np.zeros(table.n, dtype=bool)
    if wanted is None:
        return np.flatnonzero(found)
    path = Path(wanted)
    is_file = path.is_file()
    if is_file and path.suffix.lower() in (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet"):
        if candidates.id_name is None:
            raise DiversetError(f"{option} {wanted}: say with --id which column tells rows apart")
        ids = [str(cell) for cell in read_table(wanted).column(candidates.id_name)]
    elif is_file:
        ids = path.read_text(encoding="utf-8-sig", errors="replace").split("\n")
    else:
        ids = wanted.split(",")
    ids = [name.strip() for name in ids if name.strip()]
    places: dict[str, list[int]] = {}
    for row in range(table.n):
        name = str(row + 1) if candidates.id_name is None else str(table.columns[candidates.id_name][row]).strip()
        places.setdefault(name, []).append(row)
    unknown = [name for name in ids if name not in places]
    if unknown and not is_file:
        kind = f"no {candidates.id_name} of {table.name}" if candidates.id_name else f"no row of {table.name}"
        hint = "" if candidates.id_name else f" (rows are numbered 1 to {table.n}; --id names a column of ids)"
        raise DiversetError(f"{option}: {unknown[0]!r} is {kind}, and no file{hint}")
    if unknown:
        say(f"{option} {wanted}: {len(unknown)} of {len(ids)} ids are not in {table.name}")
    for name in ids:
        found[places.get(name, [])] = True
    return np.flatnonzero(found[candidates.rows])


@contextmanager
def working(message: str) -> Iterator[Callable[[str], None]]:
    """Show on a terminal what is being done, if it takes longer than a second; gives a function to change it."""
    console = Console(stderr=True)
    status = Status(f"{message} ...", console=console)
    timer = threading.Timer(1.0, status.start)
    timer.daemon = True
    if console.is_terminal:
        timer.start()
    try:
        yield lambda text: status.update(f"{text} ...")
    finally:
        timer.cancel()
        if console.is_terminal:
            timer.join()
        status.stop()


def say(remark: str) -> None:
    """One line on standard error."""
    print("diverset: note:", " ".join(remark.split()), file=sys.stderr)


def printable(text: str, console: Console, width: int = 400) -> str:
    """Text for a terminal: one line, no control characters, only what its encoding has."""
    line = "".join(mark if mark.isprintable() else " " for mark in " ".join(text[: 4 * width].split()))[:width]
    return line.encode(console.encoding, "replace").decode(console.encoding)


# Columns.


def _looks_like_id(name: str) -> bool:
    return name.lower() in ("", "id", "uuid", "index") or name.lower().endswith(("_id", " id"))


def _guess_id(table: Table) -> str | None:
    """A column that is called an id and tells all rows apart."""
    for name, cells in table.columns.items():
        if _looks_like_id(name) and not any(is_blank(cell) or isinstance(cell, list | dict) for cell in cells):
            if len(set(map(str, cells))) == table.n:
                return name
    return None


def _guess_text(table: Table, reserved: set[str]) -> str | None:
    """The column with the longest texts, if any holds texts."""
    lengths = {}
    for name, cells in table.columns.items():
        texts = [cell for cell in cells if isinstance(cell, str) and not is_blank(cell)]
        if name not in reserved and texts and any(as_number(cell) is None for cell in texts):
            lengths[name] = sum(map(len, texts)) / table.n
    return max(lengths, key=lambda name: lengths[name]) if lengths else None


def _guess_features(table: Table, reserved: set[str], by_text: bool) -> tuple[str | None, str | None, str]:
    """What rows are compared by when nobody said: column of text, columns of numbers, and a remark about it."""
    text = _guess_text(table, reserved)
    others = [name for name in table.columns if name not in reserved and not _looks_like_id(name)]
    if not by_text:
        for name in others:
            if table.vectors(name) is not None:
                return None, name, f"comparing rows by the vectors in {name}; --text or --features name others"
        numeric = [name for name in others if table.is_numeric(name)]
        if numeric:
            listed = (
                ", ".join(numeric) if len(numeric) <= 8 else f"{len(numeric)} of them, {numeric[0]} to {numeric[-1]}"
            )
            other = "--features names others" if text is None else f"--text {text} compares texts instead"
            return None, ",".join(numeric), f"comparing rows by the numeric columns: {listed}; {other}"
    if text is None:
        raise DiversetError(
            f"{table.name} has no column to compare rows by; name one with --text or --features, or give --embeddings"
        )
    return text, None, f"comparing rows by the words of {text}, the column with the longest texts"


def _find_columns(table: Table, wanted: str) -> list[str]:
    """Columns named by a list with commas, in which ``e*`` is a prefix and ``e0:e9`` a range."""
    if wanted in table.columns or "," not in wanted:
        return _find_some(table, wanted)
    return list(dict.fromkeys(name for part in wanted.split(",") for name in _find_some(table, part.strip())))


def _find_some(table: Table, part: str) -> list[str]:
    names = list(table.columns)
    if part in names:
        return [part]
    first, colon, last = part.partition(":")
    if colon and first in names and last in names:
        i, j = names.index(first), names.index(last)
        if i > j:
            raise DiversetError(f"--features {part}: {first!r} comes after {last!r} in {table.name}")
        return names[i : j + 1]
    if "*" in part:
        found = [name for name in names if fnmatch.fnmatchcase(name, part)]
        if found:
            return found
    table.column(part)  # raises, naming the columns there are
    return []


def _columns(table: Table, names: Sequence[str]) -> tuple[FloatArray, bool]:
    """Columns side by side, and whether they are vectors rather than single numbers."""
    blocks = []
    vectors = False
    for name in names:
        block = table.vectors(name)
        vectors |= block is not None
        blocks.append(table.numbers(name)[:, np.newaxis] if block is None else block)
    return np.hstack(blocks), vectors


def _groups_and_costs(candidates: Candidates, limits: Limits) -> dict[str, Any]:
    """Those arguments of :func:`diverset.select` that are columns of the table."""
    table, rows = candidates.table, candidates.rows
    arguments: dict[str, Any] = {}
    if limits.cost is not None:
        costs = table.numbers(limits.cost)
        if costs.min() <= 0.0:
            i = int(costs.argmin())
            raise DiversetError(f"{table.name}, {table.where(i)}: the cost is {costs[i]:g}; costs must be positive")
        arguments |= {"costs": costs[rows], "budget": limits.budget}
    if limits.group is not None:
        groups = np.array([str(cell) for cell in table.column(limits.group)])
        arguments |= {"groups": groups[rows], "per_group": limits.per_group}
    return arguments


def _standardized(X: FloatArray) -> FloatArray:
    """Columns of mean 0 and standard deviation 1, so that all count alike; constant ones become 0."""
    largest = np.abs(X).max(axis=0)
    X = X / np.where(largest > 0.0, largest, 1.0)  # so that no square overflows
    X = X - X.mean(axis=0)
    deviation = np.sqrt((X**2).mean(axis=0))
    return np.where(deviation > 1e-14, X / np.where(deviation > 1e-14, deviation, 1.0), 0.0)


def _check_directions(table: Table, features: Array) -> None:
    step = max(1, (1 << 22) // features.shape[1])
    for start in range(0, len(features), step):
        empty = ~np.any(features[start : start + step], axis=1)
        if empty.any():
            raise DiversetError(
                f"{table.name}, {table.where(start + int(empty.argmax()))}: all features are 0, and the cosine needs "
                "a direction; leave the row out, or use --similarity rbf"
            )


# Texts.


def _tfidf(texts: list[str]) -> Any:
    """Words weighted by how rare they are, in a sparse matrix: one row per text, of length 1 or 0."""
    try:
        from sklearn.feature_extraction.text import TfidfVectorizer
    except ImportError as error:
        raise MissingExtraError('comparing texts needs scikit-learn: pip install "diverset[text]"') from error
    most = max(TFIDF_LEAST_WORDS, TFIDF_BYTES // (4 * len(texts)))
    vectorizer = TfidfVectorizer(
        sublinear_tf=True, strip_accents="unicode", token_pattern=r"(?u)\b\w+\b", max_features=most, dtype=np.float32
    )
    try:
        return vectorizer.fit_transform(texts).tocsr()
    except ValueError:  # no words at all
        return np.zeros((len(texts), 1), dtype=np.float32)


def _embed(texts: list[str], model: str) -> Array:
    """Embeddings of texts by a sentence-transformers model."""
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise MissingExtraError("--model needs sentence-transformers: pip install sentence-transformers") from error
    try:
        encoder = SentenceTransformer(model)
    except (OSError, ValueError, RuntimeError) as error:
        reason = str(error).strip().split("\n")[0]
        raise DiversetError(f"cannot load the model {model}: {reason}") from error
    show = len(texts) > 200 and sys.stderr.isatty()
    return np.asarray(encoder.encode(texts, show_progress_bar=show, convert_to_numpy=True), dtype=np.float32)


def _rows_that_speak(table: Table, name: str, texts: list[str], features: Any, notes: list[str]) -> BoolArray:
    """Rows with words in them; the others cannot be compared, and a remark says how many they are."""
    words = features.getnnz(axis=1) > 0 if is_sparse(features) else np.any(features, axis=1)
    keep = np.array([bool(text) for text in texts]) & words
    silent = int((~keep).sum())
    if silent == table.n:
        raise DiversetError(f"{table.name}: column {name!r} has no words in any row")
    if silent:
        rows = "1 row" if silent == 1 else f"{silent} rows"
        first = table.where(int(np.argmin(keep)))
        notes.append(
            f"{rows} left out, for want of words in {name}: {first if silent == 1 else f'{first} is the first'}"
        )
    return np.asarray(keep, dtype=bool)


# The report.


def _remarks(candidates: Candidates, selection: dv.Selection, k: int, diversity: float, limits: Limits) -> list[str]:
    remarks = []
    n, picked = len(candidates.rows), len(selection)
    if k > n:
        remarks.append(f"{k} rows asked for, and there are {n}" + ("; all are picked" if picked == n else ""))
    elif picked < k:
        remarks.append(f"only {picked} of the {k} rows asked for could be picked; the limits allow no more")
    spent = selection.rank_spent
    if spent is not None and spent < picked:
        remarks.append(
            f"from pick {spent + 1} on, every row left was a combination (or a copy) of earlier ones, so those picks "
            "add no volume"
        )
    quality = candidates.quality
    if quality is not None and 0.0 < diversity < 1.0 and 1 < picked < n and limits == Limits():
        top = np.argsort(-quality, kind="stable")[:picked]
        spread = float(np.ptp(quality))
        if spread > 20.0 and set(top.tolist()) == set(selection.indices.tolist()):
            remarks.append(
                f"these are simply the best {picked}: {candidates.quality_name} runs from {quality.min():g} to "
                f"{quality.max():g}, and differences near 1 already weigh as much as diversity; raise --diversity, "
                "or rescale the column"
            )
    return remarks


def _picks_table(candidates: Candidates, selection: dv.Selection, console: Console) -> RichTable:
    """One line per pick; the text gets what the other columns leave of the width."""
    indices = selection.indices.tolist()
    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column(Text(printable(candidates.id_name or "row", console, 20)), no_wrap=True)
    if candidates.quality is not None:
        table.add_column(Text(printable(candidates.quality_name or "", console, 16)), justify="right", no_wrap=True)
    table.add_column("gain", justify="right", no_wrap=True)
    lines = []
    for rank, (i, gain) in enumerate(zip(indices, selection.gains, strict=True), start=1):
        quality = [] if candidates.quality is None else [f"{candidates.quality[i]:.6g}"]
        lines.append([str(rank), printable(candidates.label(i), console, 24), *quality, f"{round(gain, 3) + 0.0:.3f}"])
    if candidates.text_name is None:
        left = 0
    else:
        heads = [str(column.header) for column in table.columns]
        widths = [max(map(cell_len, column)) for column in zip(heads, *lines, strict=True)]
        left = console.width - sum(widths) - 2 * len(widths) - 2
    if left >= 10:
        table.add_column(Text(printable(candidates.text_name or "", console, left)), no_wrap=True)
    for line, i in zip(lines, indices, strict=True):
        cells = [Text(cell) for cell in line]
        if left >= 10:
            cells.append(Text(printable(candidates.text(i), console)))
            # The sign for "and so on" is not in every terminal's encoding.
            cells[-1].truncate(left, overflow="ellipsis" if console.encoding.startswith("utf") else "crop")
        table.add_row(*cells)
    return table


def _summary(candidates: Candidates, selection: dv.Selection) -> str:
    parts = [f"{len(selection)} of {len(candidates.rows):,} rows, compared by {candidates.compared_by}"]
    parts.append(
        f"log-volume {round(selection.log_det, 3) + 0.0:.3f}" if math.isfinite(selection.log_det) else "no volume"
    )
    if selection.upper_bound is not None:
        gap = selection.gap
        parts.append("no set is better" if gap < 1e-9 else f"at most {gap:.3g} below the best")
    return "; ".join(parts) + "."


def _asked(
    candidates: Candidates,
    selection: dv.Selection,
    k: int,
    limits: Limits,
    diversity: float,
    method: str,
    seed: int | None,
) -> dict[str, str]:
    """What was asked, and what came of it, in words for the page."""
    asked = {
        "File": f"{candidates.table.name}, {candidates.table.n:,} rows",
        "Asked for": f"{k} rows",
        "Compared by": f"{candidates.compared_by}, {candidates.similarity} similarity",
        "Quality": candidates.quality_name or "all rows equal",
        "Diversity": f"{diversity:g} (0 is plain top-k, 1 diversity only)",
        "Method": method if seed is None else f"{method}, seed {seed}",
    }
    if limits.min_quality is not None:
        asked["Lowest quality"] = f"{limits.min_quality:g}"
    if limits.group is not None:
        asked["Groups"] = f"at most {limits.per_group} with the same {limits.group}"
    if limits.cost is not None:
        asked["Budget"] = f"{limits.budget:g} in all, by {limits.cost}"
    if limits.window is not None:
        asked["Window"] = f"only the last {limits.window} picks repel"
    for name, value in (("Already shown", limits.given), ("Excluded", limits.exclude)):
        if value is not None:
            asked[name] = value if len(value) <= 80 else f"{value[:77]}..."
    if candidates.quality is not None:
        asked["Sum of quality"] = f"{candidates.quality[selection.indices].sum():.6g}"
    asked["Log-volume"] = f"{selection.log_det:.4g}" if math.isfinite(selection.log_det) else "none: dependent rows"
    return asked


def _write(
    output: Path,
    candidates: Candidates,
    selection: dv.Selection,
    given: IntArray,
    asked: dict[str, str],
    remarks: list[str],
) -> None:
    if output.suffix.lower() == ".html":
        from diverset.apps.page import write_select_page

        write_select_page(output, candidates, selection, given=given, asked=asked, remarks=remarks)
        return
    table = candidates.table
    columns: dict[str, Sequence[Any]] = {
        **table.take(candidates.rows[selection.indices].tolist(), typed=output.suffix.lower() != ".csv")
    }
    # Columns of these names may mean something else to their owner, and stay.
    prefix = "diverset_" if {"rank", "gain"} & set(columns) else ""
    if prefix:
        say(f"{table.name} has columns called rank or gain, which stay; ours are {prefix}rank and {prefix}gain")
    columns[f"{prefix}rank"] = list(range(1, len(selection) + 1))
    columns[f"{prefix}gain"] = selection.gains.tolist()
    write_table(output, columns, table.types)
