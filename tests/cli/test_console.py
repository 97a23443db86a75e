"""What the commands show while they work."""

import io
import re
import threading
import time

import pytest
from rich.console import Console

from diverset.cli import console
from diverset.threads import example_news, find_threads


@pytest.fixture
def screen(monkeypatch):
    """A terminal of 100 columns, and no second to wait."""
    shown = io.StringIO()
    monkeypatch.setattr(console, "Console", lambda **_: Console(file=shown, force_terminal=True, width=100))
    timer = threading.Timer
    monkeypatch.setattr(console.threading, "Timer", lambda _, start: timer(0.0, start))
    return shown


def lines(shown):
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.getvalue())


def test_a_bar_says_how_much_is_done(screen):
    with console.working("reading [a]") as step:
        time.sleep(0.3)
        step("comparing", 3, 4)
        time.sleep(0.3)
        step("choosing")
        time.sleep(0.3)
    text = lines(screen)
    assert "reading [a] ..." in text
    assert re.search(r"comparing \.\.\. \S+\S* +75%", text)
    # Of what nobody knows the size of, no share is shown.
    assert not re.search(r"choosing[^\r\n]*%", text)


def test_nothing_is_shown_but_on_a_terminal(monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr(console, "Console", lambda **_: Console(file=shown, force_terminal=False))
    with console.working("reading") as step:
        step("comparing", 3, 4)
    assert shown.getvalue() == ""


def test_every_stage_of_threading_is_announced():
    told = []
    corpus, _ = example_news()
    find_threads(corpus, k=6, progress=lambda *stage: told.append(stage))
    assert list(dict.fromkeys(text for text, *_ in told)) == [
        "counting words",
        "comparing documents",
        "looking for series",
        "dividing into events",
        "choosing threads",
    ]
    assert ("comparing documents", len(corpus), len(corpus)) in told
