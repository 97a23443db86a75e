"""Reading and writing tables: what comes in goes out, and what is wrong is named with its place."""

import csv
import json
import re
import sys

import numpy as np
import pytest

from diverset.errors import DiversetError, MissingExtraError
from diverset.io.tables import check_output, load_npy, read_table, write_table


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
        ("a.csv", b"a,b\n1,\xff\xfe\n", "line 2: not UTF-8"),
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
    with pytest.raises(DiversetError, match=r"cannot read .*folder\.csv: is a directory"):
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
        check_output(tmp_path / "b.parquet")


def test_a_failed_write_leaves_what_was_there(tmp_path):
    (tmp_path / "a.jsonl").write_text("before")
    with pytest.raises(ValueError, match=r"zip|shorter|longer"):
        write_table(tmp_path / "a.jsonl", {"a": [1, 2], "b": [1]})
    assert (tmp_path / "a.jsonl").read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]
