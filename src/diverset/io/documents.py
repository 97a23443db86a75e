"""Documents to read: plain text, Markdown, HTML, JSON lines; files, folders or standard input."""

import json
import re
import sys
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

import numpy as np

from diverset.errors import DiversetError

if TYPE_CHECKING:
    from diverset.text import Cluster

__all__ = ["cluster_of_frame", "read_cluster", "read_documents"]

KINDS = (".txt", ".text", ".md", ".markdown", ".html", ".htm", ".jsonl", ".ndjson")
#: Where a JSON object keeps its text, first found first taken; and its name.
_TEXT_KEYS = ("text", "body", "content", "article", "document", "sentences", "abstract")
_NAME_KEYS = ("title", "headline", "name", "id")
_DATE_KEYS = ("date", "published", "published_at", "publication_date", "datetime", "timestamp", "time", "created_at")
_DATE_IN_NAME = re.compile(r"(?<!\d)(\d{4})[-_.]?(\d{2})[-_.]?(\d{2})(?!\d)")
#: Parts of a web page that are not its text.
_SILENT = {"script", "style", "nav", "footer", "aside", "form", "noscript", "template", "svg", "head"}
_INLINE = frozenset(
    "a abbr b bdi bdo cite code data dfn em font i kbd mark q s samp small span strong sub sup time u var wbr".split()
)
_IN_HEAD = frozenset(("title", "meta", "link", "base", "script", "style", "noscript", "template"))
_FENCE = re.compile(r"^ {0,3}(```|~~~).*?^ {0,3}\1[^\n]*$", re.MULTILINE | re.DOTALL)
_MARKDOWN = (
    (re.compile(r"\A---\n.*?\n---\n", re.DOTALL), ""),  # front matter
    (re.compile(r"<!--.*?-->", re.DOTALL), " "),
    (re.compile(r"!\[[^\]]*\]\([^)]*\)"), " "),  # images
    (re.compile(r"\[([^\]]*)\]\([^)]*\)"), r"\1"),  # links
    (re.compile(r"\[([^\]]*)\]\[[^\]]*\]"), r"\1"),
    (re.compile(r"^\[[^\]]+\]:.*$", re.MULTILINE), ""),
    (re.compile(r"^ {0,3}#{1,6}[ \t]+(.*?)[ \t#]*$", re.MULTILINE), r"\n\1\n"),  # headings
    (re.compile(r"^ {0,3}(?:[-*_][ \t]*){3,}$|^ {0,3}=+[ \t]*$", re.MULTILINE), "\n"),
    (re.compile(r"^[ \t]*>[ \t]?", re.MULTILINE), ""),
    (re.compile(r"^[ \t]*\|.*\|[ \t]*$", re.MULTILINE), ""),  # tables
    (re.compile(r"(\*\*|__|\*|(?<!\w)_|_(?!\w)|`+|~~)"), ""),
)


class Document(NamedTuple):
    """A document: its text, or its sentences where the file has them apart; its name; its date, if it says one."""

    text: str | list[str]
    name: str
    date: np.datetime64 | None


def read_documents(paths: Sequence[str], stdin: TextIO | None = None) -> list[Document]:
    """Read documents.

    Parameters
    ----------
    paths : sequence of str
        Files, folders (all files in them of a kind that can be read, in order of name), or ``-`` for standard input;
        standard input if there are none. It may hold a text, a web page or JSON lines.
    stdin : text stream, optional
        Instead of standard input.

    Returns
    -------
    list of Document
        In order.
    """
    return [
        document
        for given in paths or ["-"]
        for name, kind, text in _texts(given, stdin)
        for document in _parts(text, kind, name)
    ]


def read_cluster(paths: Sequence[str], stdin: TextIO | None = None) -> "Cluster":
    """Read documents about one thing: :func:`read_documents` as a :class:`diverset.text.Cluster`."""
    return _cluster(read_documents(paths, stdin))


def cluster_of_frame(frame: Any) -> "Cluster":
    """Documents in the rows of a pandas or polars frame, with columns named like the keys of JSON lines."""
    records = frame.to_dicts() if hasattr(frame, "to_dicts") else frame.to_dict("records")
    # A cell that differs from itself is NaN, which is how pandas marks a missing one.
    kept = [{str(key): cell for key, cell in record.items() if cell is not None and cell == cell} for record in records]
    return _cluster([_from_record(record, f"row {i}") for i, record in enumerate(kept)])


def _cluster(documents: list[Document]) -> "Cluster":
    from diverset.text import Cluster

    return Cluster(
        [document.text for document in documents],
        names=[document.name for document in documents],
        dates=[document.date for document in documents],
    )


