"""The ``diverset`` command: flags become arguments of the Python functions, and errors become one line."""

from diverset.cli import compare, select, verbs  # noqa: F401  (each adds its commands)
from diverset.cli.group import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line; the entry point of the ``diverset`` script."""
    app(prog_name="diverset")
