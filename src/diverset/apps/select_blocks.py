"""``diverset select --dask``: rows picked where they are, of which only the picks come here."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import diverset as dv
from diverset._typing import IntArray
from diverset.apps.candidates import Candidates, Source, read_ids, refuse_unknown
from diverset.apps.columns import find_columns, guess_id, guess_text, looks_like_id
from diverset.apps.tables import Table
from diverset.errors import DiversetError, MissingExtraError

__all__ = ["HERE", "connected", "pick_blocks"]

#: The address that means threads of this process.
HERE = "here"


@contextmanager
def connected(address: str) -> Iterator[None]:
    """Run what Dask does on the cluster at `address`, or on threads of this process."""
    if address == HERE:
        yield
        return
    try:
        import distributed
    except ImportError as error:
        raise MissingExtraError('--dask needs Dask: pip install "diverset[dask]"') from error
    connect: Any = distributed.Client
    try:
        client = connect(address, timeout=10)
    except (OSError, ValueError) as error:
        raise DiversetError(f"--dask {address}: no scheduler answers there ({error})") from error
    with client:
        yield


def pick_blocks(
    source: Source, k: int, arguments: dict[str, Any], *, step: Callable[[str], None] = lambda message: None
) -> tuple[Candidates, dv.Selection, IntArray]:
    """Pick rows of a Parquet or NPY file in blocks.

    Parameters
    ----------
    source : Source
        The file, and which of its columns rows are compared by: columns of numbers, or one of lists.
    k : int
        How many.
    arguments : dict
        Further arguments of :func:`diverset.select`; ``costs`` and ``groups`` are names of columns, ``given`` and
        ``exclude`` ids with commas between, or files of them.
    step : function of str
        Told what is being done.

    Returns
    -------
    candidates : Candidates
        The picks alone, in pick order, and after them the rows given, all their columns with them.
    selection : Selection
        Positions among these: 0, 1, 2, ...
    given : ndarray of int64
        Positions among these of the rows given.
    """
    unfit = {"--text": source.text, "--embeddings": source.embeddings, "--model": source.model}
    named = next((name for name, value in unfit.items() if value is not None), None)
    if named is not None:
        raise DiversetError(
            f"{named} does not go with --dask: rows in blocks are compared by numbers that the file holds; write "
            "embeddings into a column of lists once, and name it with --features"
        )
    if source.similarity == "rbf":
        raise DiversetError("--similarity rbf does not go with --dask; cosine and dot need no matrix of all pairs")
    step("Looking at the file")
    rows: Any = None
    notes: list[str] = []
    if source.file.lower().endswith((".npy", ".zarr")):
        features, by = dv.distributed.read(source.file), "its features"
        if source.quality or source.features:
            raise DiversetError(f"{source.file} has no columns; Parquet has them")
    else:
        rows = dv.distributed.ParquetRows(source.file)
        names, notes = _features(rows, source, arguments)
        features, by = rows.features(names), names[0] if len(names) == 1 else f"{len(names)} columns"
    quality = None if source.quality is None else rows.column(source.quality)
    for name in ("costs", "groups"):
        if arguments.get(name) is not None:
            arguments = {**arguments, name: rows.column(arguments[name])}
    step("Picking")
    n = int(features.shape[0])
    if k > n:
        raise DiversetError(f"k = {k}, and {source.file} has {n} rows; ask for fewer")
    similarity = source.similarity or "cosine"
    arguments = dict(arguments)
    named_ids = {name: arguments.pop(name, None) for name in ("given", "exclude")}
    shown, closed = (_rows_named(ids, rows, source, n, f"--{name}") for name, ids in named_ids.items())
    found = dv.select(features, k, quality=quality, similarity=similarity, given=shown, exclude=closed, **arguments)
    step("Fetching the picks")
    fetched = np.concatenate([found.indices, shown])
    columns = {} if rows is None else rows.take(fetched)
    picked = Table(source.file, columns, len(fetched), types=None if rows is None else _types(rows))
    id_name = source.id or guess_id(picked)
    if id_name is None:
        # Numbers of rows in the file, not among the picks.
        columns["row"] = (fetched + 1).tolist()
        id_name = "row"
    picked.column(id_name)
    own = None if source.quality is None else np.array(columns[source.quality], dtype=np.float64)
    taken = {name for name in (source.quality, id_name) if name is not None}
    candidates = Candidates(
        table=picked,
        rows=np.arange(len(fetched)),
        features=dv.distributed.rows_of(features, fetched),
        similarity=similarity,
        compared_by=by,
        quality=own,
        quality_name=source.quality,
        id_name=id_name,
        text_name=guess_text(picked, taken),
        notes=notes,
        total=n,
    )
    order = np.arange(len(found))
    selection = dv.Selection(order, found.gains, found.log_det, found.objective, rank_spent=found.rank_spent)
    return candidates, selection, np.arange(len(found), len(fetched))


def _rows_named(wanted: str | None, rows: Any, source: Source, n: int, option: str) -> IntArray:
    """Rows of the file that a list of ids, or a file of them, names; the ids are looked up where the rows are."""
    if wanted is None:
        return np.zeros(0, dtype=np.int64)
    columns = [] if rows is None else rows.names
    id_name = source.id or next((name for name in columns if looks_like_id(name)), None)
    ids = read_ids(wanted, id_name, option)
    if id_name is None:
        known = {i: [int(i) - 1] for i in ids if i.isascii() and i.isdecimal() and 0 < int(i) <= n}
    elif rows is None:
        raise DiversetError(f"{source.file} has no columns, and so no {id_name}; rows are numbered from 1")
    else:
        known = rows.find(id_name, ids)
    refuse_unknown(ids, known, wanted, option, id_name, source.file, n)
    several = next((i for i, places in known.items() if len(places) > 1), None)
    if several is not None and source.id is None:
        raise DiversetError(f"{option}: {several!r} is the {id_name} of several rows; give --id")
    return np.unique(np.array([place for i in ids for place in known.get(i, [])], dtype=np.int64))


def _types(rows: Any) -> dict[str, Any]:
    return {field.name: field.type for field in rows.schema}


def _features(rows: Any, source: Source, arguments: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Columns that rows are compared by, and a remark where nobody said."""
    if source.features is not None:
        return find_columns(Table(source.file, {name: [] for name in rows.names}, 0), source.features), []
    taken = {source.quality, source.id, arguments.get("costs"), arguments.get("groups")}
    lists = [field.name for field in rows.schema if hasattr(field.type, "value_type") and field.name not in taken]
    if lists:
        return lists[:1], [f"comparing rows by the vectors in {lists[0]}; --features names others"]
    raise DiversetError(f"{source.file} has no column of vectors; name columns of numbers with --features")
