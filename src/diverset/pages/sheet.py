"""Contact sheets, as a page or a picture: chosen images large, the images that each stands for small beneath it."""

import base64
import io
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from diverset.images.reading import extra, read_image
from diverset.io.files import atomic_write
from diverset.pages.base import file_link

if TYPE_CHECKING:
    from diverset.images.pick import ImageChoice

__all__ = ["page", "write_picture"]

#: On the page: pixels of the longer side of images, and the largest number of small ones beneath a large one.
LARGE, SMALL = 480, 110
MOST_SMALL = 30
#: In the picture: columns, size of large and of small images, rows of small images, and margins.
COLUMNS = 4
TILE = (360, 270)
CELL = (68, 52)
SMALL_ROWS = 2
GAP = 24
INK, SOFT, PAPER, PANEL, PICK, COPY = "#1b1f24", "#5b6470", "#ffffff", "#f2f4f7", "#0b5fb3", "#b45309"


def page(choice: "ImageChoice", output: Path) -> dict[str, Any]:
    """Values for the template, with the images as data."""
    paths, names = choice.found.paths, choice.names
    entries, wanted = [], []
    for i in choice.picks.tolist():
        others = choice.stands_for[i]
        wanted += [(paths[i], LARGE), *((paths[j], SMALL) for j in others[:MOST_SMALL])]
        entries.append((i, others[:MOST_SMALL], others[MOST_SMALL:]))

    def embed(wanted: tuple[Path, int]) -> str:
        buffer = io.BytesIO()
        _picture(*wanted, choice.max_pixels).save(buffer, "JPEG", quality=82)
        return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()

    with ThreadPoolExecutor() as pool:
        sources = dict(zip(wanted, pool.map(embed, wanted), strict=True))
    copy = choice.copy_of != np.arange(len(paths))
    asked = {
        "Folder": f"{choice.folder}, {len(paths):,} images" if choice.folder else f"{len(paths):,} images",
        "Compared by": choice.compared_by,
        "Method": choice.method,
        "Near-duplicates": f"{int(copy.sum())} collapsed",
    }
    if choice.scores is not None:
        asked["Diversity"] = f"{choice.diversity:.3g} (0 is plain top-k, 1 diversity only)"
    return {
        "title": _title(choice),
        "asked": asked,
        "notes": choice.notes,
        "entries": entries,
        "names": names,
        "note": choice.note,
        "near": copy.tolist(),
        "large": lambda i: sources[paths[i], LARGE],
        "small": lambda i: sources[paths[i], SMALL],
        "link": lambda i: file_link(paths[i], output),
    }


def _title(choice: "ImageChoice") -> str:
    of = f"{choice.folder.resolve().name or choice.folder}: " if choice.folder else ""
    return f"{of}{len(choice)} of {len(choice.found.paths):,} images"


def _picture(path: Path, longest: int, max_pixels: int | None) -> Any:
    return extra("PIL.Image").fromarray(read_image(path, longest=longest, max_pixels=max_pixels))


def write_picture(choice: "ImageChoice", output: Path) -> None:
    """Write the sheet as one picture, PNG or JPEG by the extension, atomically."""
    paths = choice.found.paths
    heading, text, tiny = (extra("PIL.ImageFont").load_default(size) for size in (30, 17, 14))
    columns = min(COLUMNS, max(len(choice), 1))
    rows = -(-len(choice) // columns)
    width = max(columns * (TILE[0] + GAP) + GAP, 2 * TILE[0])
    height_of_entry = TILE[1] + 34 + SMALL_ROWS * (CELL[1] + 4) + GAP
    sheet = extra("PIL.Image").new("RGB", (width, 76 + rows * height_of_entry + 8), PAPER)
    draw = extra("PIL.ImageDraw").Draw(sheet)
    draw.text((GAP, 20), _fitted(draw, _title(choice), heading, width - 2 * GAP), fill=INK, font=heading)
    for at, i in enumerate(choice.picks.tolist()):
        left, top = GAP + at % columns * (TILE[0] + GAP), 76 + at // columns * height_of_entry
        draw.rectangle((left, top, left + TILE[0] - 1, top + TILE[1] - 1), fill=PANEL)
        _paste(sheet, _picture(paths[i], max(TILE), choice.max_pixels), left, top, TILE)
        rank = str(at + 1)
        room = int(draw.textlength(rank, font=text)) + 16
        draw.rounded_rectangle((left, top + TILE[1] + 6, left + room, top + TILE[1] + 28), 11, fill=PICK)
        draw.text((left + 8, top + TILE[1] + 8), rank, fill=PAPER, font=text)
        name = _fitted(draw, f"{choice.names[i]}  {choice.note(i)}".strip(), text, TILE[0] - room - 8)
        draw.text((left + room + 8, top + TILE[1] + 8), name, fill=INK, font=text)
        _draw_small(sheet, draw, choice, choice.stands_for[i], left, top + TILE[1] + 36, tiny)
    with atomic_write(output) as temporary:
        sheet.save(temporary)


def _draw_small(
    sheet: Any, draw: Any, choice: "ImageChoice", others: Sequence[int], left: int, top: int, font: Any
) -> None:
    """The small images in rows; if there are more, the last place shows their number."""
    across = (TILE[0] + 4) // (CELL[0] + 4)
    places = across * SMALL_ROWS
    shown = others if len(others) <= places else others[: places - 1]
    for at in range(min(len(others), places)):
        x, y = left + at % across * (CELL[0] + 4), top + at // across * (CELL[1] + 4)
        if at == len(shown):
            middle = (x + CELL[0] / 2, y + CELL[1] / 2)
            draw.text(middle, f"+ {len(others) - at:,}", fill=SOFT, font=font, anchor="mm")
            continue
        picture = _picture(choice.found.paths[others[at]], max(CELL) * 2, choice.max_pixels)
        _paste(sheet, picture, x, y, CELL, fill=True)
        if choice.copy_of[others[at]] != others[at]:
            draw.rectangle((x, y, x + CELL[0] - 1, y + CELL[1] - 1), outline=COPY, width=3)


def _paste(sheet: Any, picture: Any, left: int, top: int, room: tuple[int, int], *, fill: bool = False) -> None:
    """Fit an image into a place: whole, or with `fill` its middle."""
    ops, lanczos = extra("PIL.ImageOps"), extra("PIL.Image").Resampling.LANCZOS
    most = tuple(min(space, round(1.5 * side)) for space, side in zip(room, picture.size, strict=True))
    scaled = ops.fit(picture, room, lanczos) if fill else ops.contain(picture, most, lanczos)
    sheet.paste(scaled, (left + (room[0] - scaled.width) // 2, top + (room[1] - scaled.height) // 2))


def _fitted(draw: Any, text: str, font: Any, width: float) -> str:
    """Text cut in the middle to at most `width` pixels, since names of files differ at both ends."""
    line = cut = "".join(mark if mark.isprintable() else " " for mark in text)
    for keep in range(len(line) - 1, -1, -1):
        if draw.textlength(cut, font=font) <= width:
            break
        cut = f"{line[: (keep + 1) // 2]}...{line[len(line) - keep // 2 :]}"
    return cut
