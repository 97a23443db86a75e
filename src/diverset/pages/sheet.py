"""Contact sheets: chosen images large, what each stands for small beneath it; as a page or as a picture."""

import base64
import io
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from diverset.errors import MissingExtraError
from diverset.images import read_image
from diverset.io.files import atomic_write
from diverset.pages.base import write_page

__all__ = ["Entry", "write_sheet_page", "write_sheet_picture"]

#: Pixels of the larger side of images on the page, and how many small ones are shown beneath a large one.
LARGE, SMALL = 480, 110
MOST_SMALL = 30
#: The picture: columns, size of a large image, size and number of small ones in a row, rows of them, and margins.
COLUMNS = 4
TILE = (360, 270)
CELL = (68, 52)
SMALL_ROWS = 2
GAP = 24
INK, SOFT, PAPER, PANEL, PICK, COPY = "#1b1f24", "#5b6470", "#ffffff", "#f2f4f7", "#0b5fb3", "#b45309"


@dataclass(frozen=True)
class Entry:
    """One chosen image.

    Attributes
    ----------
    path : Path
        The file.
    name : str
        What to call it.
    note : str
        Numbers, in words.
    others : list of (Path, str, bool)
        What it stands for, the most similar first: file, name, and whether it is a near copy.
    """

    path: Path
    name: str
    note: str
    others: Sequence[tuple[Path, str, bool]]


def write_sheet_page(
    output: Path, title: str, entries: Sequence[Entry], *, asked: Mapping[str, str], remarks: Sequence[str] = ()
) -> None:
    """Write the sheet as one HTML file with all images inside.

    Parameters
    ----------
    output : Path
        The file; it appears whole or not at all.
    title : str
        Its heading.
    entries : sequence of Entry
        Chosen images, in order.
    asked : mapping of str to str
        What was asked, in words.
    remarks : sequence of str
        What the reader should know.
    """
    paths = [(entry.path, LARGE) for entry in entries]
    paths += [(path, SMALL) for entry in entries for path, _, _ in entry.others[:MOST_SMALL]]
    with ThreadPoolExecutor() as pool:
        sources = dict(zip(paths, pool.map(_embedded, paths), strict=True))
    items = []
    for rank, entry in enumerate(entries, start=1):
        name = escape(entry.name)
        small = "".join(
            f'<li{_copy_class(copy)}><img alt="{_small_name(label, copy)}" title="{_small_name(label, copy)}" '
            f'src="{sources[path, SMALL]}" loading="lazy"></li>'
            for path, label, copy in entry.others[:MOST_SMALL]
        )
        left = len(entry.others) - MOST_SMALL
        more = f'<li class="more">and {left:,} more</li>' if left > 0 else ""
        items.append(
            f'<li id="pick-{rank}"><figure><img class="large" alt="{name}" src="{sources[entry.path, LARGE]}">'
            f'<figcaption><span class="rank">{rank}</span><span><b>{name}</b> '
            f'<span class="numbers">{escape(entry.note)}</span></span></figcaption></figure>'
            + (f'<ul class="small" aria-label="Stands for">{small}{more}</ul>' if small else "")
            + "</li>"
        )
    parts = [
        f"<h1>{escape(title)}</h1>",
        "<dl>" + "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in asked.items()) + "</dl>",
        *(f'<p class="remark">{escape(remark)}</p>' for remark in remarks),
        f'<ol class="picks">{"".join(items)}</ol>',
        '<p class="caption">Small: images that the large one above them is most like, the nearest first; '
        "framed ones are near copies of it, or of one another.</p>",
    ]
    write_page(output, title, parts, "sheet.html")


def _copy_class(copy: bool) -> str:
    return ' class="copy"' if copy else ""


def _small_name(label: str, copy: bool) -> str:
    return escape(f"{label} (near copy)" if copy else label)


def _embedded(wanted: tuple[Path, int]) -> str:
    """An image as a data address."""
    buffer = io.BytesIO()
    _picture(*wanted).save(buffer, "JPEG", quality=82)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()


def _picture(path: Path, longest: int) -> Any:
    return _pillow().Image.fromarray(read_image(path, longest=longest))


def _pillow() -> Any:
    try:
        import PIL.Image
        import PIL.ImageDraw
        import PIL.ImageFont
    except ImportError as error:
        raise MissingExtraError('images need Pillow: pip install "diverset[images]"') from error
    return PIL


