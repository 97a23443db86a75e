"""Readers and writers leave the state of the process alone, in whatever number of threads they run."""

import csv
import os
import threading
import warnings

import numpy as np
import pytest

from diverset.io.documents import read_documents
from diverset.io.files import atomic_write
from diverset.io.tables import read_table, write_table


def in_threads(work, count=8):
    faults = []

    def guarded(i):
        try:
            work(i)
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []


@pytest.mark.skipif(os.name == "nt", reason="there is no umask")
def test_the_umask_stays_and_holds_for_files_that_other_threads_create(tmp_path):
    stop = threading.Event()
    modes = set()

    def create():
        while not stop.is_set():
            (tmp_path / "probe").unlink(missing_ok=True)
            (tmp_path / "probe").touch()
            modes.add((tmp_path / "probe").stat().st_mode & 0o777)

    before = os.umask(0o027)
    try:
        other = threading.Thread(target=create)
        other.start()

        def work(i):
            for j in range(40):
                with atomic_write(tmp_path / f"{i}-{j}.txt") as temporary:
                    temporary.write_text("x")

        in_threads(work)
        stop.set()
        other.join()
        assert modes == {0o640}
        assert {path.stat().st_mode & 0o777 for path in tmp_path.glob("*.txt")} == {0o640}
        assert os.umask(0o027) == 0o027
    finally:
        stop.set()
        os.umask(before)


def test_filters_error_state_and_limits_stay(tmp_path):
    (tmp_path / "a.csv").write_text('id,text\n1,"' + "x" * 200_000 + '"\n2,y\n')
    (tmp_path / "b.html").write_text("<p>One mill.")
    np.save(tmp_path / "c.npy", np.eye(4))
    before = (list(warnings.filters), np.geterr(), csv.field_size_limit(), os.getcwd(), dict(os.environ))

    def work(i):
        for _ in range(10):
            read_table(tmp_path / "a.csv")
            read_table(tmp_path / "c.npy")
            read_documents(tmp_path / "b.html")
            write_table(tmp_path / f"{i}.csv", {"a": [1, "=x"]})
        assert np.geterr() == before[1]

    in_threads(work)
    assert (list(warnings.filters), np.geterr(), csv.field_size_limit(), os.getcwd(), dict(os.environ)) == before
