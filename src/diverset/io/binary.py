"""Tables in binary files: NPY and Parquet, whose numbers stay in arrays."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from diverset._typing import Array
from diverset.errors import DiversetError
from diverset.io.files import byte_limit, open_file, pyarrow
from diverset.numerics.validation import check_fits_in_memory

__all__ = ["load_npy", "read_parquet", "write_parquet"]

#: Columns of numbers, and rows of vectors, that are decoded together; fewer need fewer buffers.
_COLUMNS_AT_ONCE = 16
_ROWS_AT_ONCE = 256


def load_npy(path: str | os.PathLike[str]) -> Array:
    """A matrix of finite numbers from an NPY file, one row per item; above the size limit it is memory-mapped."""
    with open_file(path) as file:
        try:
            array = np.load(path, mmap_mode="r", allow_pickle=False)
        except OSError:
            raise
        except Exception as error:  # NumPy parses the header of a damaged file with Python's own parser
            fault = "is not an NPY file, or is damaged"
            if "pickle" in str(error) or "Python objects" in str(error):
                fault = "holds pickled Python objects, which could run any code when read; save a plain array of "
                fault += "numbers"
            raise DiversetError(f"{path} {fault}") from error
        if isinstance(array, np.memmap) and array.nbytes <= byte_limit(None):
            # Not from the map: if another process truncated the file, reading the map would kill this process.
            values = np.fromfile(file, dtype=array.dtype, count=array.size, offset=array.offset)
            if values.size < array.size:
                raise DiversetError(f"{path} is not an NPY file, or is damaged")
            array = values.reshape(array.shape, order="C" if array.flags.c_contiguous else "F")
    if not isinstance(array, np.ndarray):
        array.close()
        raise DiversetError(f"{path} is an archive of arrays; save one array with numpy.save")
    if array.ndim != 2:
        raise DiversetError(f"{path} has shape {array.shape}; it must be (n_items, n_features)")
    if array.shape[1] == 0:
        raise DiversetError(f"{path} has shape {array.shape}: no features")
    if array.dtype.kind not in "biuf":
        raise DiversetError(f"{path} holds {array.dtype} entries; they must be real numbers")
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float32 if array.dtype == np.float16 else np.float64)
    step = max(1, (1 << 22) // array.shape[1])
    for start in range(0, len(array), step):
        wrong = np.argwhere(~np.isfinite(array[start : start + step]))
        if len(wrong):
            i, j = wrong[0]
            value = array[start + i, j]
            raise DiversetError(f"{path}: entry [{start + i}, {j}] is {value}; every entry must be finite")
    return np.asanyarray(array)


def write_parquet(
    path: Path, columns: Mapping[str, Sequence[Any]], types: Mapping[str, Any], as_text: Callable[[Any], str]
) -> None:
    """Write columns; those without a single type become text, by `as_text`."""
    pa = pyarrow()
    import pyarrow.parquet as parquet

    arrays = {}
    for name, cells in columns.items():
        try:
            arrays[name] = pa.array(cells, type=types.get(name))
        except (pa.ArrowException, OverflowError):
            # Parquet columns have one type; JSON's need not.
            arrays[name] = pa.array([None if cell is None else as_text(cell) for cell in cells])
    parquet.write_table(pa.table(arrays), path)


def read_parquet(name: str) -> tuple[dict[str, Any], int, dict[str, Array], Callable[[str], list[Any]]]:
    """Arrow types of the columns, number of rows, columns of numbers and vectors, and a function for cells."""
    pa = pyarrow()
    import pyarrow.parquet as parquet

    with open_file(name) as file:
        if os.fstat(file.fileno()).st_size == 0:
            raise DiversetError(f"{name} is empty")
        try:
            source = parquet.ParquetFile(file, pre_buffer=False, buffer_size=1 << 16)
            schema = source.schema_arrow
            types = dict(zip(schema.names, schema.types, strict=True))
            if len(types) == len(schema.names):
                n = source.metadata.num_rows
                entries = n * source.metadata.num_columns  # vectors have more
                check_fits_in_memory(8 * entries, what=f"reading {name}", remedy="select columns or rows of it first")
                arrays, others = _parquet_columns(pa, source, types)
        except DiversetError:
            raise
        except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
            raise DiversetError(f"{name} is not a Parquet file, or is damaged") from error
    if len(types) < len(schema.names):
        raise DiversetError(f"{name} has two columns of one name; give columns different names")

    def cells(column: str) -> list[Any]:
        try:
            return list(arrays[column].tolist() if column in arrays else others[column].to_pylist())
        except (pa.ArrowException, ValueError, OverflowError) as error:
            raise DiversetError(f"{name}: column {column!r} cannot be read: {error}") from error

    return types, n, arrays, cells


def _parquet_columns(pa: Any, source: Any, types: Mapping[str, Any]) -> tuple[dict[str, Array], dict[str, Any]]:
    """Columns of numbers and of vectors as arrays; the others, and those with missing entries, as Arrow columns."""
    n = source.metadata.num_rows
    arrays: dict[str, Array] = {}
    others: dict[str, Any] = {}
    by_type: dict[Any, list[str]] = {}
    rest = []

    def is_number(kind: Any) -> bool:
        return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))

    lists = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    for name, kind in types.items():
        is_vector = any(test(kind) for test in lists) and is_number(kind.value_type)
        if is_number(kind):
            by_type.setdefault(np.dtype(kind.to_pandas_dtype()), []).append(name)
        elif is_vector and (block := _vectors(source, name, n)) is not None:
            arrays[name] = block
        else:
            rest.append(name)
    for dtype, names in by_type.items():  # columns of one type share a matrix: adjacent ones need no copy
        matrix = np.empty((n, len(names)), dtype=dtype, order="F")
        for start in range(0, len(names), _COLUMNS_AT_ONCE):
            some = names[start : start + _COLUMNS_AT_ONCE]
            table = source.read(columns=some, use_threads=False)
            for j, name in enumerate(some, start=start):
                column = table.column(name)
                if column.null_count:
                    others[name] = column
                else:
                    matrix[:, j] = column.to_numpy()
                    arrays[name] = matrix[:, j]
    if rest:
        table = source.read(columns=rest)
        others |= {name: table.column(name) for name in rest}
    return arrays, others


def _vectors(source: Any, name: str, n: int) -> Array | None:
    """A column of lists of numbers as a matrix, decoded in batches; None if lengths differ or entries are missing."""
    matrix: Array | None = None
    at = 0
    for batch in source.iter_batches(batch_size=_ROWS_AT_ONCE, columns=[name], use_threads=False):
        column = batch.column(0)
        values = column.flatten()
        if column.null_count or values.null_count or len(values) == 0:
            return None
        if matrix is None:
            width = len(values) // len(column)
            check_fits_in_memory(8 * n * width, what=f"reading column {name}", remedy="select rows of it first")
            dtype = values.type.to_pandas_dtype()
            matrix = np.empty((n, width), dtype=dtype if dtype in (np.float32, np.float64) else np.float64)
        lengths = column.value_lengths().to_numpy() if hasattr(column, "value_lengths") else None
        if len(values) != len(column) * width or (lengths is not None and (lengths != width).any()):
            return None
        matrix[at : at + len(column)] = values.to_numpy(zero_copy_only=False).reshape(len(column), width)
        at += len(column)
    return matrix if at == n else None
