"""How many files of the package a command passes through before it reaches the numerical layers."""

import contextlib
import inspect
import io
import os
import sys
from pathlib import Path

import pytest

import diverset
from diverset.cli import app

ROOT = os.path.dirname(diverset.__file__) + os.sep
#: Layers that compute; how the walk goes on inside them is their own affair.
NUMERICAL = ("numerics", "kernels", "core", "sampling", "inference", "structured")

#: Imports names when they are first used.
IMPORTS = "_on_use.py"


def files_of(arguments):
    """Files in which a function runs while a command works; functions that only run at import do not count."""
    found = set()

    def look(frame, event, _):
        if event != "call" or not frame.f_code.co_filename.startswith(ROOT):
            return
        name = frame.f_code.co_filename[len(ROOT) :].replace(os.sep, "/")
        # Bodies of modules and classes are not optimized code; what runs below them runs at import.
        while frame is not None and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            frame = frame.f_back
        if frame is None or not frame.f_code.co_filename.startswith(ROOT):
            found.add(name)

    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        sys.setprofile(look)
        try:
            app(arguments, prog_name="diverset")
        except SystemExit as end:
            code = end.code
        finally:
            sys.setprofile(None)
    assert not code
    return {name for name in found if name.partition("/")[0] not in (*NUMERICAL, IMPORTS)}


@pytest.fixture
def inputs(tmp_path):
    """A table, and a folder of texts."""
    words = ["cats purr all day", "cats purr all night", "stars burn bright", "bread needs flour"]
    rows = [f"{i},{text},{i}" for i, text in enumerate(words)]
    (tmp_path / "rows.csv").write_text("\n".join(["id,text,score", *rows]))
    (tmp_path / "texts").mkdir()
    for i in range(3):
        text = f"The old bridge fell on Tuesday. Nobody was hurt. The mayor spoke {i + 2} times."
        (tmp_path / "texts" / f"{i}.txt").write_text(text)
    return tmp_path


@pytest.mark.needs_compiled
@pytest.mark.parametrize(
    ("arguments", "most"),
    [
        (["select", "{}/rows.csv", "-k", "2", "--text", "text", "--quality", "score"], 12),
        (["summarize", "{}/texts"], 15),
        (["thread", str(Path(diverset.__file__).parent / "data" / "news.jsonl"), "-k", "6"], 18),
    ],
    ids=["select", "summarize", "thread"],
)
def test_a_walk_is_short(inputs, arguments, most):
    found = files_of([each.replace("{}", str(inputs)) for each in arguments])
    assert "cli/group.py" in found
    assert len(found) <= most, sorted(found)
