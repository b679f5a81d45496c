"""The command line: one file a command, each a plain function that typer turns into one.

Command files import torch and friends inside the function, so that ``postel --help`` answers at once.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run ``postel``; bad input is one sentence on standard error and exit code 2."""
    from postel.errors import InputError, MissingExtraError, require_extra

    try:
        require_extra("typer", "cli")
        require_extra("rich", "cli")
        from postel.cli.app import app

        app(prog_name="postel")
    except (InputError, MissingExtraError) as error:
        print(f"postel: {error}", file=sys.stderr)
        sys.exit(2)
