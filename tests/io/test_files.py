"""Files appear whole or not at all."""

import gzip
import os
import socket
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from diverset.errors import DiversetError, EnvironmentFault
from diverset.io.files import atomic_write, check_output, check_writable, decode, is_own_page, read_text

KINDS = (".csv", ".html")


def test_writes_a_new_file(tmp_path):
    target = tmp_path / "out.png"
    with atomic_write(target) as temporary:
        assert temporary.parent == tmp_path
        assert temporary.suffix == ".png"
        assert not target.exists()
        temporary.write_bytes(b"whole")
    assert target.read_bytes() == b"whole"
    assert os.listdir(tmp_path) == ["out.png"]


def test_replaces_an_existing_file_and_keeps_its_permissions(tmp_path):
    target = tmp_path / "out.txt"
    target.write_text("old")
    target.chmod(0o640)
    with atomic_write(target) as temporary:
        temporary.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_new_file_gets_ordinary_permissions(tmp_path):
    (tmp_path / "plain").touch()
    with atomic_write(tmp_path / "out") as temporary:
        temporary.write_text("x")
    assert (tmp_path / "out").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("existing", [None, "old"])
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_failed_write_leaves_nothing_behind(tmp_path, existing, error):
    target = tmp_path / "out.txt"
    if existing is not None:
        target.write_text(existing)

    def write_half():
        with atomic_write(target) as temporary:
            temporary.write_text("half")
            raise error

    with pytest.raises(error):
        write_half()
    assert os.listdir(tmp_path) == ([] if existing is None else ["out.txt"])
    assert existing is None or target.read_text() == existing


def test_follows_a_symbolic_link(tmp_path):
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to(tmp_path / "real.txt")
    with atomic_write(tmp_path / "link.txt") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"


@pytest.mark.parametrize("check", [check_writable, lambda path: atomic_write(path).__enter__()])
def test_refuses_what_it_cannot_write(tmp_path, check):
    with pytest.raises(NotADirectoryError, match=r"cannot write .*missing.*not an existing directory"):
        check(tmp_path / "missing" / "out.txt")
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match=r"cannot write .*file.*not an existing directory"):
        check(tmp_path / "file" / "out.txt")
    with pytest.raises(OSError, match="not a regular file"):
        check(tmp_path)


def test_refuses_a_directory_without_permission(tmp_path, monkeypatch):
    # The superuser may write anywhere, so the answer of the system is simulated.
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(PermissionError, match=r"cannot write .*out\.txt: no permission to write in"):
        check_writable(tmp_path / "out.txt")


