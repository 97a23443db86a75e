"""Marginals of the parts of structures, as clouds over the places that parts can take."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from diverset.errors import DiversetError
from diverset.plots._matplotlib import new_axes, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

__all__ = ["plot_part_marginals"]


def plot_part_marginals(
    marginals: Mapping[str, ArrayLike] | Sequence[ArrayLike],
    positions: ArrayLike | None = None,
    *,
    background: ArrayLike | None = None,
    ax: "Axes | None" = None,
) -> "list[Artist]":
    """Draw where each part is likely to be, in a colour of its own: the more opaque, the more probable.

    Parameters
    ----------
    marginals : mapping or sequence of array_like
        For each part (named, if a mapping) its marginals: of shape (M,) for M places, or an image (height, width).
    positions : array_like of shape (M, 2), optional
        Where the places lie; needed for marginals of shape (M,).
    background : array_like, optional
        An image to draw below, in grey; with it the vertical axis points down.
    ax : Axes, optional
        Where; new ones by default.

    Returns
    -------
    list of Artist
        One for each part: a collection of dots, or an image.

    Notes
    -----
    Each part is scaled to its own largest marginal.
    """
    require_matplotlib()
    from matplotlib.colors import to_rgb

    named = dict(marginals) if isinstance(marginals, Mapping) else {str(i): p for i, p in enumerate(marginals)}
    ax = new_axes() if ax is None else ax
    if background is not None:
        ax.imshow(np.asarray(background), cmap="gray", alpha=0.7)
    drawn: list[Artist] = []
    places = None if positions is None else np.asarray(positions, dtype=np.float64)
    for number, (name, values) in enumerate(named.items()):
        p = np.asarray(values, dtype=np.float64)
        opacity = p / (float(p.max(initial=0.0)) or 1.0)
        colour = to_rgb(f"C{number % 10}")
        if p.ndim == 2:
            image = np.concatenate([np.broadcast_to(colour, (*p.shape, 3)), opacity[..., np.newaxis]], axis=2)
            drawn.append(ax.imshow(image))
            ax.plot([], [], "s", color=colour, label=name)
            continue
        if places is None or places.shape != (len(p), 2):
            shape = None if places is None else places.shape
            raise DiversetError(
                f"part {name!r} has {len(p)} marginals, and positions has shape {shape}; give a row for each"
            )
        # Probable places are drawn last, on top.
        order = np.argsort(opacity)
        rgba: Any = np.column_stack([np.broadcast_to(colour, (len(p), 3)), opacity])[order]
        drawn.append(ax.scatter(places[order, 0], places[order, 1], s=26, c=rgba, linewidths=0))
        ax.scatter([], [], s=26, color=colour, label=name)
    ax.set_aspect("equal")
    if isinstance(marginals, Mapping):
        ax.legend(frameon=bool(ax.images), fontsize=8)  # a frame makes it readable on an image
    return drawn
