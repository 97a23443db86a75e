"""Reading and writing of files: which files may be read, how bytes become text, and outputs that are never partial."""

import errno
import gzip
import io
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
from typing import Any, TextIO

from diverset._result import ending
from diverset.errors import DiversetError, EnvironmentFault, MissingExtraError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["atomic_write", "check_output", "check_writable", "decode", "open_file", "read_bytes", "read_text"]

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
#: Errors of the system that no other input would avoid.
_CODES = ("ENOSPC", "EDQUOT", "EROFS", "EIO", "EMFILE", "ENFILE", "ENOMEM", "ESTALE")
FAULTS = {getattr(errno, name) for name in _CODES if hasattr(errno, name)}


def kind_of(name: str | os.PathLike[str]) -> str:
    """Extension of a file name in lower case, without a final ``.gz``.

    >>> kind_of("news.CSV.gz"), kind_of("notes.md"), kind_of("README")
    ('.csv', '.md', '')
    """
    path = Path(name)
    return (path.with_suffix("") if path.suffix.lower() == ".gz" else path).suffix.lower()


def is_frame(source: Any) -> bool:
    """Whether an object has the methods of a pandas or polars frame."""
    return hasattr(source, "columns") and hasattr(source, "__len__") and hasattr(source, "__getitem__")


def plural(count: int, noun: str) -> str:
    """A count with its noun: 1 row, 2 rows."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


@contextmanager
def open_file(path: str | os.PathLike[str]) -> Iterator[io.BufferedReader]:
    """Open a regular file for reading; symbolic links are followed, and everything else is refused."""
    try:
        # Before opening, since opening a pipe or a device can block; and again after, in case the file was replaced.
        _refuse_other_kinds(path, os.stat(path).st_mode)
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        raise unreadable(path, error) from error
    with open(handle, "rb") as file:
        _refuse_other_kinds(path, os.fstat(handle).st_mode)
        try:
            yield file
        except OSError as error:
            raise unreadable(path, error) from error


def unreadable(path: str | os.PathLike[str], error: OSError | ValueError) -> Exception:
    """The error to raise when the system refuses to read a path; errors of ours stay as they are."""
    if isinstance(error, DiversetError | EnvironmentFault):
        raise error
    if isinstance(error, FileNotFoundError):
        return DiversetError(f"cannot read {path}: there is no such file")
    reason = getattr(error, "strerror", None) or str(error)
    kind = EnvironmentFault if getattr(error, "errno", None) in FAULTS else DiversetError
    return kind(f"cannot read {path}: {reason[:1].lower() + reason[1:]}")


def _refuse_other_kinds(path: str | os.PathLike[str], mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "something else")
        raise DiversetError(f"cannot read {path}: it is {kind}; only regular files are read")


def read_bytes(path: str | os.PathLike[str], *, max_bytes: int | None = None) -> bytes:
    """Read a regular file up to the size limit, and decompress it, up to the same, if its name ends in ``.gz``."""
    limit = byte_limit(max_bytes)
    with open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > limit:
            raise _too_large(str(path), f"{size:,}", limit)
        if Path(path).suffix.lower() != ".gz":
            return _read_at_most(file, limit, str(path))
        try:
            with gzip.GzipFile(fileobj=file) as inner:
                return _read_at_most(inner, limit, f"{path}, decompressed,")
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise DiversetError(f"{path} is not a gzip file, or is damaged") from error


def byte_limit(max_bytes: int | None) -> int:
    """Largest number of bytes to read: the argument, the environment variable ``DIVERSET_MAX_BYTES``, or 1 GiB."""
    given = os.environ.get(MAX_BYTES_VARIABLE, "")
    if max_bytes is not None or not given:
        return MAX_BYTES if max_bytes is None else max_bytes
    if not given.isdecimal():
        raise DiversetError(f"{MAX_BYTES_VARIABLE} is {given!r}; it must be a number of bytes")
    return int(given)


def _read_at_most(file: Any, limit: int, name: str) -> bytes:
    parts, total = [], 0
    while part := file.read(min(1 << 20, limit + 1 - total)):
        parts.append(part)
        total += len(part)
        if total > limit:
            raise _too_large(name, f"more than {limit:,}", limit)
    return b"".join(parts)


def _too_large(name: str, size: str, limit: int) -> DiversetError:
    return DiversetError(
        f"{name} has {size} bytes, and at most {limit:,} are read; set {MAX_BYTES_VARIABLE} to allow more"
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


def read_text(path: str | os.PathLike[str], *, max_bytes: int | None = None, **options: Any) -> str:
    """Read a text file: :func:`read_bytes`, then :func:`decode` with the options."""
    return decode(read_bytes(path, max_bytes=max_bytes), str(path), **options)


def decode(raw: bytes, name: str, *, encoding: str | None = None, notes: list[str] | None = None) -> str:
    r"""Decode bytes as text, without ever changing a character silently.

    The encoding is the given one; else that of a byte order mark; else UTF-8; else cp1252, the common encoding of old
    Windows files, with a remark in `notes`. Binary data, and files that mix UTF-8 with another encoding, are refused.

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
        if re.search("[^\0-\x7f\udc80-\udcff]", raw.decode("utf-8", "surrogateescape")):
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
    """The path with symbolic links resolved; raises OSError if a file could not be written there."""
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
    kinds: Sequence[str],
    *,
    inputs: Iterable[str | os.PathLike[str] | None] = (),
    force: bool = False,
) -> None:
    """Refuse an output that could not be written, has an extension not in `kinds`, or would overwrite an input."""
    if ending(output, kinds) == ".parquet":
        pyarrow()
    target = check_writable(output)
    if force or not target.exists():
        return
    for given in inputs:
        source = Path(os.path.realpath(given)) if given is not None and given != "-" else None
        if source is None or not source.exists():
            continue
        inside = source.is_dir() and target.is_relative_to(source)  # and not a page that diverset wrote
        if inside:
            with suppress(DiversetError, EnvironmentFault), open_file(target) as file:
                inside = not is_own_page(file.read(4096))
        if inside or target.samefile(source):
            raise DiversetError(f"cannot write {output}: it is an input, and would be overwritten; --force allows that")


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield an empty temporary file beside `path`, and rename it to `path` if the block succeeds.

    The new file has the extension and the permissions of the old one, which stays if the block raises. Temporary files
    of killed processes are removed. Faults such as a full disk raise :class:`~diverset.errors.EnvironmentFault`.
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
        if isinstance(error, OSError) and error.errno in FAULTS and not isinstance(error, EnvironmentFault):
            raise EnvironmentFault(f"cannot write {path}: {error.strerror}") from error
        raise


def _create_locked(target: Path) -> tuple[Path, int | None]:
    """Create an empty temporary file with the permissions of the output, locked while its handle is open."""
    while True:
        temporary = target.parent / f"{_TEMPORARY}{secrets.token_hex(8)}{target.suffix}"
        try:
            mode = stat.S_IMODE(target.stat().st_mode) & 0o777
            handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            if hasattr(os, "fchmod"):
                os.fchmod(handle, mode)
        except FileNotFoundError:  # for a new output the system applies the umask, which we cannot read
            handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        if fcntl is None:
            os.close(handle)
            return temporary, None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            taken = os.fstat(handle).st_nlink == 0
        except BlockingIOError:
            taken = True
        except OSError:  # a file system without locks, where temporary files are never removed either
            taken = False
        if not taken:
            return temporary, handle
        os.close(handle)  # another thread or process removed it before it was locked


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
