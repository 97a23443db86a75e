"""Reading and writing tables: what comes in goes out, and what is wrong is named with its place."""

import csv
import gzip
import io
import json
import os
import re
import subprocess
import sys
import time
import tracemalloc

import numpy as np
import pytest

from diverset.errors import DiversetError, MissingExtraError
from diverset.io.binary import load_npy
from diverset.io.features import guess_features, guess_id
from diverset.io.files import check_output
from diverset.io.tables import Table, plain_cell, read_table, write_table


@pytest.fixture
def file(tmp_path):
    """Write a file and return its name."""

    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return write


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_separators_are_found(file, mark):
    table = read_table(file("a.csv", f"id{mark}score\na, b;c{mark}1\n".replace("a, b;c", '"a, b;c"')))
    assert table.columns == {"id": ["a, b;c"], "score": ["1"]}


@pytest.mark.parametrize("content", [b"\xef\xbb\xbfid,x\n\xc3\xa9,1\n", "id,x\né,1\n".encode("utf-16")])
def test_byte_order_marks_are_no_part_of_the_header(file, content):
    assert read_table(file("a.csv", content)).columns == {"id": ["é"], "x": ["1"]}


def test_lines_count_what_quotes_span(file):
    table = read_table(file("a.csv", 'id,text\n1,"two\nlines"\n\n2,one\n'))
    assert table.columns["text"] == ["two\nlines", "one"]
    assert table.lines == [2, 5]
    assert table.where(1) == "row 2 (line 5)"


def test_fields_may_be_long_and_the_limit_is_put_back(file):
    before = csv.field_size_limit()
    assert len(read_table(file("a.csv", f"text\n{'x' * 200_000}\n")).columns["text"][0]) == 200_000
    assert csv.field_size_limit() == before


def test_json_lines_may_lack_keys(file):
    table = read_table(file("a.jsonl", '{"a": 1}\n\n{"b": [1, 2], "a": null}\n'))
    assert table.columns == {"a": [1, None], "b": [None, [1, 2]]}
    assert table.lines == [1, 3]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "", "is empty"),
        ("a.csv", " \n\n", "is empty"),
        ("a.csv", "a,b\n", "has a header and no rows"),
        ("a.csv", "a,a\n1,2\n", "'a' twice"),
        ("a.csv", "a,b\n1,2\n1,2,3\n", r"line 3: 3 fields where the header has 2"),
        ("a.csv", "a,b\n1\n", r"line 2: 1 field where the header has 2"),
        ("a.csv", b"a,b\n1,\x81\n", "line 2: neither UTF-8"),
        ("a.jsonl", "", "is empty"),
        ("a.jsonl", '{"a": 1}\n{"a": \n', r"line 2: not valid JSON"),
        ("a.jsonl", '{"a": 1}\n[1, 2]\n', r"line 2: \[1, 2\] is not an object"),
        ("a.jsonl", "[" * 100_000, "line 1: not valid JSON"),
        ("a.parquet", "", "is empty"),
        ("a.parquet", "not parquet at all", "is not a Parquet file"),
        ("a.npy", "", "is not an NPY file"),
        ("a.npy", "not npy at all", "is not an NPY file|pickled"),
        ("a.xlsx", "x", r"must end in \.csv, .* or \.npy"),
        ("a", "x", r"must end in \.csv"),
    ],
)
def test_what_is_no_table_is_refused(file, name, content, message):
    with pytest.raises(DiversetError, match=message):
        read_table(file(name, content))


def test_missing_files_and_directories_are_named(tmp_path):
    with pytest.raises(DiversetError, match=r"cannot read .*none\.csv: there is no such file"):
        read_table(str(tmp_path / "none.csv"))
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(DiversetError, match=r"cannot read .*folder\.csv: it is a folder"):
        read_table(str(tmp_path / "folder.csv"))


@pytest.mark.parametrize(
    ("cell", "shown"),
    [("", "is blank"), ("n/a", "is 'n/a'"), ("nan", "is 'nan'"), ("high", "is 'high'"), ("inf", "is 'inf'")],
)
def test_cells_that_are_no_numbers_are_named_with_their_row(file, cell, shown):
    table = read_table(file("a.csv", f"id,score\na,1\nb,{cell}\nc,2\n"))
    with pytest.raises(DiversetError, match=rf"row 2 \(line 3\): column 'score' {shown}"):
        table.numbers("score")


def test_more_wrong_cells_are_counted(file):
    with pytest.raises(DiversetError, match=r"row 1 \(line 1\): column 'x' is blank \(and 1 more row like it\)"):
        read_table(file("a.jsonl", '{"x": null}\n{"x": 1}\n{"x": NaN}\n')).numbers("x")


