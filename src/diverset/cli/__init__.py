"""The ``diverset`` command: flags become arguments of the Python functions, and errors become one line.

One module for each command; importing it adds the command to the group.
"""

from diverset.cli import compare, demo, images, select, summarize, thread  # noqa: F401  (each adds its commands)
from diverset.cli.group import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line; the entry point of the ``diverset`` script."""
    app(prog_name="diverset")