def write_sheet_picture(output: Path, title: str, entries: Sequence[Entry]) -> None:
    """Write the sheet as one picture, PNG or JPEG by the extension.

    Parameters
    ----------
    output : Path
        The file; it appears whole or not at all.
    title : str
        Its heading.
    entries : sequence of Entry
        Chosen images, in order.
    """
    pil = _pillow()
    heading, text, tiny = (pil.ImageFont.load_default(size) for size in (30, 17, 14))
    columns = min(COLUMNS, max(len(entries), 1))
    rows = -(-len(entries) // columns)
    width = max(columns * (TILE[0] + GAP) + GAP, 2 * TILE[0])
    height_of_entry = TILE[1] + 34 + SMALL_ROWS * (CELL[1] + 4) + GAP
    sheet = pil.Image.new("RGB", (width, 76 + rows * height_of_entry + 8), PAPER)
    draw = pil.ImageDraw.Draw(sheet)
    draw.text((GAP, 20), _fitted(draw, title, heading, width - 2 * GAP), fill=INK, font=heading)
    for at, entry in enumerate(entries):
        left, top = GAP + at % columns * (TILE[0] + GAP), 76 + at // columns * height_of_entry
        draw.rectangle((left, top, left + TILE[0] - 1, top + TILE[1] - 1), fill=PANEL)
        _paste(sheet, _picture(entry.path, max(TILE)), left, top, TILE)
        rank = str(at + 1)
        room = int(draw.textlength(rank, font=text)) + 16
        draw.rounded_rectangle((left, top + TILE[1] + 6, left + room, top + TILE[1] + 28), 11, fill=PICK)
        draw.text((left + 8, top + TILE[1] + 8), rank, fill=PAPER, font=text)
        name = _fitted(draw, f"{entry.name}  {entry.note}".strip(), text, TILE[0] - room - 8)
        draw.text((left + room + 8, top + TILE[1] + 8), name, fill=INK, font=text)
        _draw_small(sheet, draw, entry, left, top + TILE[1] + 36, tiny)
    with atomic_write(output) as temporary:
        sheet.save(temporary)


def _draw_small(sheet: Any, draw: Any, entry: Entry, left: int, top: int, font: Any) -> None:
    """The small images in two rows; if there are more, the last place says how many."""
    across = (TILE[0] + 4) // (CELL[0] + 4)
    places = across * SMALL_ROWS
    shown = list(entry.others) if len(entry.others) <= places else list(entry.others)[: places - 1]
    for at, (path, _, copy) in enumerate(shown):
        x, y = left + at % across * (CELL[0] + 4), top + at // across * (CELL[1] + 4)
        _paste(sheet, _picture(path, max(CELL) * 2), x, y, CELL, fill=True)
        if copy:
            draw.rectangle((x, y, x + CELL[0] - 1, y + CELL[1] - 1), outline=COPY, width=3)
    left_out = len(entry.others) - len(shown)
    if left_out:
        x, y = left + (places - 1) % across * (CELL[0] + 4), top + (places - 1) // across * (CELL[1] + 4)
        draw.text((x + CELL[0] / 2, y + CELL[1] / 2), f"+ {left_out:,}", fill=SOFT, font=font, anchor="mm")


def _paste(sheet: Any, picture: Any, left: int, top: int, room: tuple[int, int], *, fill: bool = False) -> None:
    """Fit an image into a place: whole, or with `fill` its middle."""
    lanczos = _pillow().Image.Resampling.LANCZOS
    shares = [space / side for space, side in zip(room, picture.size, strict=True)]
    share = max(shares) if fill else min(*shares, 1.5)
    size = [max(1, round(side * share)) for side in picture.size]
    scaled = picture.resize(size, lanczos)
    if fill:
        x, y = (size[0] - room[0]) // 2, (size[1] - room[1]) // 2
        scaled = scaled.crop((x, y, x + room[0], y + room[1]))
    sheet.paste(scaled, (left + (room[0] - scaled.width) // 2, top + (room[1] - scaled.height) // 2))


def _fitted(draw: Any, text: str, font: Any, width: float) -> str:
    """Text that is not wider than `width`, cut in its middle if it must be, since names differ at both ends."""
    line = "".join(mark if mark.isprintable() else " " for mark in text)
    if draw.textlength(line, font=font) <= width:
        return line
    keep = len(line)
    while keep > 2:
        keep -= 1
        cut = f"{line[: (keep + 1) // 2]}...{line[len(line) - keep // 2 :]}"
        if draw.textlength(cut, font=font) <= width:
            return cut
    return "..."