def test_unknown_columns_are_answered_with_the_known(file):
    with pytest.raises(DiversetError, match="no column 'scor'; its columns are 'id' and 'score'"):
        read_table(file("a.csv", "id,score\na,1\n")).column("scor")


def test_lists_become_vectors(file):
    table = read_table(file("a.jsonl", '{"e": [1, 2.5]}\n{"e": [3, 4]}\n'))
    assert table.vectors("e").tolist() == [[1.0, 2.5], [3.0, 4.0]]
    with pytest.raises(DiversetError, match=r"row 2 \(line 2\): column 'e' has 1 numbers where row 1"):
        read_table(file("b.jsonl", '{"e": [1, 2.5]}\n{"e": [3]}\n')).vectors("e")
    with pytest.raises(DiversetError, match=r"row 1 \(line 1\): column 'e' holds 'x'"):
        read_table(file("c.jsonl", '{"e": [1, "x"]}\n')).vectors("e")


class Trap:
    """Leaves a trace if it is unpickled."""

    sprung = False

    def __reduce__(self):
        return (setattr, (Trap, "sprung", True))


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros(3), r"shape \(3,\); it must be"),
        (np.zeros((2, 2, 2)), r"shape \(2, 2, 2\)"),
        (np.zeros((3, 0)), "no features"),
        (np.ones((2, 2), dtype=complex), "complex128"),
        (np.array([["a", "b"]]), "must be real numbers"),
        (np.array([[1.0, 2.0], [3.0, np.nan]]), r"entry \[1, 1\] is nan"),
        (np.array([[np.inf, 2.0]]), r"entry \[0, 0\] is inf"),
    ],
)
def test_arrays_of_another_kind_are_refused(tmp_path, array, message):
    np.save(tmp_path / "x.npy", array)
    with pytest.raises(DiversetError, match=message):
        load_npy(tmp_path / "x.npy")


def test_pickled_objects_are_refused_unread(tmp_path):
    np.save(tmp_path / "x.npy", np.array([[Trap()]], dtype=object), allow_pickle=True)
    with pytest.raises(DiversetError, match="pickled Python objects"):
        load_npy(tmp_path / "x.npy")
    assert not Trap.sprung


def test_arrays_keep_their_precision(tmp_path):
    for dtype, kept in [("f4", "f4"), ("f8", "f8"), ("f2", "f4"), ("i4", "f8")]:
        np.save(tmp_path / "x.npy", np.ones((2, 3), dtype=dtype))
        assert load_npy(tmp_path / "x.npy").dtype == np.dtype(kept)


def test_csv_numbers_become_numbers_unless_that_changes_them(file, tmp_path):
    table = read_table(file("a.csv", "zip,count,share,name\n02139,3,0.50,x\n10001,,1e3,7\n"))
    write_table(tmp_path / "b.jsonl", table.take([1, 0], typed=True))
    rows = [json.loads(line) for line in (tmp_path / "b.jsonl").read_text().splitlines()]
    assert rows == [
        {"zip": "10001", "count": None, "share": 1000.0, "name": "7"},
        {"zip": "02139", "count": 3, "share": 0.5, "name": "x"},
    ]
    write_table(tmp_path / "b.csv", table.take([0], typed=False))
    assert (tmp_path / "b.csv").read_text() == "zip,count,share,name\n02139,3,0.50,x\n"


def test_json_goes_through_csv_as_text(file, tmp_path):
    table = read_table(file("a.jsonl", '{"a": true, "b": {"c": [1]}, "d": null, "e": "x,\\"y\\"\\n"}\n'))
    write_table(tmp_path / "b.csv", table.take([0], typed=False))
    assert read_table(str(tmp_path / "b.csv")).columns == {
        "a": ["true"],
        "b": ['{"c": [1]}'],
        "d": [""],
        "e": ['x,"y"\n'],
    }


