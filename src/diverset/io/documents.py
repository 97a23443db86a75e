"""Documents: plain text, Markdown, web pages and tables with texts, in files, folders, standard input or frames."""

import codecs
import html
import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np

from diverset.errors import DiversetError
from diverset.io.dates import parse_dates
from diverset.io.features import TEXTS, guess_id, guess_text, is_prose, looks_like_id
from diverset.io.files import byte_limit, decode, is_frame, is_own_page, kind_of, plural, read_bytes, read_stdin
from diverset.io.tables import TEXT_KINDS, Table, as_text, is_blank, parse_table, read_table

__all__ = ["Document", "html_text", "markdown_text", "read_documents"]

TEXT_FILES = (".txt", ".text", ".md", ".markdown", ".html", ".htm")
KINDS = (*TEXT_FILES, *TEXT_KINDS, ".parquet")
#: Names of columns, in order of preference.
TIMES = ("date", "published", "published_at", "publication_date", "datetime", "timestamp", "time", "created_at", "year")
TITLES = ("title", "headline", "name", "subject")
LINKS = ("url", "link", "href")
SOURCES = ("source", "publisher", "outlet", "author", "site")
#: Elements of a web page that are not its text, and those whose content is not markup.
_SILENT = frozenset(("script", "style", "nav", "footer", "aside", "form", "noscript", "template", "svg", "head"))
_RAW = frozenset(("script", "style"))
_INLINE = frozenset(
    "a abbr b bdi bdo cite code data dfn em font i kbd mark q s samp small span strong sub sup time u var wbr".split()
)
_IN_HEAD = frozenset(("title", "meta", "link", "base", "script", "style", "noscript", "template"))
#: Comments, declarations and tags, each up to its end or that of the page; matching takes linear time.
_TAG = re.compile(
    r"<!--.*?(?:-->|\Z)|<[!?][^>]*+(?:>|\Z)"
    r"""|<(/?)([a-z][^\s/>]*+)(?:=\s*+"[^"]*+(?:"|\Z)|=\s*+'[^']*+(?:'|\Z)|[^>])*+(?:>|\Z)""",
    re.DOTALL | re.IGNORECASE,
)
_DATE_IN_NAME = re.compile(r"(?<!\d)(\d{4})([-_.]?)(\d{2})\2(\d{2})(?!\d)")
_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset=[\"']?([\w-]{2,20})", re.IGNORECASE)
#: An address in parentheses, which may hold one pair of parentheses itself.
_ADDRESS = r"\((?:[^()\n]|\([^()\n]{0,200}\)){0,2000}+\)"
#: Every pattern stops at a line end, a fixed length, or the next mark of its kind, so that matching takes linear time.
_MARKDOWN: tuple[tuple[re.Pattern[str], Any], ...] = (
    (re.compile(r"^ {0,3}(```|~~~).*?^ {0,3}\1[^\n]*$", re.MULTILINE | re.DOTALL), ""),  # code
    (re.compile(r"\A---\n.*?\n---\n", re.DOTALL), ""),  # front matter
    (re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL), " "),
    (re.compile(r"!\[[^\[\]]{0,1000}\]" + _ADDRESS), " "),  # images
    (re.compile(r"\[([^\[\]]{0,1000})\]" + _ADDRESS), r"\1"),  # links
    (re.compile(r"\[([^\[\]]{0,1000})\]\[[^\[\]]{0,200}\]"), r"\1"),
    (re.compile(r"^\[[^\[\]\n]{1,500}\]:.*$", re.MULTILINE), ""),
    (re.compile(r"^ {0,3}#{1,6}[ \t]+(.*)$", re.MULTILINE), lambda match: "\n" + match[1].rstrip(" \t#") + "\n"),
    (re.compile(r"^ {0,3}(?:[-*_][ \t]*+){3,}+$|^ {0,3}=+[ \t]*$", re.MULTILINE), "\n"),
    (re.compile(r"^[ \t]*>[ \t]?", re.MULTILINE), ""),
    (re.compile(r"^[ \t]*+\|.*\|[ \t]*$", re.MULTILINE), ""),  # tables
    (re.compile(r"(\*\*|__|\*|(?<!\w)_|_(?!\w)|`+|~~)"), ""),
)


class Document(NamedTuple):
    """A document, with its place in the input; the date is in UTC, or None for the reason given.

    ``text`` is a list of sentences if the file lists them. ``zone`` is the time zone as written.
    """

    text: str | list[str]
    name: str
    date: np.datetime64 | None = None
    zone: str = ""
    reason: str = ""
    title: str = ""
    id: Any = None
    url: str = ""
    source: str = ""
    where: str = ""
    row: int = 0


