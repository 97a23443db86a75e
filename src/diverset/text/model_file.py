"""The file of a summarizer: JSON that can be read by eye, with the version of its format and a checksum.

Nothing in a file is executed. The checksum is taken over what the file says, not over how it is laid out: a file that
was indented anew or got other line ends is still the same model, one in which a digit was changed is not. It guards
against damage; it is no signature, so a reader of the entries checks them all the same.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any, NoReturn

from diverset.errors import DiversetError
from diverset.io.files import atomic_write

__all__ = ["parse_model", "read_model", "write_model"]

_NAME = "diverset summarizer"
VERSION = 3
#: Bytes of a file at most.
_LONGEST = 1 << 20


def _checksum(entries: Mapping[str, Any]) -> str:
    """SHA-256 of all entries but the checksum, in one fixed layout."""
    rest = {key: value for key, value in entries.items() if key != "sha256"}
    plain = json.dumps(rest, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(plain.encode("ascii")).hexdigest()


def write_model(path: str | os.PathLike[str], entries: Mapping[str, Any]) -> None:
    """Write entries with format and checksum; an existing file is replaced only once the new one is complete."""
    head = {"format": f"{_NAME} {VERSION}"}
    stored = head | {"sha256": _checksum(head | dict(entries))} | dict(entries)
    text = json.dumps(stored, indent=0, ensure_ascii=False, allow_nan=False)
    with atomic_write(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8", newline="\n")


def read_model(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Entries of a file that :func:`write_model` wrote, format and checksum seen to."""
    with open(path, "rb") as file:
        raw = file.read(_LONGEST + 1)
    if len(raw) > _LONGEST:
        raise DiversetError(f"{path} is not a summarizer file: it has more than {_LONGEST:,} bytes")
    return parse_model(raw, str(path))


def parse_model(raw: bytes, name: str) -> dict[str, Any]:
    """Entries of the bytes of a file; `name` is what messages call it."""
    try:
        stored: Any = json.loads(raw.decode("utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise DiversetError(f"{name} is not a summarizer file, or is damaged: {error}") from None
    entries: dict[str, Any] = stored if isinstance(stored, dict) else {}
    given = entries.get("format")
    if not isinstance(given, str) or not given.startswith(_NAME + " "):
        raise DiversetError(f"{name} is not a summarizer file: its format is {str(given)[:40]!r}")
    if given != f"{_NAME} {VERSION}":
        raise DiversetError(
            f"{name} has format {given[:40]!r}; this diverset reads version {VERSION}: fit the model and save it again"
        )
    try:
        checksum = _checksum(entries)
    except ValueError as error:  # 1e999 is infinite, which no file of ours holds
        raise DiversetError(f"{name} is damaged: {error}") from None
    if entries.get("sha256") != checksum:
        raise DiversetError(f"{name} is damaged: its checksum is not that of its entries")
    return entries


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of JSON")
