"""The cache saves time and never costs a result, whatever became of its folder."""

import errno
import hashlib
import io
import os
import pathlib
import threading

import numpy as np
import pytest

from diverset.errors import EnvironmentFault
from diverset.io import cache as module
from diverset.io.cache import Cache, cache_folder, clear_caches, digest


def entry_of(folder):
    return next(pathlib.Path(folder).rglob("*.cache"))


def behind_checksum(data):
    return hashlib.blake2b(data, digest_size=32).digest() + data


def test_what_was_stored_is_loaded_by_others_of_the_same_version_only(tmp_path):
    Cache("a", 1, folder=tmp_path).store("key", {"x": np.eye(2), "y": np.array(["é"])})
    found = Cache("a", 1, folder=tmp_path).load("key")
    assert sorted(found) == ["x", "y"]
    np.testing.assert_array_equal(found["x"], np.eye(2))
    assert found["y"].tolist() == ["é"]
    assert Cache("a", 2, folder=tmp_path).load("key") is None
    assert Cache("b", 1, folder=tmp_path).load("key") is None
    assert Cache("a", 1, folder=tmp_path).load("other") is None


def pickled():
    buffer = io.BytesIO()
    np.savez(buffer, x=np.array([{}], dtype=object))
    return buffer.getvalue()


def bomb():
    buffer = io.BytesIO()
    np.savez_compressed(buffer, x=np.zeros(1 << 20))
    return buffer.getvalue()


@pytest.mark.parametrize(
    "forge",
    [
        lambda raw: raw[:-1],
        lambda raw: raw[:10],
        lambda raw: b"",
        lambda raw: raw[:100] + bytes([raw[100] ^ 1]) + raw[101:],
        lambda raw: behind_checksum(b"no archive"),
        lambda raw: behind_checksum(pickled()),
        lambda raw: behind_checksum(bomb()),
    ],
)
def test_a_forged_or_damaged_entry_is_absent_and_deleted(tmp_path, forge):
    cache = Cache("a", 1, folder=tmp_path)
    cache.store("key", {"x": np.arange(9)})
    path = entry_of(tmp_path)
    path.write_bytes(forge(path.read_bytes()))
    assert cache.load("key") is None
    assert cache.damaged == 1
    assert not path.exists()
    cache.store("key", {"x": np.arange(9)})
    assert cache.load("key")["x"].tolist() == list(range(9))
    assert cache.notes == []


def test_an_entry_that_is_a_pipe_or_a_folder_is_absent(tmp_path):
    cache = Cache("a", 1, folder=tmp_path)
    cache.store("key", {"x": np.arange(9)})
    path = entry_of(tmp_path)
    path.unlink()
    os.mkfifo(path)
    assert cache.load("key") is None
    path.unlink(missing_ok=True)
    path.mkdir()
    assert cache.load("key") is None


def test_old_entries_make_room(tmp_path):
    cache = Cache("a", 1, folder=tmp_path, max_bytes=10_000)
    for i in range(6):
        cache.store(str(i), {"x": np.zeros(250)})  # 2 kB each
        os.utime(cache._path(cache.folder, str(i)), ns=(i, i))
        cache.load("0")  # in use
    left = [i for i in range(6) if cache.load(str(i)) is not None]
    assert left[0] == 0
    assert left[-1] == 5
    assert len(left) <= 4
    assert sum(path.stat().st_size for path in tmp_path.rglob("*.cache")) <= 10_000
    cache.store("large", {"x": np.zeros(10_000)})
    assert cache.load("large") is None


def test_without_a_home_directory_there_is_one_remark(monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    cache = Cache("a", 1)
    cache.store("key", {"x": np.eye(2)})
    cache.store("key", {"x": np.eye(2)})
    assert cache.load("key") is None
    assert cache.notes == ["working without a cache: there is no home directory"]
    assert cache_folder() is None
    assert clear_caches() == 0
    assert not pathlib.Path("~").exists()


@pytest.mark.parametrize("fault", [OSError(errno.EROFS, "Read-only file system"), EnvironmentFault("disk full")])
def test_a_folder_that_cannot_be_written_costs_one_remark(tmp_path, monkeypatch, fault):
    def refuse(path):
        raise fault

    monkeypatch.setattr(module, "atomic_write", refuse)
    cache = Cache("a", 1, folder=tmp_path)
    for _ in range(3):
        cache.store("key", {"x": np.eye(2)})
    assert cache.load("key") is None
    assert len(cache.notes) == 1
    assert "working without a cache: cannot write to" in cache.notes[0]


def test_a_file_where_the_folder_should_be_costs_one_remark(tmp_path):
    (tmp_path / "file").touch()
    cache = Cache("a", 1, folder=tmp_path / "file" / "deeper")
    cache.store("key", {"x": np.eye(2)})
    assert cache.load("key") is None
    assert len(cache.notes) == 1


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners are told differently there")
def test_a_folder_of_another_user_or_of_everyone_is_not_used(tmp_path, monkeypatch):
    Cache("a", 1, folder=tmp_path).store("key", {"x": np.eye(2)})
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    other = Cache("a", 1, folder=tmp_path)
    assert other.load("key") is None
    assert "belongs to another user" in other.notes[0]
    monkeypatch.undo()
    (tmp_path / "a").chmod(0o777)
    open_to_all = Cache("a", 1, folder=tmp_path)
    assert open_to_all.load("key") is None
    assert "every user may write" in open_to_all.notes[0]


def test_a_new_folder_is_the_owners_alone(tmp_path):
    cache = Cache("a", 1, folder=tmp_path / "new")
    cache.store("key", {"x": np.eye(2)})
    assert cache.folder.stat().st_mode & 0o077 == 0


def test_clearing_leaves_the_files_of_others(tmp_path):
    Cache("a", 1, folder=tmp_path).store("key", {"x": np.eye(2)})
    (tmp_path / "a" / "mine.txt").write_text("stays")
    assert clear_caches(tmp_path) > 32
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["mine.txt"]
    assert Cache("a", 1, folder=tmp_path).load("key") is None


def test_threads_share_a_cache(tmp_path):
    cache = Cache("a", 1, folder=tmp_path, max_bytes=40_000)
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for i in rng.integers(0, 20, size=60):
            found = cache.load(str(i))
            if found is None:
                cache.store(str(i), {"x": np.full(300, i)})
            elif not (found["x"] == i).all():
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (wrong, cache.notes, cache.damaged) == ([], [], 0)
    assert not list(tmp_path.rglob(".diverset-*"))


def test_digests_keep_parts_apart():
    assert digest("ab", "c") != digest("a", "bc")
    assert digest("ab") == digest(b"ab")
