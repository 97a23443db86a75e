"""Frameworks that may be absent: found without importing them, and named with their install command."""

from importlib.util import find_spec
from typing import Any, NoReturn

from diverset.errors import MissingExtraError

__all__ = ["found", "stand_in"]


def found(module: str) -> bool:
    """Whether a module can be imported."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package that would hold it is absent
        return False


def stand_in(name: str, *, needs: str, extra: str) -> Any:
    """Class that takes the place of one whose framework is absent, and says so when it is called or subclassed."""
    message = f'{name} needs {needs}: pip install "diverset[{extra}]"'

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise MissingExtraError(message)

    return type(name, (), {"__new__": refuse, "__init_subclass__": refuse, "__doc__": f"Absent: {message}."})
