"""The base class of results: export to frames, files, pages and notebooks.

``select``, ``compare``, ``summarize``, ``find_threads`` and ``pick_images`` return subclasses of :class:`Result`, which
define the name of their page and their rows.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from diverset.errors import DiversetError, MissingExtraError

__all__ = ["Result", "ending"]


def ending(path: str | os.PathLike[str], allowed: Sequence[str]) -> str:
    """The extension of a file to write, in lower case; raises an error if it is not one of `allowed`."""
    kind = os.path.splitext(path)[1].lower()
    if kind not in allowed:
        raise DiversetError(f"cannot write {path}: its name must end in {', '.join(allowed[:-1])} or {allowed[-1]}")
    return kind


def _module(name: str) -> Any:
    """A module of a higher layer, or an optional one, imported on use."""
    from importlib import import_module

    return import_module(name)


class Result:
    """Base of the results of verbs: export as rows, as a dictionary, as a file, and in a notebook."""

    #: Extensions that :meth:`save` writes.
    formats: ClassVar[tuple[str, ...]] = (".html", ".json", ".jsonl", ".csv", ".parquet", ".md")
    #: Module of ``diverset.pages``, and template, that shows the result.
    _page: ClassVar[str]
    #: Arrow types of the columns, if a result has rows of a file that has types.
    _types: Mapping[str, Any] | None = None

    def records(self) -> list[dict[str, Any]]:
        """One dictionary for each row of the result: picks, sentences, items or settings."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """The whole result, in a form that JSON can hold."""
        raise NotImplementedError

    def to_frame(self, library: str | None = None) -> Any:
        """The rows as a data frame.

        Parameters
        ----------
        library : {"pandas", "polars"}, optional
            Which kind of frame; by default the first of the two that is installed.
        """
        names = ("pandas", "polars") if library is None else (library,)
        if not set(names) <= {"pandas", "polars"}:
            raise DiversetError(f"library is {library!r}; choose pandas or polars")
        for name in names:
            try:
                frames = _module(name)
            except ImportError:
                continue
            return frames.DataFrame(self.records())
        raise MissingExtraError(f"to_frame needs {' or '.join(names)}: pip install {names[0]}")

    def save(self, path: str | os.PathLike[str], *, raw_cells: bool = False) -> None:
        """Write the result to a file, atomically; :attr:`formats` lists the extensions.

        ``.html`` is a page that needs no network, ``.json`` holds :meth:`to_dict`, ``.md`` and ``.txt`` are for
        reading, and the others hold :meth:`records`.

        Parameters
        ----------
        path : path-like
            The file to write.
        raw_cells : bool
            In CSV, a text that a spreadsheet would execute as a formula gets an apostrophe in front, unless this is
            true.
        """
        from pathlib import Path

        output, kind = Path(path), ending(path, self.formats)
        if kind == ".html":
            _module("diverset.pages.base").write_page(self, output)
        elif kind in (".csv", ".jsonl", ".parquet"):
            columns = self._columns(typed=kind != ".csv")
            _module("diverset.io.tables").write_table(output, columns, self._types, raw_cells=raw_cells)
        else:
            with _module("diverset.io.files").atomic_write(output) as temporary:
                temporary.write_text(self.as_text(kind), encoding="utf-8", errors="replace", newline="\n")

    def _columns(self, typed: bool) -> dict[str, Sequence[Any]]:
        rows = self.records()
        return {name: [row.get(name) for row in rows] for row in rows for name in row}

    def as_text(self, kind: str, *, raw_cells: bool = False) -> str:
        """The result as text: ``.json``, ``.csv``, ``.md``, or ``.txt`` for the text that ``print`` shows."""
        if kind == ".json":
            import json

            return json.dumps(self.to_dict(), ensure_ascii=False, indent=1, default=str) + "\n"
        if kind == ".csv":
            return str(_module("diverset.io.tables").csv_text(self._columns(typed=False), raw_cells))
        if kind == ".md":
            return str(_module("diverset.pages.base").as_markdown(self))
        return f"{self}\n"

    def _repr_html_(self) -> str:
        return str(_module("diverset.pages.base").as_fragment(self))
