"""Settings shared by all tests."""

from hypothesis import settings

# The same examples every run; no deadline, since the first call of a compiled loop compiles it.
settings.register_profile("fixed", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("fixed")
