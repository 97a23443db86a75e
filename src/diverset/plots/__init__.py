"""Pictures, drawn with Matplotlib; nothing else in the package needs it.

Every function takes ``ax=``, the axes to draw in (``axes=`` for several panels), and makes a new figure by default. It
returns the artists it drew, which know their ``axes``. Matplotlib is an extra: without it these functions raise
:class:`~diverset.errors.MissingExtraError` with the command that installs it.
"""

from diverset.plots._laws import (
    plot_factor_graph,
    plot_kernel,
    plot_quality_diversity,
    plot_sizes,
    plot_spectrum,
    plot_timelines,
    plot_trace_line,
    plot_trace_plane,
)
from diverset.plots._plane import (
    place_labels,
    plot_clouds,
    plot_part_marginals,
    plot_points,
    plot_poses,
    plot_selection,
)

__all__ = [
    "place_labels",
    "plot_clouds",
    "plot_factor_graph",
    "plot_kernel",
    "plot_part_marginals",
    "plot_points",
    "plot_poses",
    "plot_quality_diversity",
    "plot_selection",
    "plot_sizes",
    "plot_spectrum",
    "plot_timelines",
    "plot_trace_line",
    "plot_trace_plane",
]
