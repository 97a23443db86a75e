"""Dates in every form that people write, and refusal of what could mean two days."""

import locale
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pytest

from diverset.io.dates import parse_dates
from diverset.io.documents import date_in_name


def parse_date(cell, **options):
    """The date of one cell; raises ValueError with the reason if there is none."""
    found = parse_dates([cell], **options)
    if found.reasons:
        raise ValueError(found.reasons[0])
    return found.times[0]


#: The day of January 2020 that each cell means.
MIXED = {
    "2020-01-13": 13, "2020-01-14T10:00:00Z": 14, "2020-01-15T10:00:00+02:00": 15, "Thu, 16 Jan 2020 10:00:00 GMT": 16,
    "17 Jan 2020": 17, "Jan. 18, 2020": 18, "January 19, 2020": 19, "2020/01/20": 20, "2020-01-23 10:00:00": 23,
    "24 January 2020 10:00": 24, "2020-01-25 10:00 UTC": 25, "20200126": 26, "1580110000": 27, "1580200000000": 28,
}  # fmt: skip


def test_a_column_that_mixes_fourteen_forms_is_read_whole():
    found = parse_dates(list(MIXED))
    assert found.reasons == {}
    assert found.times.astype("datetime64[D]").astype(str).tolist() == [f"2020-01-{day}" for day in MIXED.values()]
    assert [zone for zone in found.zones if zone] == ["Z", "+02:00", "GMT", "UTC"]
    assert found.notes == []


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("Wed, 13 Jan 2020 10:00:00 GMT", "2020-01-13T10:00:00"),  # the weekday is wrong, as in some feeds
        ("2020-01-15T10:00:00+02:00", "2020-01-15T08:00:00"),
        ("2020-01-15T10:00:00.123456-0330", "2020-01-15T13:30:00"),
        ("2020-01-15 23:30 EST", "2020-01-16T04:30:00"),
        ("2020-01-15 10:00 UTC+02:00", "2020-01-15T08:00:00"),
        ("Mon Jan 13 10:00:00 UTC 2020", "2020-01-13T10:00:00"),
        ("Mon Jan 13 10:00:00 2020", "2020-01-13T10:00:00"),
        ("Monday, January 13th, 2020 at 3:05 PM", "2020-01-13T15:05:00"),
        ("13 Jan 2020, 12:10 a.m.", "2020-01-13T00:10:00"),
        ("Sept. 3, 2019", "2019-09-03T00:00:00"),
        ("3. May 2019", "2019-05-03T00:00:00"),
        ("13-Jan-2020", "2020-01-13T00:00:00"),
        ("13.01.2020 10:00", "2020-01-13T10:00:00"),
        ("03.04.2020", "2020-04-03T00:00:00"),
        ("13/01/2020", "2020-01-13T00:00:00"),
        ("01/13/2020", "2020-01-13T00:00:00"),
        ("04/04/2020", "2020-04-04T00:00:00"),
        ("2020-W03-1", "2020-01-13T00:00:00"),
        ("20200113T100000Z", "2020-01-13T10:00:00"),
        ("20200113100000", "2020-01-13T10:00:00"),
        ("2020-1-3", "2020-01-03T00:00:00"),
        ("2020.01.13", "2020-01-13T00:00:00"),
        ("January 2020", "2020-01-01T00:00:00"),
        ("2020-02", "2020-02-01T00:00:00"),
        ("1998", "1998-01-01T00:00:00"),
        (1998, "1998-01-01T00:00:00"),
        (1998.0, "1998-01-01T00:00:00"),
        (1580110000, "2020-01-27T07:26:40"),
        (1580110000.75, "2020-01-27T07:26:40"),
        (1.58011e9, "2020-01-27T07:26:40"),
        (1580110000000, "2020-01-27T07:26:40"),
        (1580110000000000000, "2020-01-27T07:26:40"),
        (date(2020, 1, 13), "2020-01-13T00:00:00"),
        (datetime(2020, 1, 13, 10, tzinfo=timezone(timedelta(hours=2))), "2020-01-13T08:00:00"),
        (np.datetime64("2020-01-13T10:00"), "2020-01-13T10:00:00"),
        ("  2020-01-13\n", "2020-01-13T00:00:00"),
    ],
)
def test_other_forms(cell, expected):
    assert str(parse_date(cell)) == expected


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        ("", "blank"), (None, "blank"), (float("nan"), "blank"), ("n/a", "blank"), (np.datetime64("NaT"), "blank"),
        ("soon", "no date"), ("10", "neither a year"), ("may", "no date"), (43843, "neither a year"), (True, "no date"),
        ("2020-02-30", "day"), ("2020-13-01", "month"), ("20201301", "month must be"), ([2020], "no date"),
        ("13/01/20", "no date"), ("03/04/2020", "can mean two days; --day-first"), ("13 Foo 2020", "English name"),
        ("2020-01-13 10:00 IST", "several meanings"), ("2020-01-13 25:00", "hour"),
        ("2020-01-13 13:00 pm", "hour 13 pm"),
        ("2020-01-13 10:00 +25:00", "no offset"), ("1" * 100_000, "no date"), ("-5", "no date"),
        (1e300, "neither|no date"),         (2**70, "neither"), ("٢٠٢٠", "no date"),
    ],
)  # fmt: skip
def test_what_is_no_date_is_refused_with_the_reason(cell, reason):
    with pytest.raises(ValueError, match=reason):
        parse_date(cell)


