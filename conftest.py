"""What is not collected where an extra is missing: examples in docstrings that need it."""

import importlib.util

collect_ignore_glob = [] if importlib.util.find_spec("dask") else ["src/diverset/distributed/*"]
