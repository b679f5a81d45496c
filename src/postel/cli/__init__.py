"""The command line: one file per command, each a plain function that typer turns into one.

Command files import torch and friends inside the function, so that ``postel --help`` answers at once.
"""

from __future__ import annotations

import errno
import io
import sys
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from postel.cli.signals import Ending

#: What a machine or its user can do something about; other errors are the program's own and keep their traceback.
_OF_THE_MACHINE = {
    getattr(errno, name)
    for name in (
        *("ENOSPC", "EDQUOT", "EFBIG", "EROFS", "EACCES", "EPERM", "EIO", "ENXIO", "ENAMETOOLONG", "ENOTDIR"),
        *("EISDIR", "ELOOP", "EMFILE", "ENFILE", "ESTALE"),
    )
    if hasattr(errno, name)
}


def main() -> None:
    """Run ``postel``.

    Bad input and what the machine refuses (a full disk, a folder that cannot be written) are one sentence on
    standard error and exit code 2; Ctrl-C gives 130, SIGTERM 143 and a closed terminal 129.
    """
    try:
        _run()
    except KeyboardInterrupt:  # in the moments before and after a command
        _say("interrupted")
        sys.exit(130)


def _run() -> None:
    from postel.cli.signals import tidy_ending
    from postel.errors import require_extra
    from postel.instructions import use_common_instructions

    use_common_instructions()
    for stream in (sys.stdout, sys.stderr):
        # Names of files need not be text; they are shown as well as can be.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    with tidy_ending() as ending:
        try:
            require_extra("typer", "cli")
            require_extra("rich", "cli")
            from postel.cli.app import app

            app(prog_name="postel")
        except KeyboardInterrupt:
            _end(ending)
        except SystemExit as exit:
            if ending.number and exit.code:
                sys.exit(ending.exit_code)
            raise
        except Exception as error:
            if ending.number:  # a compiled library may turn the KeyboardInterrupt into an error of its own
                _end(ending)
            sentence = _sentence(error)
            if sentence is None:
                raise
            _say(sentence)
            sys.exit(2)


def _end(ending: Ending) -> NoReturn:
    _say("interrupted")
    sys.exit(ending.exit_code)


def _sentence(error: Exception) -> str | None:
    """What a user can do something about, in a sentence; None for errors that are the program's own."""
    from postel.errors import InputError, MissingExtraError

    if isinstance(error, InputError | MissingExtraError):
        return str(error)
    if isinstance(error, MemoryError):
        return "there is not enough memory for this; take a smaller graph, or postel smooth --engine duckdb"
    if isinstance(error, OSError) and error.errno in _OF_THE_MACHINE:
        place = f": {str(error.filename)[:200]}" if error.filename else ""
        return f"{error.strerror}{place}; mend that and run the same command again"
    return None


def _say(text: str) -> None:
    """One line on standard error."""
    print("postel:", " ".join(text.split("\n")), file=sys.stderr)
