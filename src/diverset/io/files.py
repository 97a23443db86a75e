"""The one door for files: what may be read, how bytes become text, and how outputs are written whole or not at all."""

import errno
import gzip
import os
import re
import secrets
import stat
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from diverset.errors import DiversetError, EnvironmentFault, MissingExtraError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = [
    "atomic_write",
    "check_output",
    "check_writable",
    "decode",
    "is_own_page",
    "kind_of",
    "open_file",
    "pyarrow",
    "read_bytes",
    "read_stdin",
    "read_text",
]

#: Largest file, or content of a compressed file, that is read into memory unless the caller allows more.
MAX_BYTES = 1 << 30
#: Environment variable that replaces `MAX_BYTES`.
MAX_BYTES_VARIABLE = "DIVERSET_MAX_BYTES"
_BYTE_ORDER_MARKS = (
    (b"\xff\xfe\0\0", "utf-32"),  # before UTF-16, whose mark it begins with
    (b"\0\0\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
    (b"\xef\xbb\xbf", "utf-8-sig"),
)
#: Bytes that no text in an eight-bit encoding holds: control characters, and those that cp1252 leaves undefined.
_NOT_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f\x81\x8d\x8f\x90\x9d]")
_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a folder",
}
_OWN_PAGE = re.compile(rb'<meta\s+name="generator"\s+content="diverset\b', re.IGNORECASE)
#: Temporary files begin with this, so that those of killed runs can be recognised.
_TEMPORARY = ".diverset-"
#: Errors of writing that no other input would avoid.
_FAULTS = frozenset(
    getattr(errno, name)
    for name in ("ENOSPC", "EDQUOT", "EROFS", "EIO", "EMFILE", "ENFILE", "ENOMEM", "ESTALE")
    if hasattr(errno, name)
)


def kind_of(name: str | os.PathLike[str]) -> str:
    """Extension of a file name in lower case, without a final ``.gz``.

    >>> kind_of("news.CSV.gz"), kind_of("notes.md"), kind_of("README")
    ('.csv', '.md', '')
    """
    path = Path(name)
    return (path.with_suffix("") if path.suffix.lower() == ".gz" else path).suffix.lower()


