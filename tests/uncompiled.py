"""Loop modules as plain Python, from their source files, beside the compiled ones."""

import importlib
import importlib.util
import sys
from contextlib import contextmanager
from pathlib import Path

import diverset


def load(name):
    """The module ``diverset.<name>`` from its Python file, whether it is compiled or not."""
    path = Path(diverset.__file__).parent.joinpath(*name.split(".")).with_suffix(".py")
    spec = importlib.util.spec_from_file_location(f"uncompiled.{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def uncompiled(name):
    """Let the library use the plain Python of the loop module ``diverset.<name>``."""
    package_name, _, short = f"diverset.{name}".rpartition(".")
    package, compiled = importlib.import_module(package_name), importlib.import_module(f"diverset.{name}")
    twin = load(name)
    sys.modules[f"diverset.{name}"] = twin
    setattr(package, short, twin)
    try:
        yield twin
    finally:
        sys.modules[f"diverset.{name}"] = compiled
        setattr(package, short, compiled)
