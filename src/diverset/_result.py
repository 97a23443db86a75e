"""What the results of all verbs share: frames, files, pages and notebooks.

``select``, ``compare``, ``summarize``, ``find_threads`` and ``pick_images`` return objects of classes that derive from
:class:`Result`. Such a class names its page and says what its rows are; the rest is here.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from diverset.errors import DiversetError, MissingExtraError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Result", "ending"]


def ending(path: str | os.PathLike[str], allowed: Sequence[str]) -> str:
    """The extension of a file to write, in lower case; refused unless it is one of `allowed`."""
    kind = os.path.splitext(path)[1].lower()
    if kind not in allowed:
        raise DiversetError(f"cannot write {path}: its name must end in {', '.join(allowed[:-1])} or {allowed[-1]}")
    return kind


def _module(name: str) -> Any:
    """A module, imported when it is needed."""
    from importlib import import_module

    return import_module(name)


class Result:
    """Base of the results of verbs: export as rows, as a dictionary, as a file, and in a notebook."""

    #: Extensions that :meth:`save` writes.
    formats: ClassVar[tuple[str, ...]] = (".html", ".json", ".jsonl", ".csv", ".parquet", ".md")
    #: Module of ``diverset.pages``, and template, that shows the result.
    _page: ClassVar[str]

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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result to a file; :attr:`formats` lists the extensions. The file appears whole or not at all.

        ``.html`` is a page that needs no network, ``.json`` holds :meth:`to_dict`, ``.md`` and ``.txt`` are for people,
        and the others hold :meth:`records`.
        """
        from pathlib import Path

        output, kind = Path(path), ending(path, self.formats)
        # Files and pages belong to layers above this one, so they are imported when they are needed.
        if kind == ".html":
            _module("diverset.pages.base").write_page(self, output)
        elif kind in (".json", ".md", ".txt"):
            with _module("diverset.io.files").atomic_write(output) as temporary:
                temporary.write_text(self.as_text(kind), encoding="utf-8", errors="replace", newline="\n")
        else:
            self._save_rows(output)

    def _save_rows(self, output: Path) -> None:
        rows = self.records()
        columns = {name: [row.get(name) for row in rows] for row in rows for name in row}
        _module("diverset.io.tables").write_table(output, columns)

    def as_text(self, kind: str) -> str:
        """The result as text: ``.json``, ``.md``, or ``.txt`` for what ``print`` shows."""
        if kind == ".json":
            import json

            return json.dumps(self.to_dict(), ensure_ascii=False, indent=1, default=str) + "\n"
        if kind == ".md":
            return str(_module("diverset.pages.base").as_markdown(self))
        return f"{self}\n"

    def _repr_html_(self) -> str:
        return str(_module("diverset.pages.base").as_fragment(self))
