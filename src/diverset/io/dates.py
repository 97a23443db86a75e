"""Strict reading of dates: every form is listed, and no part is filled from today's date as ``dateutil`` does."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Dates", "parse_dates"]

_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_DAYS = "(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?"
_CLOCK = r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,]\d{1,9})?)?(?: ?(?P<half>[ap])\.?m\.?)?"
_ZONE = r"(?: ?(?P<zone>(?:utc|gmt)?[+-]\d{1,2}:?\d{2}|[+-]\d{2}|z|[a-z]{2,5}))?(?: \([a-z ]{1,40}\))?"
_TIME = rf"(?:(?:,? (?:at )?|t){_CLOCK}{_ZONE})?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_NAME = r"(?P<name>[a-z]{3,9})\.?"
_FORMS = [
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"(?P<year>\d{{4}})(?P<mark>[-/.])(?P<month>\d{{1,2}})(?:(?P=mark)(?P<day>\d{{1,2}}))?{_TIME}",
        rf"(?P<one>\d{{1,2}})(?P<mark>[-/.])(?P<two>\d{{1,2}})(?P=mark)(?P<year>\d{{4}}){_TIME}",
        rf"(?:{_DAYS},? )?{_DAY}(?: |-|\. )(?:of )?{_NAME},?[ -](?P<year>\d{{4}}){_TIME}",
        rf"(?:{_DAYS},? )?{_NAME} {_DAY},? (?P<year>\d{{4}}){_TIME}",
        rf"{_NAME},? (?P<year>\d{{4}})",
        rf"{_DAYS} {_NAME} {_DAY} {_CLOCK}{_ZONE} (?P<year>\d{{4}})",  # as the shell's date prints it
    )
]
#: Names of time zones that mean one offset, in hours; others have several meanings.
_OFFSETS = {
    "z": 0, "ut": 0, "utc": 0, "gmt": 0, "est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8,
    "pdt": -7, "cet": 1, "cest": 2,
}  # fmt: skip
_BLANKS = frozenset(("", "na", "n/a", "nan", "nat", "nil", "none", "null", "-", "?"))


@dataclass(frozen=True, eq=False)
class Dates:
    """Dates of a column."""

    #: Times in UTC, in seconds; NaT for a cell without a date. A time without a zone is taken as UTC.
    times: NDArray[np.datetime64]
    #: Time zones as written, such as ``+02:00``; empty for a date without one.
    zones: list[str]
    #: For each cell without a date, why.
    reasons: dict[int, str]
    #: Remarks on assumptions.
    notes: list[str]


def parse_dates(cells: Sequence[Any], *, day_first: bool | None = None, date_format: str | None = None) -> Dates:
    """Read a column of dates, each in any of these forms.

    ISO 8601 (``2020-01-13``, ``2020-01-15T10:00:00+02:00``, ``2020-W03-1``, ``20200126``, ``2020-01``, ``2020``), with
    slashes or dots in place of hyphens and a blank in place of the T; mail and feeds (``Thu, 16 Jan 2020 10:00:00
    GMT``); ``17 Jan 2020``, ``Jan. 18, 2020``, ``January 19, 2020``, each with a time or without; ``13.01.2020``,
    ``13/01/2020``; seconds, milliseconds, microseconds or nanoseconds since 1970; objects of Python, NumPy and pandas.

    ``03/04/2020`` is 3 April if `day_first` is true and March 4 if it is false. By default the unambiguous dates of the
    column decide; if there are none, or they disagree, ambiguous cells are refused. `date_format` replaces all forms,
    in the notation of :meth:`datetime.datetime.strptime`.

    >>> [str(time) for time in parse_dates(["Thu, 16 Jan 2020 10:00:00 GMT", 1579600000, "1998"]).times]
    ['2020-01-16T10:00:00', '2020-01-21T09:46:40', '1998-01-01T00:00:00']
    """
    notes = []
    if day_first is None and date_format is None:
        orders = {order for cell in cells if (order := _order(cell)) is not None}
        if len(orders) == 1:
            day_first = orders.pop()
            notes.append(f"dates such as 03/04/2020 are read with the {'day' if day_first else 'month'} first")
    times = np.full(len(cells), np.datetime64("NaT", "s"))
    zones = [""] * len(cells)
    reasons = {}
    for i, cell in enumerate(cells):
        try:
            found, zones[i] = _parse(cell, day_first, date_format)
            if found.tzinfo is not None:
                found = found.astimezone(UTC).replace(tzinfo=None)
            times[i] = np.datetime64(found.replace(microsecond=0), "s")
        except (ValueError, OverflowError, OSError) as error:
            reasons[i] = str(error)
    return Dates(times, zones, reasons, notes)


def _parse(cell: Any, day_first: bool | None, date_format: str | None) -> tuple[datetime, str]:
    """A date and its time zone as written; raises ValueError with the reason if there is none."""
    if isinstance(cell, np.datetime64) and not np.isnat(cell):
        cell = cell.astype("datetime64[s]").item()
    if isinstance(cell, date) and cell == cell:  # NaT of pandas is a date not equal to itself
        found = cell if isinstance(cell, datetime) else datetime(cell.year, cell.month, cell.day)
        return found, found.strftime("%z")
    text = "" if cell is None else " ".join(str(cell)[:80].split())
    if text.lower() in _BLANKS:
        raise ValueError("the date is blank")
    refused = ValueError(f"{text[:40]!r} is no date in a form that is known")
    if isinstance(cell, bool | list | dict) or len(text) > 64:
        raise refused
    if date_format is not None:
        refused = ValueError(f"{text[:40]!r} does not match the date format {date_format!r}")
    elif re.fullmatch(r"\d+(\.\d*)?(e\+?\d+)?", text, re.ASCII):
        return _from_number(text), ""
    elif match := next(filter(None, (form.fullmatch(text) for form in _FORMS)), None):
        return _from_parts(match.groupdict(), text, day_first)
    try:
        # The ISO forms that are not in the list are the basic ones and weeks.
        found = datetime.fromisoformat(text) if date_format is None else datetime.strptime(text, date_format)
    except ValueError:
        raise refused from None
    return found, found.strftime("%z")


def _from_number(text: str) -> datetime:
    """A year, a date without separators, or a time since 1970, by the number of digits."""
    whole, _, fraction = text.partition(".")
    if not fraction.strip("0") and len(whole) in (4, 8, 14) and "e" not in text:
        month, day, hour, minute, second = (int(whole[at : at + 2] or at < 8) for at in (4, 6, 8, 10, 12))
        try:
            return datetime(int(whole[:4]), month, day, hour, minute, second)
        except ValueError as error:
            raise ValueError(f"{text!r} is no date: {error}") from None
    number = float(text)
    for unit in (1.0, 1e3, 1e6, 1e9):
        if 1e8 <= number / unit < 1e11:
            return datetime(1970, 1, 1) + timedelta(seconds=number / unit)
    raise ValueError(f"{text!r} is neither a year nor a time since 1970")


def _from_parts(parts: dict[str, str | None], text: str, day_first: bool | None) -> tuple[datetime, str]:
    if parts.get("name"):
        name = str(parts["name"]).lower()
        month = 1 + next((i for i, full in enumerate(_MONTHS) if full.startswith(name)), -1)
        day = int(parts.get("day") or 1)
        if not month:
            raise ValueError(f"{text!r} has no English name of a month")
    elif parts.get("one"):
        one, two = int(str(parts["one"])), int(str(parts["two"]))
        first = _decided(one, two, str(parts["mark"]))
        if first is None or (day_first is not None and parts["mark"] != "."):
            first = day_first
        if first is None and one != two:
            raise ValueError(f"{text!r} can mean two days; --day-first or --date-format tells which")
        day, month = (one, two) if first else (two, one)
    else:
        day, month = int(parts.get("day") or 1), int(str(parts["month"]))
    hour = int(parts.get("hour") or 0)
    if half := parts.get("half"):
        if not 1 <= hour <= 12:
            raise ValueError(f"{text!r} has the hour {hour} {half}m")
        hour = hour % 12 + (12 if half.lower() == "p" else 0)
    zone = parts.get("zone") or ""
    try:
        clock = (hour, int(parts.get("minute") or 0), int(parts.get("second") or 0))
        return datetime(int(str(parts["year"])), month, day, *clock, tzinfo=_offset(zone)), zone
    except ValueError as error:
        raise ValueError(f"{text!r} is no date: {error}") from None


def _decided(one: int, two: int, mark: str) -> bool | None:
    """Whether the day comes first in two numbers; None if they can be read both ways."""
    return True if mark == "." or one > 12 else False if two > 12 else None


def _order(cell: Any) -> bool | None:
    if isinstance(cell, str) and (match := _FORMS[1].fullmatch(" ".join(cell[:64].split()))):
        return None if match["mark"] == "." else _decided(int(match["one"]), int(match["two"]), match["mark"])
    return None


def _offset(zone: str) -> tzinfo | None:
    """A time zone from its name or offset."""
    if not zone:
        return None
    if zone.lower() in _OFFSETS:
        return timezone(timedelta(hours=_OFFSETS[zone.lower()]))
    match = re.fullmatch(r"(?:utc|gmt)?([+-])(\d{1,2}):?(\d{2})?", zone, re.IGNORECASE)
    if match is None:
        raise ValueError(f"the time zone {zone!r} is unknown or has several meanings; write an offset such as +02:00")
    hours, minutes = int(match[2]), int(match[3] or 0)
    if minutes > 59 or hours > 15:
        raise ValueError(f"{zone!r} is no offset from UTC")
    return timezone((1 if match[1] == "+" else -1) * timedelta(hours=hours, minutes=minutes))