def test_parquet_keeps_its_types(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    source = pa.table({"id": pa.array([1, 2], pa.int32()), "when": pa.array([0, 1], pa.date32()), "t": ["a", None]})
    parquet.write_table(source, tmp_path / "a.parquet")
    table = read_table(str(tmp_path / "a.parquet"))
    write_table(tmp_path / "b.parquet", table.take([1, 0], typed=True), table.types)
    assert parquet.read_table(tmp_path / "b.parquet").equals(source.take([1, 0]))


def test_parquet_takes_mixed_cells_as_text(tmp_path):
    pytest.importorskip("pyarrow")
    write_table(tmp_path / "a.parquet", {"x": [1, "a", None, {"b": 1}]})
    assert read_table(str(tmp_path / "a.parquet")).columns == {"x": ["1", "a", None, '{"b": 1}']}


def test_frames_written_by_pandas_and_polars_are_read(tmp_path):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    columns = {"id": ["a", "b"], "e": [[1.0, 2.0], [3.0, 4.0]]}
    pandas.DataFrame(columns).to_parquet(tmp_path / "a.parquet")
    polars.DataFrame(columns).write_parquet(tmp_path / "b.parquet")
    for name in ("a.parquet", "b.parquet"):
        table = read_table(str(tmp_path / name))
        assert table.columns["id"] == ["a", "b"]
        assert table.vectors("e").tolist() == columns["e"]


def test_without_pyarrow_the_command_is_named(file, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=re.escape('pip install "diverset[tables]"')):
        read_table(file("a.parquet", "x"))
    with pytest.raises(MissingExtraError, match=re.escape('pip install "diverset[tables]"')):
        check_output(tmp_path / "b.parquet", (".csv", ".parquet"))


def test_a_failed_write_leaves_what_was_there(tmp_path):
    (tmp_path / "a.jsonl").write_text("before")
    with pytest.raises(ValueError, match=r"zip|shorter|longer"):
        write_table(tmp_path / "a.jsonl", {"a": [1, 2], "b": [1]})
    assert (tmp_path / "a.jsonl").read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("csv", "id,x\na,1\nb,2\n"),
        ("tsv", "id\tx\na\t1\nb\t2\n"),
        ("json", '[{"id": "a", "x": 1}, {"id": "b", "x": 2}]'),
        ("json", '{"id": ["a", "b"], "x": [1, 2]}'),
        ("json", '{"id": "a", "x": 1}\n{"id": "b", "x": 2}\n'),
        ("jsonl", '{"id": "a", "x": 1}\n{"id": "b", "x": 2}\n'),
        ("ndjson", '{"id": "a", "x": 1}\n{"id": "b", "x": 2}\n'),
    ],
)
def test_every_kind_of_text_is_read_alike_compressed_or_not(tmp_path, kind, content, packed):
    path = tmp_path / (f"t.{kind}.gz" if packed else f"t.{kind}")
    path.write_bytes(gzip.compress(content.encode()) if packed else content.encode())
    table = read_table(path)
    assert table.column("id") == ["a", "b"]
    assert table.numbers("x").tolist() == [1.0, 2.0]
    if kind != "tsv" and '["a"' not in content:
        assert read_table("-", io.StringIO(content)).numbers("x").tolist() == [1.0, 2.0]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_are_tables(library):
    frames = pytest.importorskip(library)
    frame = frames.DataFrame({"id": ["a", "b"], "x": [1.5, 2.5], "v": [[1.0, 0.0], [0.0, 1.0]]})
    table = read_table(frame)
    assert table.name == "the frame"
    assert table.column("id") == ["a", "b"]
    assert table.numbers("x").tolist() == [1.5, 2.5]
    assert table.vectors("v").tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert table.take([1], typed=True) == {"id": ["b"], "x": [2.5], "v": [[0.0, 1.0]]}
    with pytest.raises(DiversetError, match="the frame has no rows"):
        read_table(frame[:0])


def test_other_encodings_are_read_with_a_remark(tmp_path):
    (tmp_path / "a.csv").write_bytes("name\ncafé\n".encode("cp1252"))
    table = read_table(tmp_path / "a.csv")
    assert table.column("name") == ["café"]
    assert "read as cp1252" in table.notes[0]
    assert read_table(tmp_path / "a.csv", encoding="latin-1").notes == []


@pytest.mark.parametrize("kind", ["list", "large_list", "fixed", "chunks", "columns"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_vectors_of_a_parquet_file_are_those_written(tmp_path, kind, dtype):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    X = (100 * np.random.default_rng(0).standard_normal((700, 5))).astype(dtype)
    if kind == "columns":
        columns = {f"e{j}": X[:, j] for j in range(5)}
    elif kind == "fixed":
        columns = {"v": pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), 5)}
    else:
        make = pa.large_list if kind == "large_list" else pa.list_
        columns = {"v": pa.array(X.tolist(), type=make(pa.from_numpy_dtype(X.dtype)))}
    table = pa.table({"id": [f"r{i}" for i in range(700)], **columns})
    parquet.write_table(table, tmp_path / "t.parquet", row_group_size=90 if kind == "chunks" else None)
    read = read_table(tmp_path / "t.parquet")
    assert read.column("id") == table.column("id").to_pylist()
    if kind == "columns":
        assert (np.stack([read.numbers(f"e{j}") for j in range(5)], axis=1) == X).all()
    else:
        assert (read.vectors("v") == X).all()
        assert read.vectors("v").dtype == (np.float32 if dtype == "float32" else np.float64)
    for name in columns:
        assert read.column(name) == table.column(name).to_pylist()
    assert read.take([3, 1], typed=True)[name] == [table.column(name)[i].as_py() for i in (3, 1)]


