"""Settings shared by all tests."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

from diverset._uncompiled import is_compiled

COMPILED = is_compiled()
if not COMPILED:
    # Asking for uncompiled loops keeps the library from warning of them, here and in processes that tests start.
    os.environ["DIVERSET_UNCOMPILED"] = "1"

# An installed package is tested without its source tree (make dist): these look at files beside it.
if not (Path(__file__).parents[1] / "docs").is_dir():
    collect_ignore = ["test_docs.py", "experiments", "integrations/test_snippets.py"]

# The same examples every run; no deadline, since loops may not be compiled.
settings.register_profile("fixed", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("fixed")


def pytest_runtest_setup(item):
    """Skip what would take too long, or too much memory, without compiled loops."""
    if not COMPILED and item.get_closest_marker("needs_compiled"):
        pytest.skip("too slow, or too large, with loops that are not compiled")
