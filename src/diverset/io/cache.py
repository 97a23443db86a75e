"""A cache of arrays on disk: an entry that is missing, damaged or unreadable is computed again.

If the folder cannot be used, the work continues without the cache, with one remark. Entries are NPZ archives with a
checksum, which detects damage but not forgery, so callers check the shapes and ranges of the arrays.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
import threading
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from diverset._typing import Array
from diverset.io.files import atomic_write, open_file, remove_dead_temporaries

__all__ = ["Cache", "cache_folder", "clear_caches", "digest"]

#: Bytes that the entries of one kind may take together.
MAX_BYTES = 2 << 30
_DIGEST = 32
_SUFFIX = ".cache"


def digest(*parts: bytes | str) -> str:
    """Hash of all parts and their lengths, in hexadecimal."""
    total = hashlib.blake2b(digest_size=_DIGEST)
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(len(data).to_bytes(8, "little"))
        total.update(data)
    return total.hexdigest()


def cache_folder() -> Path | None:
    """The user's folder for caches of diverset; None without a home directory."""
    from platformdirs import user_cache_path

    try:
        folder = user_cache_path("diverset", appauthor=False)
    except (OSError, RuntimeError):
        return None
    return folder if folder.is_absolute() else None  # an unknown home stays as "~"


def clear_caches(folder: str | os.PathLike[str] | None = None) -> int:
    """Delete all entries in the user's folder or in another one; returns the number of bytes freed."""
    root = cache_folder() if folder is None else Path(folder)
    freed = 0
    if root is not None and root.is_dir():
        for path in _entries(root):
            with suppress(OSError):
                size = path.stat().st_size
                path.unlink()
                freed += size
        for place, folders, _ in os.walk(root, topdown=False):
            remove_dead_temporaries(Path(place))
            for name in folders:
                with suppress(OSError):  # other files stay, and so does their folder
                    os.rmdir(os.path.join(place, name))
    return freed


def _entries(root: Path) -> list[Path]:
    return [Path(place, name) for place, _, names in os.walk(root) for name in names if name.endswith(_SUFFIX)]


class Cache:
    """Named arrays on disk, one file for each key; safe for several threads and processes.

    Entries are in a subfolder `kind`, and are found only by the `version` of the code that stored them. ``notes`` holds
    a remark if the cache cannot be used, ``damaged`` the number of damaged entries found and deleted.
    """

    def __init__(
        self, kind: str, version: str | int, *, folder: str | os.PathLike[str] | None = None, max_bytes: int = MAX_BYTES
    ) -> None:
        root = cache_folder() if folder is None else Path(folder)
        self.folder = None if root is None else root / kind
        self.version = str(version)
        self.max_bytes = max_bytes
        self.notes: list[str] = []
        self.damaged = 0
        self._lock = threading.Lock()
        self._bytes: int | None = None  # size of all entries, once they were counted
        fault = "there is no home directory" if self.folder is None else _distrust(self.folder)
        if fault is not None:
            self._give_up(fault)

    def _give_up(self, reason: str) -> None:
        with self._lock:
            if not self.notes:
                self.notes.append(f"working without a cache: {reason}")
            self.folder = None

    def _path(self, folder: Path, key: str) -> Path:
        name = digest(self.version, key)
        return folder / name[:2] / f"{name[2:]}{_SUFFIX}"

    def load(self, key: str) -> dict[str, Array] | None:
        """Arrays stored under a key; None if there is no entry, or a damaged one."""
        if self.folder is None:
            return None
        path = self._path(self.folder, key)
        try:
            with open_file(path) as file:
                raw = file.read()
        except (OSError, ValueError):
            return None
        data = raw[_DIGEST:]
        if hashlib.blake2b(data, digest_size=_DIGEST).digest() == raw[:_DIGEST]:
            with suppress(ValueError, OSError, KeyError, EOFError, NotImplementedError, zipfile.BadZipFile):
                found = _arrays(data)
                with suppress(OSError):
                    os.utime(path)  # used just now, so deleted last
                return found
        self.drop(key)
        return None

    def drop(self, key: str) -> None:
        """Delete an entry that turned out to be wrong."""
        with self._lock:
            self.damaged += 1
        if self.folder is not None:
            with suppress(OSError):
                self._path(self.folder, key).unlink()

    def store(self, key: str, arrays: Mapping[str, Any]) -> None:
        """Store arrays under a key, replacing an old entry; if that fails, the cache is not used any more."""
        if (folder := self.folder) is None:
            return
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)
        data = buffer.getvalue()
        if len(data) > self.max_bytes:
            return
        try:
            path = self._path(folder, key)
            if not folder.is_dir():
                folder.parent.mkdir(parents=True, exist_ok=True)
                folder.mkdir(mode=0o700, exist_ok=True)
            path.parent.mkdir(mode=0o700, exist_ok=True)
            with atomic_write(path) as temporary:
                temporary.write_bytes(hashlib.blake2b(data, digest_size=_DIGEST).digest() + data)
        except OSError as error:
            reason = error.strerror or str(error)
            self._give_up(f"cannot write to {folder} ({reason[:1].lower() + reason[1:]})")
            return
        self._make_room(folder, len(data))

    def _make_room(self, folder: Path, added: int) -> None:
        """Above the size limit, delete the least recently used entries, down to three quarters of the limit."""
        with self._lock:
            if self._bytes is not None:
                self._bytes += added
                if self._bytes <= self.max_bytes:
                    return
            found = []
            for path in _entries(folder):
                with suppress(OSError):
                    status = path.stat()
                    found.append((status.st_mtime_ns, status.st_size, path))
            self._bytes = sum(size for _, size, _ in found)
            if self._bytes > self.max_bytes:
                for _, size, path in sorted(found):
                    if self._bytes <= 0.75 * self.max_bytes:
                        break
                    with suppress(OSError):
                        path.unlink()
                    self._bytes -= size


def _arrays(data: bytes) -> dict[str, Array]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > len(data):
            raise ValueError("entries are never compressed")  # this one may be a decompression bomb
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        return dict(arrays)


def _distrust(folder: Path) -> str | None:
    """Why a folder is unsafe for a cache: another user owns it, or every user may write to it; None if it is safe."""
    if not hasattr(os, "geteuid"):
        return None
    try:
        status = folder.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"{folder} cannot be used ({(error.strerror or str(error)).lower()})"
    if status.st_uid != os.geteuid():
        return f"{folder} belongs to another user"
    if stat.S_IMODE(status.st_mode) & stat.S_IWOTH:
        return f"every user may write to {folder}"
    return None
