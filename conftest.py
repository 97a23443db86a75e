"""What is not collected: examples that need an extra that is missing, and the sources of compiled loops."""

import importlib.util

# Collecting a loop's source would import it in place of the compiled module, and all tests would run uncompiled loops.
collect_ignore_glob = ["src/diverset/*/_*loops.py"]
if not importlib.util.find_spec("dask"):
    collect_ignore_glob.append("src/diverset/distributed/*")