def read_documents(
    sources: Any, stdin: TextIO | None = None, *, notes: list[str] | None = None, **options: Any
) -> list[Document]:
    """Read documents from a path, a frame, or a sequence of them; the options are the fields of :class:`_Reader`.

    A folder stands for all files in it that can be read, in order of name, with a remark in `notes` on the others;
    ``-``, and an empty sequence, for standard input (a text, a web page or JSON).
    """
    reader = _Reader([] if notes is None else notes, **options)
    single = isinstance(sources, str | os.PathLike) or is_frame(sources)
    found: list[Document] = []
    for source in [sources] if single else list(sources) or ["-"]:
        if not isinstance(source, str | os.PathLike):
            found += reader.table(read_table(source))
        elif os.fspath(source) == "-":
            raw = read_stdin(stdin, max_bytes=reader.max_bytes)
            content = decode(raw, "standard input", encoding=reader.encoding, notes=reader.notes)
            found += reader.content(content, _kind_of(content), "standard input")
        else:
            found += reader.path(Path(source))
    return found


@dataclass
class _Reader:
    """Settings for reading documents; ``text``, ``title``, ``time`` and ``label`` are columns of tables."""

    notes: list[str]
    text: str | None = None
    title: str | None = None
    time: str | None = None
    label: str | None = None
    day_first: bool | None = None
    date_format: str | None = None
    encoding: str | None = None
    max_bytes: int | None = None

    def path(self, path: Path) -> list[Document]:
        if not path.is_dir():
            kind = kind_of(path)
            if kind and kind not in KINDS and path.exists():
                listed = f"{', '.join(KINDS[:-1])} or {KINDS[-1]}"
                raise DiversetError(f"cannot read {path}: its name must end in {listed}")
            return self.file(path, path.name)
        files = sorted(
            Path(place, name)
            for place, _, names in os.walk(path)
            for name in names
            if kind_of(name) in KINDS and not name.startswith(".")
        )
        if not files:
            raise DiversetError(f"{path} contains no file that can be read ({', '.join(KINDS)})")
        found: list[Document] = []
        faults: list[str] = []
        left = byte_limit(self.max_bytes)
        for file in files:
            try:
                found += replace(self, max_bytes=left).file(file, file.relative_to(path).as_posix())
                left -= min(left, file.stat().st_size)
            except DiversetError as error:
                faults.append(str(error))
        if faults:
            if not found:
                raise DiversetError(faults[0])
            self.notes.append(f"{plural(len(faults), 'file')} left out: {faults[0]}")
        return found

    def file(self, path: Path, name: str) -> list[Document]:
        kind = kind_of(path) or ".txt"
        if kind == ".parquet":
            return self.table(read_table(path))
        raw = read_bytes(path, max_bytes=self.max_bytes)
        encoding = self.encoding
        if kind in (".html", ".htm"):
            if is_own_page(raw):
                raise DiversetError(f"{path} is a page that diverset wrote, and is not read as a document")
            declared = _CHARSET.search(raw, 0, 2048)
            if encoding is None and declared is not None:
                # UTF-8 is tried first anyway, and unknown encodings are ignored.
                with suppress(LookupError):
                    name_of = codecs.lookup(declared[1].decode()).name
                    encoding = None if name_of in ("utf-8", "ascii") else name_of
        return self.content(decode(raw, str(path), encoding=encoding, notes=self.notes), kind, name)

    def content(self, text: str, kind: str, name: str) -> list[Document]:
        if kind in TEXT_KINDS:
            return self.table(parse_table(text, kind, name, self.notes, plain_texts=True)) if text.strip() else []
        plain = {".html": html_text, ".htm": html_text, ".md": markdown_text, ".markdown": markdown_text}.get(kind, str)
        date = date_in_name(name)
        reason = "" if date is not None else "its name contains no date such as 2005-02-24"
        return [Document(plain(text), name, date, reason=reason, id=Path(name).stem, where=name)]

    def table(self, table: Table) -> list[Document]:
        self.notes.extend(note for note in table.notes if note not in self.notes)
        times, titles = (self._named(table, what, names) for what, names in (("time", TIMES), ("title", TITLES)))
        texts = self._named(table, "text", TEXTS)
        if not texts:
            guess = guess_text(table, {*times, *titles})
            texts = [guess] if guess is not None and is_prose(table, guess) else titles[:1]
            if not texts:
                raise DiversetError(
                    f"{table.name} has no text: no column is called {', '.join(TEXTS[:-1])} or {TEXTS[-1]}; name one "
                    "that holds texts with --text"
                )
            self.notes.append(f"taking {texts[0]!r} as the text; --text names another column")
        label = self.label or guess_id(table)
        ids = list(range(1, table.n + 1)) if label is None else [as_text(cell) for cell in table.column(label)]
        dates = parse_dates(_first(table, times), day_first=self.day_first, date_format=self.date_format)
        self.notes.extend(note for note in dates.notes if note not in self.notes)
        shown = [as_text(cell) for cell in _first(table, [name for name in titles if name != texts[0]])]
        labels = _first(table, [name for name in table.guessable if looks_like_id(name)] if label is None else [label])
        links, sources = (_first(table, self._named(table, "", names)) for names in (LINKS, SOURCES))
        found = []
        for i, cell in enumerate(_first(table, texts)):
            sentences = isinstance(cell, list | tuple) and all(isinstance(sentence, str) for sentence in cell)
            if not sentences and not isinstance(cell, str | None):
                raise DiversetError(
                    f"{table.name}, {table.place(i)} has no text: {texts[0]!r} must hold a text or a list of sentences"
                )
            date = None if i in dates.reasons else dates.times[i]
            name = shown[i].strip() or as_text(labels[i]) or f"{table.name}, {table.place(i)}"
            reason = dates.reasons.get(i, "") if times else "there is no column of dates"
            found.append(
                Document(
                    cell or "", name, date, dates.zones[i], reason, shown[i].strip(), ids[i], as_text(links[i]),
                    as_text(sources[i]), f"{table.name}, {table.where(i)}", i,
                )
            )  # fmt: skip
        return found

    def _named(self, table: Table, what: str, names: Iterable[str]) -> list[str]:
        """The column that the user named, or all with a known name, in order of preference."""
        given: str | None = getattr(self, what, None)
        if given is not None:
            table.column(given)
            return [given]
        lower = {column.lower(): column for column in table.columns}
        return [lower[name] for name in names if name in lower]