def test_missing_and_ragged_entries_of_a_parquet_file_are_named(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = {
        "gap": [1.0, None], "nan": [1.0, float("nan")], "whole": [1, None], "ragged": [[1.0, 2.0], [3.0]],
        "hole": [[1.0, None], [2.0, 3.0]], "missing": [[1.0], None], "inf": [[1.0], [float("inf")]], "empty": [[], []],
        "even": [[1.0, 2.0, 3.0], [1.0]],
    }  # fmt: skip
    parquet.write_table(pa.table(table), tmp_path / "t.parquet")
    read = read_table(tmp_path / "t.parquet")
    for name in ("gap", "nan", "whole"):
        with pytest.raises(DiversetError, match=f"row 2: column '{name}' is .*every row needs a finite number"):
            read.numbers(name)
        assert not read.is_numeric(name)
    for name, message in (
        ("ragged", "has 1 numbers where row 1 has 2"), ("hole", "holds null"), ("inf", "holds Infinity"),
        ("even", "has 1 numbers where row 1 has 3"),
    ):  # fmt: skip
        with pytest.raises(DiversetError, match=message):
            read.vectors(name)
    assert read.vectors("missing") is None
    assert read.column("whole") == [1, None]
    assert read.column("ragged") == [[1.0, 2.0], [3.0]]


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="reads the peak of memory from /proc")
@pytest.mark.parametrize("kind", ["list", "fixed", "columns"])
def test_parquet_takes_little_more_than_arrow_itself(tmp_path, kind):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    X = np.random.default_rng(0).standard_normal((20_000, 384))
    flat = pa.array(X.ravel())
    columns = {
        "list": lambda: {"v": pa.ListArray.from_arrays(pa.array(np.arange(20_001, dtype=np.int32) * 384), flat)},
        "fixed": lambda: {"v": pa.FixedSizeListArray.from_arrays(flat, 384)},
        "columns": lambda: {f"e{j}": X[:, j] for j in range(384)},
    }[kind]()
    parquet.write_table(pa.table({"id": np.arange(20_000).astype(str), **columns}), tmp_path / "t.parquet")
    small = pa.table({"id": ["a"], **{name: pa.array(column[:1]) for name, column in columns.items()}})
    parquet.write_table(small, tmp_path / "small.parquet")
    code = (
        "import sys, time\nimport pyarrow.parquet as pq\n"
        "from diverset.io.features import columns_side_by_side\nfrom diverset.io.tables import read_table\n"
        "def ours(path):\n    table = read_table(path)\n"
        "    return columns_side_by_side(table, [name for name in table.columns if name != 'id'])[0]\n"
        # ru_maxrss would be at least that of the process that runs the tests.
        "def peak():\n    return int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])\n"
        "ours(sys.argv[2]); before = peak(); X = ours(sys.argv[1]); used = peak() - before\n"
        "def best(f):\n    times = []\n"
        "    for _ in range(3):\n        t = time.process_time(); f(); times.append(time.process_time() - t)\n"
        "    return min(times)\n"
        "print(X.nbytes / 1024, used, best(lambda: ours(sys.argv[1])), best(lambda: pq.read_table(sys.argv[1])))\n"
    )
    command = [sys.executable, "-c", code, tmp_path / "t.parquet", tmp_path / "small.parquet"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    size, used, seconds, arrow = map(float, done.stdout.split())
    assert used <= 2.0 * size, done.stdout
    assert seconds <= 3.0 * arrow + 0.05, done.stdout


def seconds_of(work):
    begin = time.process_time()
    work()
    return time.process_time() - begin


def test_wide_headers_take_linear_time(tmp_path):
    names = [f"column {i}" for i in range(40_000)]
    (tmp_path / "a.csv").write_text(",".join(names) + "\n" + ",".join("1" for _ in names) + "\n")
    assert seconds_of(lambda: read_table(tmp_path / "a.csv")) < 2.0
    names[-1] = names[0]
    (tmp_path / "a.csv").write_text(",".join(names) + "\n" + ",".join("1" for _ in names) + "\n")
    with pytest.raises(DiversetError, match="'column 0' twice"):
        read_table(tmp_path / "a.csv")


def test_rows_with_keys_of_their_own_take_linear_time_and_memory(tmp_path):
    lines = [f'{{"id": {i}, "text": "word {i} and {i % 7}", "key{i}": 1}}' for i in range(20_000)]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))

    def work():
        table = read_table(tmp_path / "a.jsonl")
        assert guess_id(table) == "id"
        assert guess_features(table, {"id"}, by_text=False)[0] == "text"
        assert len(table.columns) == 20_002

    tracemalloc.start()
    assert seconds_of(work) < 5.0
    assert tracemalloc.get_traced_memory()[1] < 100e6
    tracemalloc.stop()


