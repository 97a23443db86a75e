"""Names that a package imports when they are first used (SPEC 1), so that a call loads what it needs and no more.

A package lists its names three times: for the type checker and editors as imports under ``TYPE_CHECKING``, in
``__all__``, and for :func:`names_on_use`; ``tests/test_import.py`` holds the three equal.
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

__all__ = ["names_on_use"]


def names_on_use(
    package: str, modules: Mapping[str, Iterable[str]], submodules: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    modules : mapping of str to iterables of str
        Names to import from modules, which are given relative to the package. A name must not be that of a
        submodule: importing the submodule would put it in the name's place.
    submodules : iterable of str
        Submodules that are names of the package themselves.
    """
    origin = {name: module for module, names in modules.items() for name in names}
    own = frozenset(submodules)

    def module(name: str) -> Any:
        path = f"{package}.{name}"
        __import__(path)  # as the statement does, hence seen by -X importtime
        return sys.modules[path]

    def __getattr__(name: str) -> Any:
        if name in own:
            return module(name)
        if name not in origin:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(module(origin[name]), name)
        setattr(sys.modules[package], name, value)  # found without this function from now on
        return value

    def __dir__() -> list[str]:
        return sorted({*vars(sys.modules[package]), *origin, *own})

    return __getattr__, __dir__