def _texts(given: str, stdin: TextIO | None) -> list[tuple[str, str, str]]:
    """Name, kind and content of every file that an argument stands for."""
    if given == "-":
        stream = sys.stdin if stdin is None else stdin
        if stream.isatty():
            raise DiversetError("there is nothing to read; name files or folders, or pipe a text in")
        raw = stream.buffer.read() if hasattr(stream, "buffer") else stream.read().encode("utf-8", "replace")
        text = _decoded(raw)
        return [("standard input", _kind_of(text), text)]
    path = Path(given)
    if not path.exists():
        raise DiversetError(f"cannot read {path}: there is no such file or folder")
    if path.is_dir():
        files = [file for file in sorted(path.rglob("*")) if file.is_file() and file.suffix.lower() in KINDS]
        if not files:
            raise DiversetError(f"{path} holds no file that can be read ({', '.join(KINDS)})")
        return [(str(file.relative_to(path)), file.suffix.lower(), _read(file)) for file in files]
    kind = path.suffix.lower()
    if path.is_file() and kind and kind not in KINDS:
        raise DiversetError(f"cannot read {path}: its name must end in {', '.join(KINDS[:-1])} or {KINDS[-1]}")
    return [(path.name, kind or ".txt", _read(path))]


def _kind_of(text: str) -> str:
    """What standard input holds, by how it begins."""
    if re.match(r"\s*<(!doctype|html)", text, re.IGNORECASE):
        return ".html"
    try:
        return ".jsonl" if isinstance(json.loads(text.lstrip().partition("\n")[0]), dict) else ".txt"
    except (ValueError, RecursionError):
        return ".txt"


def _read(path: Path) -> str:
    raw = path.read_bytes()
    if b"\0" in raw[:4096] and not raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DiversetError(f"{path} is no text: it holds zero bytes")
    return _decoded(raw)


def _decoded(raw: bytes) -> str:
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return raw.decode("utf-16", "replace")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("cp1252", "replace")


def _parts(text: str, kind: str, name: str) -> list[Document]:
    if kind in (".jsonl", ".ndjson"):
        return _from_json_lines(text, name)
    date = _date("-".join(found.groups())) if (found := _DATE_IN_NAME.search(name)) else None
    if kind in (".html", ".htm"):
        return [Document(html_text(text), name, date)]
    if kind in (".md", ".markdown"):
        return [Document(markdown_text(text), name, date)]
    return [Document(text, name, date)]


def _date(cell: Any) -> np.datetime64 | None:
    """A date, or None where it cannot be read: a summary does without."""
    from diverset.io.dated import parse_time

    try:
        return parse_time(cell)
    except (ValueError, OverflowError):
        return None


def _from_json_lines(text: str, name: str) -> list[Document]:
    found: list[Document] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DiversetError(f"{name}, line {number} is no JSON: {error}") from None
        found.append(_from_record(record, f"{name}, line {number}"))
    return found


def _from_record(record: Any, where: str) -> Document:
    date = None
    if isinstance(record, dict):
        date = next((_date(record[key]) for key in _DATE_KEYS if record.get(key)), None)
        called = next((str(record[key]) for key in _NAME_KEYS if record.get(key)), where)
        value = next((record[key] for key in _TEXT_KEYS if record.get(key)), None)
        if value is None and any(record.get(key, 0) in ("", [], None) for key in _TEXT_KEYS):
            value = ""  # a document, if an empty one
    else:
        called, value = where, record
    if isinstance(value, str):
        return Document(value, called, date)
    if isinstance(value, list) and all(isinstance(sentence, str) for sentence in value):
        return Document(value, called, date)
    raise DiversetError(f"{where} has no text: it needs one of {', '.join(_TEXT_KEYS)}, a text or a list of sentences")


class _PageText(HTMLParser):
    """Collects the text of a web page; elements that are no part of a line end it."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self.silent: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if self.silent == ["head"] and tag not in _IN_HEAD:
            self.silent.clear()  # its end may be left out
        if tag in _SILENT:
            self.silent.append(tag)
        elif tag not in _INLINE:
            self.pieces.append("\n" if tag == "br" else "\n\n")

    def handle_endtag(self, tag: str) -> None:
        if self.silent and tag == self.silent[-1]:
            self.silent.pop()
        elif tag not in _INLINE:
            self.pieces.append("\n\n")

    def handle_data(self, data: str) -> None:
        if not self.silent:
            # Line breaks in the source are blanks.
            self.pieces.append(re.sub(r"\s+", " ", data))


def html_text(page: str) -> str:
    """Text of a web page, paragraphs apart.

    >>> html_text("<h1>News</h1><p>It <b>rained</b> &amp; poured.</p><script>x()</script>").split()
    ['News', 'It', 'rained', '&', 'poured.']
    """
    parser = _PageText()
    parser.feed(page)
    parser.close()
    return "".join(parser.pieces)


def markdown_text(text: str) -> str:
    r"""Text of a Markdown document without its marks, code and tables.

    >>> markdown_text("# News\n\nIt *rained* on [the town](x.html).").split()
    ['News', 'It', 'rained', 'on', 'the', 'town.']
    """
    text = _FENCE.sub("", text.replace("\r\n", "\n"))
    for pattern, replacement in _MARKDOWN:
        text = pattern.sub(replacement, text)
    return text