@contextmanager
def open_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a regular file for reading; symbolic links are followed, and everything else is refused.

    Opening a pipe or a device can block for ever or have effects of its own, so the path is looked at first. It is
    opened without blocking and looked at again, in case it was exchanged in between.
    """
    try:
        _refuse_other_kinds(path, os.stat(path).st_mode)
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except DiversetError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        raise unreadable(path, error) from error
    with open(handle, "rb") as file:
        _refuse_other_kinds(path, os.fstat(handle).st_mode)
        try:
            yield file
        except OSError as error:
            if isinstance(error, EnvironmentFault):
                raise
            raise unreadable(path, error) from error


def unreadable(path: str | os.PathLike[str], error: OSError | ValueError) -> Exception:
    """The error to raise when the system refuses to read a path."""
    if isinstance(error, FileNotFoundError):
        return DiversetError(f"cannot read {path}: there is no such file")
    reason = getattr(error, "strerror", None) or str(error)
    kind = EnvironmentFault if getattr(error, "errno", None) in _FAULTS else DiversetError
    return kind(f"cannot read {path}: {reason[:1].lower() + reason[1:]}")


def _refuse_other_kinds(path: str | os.PathLike[str], mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "something else")
        raise DiversetError(f"cannot read {path}: it is {kind}; only regular files are read")


def read_bytes(path: str | os.PathLike[str], *, max_bytes: int | None = None) -> bytes:
    """Read a regular file, and decompress it if its name ends in ``.gz``.

    Parameters
    ----------
    path : path-like
        The file.
    max_bytes : int, optional
        Largest size, before and after decompression; by default the environment variable ``DIVERSET_MAX_BYTES``, or
        1 GiB.

    Raises
    ------
    DiversetError
        If the file is missing, is not a regular file, is too large, or is damaged.
    """
    limit = byte_limit(max_bytes)
    with open_file(path) as file:
        if os.fstat(file.fileno()).st_size > limit:
            raise _too_large(str(path), os.fstat(file.fileno()).st_size, limit)
        if Path(path).suffix.lower() != ".gz":
            return _read_at_most(file, limit, str(path))
        try:
            with gzip.GzipFile(fileobj=file) as inner:
                return _read_at_most(inner, limit, f"{path}, decompressed,")
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise DiversetError(f"{path} is not a gzip file, or is damaged") from error


def byte_limit(max_bytes: int | None) -> int:
    """The largest number of bytes to read: the argument, the environment variable, or the default."""
    if max_bytes is not None:
        return max_bytes
    given = os.environ.get(MAX_BYTES_VARIABLE, "")
    if not given:
        return MAX_BYTES
    if not given.isdecimal():
        raise DiversetError(f"{MAX_BYTES_VARIABLE} is {given!r}; it must be a number of bytes")
    return int(given)


def _read_at_most(file: Any, limit: int, name: str) -> bytes:
    parts, total = [], 0
    while part := file.read(min(1 << 20, limit + 1 - total)):
        parts.append(part)
        total += len(part)
        if total > limit:
            raise _too_large(name, None, limit)
    return b"".join(parts)


def _too_large(name: str, size: int | None, limit: int) -> DiversetError:
    has = f"more than {limit:,}" if size is None else f"{size:,}"
    return DiversetError(
        f"{name} has {has} bytes, and at most {limit:,} are read; set {MAX_BYTES_VARIABLE}, or max_bytes in Python, to "
        "allow more"
    )


def read_stdin(stdin: TextIO | None = None, *, max_bytes: int | None = None) -> bytes:
    """Read standard input, or another stream, up to the size limit."""
    stream = sys.stdin if stdin is None else stdin
    if stream is None or stream.isatty():
        raise DiversetError("there is nothing to read; name a file, or pipe data in")
    limit = byte_limit(max_bytes)
    if hasattr(stream, "buffer"):
        return _read_at_most(stream.buffer, limit, "standard input")
    return stream.read().encode("utf-8", "replace")


def read_text(
    path: str | os.PathLike[str],
    *,
    encoding: str | None = None,
    max_bytes: int | None = None,
    notes: list[str] | None = None,
) -> str:
    """Read a text file: :func:`read_bytes`, then :func:`decode`."""
    return decode(read_bytes(path, max_bytes=max_bytes), str(path), encoding=encoding, notes=notes)


def decode(raw: bytes, name: str, *, encoding: str | None = None, notes: list[str] | None = None) -> str:
    r"""Decode bytes as text, without ever changing a character in silence.

    The encoding is the one given; else the one of a byte order mark; else UTF-8; else cp1252, the common encoding of
    old Windows files, with a remark. Binary data, and files that mix UTF-8 with another encoding, are refused.

    Parameters
    ----------
    raw : bytes
        Contents of a file.
    name : str
        What to call it in messages.
    encoding : str, optional
        Encoding of the file.
    notes : list of str, optional
        Where remarks are added.

    Examples
    --------
    >>> notes = []
    >>> decode("café".encode("cp1252"), "menu.txt", notes=notes), notes
    ('café', ['menu.txt is not UTF-8 and was read as cp1252; --encoding names another encoding'])
    """
    try:
        if encoding is not None:
            return raw.decode(encoding).removeprefix("\ufeff")
        for mark, marked in _BYTE_ORDER_MARKS:
            if raw.startswith(mark):
                return raw.decode(marked)
        if b"\0" in raw:
            raise DiversetError(f"{name} is not a text file: it holds zero bytes")
        return raw.decode("utf-8")
    except LookupError:
        raise DiversetError(f"there is no encoding {encoding!r}; examples are utf-8, cp1252 and utf-16") from None
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        if encoding is not None or error.encoding != "utf-8" or raw.startswith(b"\xef\xbb\xbf"):
            raise DiversetError(f"{name}, line {line}: not {encoding or error.encoding} text") from error
        if _NOT_TEXT.search(raw):
            raise DiversetError(
                f"{name}, line {line}: neither UTF-8 text nor cp1252 text; if this is a text file, give its --encoding"
            ) from error
        if any(
            mark > "\x7f" and not "\udc80" <= mark <= "\udcff" for mark in set(raw.decode("utf-8", "surrogateescape"))
        ):
            raise DiversetError(
                f"{name}, line {line}: not UTF-8 text, though other lines are; save the file in one encoding, or give "
                "its --encoding"
            ) from error
        if notes is not None:
            notes.append(f"{name} is not UTF-8 and was read as cp1252; --encoding names another encoding")
        return raw.decode("cp1252")


def pyarrow() -> Any:
    """The package pyarrow, or an error with the command that installs it."""
    try:
        return import_module("pyarrow")
    except ImportError as error:
        raise MissingExtraError('Parquet files need pyarrow: pip install "diverset[tables]"') from error


def is_own_page(raw: bytes) -> bool:
    """Whether bytes are a page that diverset wrote, by the generator named in its head."""
    return _OWN_PAGE.search(raw, 0, 4096) is not None


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


def check_output(
    output: str | os.PathLike[str],
    kinds: Sequence[str] | None = None,
    *,
    inputs: Iterable[str | os.PathLike[str] | None] = (),
    force: bool = False,
) -> None:
    """Refuse, before any work is done, an output that could not be written or would overwrite an input.

    Parameters
    ----------
    output : path-like
        The file to be written.
    kinds : sequence of str, optional
        Extensions it may have.
    inputs : iterable of path-like
        Files and folders that are read; ``-`` and None are passed over. An existing file in an input folder counts as
        an input, unless it is a page that diverset wrote.
    force : bool
        Allow an input to be overwritten.
    """
    kind = Path(output).suffix.lower()
    if kinds is not None and kind not in kinds:
        listed = ", ".join(kinds[:-1]) + f" or {kinds[-1]}" if len(kinds) > 1 else kinds[0]
        raise DiversetError(f"cannot write {output}: its name must end in {listed}")
    if kind == ".parquet":
        pyarrow()
    target = check_writable(output)
    if force or not target.exists():
        return
    for given in inputs:
        source = Path(os.path.realpath(given)) if given is not None and given != "-" else None
        if source is None or not source.exists():
            continue
        inside = source.is_dir() and target.is_relative_to(source) and not _is_own_page_file(target)
        if inside or target.samefile(source):
            raise DiversetError(f"cannot write {output}: it is an input, and would be overwritten; --force allows that")


def _is_own_page_file(path: Path) -> bool:
    with suppress(DiversetError, EnvironmentFault), open_file(path) as file:
        return is_own_page(file.read(4096))
    return False


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside `path`, and rename it to `path` if the block succeeds.

    If the block raises, the temporary file is removed and whatever was at `path` stays as it was. The temporary name
    ends like `path`, so writers that look at the extension see the right one. Temporary files in the same directory
    that a killed process left behind are removed.

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
        If the directory is missing or not writable, or `path` is not a regular file. Faults of the machine, such as a
        full disk, are an :class:`~diverset.errors.EnvironmentFault`.

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
    temporary: Path | None = None
    try:
        remove_dead_temporaries(target.parent)
        temporary, handle = _create_locked(target)
        try:
            yield temporary
            os.replace(temporary, target)
        finally:
            if handle is not None:
                os.close(handle)
    except BaseException as error:
        if temporary is not None:
            with suppress(OSError):
                temporary.unlink()
        if isinstance(error, OSError) and error.errno in _FAULTS and not isinstance(error, EnvironmentFault):
            raise EnvironmentFault(f"cannot write {path}: {error.strerror}") from error
        raise


def _create_locked(target: Path) -> tuple[Path, int | None]:
    """Create an empty temporary file with the permissions of the output, locked for as long as its handle is open.

    A new file gets its permissions from the system at creation; asking for the umask would mean to change it, for all
    threads.
    """
    while True:
        temporary = target.parent / f"{_TEMPORARY}{secrets.token_hex(8)}{target.suffix}"
        try:
            mode = stat.S_IMODE(target.stat().st_mode) & 0o777
            handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            if hasattr(os, "fchmod"):
                os.fchmod(handle, mode)
        except FileNotFoundError:
            handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        if fcntl is None:
            os.close(handle)
            return temporary, None
        with suppress(OSError):  # file systems without locks
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(handle).st_nlink:
            return temporary, handle
        os.close(handle)  # taken for dead and removed before it was locked


def remove_dead_temporaries(folder: Path) -> None:
    """Remove temporary files of processes that were killed: those whose lock is free."""
    if fcntl is None:
        return
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(_TEMPORARY) and entry.is_file(follow_symlinks=False):
                with suppress(OSError):
                    handle = os.open(entry.path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
                    try:
                        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        os.unlink(entry.path)
                    finally:
                        os.close(handle)
