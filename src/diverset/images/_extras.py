"""The only doors to OpenCV, Pillow and scikit-learn, so that their absence is reported alike everywhere."""

from importlib import import_module
from typing import Any

from diverset.errors import MissingExtraError

__all__ = ["cv2", "pillow", "sklearn", "sklearn_version"]


def _import(module: str, name: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(f'images need {name}: pip install "diverset[images]"') from error


def cv2() -> Any:
    """OpenCV."""
    return _import("cv2", "OpenCV")


def pillow(module: str = "Image") -> Any:
    """A module of Pillow."""
    return _import(f"PIL.{module}", "Pillow")


def sklearn(module: str) -> Any:
    """A module of scikit-learn."""
    return _import(f"sklearn.{module}", "scikit-learn")


def sklearn_version() -> str:
    """Version of scikit-learn."""
    return str(_import("sklearn", "scikit-learn").__version__)
