"""Settings shared by all tests."""

from pathlib import Path

from hypothesis import settings

# An installed package is tested without its source tree (make dist): these look at files beside it.
if not (Path(__file__).parents[1] / "docs").is_dir():
    collect_ignore = ["test_docs.py", "experiments", "integrations/test_snippets.py"]

# The same examples every run; no deadline, since the first call of a compiled loop compiles it.
settings.register_profile("fixed", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("fixed")