def test_reports_a_directory_that_fails_late(tmp_path, monkeypatch):
    def refuse(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(EnvironmentFault, match=r"cannot write .*out\.txt: No space left on device"):
        atomic_write(tmp_path / "out.txt").__enter__()


def test_new_files_get_their_permissions_without_a_change_of_the_umask(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("the umask belongs to all threads"))
    with atomic_write(tmp_path / "out") as temporary:
        temporary.write_text("x")


def test_temporary_files_of_killed_processes_are_removed_and_those_of_others_stay(tmp_path):
    code = (
        "import sys, time\nfrom diverset.io.files import atomic_write\n"
        "with atomic_write(sys.argv[1]) as temporary:\n"
        "    temporary.write_text('half'); print('writing', flush=True); time.sleep(60)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "out.txt")]
    writers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    try:
        assert [writer.stdout.readline() for writer in writers] == ["writing\n"] * 2
        writers[0].kill()
        writers[0].wait()
        assert len(os.listdir(tmp_path)) == 2
        (tmp_path / ".diverset-notes").symlink_to(tmp_path / "elsewhere")
        with atomic_write(tmp_path / "other.txt") as temporary:
            temporary.write_text("x")
        assert sorted(name[:10] for name in os.listdir(tmp_path)) == [".diverset-", ".diverset-", "other.txt"]
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()
            writer.stdout.close()


def read(path, seconds=20):
    """Read in a thread, so that a read that blocks fails the test."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(read_text, path).result(timeout=seconds)


def test_reads_regular_files_and_links_to_them_only(tmp_path):
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "link.txt").symlink_to(tmp_path / "a.txt")
    assert read(tmp_path / "link.txt") == "x"
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "zero.txt").symlink_to("/dev/zero")
    (tmp_path / "loop.txt").symlink_to(tmp_path / "loop.txt")
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(tmp_path / "s.txt"))
        for name, kind in (
            ("pipe.txt", "a pipe"), ("zero.txt", "a device"), ("s.txt", "a socket"), (".", "a folder"),
            ("loop.txt", "too many levels"), ("none.txt", "no such file"), ("a\0b", "null"), ("x" * 300, "too long"),
        ):  # fmt: skip
            with pytest.raises(DiversetError, match=kind):
                read(tmp_path / name)


def test_sizes_are_checked_before_reading(tmp_path, monkeypatch):
    with (tmp_path / "large.txt").open("wb") as file:
        file.truncate(1 << 40)  # sparse
    with pytest.raises(DiversetError, match="has 1,099,511,627,776 bytes, and at most 1,073,741,824 are read"):
        read(tmp_path / "large.txt")
    (tmp_path / "a.txt").write_text("12345")
    with pytest.raises(DiversetError, match="at most 4 are read"):
        read_text(tmp_path / "a.txt", max_bytes=4)
    monkeypatch.setenv("DIVERSET_MAX_BYTES", "4")
    with pytest.raises(DiversetError, match="set DIVERSET_MAX_BYTES to allow more"):
        read(tmp_path / "a.txt")
    monkeypatch.setenv("DIVERSET_MAX_BYTES", "5")
    assert read(tmp_path / "a.txt") == "12345"
    monkeypatch.setenv("DIVERSET_MAX_BYTES", "5 GB")
    with pytest.raises(DiversetError, match="must be a number of bytes"):
        read(tmp_path / "a.txt")


def test_compressed_files_are_read_up_to_the_limit(tmp_path):
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress("né".encode()) + gzip.compress(b"e"))  # two members, as cat makes them
    assert read(path) == "née"
    path.write_bytes(gzip.compress(bytes(10_000_000)))
    with pytest.raises(DiversetError, match=r"decompressed, has more than 1,000,000 bytes"):
        read_text(path, max_bytes=1_000_000)
    for damaged in (path.read_bytes()[:-9], b"text", b"", gzip.compress(b"text")[:-8] + bytes(8)):
        path.write_bytes(damaged)
        if damaged:
            with pytest.raises(DiversetError, match="not a gzip file, or is damaged"):
                read(path)
        else:
            assert read(path) == ""


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_unicode_needs_no_option(encoding):
    notes = []
    assert decode("né €".encode(encoding), "x", notes=notes) == "né €"
    assert notes == []


def test_other_encodings_are_told_or_remarked_on():
    notes = []
    assert decode("né €".encode("cp1252"), "x", notes=notes) == "né €"
    assert notes == ["x is not UTF-8 and was read as cp1252; --encoding names another encoding"]
    assert decode("né".encode("iso8859-2"), "x", encoding="iso8859-2") == "né"
    assert decode("né".encode("utf-16-le"), "x", encoding="utf-16-le") == "né"
    with pytest.raises(DiversetError, match="no encoding 'klingon'"):
        decode(b"x", "x", encoding="klingon")
    with pytest.raises(DiversetError, match="x, line 2: not ascii text"):
        decode("a\né".encode(), "x", encoding="ascii")


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"\x89PNG\r\n\x1a\n\0", "not a text file"),
        (b"ab\0", "not a text file"),
        (b"\xff\xfea", "line 1: not utf-16"),
        (b"a\n\x81", "line 2: neither UTF-8 text nor cp1252"),
        (b"\xe9\x01", "neither"),
        ("né\n".encode() + "né".encode("cp1252"), "line 2: not UTF-8 text, though other lines are"),
        (b"\xef\xbb\xbfa\xe9", "line 1: not utf-8"),
        (np.random.default_rng(0).bytes(5000), "not a text file"),
    ],
)
def test_binary_and_mixed_files_are_refused(raw, message):
    with pytest.raises(DiversetError, match=message):
        decode(raw, "x")


def test_an_output_never_replaces_an_input_without_force(tmp_path):
    source = tmp_path / "a.csv"
    source.write_text("x")
    (tmp_path / "link.csv").symlink_to(source)
    os.link(source, tmp_path / "hard.csv")
    for output in ("a.csv", "link.csv", "hard.csv", "../" + tmp_path.name + "/a.csv"):
        with pytest.raises(DiversetError, match="it is an input, and would be overwritten; --force allows that"):
            check_output(tmp_path / output, KINDS, inputs=[None, "-", source])
        check_output(tmp_path / output, KINDS, inputs=[source], force=True)
    check_output(tmp_path / "new.csv", KINDS, inputs=[source])
    with pytest.raises(DiversetError, match="it is an input"):
        check_output(source, KINDS, inputs=[tmp_path])
    check_output(tmp_path / "new.html", KINDS, inputs=[tmp_path])
    (tmp_path / "page.html").write_text('<html><head><meta name="generator" content="diverset"></head>')
    check_output(tmp_path / "page.html", KINDS, inputs=[tmp_path])
    with pytest.raises(DiversetError, match=r"must end in \.csv or \.html"):
        check_output(tmp_path / "a.txt", (".csv", ".html"))


def test_own_pages_are_recognised_by_their_head_only():
    assert is_own_page(b'<!doctype html><html><head><meta name="generator" content="diverset 0.1">')
    assert not is_own_page(b'<html><head><meta name="generator" content="diversetter">')
    assert not is_own_page(b"<html>" + bytes(5000) + b'<meta name="generator" content="diverset">')
