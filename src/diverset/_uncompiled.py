"""Loops that are not compiled: one warning where that is news, and a way to ask for it.

The loop modules are Python files, named ``_loops.py`` or ``_..._loops.py``. Cython compiles them to extension modules
of the same name, and Python imports the extension where both exist. With the environment variable
``DIVERSET_UNCOMPILED=1`` the Python files are imported, to test them or to step through them with a debugger.
"""

import importlib.machinery
import importlib.util
import os
import sys
import warnings
from types import FunctionType, ModuleType

from diverset.errors import DiversetWarning

__all__ = ["asked_for", "is_compiled", "prefer_sources", "warn_once"]

_warned = False


def asked_for() -> bool:
    """Whether the environment asks for uncompiled loops."""
    return os.environ.get("DIVERSET_UNCOMPILED", "") not in ("", "0")


def is_compiled() -> bool:
    """Whether the loops that are imported are compiled."""
    spec = importlib.util.find_spec("diverset.numerics._loops")
    return spec is not None and isinstance(spec.loader, importlib.machinery.ExtensionFileLoader)


def warn_once() -> None:
    """Warn that loops are slow, once a process, unless the environment asks for it or compiled ones are there."""
    global _warned
    if _warned or asked_for() or is_compiled():
        return
    _warned = True
    prefer_sources()  # nothing else is there, and the hook keeps NumPy from warning
    warnings.warn(
        "the loops of diverset are not compiled, so it is many times slower than it could be; install a C compiler "
        "with Python's headers, then run: pip install --force-reinstall --no-deps diverset",
        DiversetWarning,
        stacklevel=3,
    )


class _Quiet(importlib.machinery.SourceFileLoader):
    """Loader of uncompiled loops, which give no NumPy warnings of overflow and the like: compiled loops give none."""

    def exec_module(self, module: ModuleType) -> None:
        import numpy as np

        super().exec_module(module)
        for place in (module, *filter(lambda value: isinstance(value, type), list(vars(module).values()))):
            for name, value in list(vars(place).items()):
                own = isinstance(value, FunctionType) and value.__module__ == module.__name__
                if own and not name.startswith("_"):
                    setattr(place, name, np.errstate(all="ignore")(value))


class _Sources:
    """Import hook that finds the Python files of the loop modules before their extension modules."""

    @staticmethod
    def find_spec(
        name: str, path: object = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        package, _, module = name.rpartition(".")
        if not (package.startswith("diverset.") and module.startswith("_") and module.endswith("loops")):
            return None
        folder = os.path.dirname(sys.modules[package].__file__ or "")
        path = os.path.join(folder, f"{module}.py")
        return importlib.util.spec_from_file_location(name, path, loader=_Quiet(name, path))


def prefer_sources() -> None:
    """Import the loops uncompiled from here on."""
    sys.meta_path.insert(0, _Sources)