def test_long_fields_leave_the_limit_of_the_csv_module_as_it_was(tmp_path):
    long = "x" * 300_000
    (tmp_path / "a.csv").write_text(f'id,text\n1,"{long}\ny"\n2,short\n3,"a ""b"""\n')
    before = csv.field_size_limit()
    table = read_table(tmp_path / "a.csv")
    assert table.column("text") == [f"{long}\ny", "short", 'a "b"']
    assert table.lines == [2, 4, 5]
    assert csv.field_size_limit() == before


def cells_of(path):
    with path.open(newline="") as file:
        return list(csv.reader(file))


@pytest.mark.parametrize("cell", ["=1+1", "+A1", "-A1", "@SUM(A1)", "\t=1", "=cmd|' /C calc'!A0", "- a point"])
def test_cells_that_spreadsheets_execute_are_written_as_text(tmp_path, cell):
    write_table(tmp_path / "a.csv", {cell: [cell, "x"], "b": [-1.5, "-1.5"], "c": ["-", "a=b"]})
    header, first, second = cells_of(tmp_path / "a.csv")
    assert header == ["'" + cell, "b", "c"]
    assert first == ["'" + cell, "-1.5", "-"]
    assert second == ["x", "-1.5", "a=b"]
    assert plain_cell(first[0]) == cell
    write_table(tmp_path / "a.csv", {cell: [cell]}, raw_cells=True)
    assert cells_of(tmp_path / "a.csv") == [[cell], [cell]]


def test_an_npy_file_shorter_than_its_header_is_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((1000, 10)))
    data = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "a.npy").write_bytes(data[:-8])
    with pytest.raises(DiversetError, match="damaged"):
        load_npy(tmp_path / "a.npy")
    forged = data.replace(b"(1000, 10)", b"(10**9,9)".ljust(10))
    (tmp_path / "a.npy").write_bytes(forged)
    with pytest.raises(DiversetError, match="damaged"):
        load_npy(tmp_path / "a.npy")


def test_an_npy_file_cut_short_after_reading_does_no_harm(tmp_path):
    X = np.random.default_rng(0).standard_normal((1000, 100))
    np.save(tmp_path / "a.npy", X)
    np.save(tmp_path / "f.npy", np.asfortranarray(X))
    found = load_npy(tmp_path / "a.npy")
    os.truncate(tmp_path / "a.npy", 128)
    assert (found == X).all()
    assert (load_npy(tmp_path / "f.npy") == X).all()


@pytest.mark.parametrize(
    ("columns", "text", "features"),
    [
        ({"id": ["a", "b"], "text": ["x y", "z"], "score": ["1", "2"]}, "text", None),
        ({"id": ["a", "b"], "story": ["one two three four", "five six seven eight"], "n": ["1", "2"]}, "story", None),
        ({"city": ["Oslo", "New York"], "lat": ["59", "40"], "lon": ["10", "74"]}, None, "lat,lon"),
        ({"text": ["x y", "z"], "v": [[1.0], [2.0]]}, None, "v"),
        ({"text": ["x y", "z"], **{f"e{j}": ["1", "2"] for j in range(16)}, "score": ["1", "2"]}, None, "e0"),
        ({"body": ["x", "y"], "title": ["a long title of the row", "another"], "n": ["1", "2"]}, "body", None),
    ],
)
def test_columns_to_compare_by_are_guessed_by_name_and_type(columns, text, features):
    table = Table("t", columns, 2)
    found_text, found_features, note = guess_features(table, {"id"}, by_text=False)
    assert found_text == text
    assert (found_features or "").startswith(features or "")
    if features == "e0":
        assert found_features == ",".join(f"e{j}" for j in range(16))
    assert note.startswith("comparing rows by")
