"""``diverset select --dask``: rows are compared in blocks, on a cluster or here, and only the picks are fetched."""

from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

import diverset as dv
from diverset._typing import IntArray
from diverset.cli.candidates import Candidates, read_ids, refuse_unknown
from diverset.cli.request import Request
from diverset.errors import DiversetError, EnvironmentFault, MissingExtraError
from diverset.io.features import find_columns, guess_id, guess_text, looks_like_id
from diverset.io.tables import Table

__all__ = ["HERE", "connected", "pick_blocks"]

#: The address that stands for threads of this process.
HERE = "here"


@contextmanager
def connected(address: str) -> Iterator[None]:
    """Let Dask compute on the cluster at `address`, or on threads of this process."""
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
    except ValueError as error:
        raise DiversetError(f"--dask {address}: not an address of a scheduler ({error})") from error
    except OSError as error:
        raise EnvironmentFault(f"--dask {address}: no scheduler answers there ({error})") from error
    try:
        yield
    except EnvironmentFault:
        raise
    except (OSError, TimeoutError, CancelledError, distributed.KilledWorker) as error:
        reason = str(error) or type(error).__name__
        raise EnvironmentFault(f"--dask {address}: the scheduler or its workers were lost ({reason})") from error
    except RuntimeError as error:
        if client.status == "running":
            raise
        raise EnvironmentFault(f"--dask {address}: the scheduler was lost ({error})") from error
    finally:
        with suppress(OSError, TimeoutError, RuntimeError):
            client.close(timeout=2)


def pick_blocks(request: Request, step: Callable[[str], None]) -> tuple[Candidates, dv.Selection, IntArray, int]:
    """Pick rows of a Parquet, NPY or Zarr file in blocks.

    Returns the picks and then the rows given as candidates, the selection and the given rows as positions among these,
    and the number of rows to pick.
    """
    unfit = {"--text": request.text, "--embeddings": request.embeddings, "--model": request.model}
    for name, value in unfit.items():
        if value is not None:
            raise DiversetError(
                f"{name} does not go with --dask: rows in blocks are compared by numbers that the file holds; write "
                "embeddings into a column of lists once, and name it with --features"
            )
    if request.similarity == "rbf":
        raise DiversetError("--similarity rbf does not go with --dask; cosine and dot need no matrix of all pairs")
    step("Looking at the file")
    rows: Any = None
    notes: list[str] = []
    if request.file.lower().endswith((".npy", ".zarr")):
        features, by = dv.distributed.read(request.file), "its features"
        if request.quality or request.features or request.cost or request.group:
            raise DiversetError(f"{request.file} has no columns; Parquet has them")
    else:
        rows = dv.distributed.ParquetRows(request.file)
        names, notes = _features(rows, request)
        features, by = rows.features(names), names[0] if len(names) == 1 else f"{len(names)} columns"
    quality, costs, groups = (
        None if name is None else rows.column(name) for name in (request.quality, request.cost, request.group)
    )
    step("Picking")
    n = int(features.shape[0])
    k = request.size(n, n, request.file)
    similarity = request.similarity or "cosine"
    shown = _rows_named(request.given, rows, request, n, "--given")
    found = dv.select(
        features,
        k,
        quality=quality,
        similarity=similarity,
        given=shown,
        exclude=_rows_named(request.exclude, rows, request, n, "--exclude"),
        costs=costs,
        groups=groups,
        **request.calibration,
        **request.search,
    )
    step("Fetching the picks")
    fetched = np.concatenate([found.indices, shown])
    columns = {} if rows is None else rows.take(fetched)
    types = None if rows is None else {field.name: field.type for field in rows.schema}
    picked = Table(request.file, columns, len(fetched), types=types)
    id_name = request.id or guess_id(picked)
    if id_name is None:
        # Numbers of rows in the file, not positions among the picks.
        columns["row"] = (fetched + 1).tolist()
        id_name = "row"
    picked.column(id_name)
    own = None if request.quality is None else np.array(columns[request.quality], dtype=np.float64)
    taken = {name for name in (request.quality, id_name) if name is not None}
    candidates = Candidates(
        table=picked,
        rows=np.arange(len(fetched)),
        features=dv.distributed.rows_of(features, fetched),
        similarity=similarity,
        compared_by=by,
        quality=own,
        quality_name=request.quality,
        id_name=id_name,
        text_name=guess_text(picked, taken),
        notes=notes,
        total=n,
    )
    # copy() evaluates the share of quality kept, which needs the old positions.
    selection = replace(copy(found), indices=np.arange(len(found)))
    return candidates, selection, np.arange(len(found), len(fetched)), k


def _rows_named(wanted: str | None, rows: Any, request: Request, n: int, option: str) -> IntArray:
    """Rows named by a list of ids or a file of ids; the ids are looked up in the blocks."""
    if wanted is None:
        return np.zeros(0, dtype=np.int64)
    columns = [] if rows is None else rows.names
    id_name = request.id or next((name for name in columns if looks_like_id(name)), None)
    ids = read_ids(wanted, id_name, option)
    if id_name is None:
        known = {i: [int(i) - 1] for i in ids if i.isascii() and i.isdecimal() and 0 < int(i) <= n}
    elif rows is None:
        raise DiversetError(f"{request.file} has no columns, and so no {id_name}; rows are numbered from 1")
    else:
        known = rows.find(id_name, ids)
    refuse_unknown(ids, known, wanted, option, id_name, request.file, n)
    several = next((i for i, places in known.items() if len(places) > 1), None)
    if several is not None and request.id is None:
        raise DiversetError(f"{option}: {several!r} is the {id_name} of several rows; give --id")
    return np.unique(np.array([place for i in ids for place in known.get(i, [])], dtype=np.int64))


def _features(rows: Any, request: Request) -> tuple[list[str], list[str]]:
    """Columns that rows are compared by, and a remark if they were guessed."""
    if request.features is not None:
        return find_columns(Table(request.file, {name: [] for name in rows.names}, 0), request.features), []
    taken = {request.quality, request.id, request.cost, request.group}
    lists = [field.name for field in rows.schema if hasattr(field.type, "value_type") and field.name not in taken]
    if lists:
        return lists[:1], [f"comparing rows by the vectors in {lists[0]}; --features names others"]
    raise DiversetError(f"{request.file} has no column of vectors; name columns of numbers with --features")
