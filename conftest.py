"""What is not collected for its docstrings: compiled loops, and modules whose extra is missing."""

import importlib.util

# Importing the Python file of a loop module by its path would put it in the place of the compiled module.
collect_ignore_glob = ["src/diverset/**/_*loops.py"]
if importlib.util.find_spec("dask") is None:
    collect_ignore_glob.append("src/diverset/distributed/*")