def test_pandas_has_dates_and_blanks_of_its_own():
    pandas = pytest.importorskip("pandas")
    found = parse_dates([pandas.Timestamp("2020-01-13T10:00", tz="Europe/Paris"), pandas.NaT])
    assert str(found.times[0]) == "2020-01-13T09:00:00"
    assert found.reasons == {1: "the date is blank"}


def test_dates_that_can_mean_one_day_decide_for_the_others():
    found = parse_dates(["03/04/2020", "13/04/2020"])
    assert str(found.times[0])[:10] == "2020-04-03"
    assert found.notes == ["dates such as 03/04/2020 are read with the day first"]
    found = parse_dates(["03/04/2020", "04/13/2020"])
    assert str(found.times[0])[:10] == "2020-03-04"
    found = parse_dates(["03/04/2020", "04/13/2020", "13/04/2020"])
    assert list(found.reasons) == [0]
    assert list(parse_dates(["03/04/2020"]).reasons) == [0]
    assert str(parse_date("03/04/2020", day_first=True))[:10] == "2020-04-03"
    assert str(parse_date("03/04/2020", day_first=False))[:10] == "2020-03-04"
    assert list(parse_dates(["13/04/2020", "04/13/2020"], day_first=True).reasons) == [1]


def test_a_format_is_the_only_form():
    assert str(parse_date("13;01;20", date_format="%d;%m;%y"))[:10] == "2020-01-13"
    found = parse_dates(["13;01;20", "2020-01-13"], date_format="%d;%m;%y")
    assert found.reasons == {1: "'2020-01-13' does not match the date format '%d;%m;%y'"}
    assert str(parse_date("2020-01-13 10:00 +0200", date_format="%Y-%m-%d %H:%M %z")) == "2020-01-13T08:00:00"


def test_every_day_is_read_back_from_every_form():
    rng = np.random.default_rng(0)
    for _ in range(300):
        moment = datetime(1973, 5, 1, tzinfo=UTC) + timedelta(seconds=int(rng.integers(0, 2_500_000_000)))
        seconds = np.datetime64(moment.replace(tzinfo=None), "s")
        name = ("January February March April May June July August September October November December".split())[
            moment.month - 1
        ]
        clock = f"{moment:%H:%M:%S}"
        for text in (
            moment.isoformat(), f"{moment:%Y-%m-%d} {clock}", f"{moment.day} {name} {moment.year} {clock}",
            f"{name[:3]}. {moment.day}, {moment.year} {clock} GMT", f"{moment:%Y%m%d%H%M%S}", int(moment.timestamp()),
            f"{moment:%d.%m.%Y} {clock}", moment,
        ):  # fmt: skip
            assert parse_date(text) == seconds, text


def test_names_of_months_do_not_depend_on_the_locale():
    before = locale.setlocale(locale.LC_TIME)
    try:
        locale.setlocale(locale.LC_TIME, "de_DE.UTF-8")
    except locale.Error:
        pytest.skip("no other locale is installed")
    try:
        assert str(parse_date("3 May 2019"))[:10] == "2019-05-03"
    finally:
        locale.setlocale(locale.LC_TIME, before)


def test_dates_in_names_of_files():
    assert str(date_in_name("2005-02-24-pope.txt"))[:10] == "2005-02-24"
    assert str(date_in_name("news_20050224.md"))[:10] == "2005-02-24"
    assert date_in_name("2005-13-24.txt") is None
    assert date_in_name("99999999-x-2005_02_24") == np.datetime64("2005-02-24")
    assert date_in_name("notes.txt") is None
