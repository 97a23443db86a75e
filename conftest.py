"""What is not collected for its docstrings: compiled loops, and modules whose extra is missing."""

import importlib.util
import os

# Haystack and Chroma report their use over the network unless told otherwise.
os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")
os.environ.setdefault("ANONYMIZED_TELEMETRY", "False")
# Importing the Python file of a loop module by its path would put it in the place of the compiled module.
collect_ignore_glob = ["src/diverset/**/_*loops.py"]
if importlib.util.find_spec("dask") is None:
    collect_ignore_glob.append("src/diverset/distributed/*")
