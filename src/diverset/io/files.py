"""Writing files so that a reader never sees half of one."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["atomic_write", "check_writable"]


def check_writable(path: str | os.PathLike[str]) -> Path:
    """Refuse, before any work is done, a path that could not be written.

    Parameters
    ----------
    path : path-like
        The file to be written later; it need not exist.

    Returns
    -------
    target : Path
        The path with symbolic links resolved.

    Raises
    ------
    OSError
        If the directory is missing or not writable, or the path is not a regular file.
    """
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise NotADirectoryError(f"cannot write {path}: {target.parent} is not an existing directory")
    if target.exists() and not target.is_file():
        raise OSError(f"cannot write {path}: it exists and is not a regular file")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise PermissionError(f"cannot write {path}: no permission to write in {target.parent}")
    return target


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside `path`, and rename it to `path` if the block succeeds.

    If the block raises, the temporary file is removed and whatever was at `path` stays as it was.
    The temporary name ends like `path`, so writers that look at the extension see the right one.

    Parameters
    ----------
    path : path-like
        The file to write; an existing file is replaced, and keeps its permissions.

    Yields
    ------
    temporary : Path
        An empty file in the same directory, to be written by the caller.

    Raises
    ------
    OSError
        If the directory is missing or not writable, or `path` is not a regular file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(Path(folder) / "note.txt") as temporary:
    ...         _ = temporary.write_text("done")
    ...     [p.name for p in Path(folder).iterdir()]
    ['note.txt']
    """
    target = check_writable(path)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.stem[:100]}-", suffix=target.suffix, dir=target.parent)
    except OSError as error:
        raise type(error)(f"cannot write {path}: {error.strerror}") from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(_mode_for(target))  # mkstemp makes files that only their owner can read
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def _mode_for(target: Path) -> int:
    """Permissions of the file to be replaced, or those a new file would get."""
    if target.exists():
        return target.stat().st_mode & 0o777
    umask = os.umask(0)  # there is no call that only reads it
    os.umask(umask)
    return 0o666 & ~umask
