"""The command line: options, progress and output files around the public functions.

Commands read files, call estimators, and write labels, models and reports. Whatever
they compute is also available in Python.
"""

import sys

__all__ = ["main"]


def main() -> None:
    """Run `akkm` with the arguments of this process."""
    try:
        from akkm.cli._app import app
    except ImportError as error:
        cure = "to install the command line, run in a clone: pip install '.[cli]'"
        print(f"akkm: error: {error}; {cure}", file=sys.stderr)
        sys.exit(2)
    app()
