"""Makes every table, figure and the report again from the rows in ``results/rows``: nothing is trained.

The commands are those of the code blocks in ``results/README.md``, run one after another in one process.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

from postel.cli.app import app

HERE = Path(__file__).resolve().parent


def commands(text: str) -> list[list[str]]:
    """The arguments of every command of postel's that stands in a code block and only reads rows."""
    blocks = text.split("```")[1::2]
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("postel ") and "results/rows" in line]


def main() -> None:
    os.chdir(HERE.parent)
    for arguments in commands((HERE / "README.md").read_text(encoding="utf-8")):
        print("postel", *arguments, flush=True)
        sys.argv = ["postel", *arguments]
        app(arguments, standalone_mode=False)


if __name__ == "__main__":
    main()