def _first(table: Table, names: Sequence[str]) -> list[Any]:
    """For each row, the first of its cells in some columns that is not blank."""
    found: list[Any] = [None] * table.n
    for name in reversed(names):
        cells = table.column(name)
        found = [found[i] if cell == [] or is_blank(cell) else cell for i, cell in enumerate(cells)]
    return found


def date_in_name(name: str) -> np.datetime64 | None:
    """The date in a file name such as ``2005-02-24-pope.txt`` or ``20050224.md``; None if there is none."""
    for year, _, month, day in _DATE_IN_NAME.findall(name):
        with suppress(ValueError):
            return np.datetime64(f"{year}-{month}-{day}", "s")
    return None


def _kind_of(text: str) -> str:
    """The kind of a text from standard input, by its beginning."""
    if re.match(r"\s*<(!doctype|html)", text, re.IGNORECASE):
        return ".html"
    for kind, part in ((".jsonl", text.lstrip().partition("\n")[0]), (".json", text)):
        with suppress(DiversetError):
            parse_table(part, kind, "")
            return kind
    return ".txt"


def html_text(page: str) -> str:
    """Text of a web page, with blank lines between paragraphs, in linear time.

    >>> html_text("<h1>News</h1><p>It <b>rained</b> &amp; poured.</p><script>x()</script>").split()
    ['News', 'It', 'rained', '&', 'poured.']
    """
    pieces: list[str] = []
    silent: list[str] = []
    at = 0
    while at < len(page):
        tag = _TAG.search(page, at)
        data = page[at : tag.start() if tag else len(page)]
        if data and not silent:
            # Line breaks in the source are blanks; references beyond Unicode are dropped.
            data = re.sub(r"&#(?:\d{8,}|x[0-9a-f]{8,});?", " ", data, flags=re.IGNORECASE)
            pieces.append(re.sub(r"\s+", " ", html.unescape(data)))
        if tag is None:
            break
        at = tag.end()
        name = (tag[2] or "").lower()
        if not name:
            continue
        if tag[1]:
            if silent and name == silent[-1]:
                silent.pop()
            elif name not in _INLINE:
                pieces.append("\n\n")
            continue
        if silent == ["head"] and name not in _IN_HEAD:
            silent.clear()  # its end may be left out
        if name in _RAW:
            end = re.compile(f"</{name}", re.IGNORECASE).search(page, at)
            at = end.start() if end else len(page)
        if name in _SILENT:
            silent.append(name)
        elif name not in _INLINE:
            pieces.append("\n" if name == "br" else "\n\n")
    return "".join(pieces)


def markdown_text(text: str) -> str:
    r"""Text of a Markdown document without marks, code and tables, in linear time.

    >>> markdown_text("# News\n\nIt *rained* on [the town](x.html).").split()
    ['News', 'It', 'rained', 'on', 'the', 'town.']
    """
    text = text.replace("\r\n", "\n")
    for pattern, replacement in _MARKDOWN:
        text = pattern.sub(replacement, text)
    return text
