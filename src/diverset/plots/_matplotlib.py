"""The only door to Matplotlib, so that its absence is reported alike everywhere."""

from typing import TYPE_CHECKING

from diverset.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["new_axes", "require_matplotlib"]


def require_matplotlib() -> None:
    """Raise `MissingExtraError`, which names the install command, if Matplotlib is absent."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingExtraError('pictures need Matplotlib: pip install "diverset[plots]"') from error


def new_axes() -> "Axes":
    """Axes of a new pyplot figure, for callers who brought none."""
    require_matplotlib()
    import matplotlib.pyplot as plt

    return plt.subplots()[1]
