"""Features kept on disk, under the contents they were computed from, with a checksum that is checked.

An entry is found by a digest of the image's bytes, of the settings and of the versions of the libraries that computed
it: a renamed file finds its features again, a changed one does not. An entry that was cut short or altered counts as
absent and is written anew.
"""

from __future__ import annotations

import hashlib
import io
import os
import threading
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np

from diverset._typing import Array
from diverset.errors import DiversetError
from diverset.io.files import atomic_write

__all__ = ["FeatureCache", "digest"]

_DIGEST = 32


def digest(*parts: bytes | str) -> str:
    """Name for contents: equal if and, as good as certainly, only if all parts are equal."""
    total = hashlib.blake2b(digest_size=_DIGEST)
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(len(data).to_bytes(8, "little"))
        total.update(data)
    return total.hexdigest()


class FeatureCache:
    """Named arrays in a folder, one file for each key.

    Parameters
    ----------
    folder : path-like
        Made when something is first kept.

    Attributes
    ----------
    damaged : int
        Entries found to be damaged so far, which were dropped.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cache = FeatureCache(folder)
    ...     cache.store("ab12", {"color-8": np.ones(8)})
    ...     sorted(cache.load("ab12")), sorted(cache.load("ffff"))
    (['color-8'], [])
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.damaged = 0
        self._counting = threading.Lock()  # several threads may find damage at once

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key[2:]}.features"

    def load(self, key: str) -> dict[str, Array]:
        """Arrays kept under a key; none if there are none, or if they are damaged."""
        path = self._path(key)
        try:
            raw = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return {}
        checksum, data = raw[:_DIGEST], raw[_DIGEST:]
        if hashlib.blake2b(data, digest_size=_DIGEST).digest() == checksum:
            with suppress(ValueError, OSError, KeyError, zipfile.BadZipFile), np.load(io.BytesIO(data)) as arrays:
                return dict(arrays)
        with self._counting:
            self.damaged += 1
        with suppress(OSError):
            path.unlink()
        return {}

    def store(self, key: str, arrays: Mapping[str, Array]) -> None:
        """Keep arrays under a key, in place of what was there."""
        path = self._path(key)
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **arrays)
        data = buffer.getvalue()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(path) as temporary:
                temporary.write_bytes(hashlib.blake2b(data, digest_size=_DIGEST).digest() + data)
        except OSError as error:
            raise DiversetError(
                f"cannot keep features in {self.folder}: {error.strerror or error}; name another folder, or do without "
                "a cache (--no-cache, cache=None)"
            ) from error
