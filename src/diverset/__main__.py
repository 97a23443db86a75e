"""``python -m diverset`` is the ``diverset`` command."""

from diverset.cli import main

if __name__ == "__main__":
    main()
