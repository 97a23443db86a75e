"""Files appear whole or not at all."""

import os
import stat

import pytest

from diverset.io.files import atomic_write, check_writable


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
    def refuse(**kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    with pytest.raises(OSError, match=r"cannot write .*out\.txt: No space left on device"):
        atomic_write(tmp_path / "out.txt").__enter__()
