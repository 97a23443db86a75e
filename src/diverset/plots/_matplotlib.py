"""The only door to Matplotlib, so that its absence is reported alike everywhere; and shared colours."""

from typing import TYPE_CHECKING

from diverset.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["BASELINE", "OTHERS", "SELECTED", "axes_for", "require_matplotlib"]

SELECTED, BASELINE, OTHERS = "#c8102e", "#1f4e8c", "0.72"


def require_matplotlib() -> None:
    """Raise `MissingExtraError`, which names the install command, if Matplotlib is absent."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingExtraError('pictures need Matplotlib: pip install "diverset[plots]"') from error


def axes_for(ax: "Axes | None") -> "Axes":
    """The axes of the caller, or those of a new pyplot figure."""
    require_matplotlib()
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots()[1]
