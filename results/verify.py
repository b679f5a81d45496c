"""Draws committed rows at random, runs them again and compares their test accuracy to the digit.

Run: python results/verify.py [--rows 40] [--seed 0] [--datasets texas,cornell] [--workers 2]. Without a seed every
call draws other rows. The exit code is 1 if any row came out differently.
"""

from __future__ import annotations

import argparse
import random
import secrets
import sys
from functools import cache
from pathlib import Path

from postel import __version__
from postel.instructions import use_common_instructions

use_common_instructions()  # before torch is used; rows were made with them

from postel.experiments.results import Row  # noqa: E402
from postel.experiments.running.executor import run_all  # noqa: E402
from postel.experiments.store.folder import read_archive  # noqa: E402
from postel.experiments.store.reader import Reader  # noqa: E402

#: Every folder of rows beside this file: those of each study.
FOLDERS = sorted(Path(__file__).resolve().parent.glob("rows*"))


def draw(count: int, seed: int, datasets: set[str]) -> list[Row]:
    """Return rows of all committed studies at random, each of this version's as likely as any other.

    Version 0.2 adds numbers up in another order than 0.1 did, and some rows of 0.1 come out differently.

    Args:
        count: How many.
        seed: Seed of the draw.
        datasets: The datasets to draw from; all of them if empty.
    """
    rows = [row for row in _committed() if not datasets or row.spec.dataset in datasets]
    return random.Random(seed).sample(rows, min(count, len(rows)))


@cache
def _committed() -> list[Row]:
    """This version's rows of all folders, in the order of their keys."""
    found: dict[str, Row] = {}
    for folder in FOLDERS:
        reader = Reader(read_archive(folder))
        found.update((row.key, row) for row in reader.rows(reader.store.keys()))
    return [row for _, row in sorted(found.items()) if row.made_by["postel"] == __version__]


def differences(rows: list[Row], workers: int) -> list[str]:
    """Run rows again and return a sentence for each that came out differently, or not at all.

    Args:
        rows: Rows as they were committed.
        workers: How many to run at a time.
    """
    again = {made.key: made for made in run_all([row.spec for row in rows], workers=workers)}
    told = []
    for row in rows:
        spec, made = row.spec, again.get(row.key)
        what = f"{row.key}: {spec.dataset}, split {spec.split}, {spec.backbone}, {spec.method.label}"
        if made is None:
            told.append(f"{what} failed")
        elif made.percent("accuracy") != row.percent("accuracy"):
            told.append(f"{what} was {row.percent('accuracy')!r} %, is {made.percent('accuracy')!r} %")
    return told


def main() -> int:
    """Draw, run, compare, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=40)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--datasets", default="")
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    seed = secrets.randbelow(10**6) if arguments.seed is None else arguments.seed
    rows = draw(arguments.rows, seed, set(filter(None, arguments.datasets.split(","))))
    print(f"running {len(rows)} committed rows again (--seed {seed})", flush=True)
    told = differences(rows, arguments.workers)
    same = len(rows) - len(told)
    print("\n".join([*told, f"{same} of {len(rows)} rows have the same test accuracy to the digit"]))
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())
